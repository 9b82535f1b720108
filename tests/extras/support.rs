//! Running the program and its peers: free ports, scratch files, bounded waits.

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A folder that is gone when the test ends.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        // Two tests of one name may run at once.
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("evenkeel-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder for the test's files");
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A child that does not outlive the test.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        Self(
            command
                .spawn()
                .unwrap_or_else(|e| panic!("{name} must be installed for the extras: {e}")),
        )
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal by its name: INT, STOP, CONT, KILL.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.0.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|s| s.success()), "kill -s {name}");
    }

    /// Waits for the end, at most `seconds`.
    pub(crate) fn wait(&mut self, seconds: u32) -> ExitStatus {
        for _ in 0..seconds * 20 {
            if let Some(status) = self.0.try_wait().expect("wait for a child") {
                return status;
            }
            pause(Duration::from_millis(50));
        }
        panic!("still running after {seconds} s");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program under test.
pub(crate) fn evenkeel(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// An even UDP port with its odd neighbour free, as RTP without multiplexing wants it. None is given twice: whoever was
/// given it may not have bound it yet.
pub(crate) fn free_port() -> u16 {
    static GIVEN: Mutex<Vec<u16>> = Mutex::new(Vec::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..200 {
        let Ok(socket) = UdpSocket::bind("127.0.0.1:0") else {
            continue;
        };
        let port = socket
            .local_addr()
            .expect("a bound socket has an address")
            .port();
        let is_free = || UdpSocket::bind(("127.0.0.1", port + 1)).is_ok();
        if port % 2 == 0 && !given.contains(&port) && is_free() {
            given.push(port);
            return port;
        }
    }
    panic!("no pair of free UDP ports");
}

/// Waits until some process has bound the UDP port, at most ten seconds.
pub(crate) fn wait_for_port(port: u16) {
    let wanted = format!(":{port:04X} ");
    for _ in 0..200 {
        let tables =
            ["/proc/net/udp", "/proc/net/udp6"].map(|t| fs::read_to_string(t).unwrap_or_default());
        if tables.iter().any(|t| t.contains(&wanted)) {
            return;
        }
        pause(Duration::from_millis(50));
    }
    panic!("nothing listens on UDP port {port}");
}

/// Waits until there is something in a file, at most ten seconds.
pub(crate) fn wait_for_file(path: &Path) {
    for _ in 0..200 {
        if fs::metadata(path).is_ok_and(|file| file.len() > 0) {
            return;
        }
        pause(Duration::from_millis(50));
    }
    panic!("{} stays empty", path.display());
}

/// The summary of a receiver at an address that takes what a description announces, for so many seconds.
pub(crate) fn receive(at: &str, sdp: &Path, seconds: &str) -> serde_json::Value {
    let json = sdp.with_extension("json");
    let status = evenkeel(&["recv", at, "--plain", "--headless", "--seconds", seconds])
        .args(["--warmup", "0", "--sdp"])
        .arg(sdp)
        .arg("--json")
        .arg(&json)
        .stdout(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "recv {at}");
    summary(&json)
}

/// The summary that `--json` wrote.
pub(crate) fn summary(path: &Path) -> serde_json::Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}: {text}", path.display()))
}

/// A key of a summary that is a number.
pub(crate) fn number(summary: &serde_json::Value, key: &str) -> f64 {
    summary[key]
        .as_f64()
        .unwrap_or_else(|| panic!("`{key}` is no number in {summary}"))
}

/// The first words of what a program says of its version, such as `ffmpeg version 5.1.9`.
pub(crate) fn version(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output();
    let output = output.unwrap_or_else(|e| panic!("{program} must be installed: {e}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().next().unwrap_or_default();
    line.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Leaves a row of the table of peers (`docs/INTEROP.md`), if it is asked for: the peer, its kind, the direction, the codec, the
/// feedback and the figures.
pub(crate) fn record(row: [&str; 6]) {
    let Some(folder) = std::env::var_os("EVENKEEL_INTEROP") else {
        return;
    };
    let keys = ["peer", "kind", "direction", "codec", "feedback", "figures"];
    let name = format!("{} {}.json", row[0], row[2]).replace('/', "-");
    let row: serde_json::Map<_, _> = keys
        .into_iter()
        .map(String::from)
        .zip(row.map(Into::into))
        .collect();
    let text = serde_json::Value::Object(row).to_string();
    fs::write(Path::new(&folder).join(name), text).expect("a row of the table of peers");
}

#[expect(
    clippy::disallowed_methods,
    reason = "real processes take real time to start"
)]
pub(crate) fn pause(time: Duration) {
    thread::sleep(time);
}
