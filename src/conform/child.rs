//! An implementation in a process of its own: its start, its work and its end.

use std::io::{self, BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::{Child, ChildStdin, Command, Stdio};

use evenkeel_conform::{Implementation, Rfc, Run};
use evenkeel_net::{Clock, Driver};

use crate::cli::{ConformArgs, ConformRole};
use crate::failure::Failure;
use crate::outputs;
use crate::wiring;

/// Runs one implementation until standard input ends, which happens when the parent stops or dies. Its address is
/// the first line of standard output.
pub(crate) fn serve(
    role: ConformRole,
    args: &ConformArgs,
    run: Option<&Run>,
) -> Result<(), Failure> {
    let socket = wiring::bind(args.bind.unwrap_or(ANY_PORT), "--bind")?;
    let clock = Clock::start();
    let (now, seed) = (clock.now(), wiring::network_seed(None));
    let rfc = args.rfc();
    let implementation = match (role, args.peer, run) {
        (ConformRole::Sender, Some(peer), Some(run)) => {
            Implementation::sender(now, peer, &run.setup, rfc.sender(), seed)
        }
        (ConformRole::Sender, ..) => {
            return Err(Failure::usage("--role sender needs --peer and --run"));
        }
        (ConformRole::Receiver, ..) => {
            Implementation::receiver(now, args.feedback, rfc.receiver(), seed)
        }
    };
    let handle = Driver::spawn(clock, socket, implementation).map_err(Failure::runtime)?;
    outputs::say(handle.local_address())?;
    io::copy(&mut io::stdin(), &mut io::sink()).map_err(Failure::runtime)?;
    handle.stop().map(drop).map_err(Failure::runtime)
}

/// A child process that ends when this value is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// The pipe whose end tells the child to stop.
    stdin: Option<ChildStdin>,
    address: SocketAddr,
}

impl Process {
    /// Starts a receiver that a socket at `near` reaches.
    pub(super) fn receiver(rfc: Rfc, run: &Run, near: SocketAddr) -> Result<Self, Failure> {
        let bind = beside(near).to_string();
        let who = ["--role", "receiver", "--rfc", rfc.number()];
        let what = ["--feedback", run.setup.feedback.name(), "--bind", &bind];
        Self::spawn(&[&who[..], &what[..]].concat())
    }

    pub(super) fn sender(rfc: Rfc, run: &Run, peer: SocketAddr) -> Result<Self, Failure> {
        let (bind, peer) = (beside(peer).to_string(), peer.to_string());
        let who = ["--role", "sender", "--rfc", rfc.number()];
        let what = ["--run", run.name, "--peer", &peer, "--bind", &bind];
        Self::spawn(&[&who[..], &what[..]].concat())
    }

    fn spawn(arguments: &[&str]) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(Failure::runtime)?;
        let mut child = Command::new(program)
            .arg("conform")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::runtime(format!("cannot start a child: {error}")))?;
        let stdin = child.stdin.take();
        let mut said = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut said)
                .map_err(Failure::runtime)?;
        }
        match said.trim().parse() {
            Ok(address) => Ok(Self {
                child,
                stdin,
                address,
            }),
            Err(_) => {
                end(&mut child);
                Err(Failure::runtime("a child did not start; it says why above"))
            }
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stdin = None;
        end(&mut self.child);
    }
}

/// Kills a child without reading its last output, which is of no use.
fn end(child: &mut Child) {
    // Both calls fail if the child has ended already.
    let _ = child.kill();
    let _ = child.wait();
}

/// Returns any port of this machine in the family of an address, where the parent is.
fn beside(address: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match address.ip() {
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, 0)
}

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
