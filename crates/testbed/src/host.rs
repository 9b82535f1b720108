//! A host: a network namespace, and a thread in it.
//!
//! No namespace has a name. One lives for as long as a thread or a process is in it, so when this process
//! ends, however it ends, the kernel takes it down with its interfaces and routes. Programs on a host are
//! started through [`launch`], so that they end with the thread that started them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::gettid;

/// Why there is no host, or why it does not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Only root may make namespaces.
    #[error("the test bed makes network namespaces, which only root may: run it with sudo")]
    NotPermitted,
    /// The system refuses something.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
    /// A file of a run cannot be written or read.
    #[error("{path}: {1}", path = .0.display())]
    File(PathBuf, io::Error),
    /// A program is not installed.
    #[error("{0} is not installed: the test bed needs iproute2 and iperf3")]
    Missing(String),
    /// A program ended in failure: what was run, and what it said.
    #[error("{0}: {said}", said = .1.trim())]
    Failed(String, String),
    /// The thread has ended, by a panic that has been printed.
    #[error("the thread of a host has ended")]
    Gone,
}

/// Work for the thread of a host.
type Task = Box<dyn FnOnce() + Send>;

/// A network namespace with a thread in it.
#[derive(Debug)]
pub struct Host {
    /// Its thread, by which interfaces are moved to it.
    thread_id: Pid,
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl Host {
    /// A host with a loopback interface, IPv4 and nothing else. It passes packets on if it `routes`.
    pub fn new(name: &str, routes: bool) -> Result<Self, HostError> {
        let (tasks, work) = mpsc::channel::<Task>();
        let (ready, started) = mpsc::sync_channel(1);
        let thread = thread::Builder::new()
            .name(format!("host-{name}"))
            .spawn(move || {
                let entered = enter(routes).map(|()| gettid());
                if let Ok(id) = entered {
                    go_first(id, Turn::Programs);
                }
                let is_ready = entered.is_ok();
                if ready.send(entered).is_ok() && is_ready {
                    work.into_iter().for_each(|task| task());
                }
            })
            .map_err(|error| HostError::System("thread of a host", error))?;
        let thread_id = started.recv().map_err(|_| HostError::Gone)??;
        let host = Self {
            thread_id,
            tasks: Some(tasks),
            thread: Some(thread),
        };
        host.ip("link set lo up")?;
        Ok(host)
    }

    /// Puts what starts on this host from now on before all programs of other hosts.
    pub(crate) fn go_before_others(&self) {
        go_first(self.thread_id, Turn::Emulator);
    }

    /// Does something in the host's network.
    pub fn run<R: Send + 'static>(
        &self,
        action: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, HostError> {
        let (answer, answers) = mpsc::sync_channel(1);
        let task = Box::new(move || {
            // Who does not wait for the answer needs none.
            let _ = answer.try_send(action());
        });
        let tasks = self.tasks.as_ref().ok_or(HostError::Gone)?;
        tasks.send(task).map_err(|_| HostError::Gone)?;
        answers.recv().map_err(|_| HostError::Gone)
    }

    /// Runs `ip` with these words.
    pub fn ip(&self, words: &str) -> Result<(), HostError> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        self.run(move || {
            let ended = Command::new("ip").args(&words).output();
            match ended.map_err(|error| not_started("ip", error))? {
                output if output.status.success() => Ok(()),
                output => Err(HostError::Failed(
                    format!("ip {}", words.join(" ")),
                    String::from_utf8_lossy(&output.stderr).into_owned(),
                )),
            }
        })?
    }

    /// A pair of interfaces, one here and one on the other host, with hardware addresses of their own.
    pub fn connect(
        &self,
        (here, address): (&str, &str),
        other: &Self,
        (there, other_address): (&str, &str),
    ) -> Result<(), HostError> {
        let id = other.thread_id;
        self.ip(&format!(
            "link add {here} address {address} type veth peer name {there} address {other_address} netns {id}"
        ))?;
        self.ip(&format!("link set {here} up"))?;
        other.ip(&format!("link set {there} up"))
    }

    /// Starts a program that ends, at the latest, with this host. `launcher` is the program that calls
    /// [`launch`] when it has the arguments of [`LAUNCH`].
    pub fn start(
        &self,
        launcher: &Path,
        command: &[OsString],
        output: File,
    ) -> Result<Child, HostError> {
        let failed = |error| HostError::System("output of a program", error);
        let errors = output.try_clone().map_err(failed)?;
        let mut launch = Command::new(launcher);
        launch
            .args(LAUNCH)
            .arg(std::process::id().to_string())
            .args(command)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        let name = launcher.to_string_lossy().into_owned();
        self.run(move || launch.spawn())?
            .map_err(|error| not_started(&name, error))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been printed by its thread.
            let _ = thread.join();
        }
    }
}

/// The arguments before the arguments of the program to launch.
pub const LAUNCH: [&str; 2] = ["testbed", "launch"];

/// Becomes a program that ends with the thread that started this process, of the process `parent`.
/// Returns only if it cannot.
pub fn launch(parent: i32, command: &[OsString]) -> HostError {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return HostError::System("death signal", error.into());
    }
    // It may have ended before that.
    if getppid().map(Pid::as_raw_nonzero).map(i32::from) != Some(parent) {
        return HostError::Gone;
    }
    let Some((program, arguments)) = command.split_first() else {
        return HostError::Missing("a program".into());
    };
    let error = Command::new(program).args(arguments).exec();
    not_started(program, error)
}

/// Real-time priorities. Equal ones take turns of a tenth of a second: while forty programs start, an emulator
/// that waited for its turn would be late by that.
#[derive(Clone, Copy)]
enum Turn {
    Programs = 1,
    Emulator = 2,
}

/// Puts a thread before all that share the processor by turns, and with it the threads and programs that it
/// starts: a machine that others load then delays nothing. Where that is not permitted all goes on without,
/// and the emulator tells how late it was.
fn go_first(thread: Pid, turn: Turn) {
    let mut command = Command::new("chrt");
    let priority = (turn as u8).to_string();
    let thread = thread.as_raw_nonzero().to_string();
    command.args(["--rr", "--pid", &priority, &thread]);
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Takes the calling thread into a network namespace of its own.
fn enter(routes: bool) -> Result<(), HostError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| match error {
        Errno::EPERM => HostError::NotPermitted,
        other => HostError::System("network namespace", other.into()),
    })?;
    let set = |key: &str, value: &str| std::fs::write(Path::new("/proc/sys/net").join(key), value);
    // Neighbour discovery would send packets that no experiment asked for. Where there is no IPv6, there is
    // nothing to switch off.
    for which in ["all", "default"] {
        let _ = set(&format!("ipv6/conf/{which}/disable_ipv6"), "1");
    }
    if routes {
        set("ipv4/ip_forward", "1").map_err(|error| HostError::System("ip_forward", error))?;
    }
    Ok(())
}

fn not_started(program: impl AsRef<OsStr>, error: io::Error) -> HostError {
    match error.kind() {
        io::ErrorKind::NotFound => {
            HostError::Missing(program.as_ref().to_string_lossy().into_owned())
        }
        _ => HostError::System("starting a program", error),
    }
}
