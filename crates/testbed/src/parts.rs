//! What sends and what receives: programs on the hosts, and what a kernel or a thread does by itself.

use std::any::Any;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;

use evenkeel_lab::real::{BedSetup, RealFlow, RealProtocol, RealTcp};
use evenkeel_link::Random;
use rustix::process::Signal;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

use crate::bed::{FIRST_PORT, Site};
use crate::datagrams::Datagrams;
use crate::dumbbell::Dumbbell;
use crate::host::{Host, HostError};
use crate::program::Program;

/// TCP's header of 20 bytes and IP's.
const TCP_HEADERS: u64 = 40;
/// UDP's header and IP's.
const UDP_HEADERS: Bytes = Bytes::new(28);

/// What sends or receives a flow, until it is dropped.
pub(crate) enum Part {
    Program(Program),
    /// What a kernel or a thread does for as long as this is kept.
    Kept(#[expect(dead_code, reason = "keeping it is its use")] Box<dyn Any>),
}

impl Site {
    /// Where the sender of this flow writes what it is told.
    pub(crate) fn trace(&self, index: usize) -> PathBuf {
        self.logs.join(format!("{index}-trace.csv"))
    }

    /// What receives a flow, ready before anything is sent.
    pub(crate) fn receiver(
        &self,
        network: &Dumbbell,
        index: usize,
        flow: &RealFlow,
    ) -> Result<Part, HostError> {
        let port = port(index);
        match &flow.speaks {
            RealProtocol::Tfrc { .. } => {
                let words = format!("perf server -1 -i 0 -p {port}");
                self.start(&network.c, index, "receiver", &self.ours(&words), true)
            }
            RealProtocol::Tcp(_) => {
                let words = format!("iperf3 -s -1 -i 0 -p {port}");
                self.start(&network.d, index, "receiver", &split(&words), true)
            }
            RealProtocol::Title(_) => {
                let words = format!("vod play 0.0.0.0:{port} --json");
                self.start(&network.c, index, "receiver", &self.ours(&words), true)
            }
            RealProtocol::Udp(..) => {
                let socket = network.d.run(move || UdpSocket::bind(("0.0.0.0", port)))?;
                let socket = socket.map_err(|error| HostError::System("UDP socket", error))?;
                Ok(Part::Kept(Box::new(socket)))
            }
        }
    }

    /// A sender of this run, which began at an instant, until a time.
    pub(crate) fn sender(
        &self,
        network: &Dumbbell,
        index: usize,
        flow: &RealFlow,
        setup: &BedSetup,
        (zero, until): (Instant, Duration),
    ) -> Result<Part, HostError> {
        let port = port(index);
        // A little longer than it is wanted: who ends by itself says goodbye, and may wait for an answer.
        let seconds = until.saturating_sub(flow.start).as_secs() + 2;
        match &flow.speaks {
            RealProtocol::Tfrc {
                feedback,
                floor,
                reports,
            } => {
                let length = setup.packet.get().saturating_sub(UDP_HEADERS.get());
                let to = Dumbbell::C;
                let words = format!("perf client {to} -p {port} -t {seconds} -l {length} -i 0 -J");
                let mut command = self.ours(&words);
                command.extend(["--feedback".into(), feedback.name().into()]);
                if let Some(floor) = floor {
                    let floor = format!("{}us", floor.as_micros());
                    command.extend(["--nofeedback-floor".into(), floor.into()]);
                }
                if let Some(reports) = reports {
                    let (quarters, bandwidth) =
                        (reports.quarters, reports.session_bandwidth.bits_per_sec());
                    let words = format!(
                        "--report-quarters {quarters} --session-bandwidth {bandwidth:.0}b/s"
                    );
                    command.extend(split(&words));
                    command.extend(reports.piggy_backed.then(|| "--piggy-backed".into()));
                }
                command.extend(["--trace".into(), self.trace(index).into_os_string()]);
                self.start(&network.a, index, "sender", &command, false)
            }
            RealProtocol::Tcp(RealTcp { control, window }) => {
                let segment = setup.packet.get().saturating_sub(TCP_HEADERS);
                let to = Dumbbell::D;
                let mut words =
                    format!("iperf3 -c {to} -p {port} -t {seconds} -M {segment} -C {control} -i 0");
                if let Some(window) = window {
                    let _ = write!(words, " -w {}", window.get());
                }
                self.start(&network.b, index, "sender", &split(&words), false)
            }
            RealProtocol::Title(title) => {
                let file = self.logs.join(format!("{index}-frames.csv"));
                let written = fs::write(&file, title.frames.to_csv());
                written.map_err(|error| HostError::File(file.clone(), error))?;
                let to = Dumbbell::C;
                let mut command = self.ours(&format!("vod serve --to {to}:{port} --json"));
                command.extend(["--trace".into(), file.into_os_string()]);
                command.extend(title.is_uncontrolled.then(|| "--udp".into()));
                self.start(&network.a, index, "sender", &command, false)
            }
            RealProtocol::Udp(udp, stream) => {
                let times = [flow.start, until].map(|time| Instant::ZERO + time);
                let source = udp.source(times, Random::new(setup.seed, *stream));
                let source = source
                    .map_err(|error| HostError::Failed("UDP source".into(), error.to_string()))?;
                let address = Dumbbell::D.parse::<IpAddr>();
                let address = address
                    .map_err(|error| HostError::Failed(Dumbbell::D.into(), error.to_string()))?;
                let (clock, to) = (self.clock, SocketAddr::new(address, port));
                let latest = self.latest.clone();
                let begin = move || Datagrams::start(clock, zero, source, to, UDP_HEADERS, latest);
                let begun = network.b.run(begin)?;
                let datagrams = begun.map_err(|error| HostError::System("UDP source", error))?;
                Ok(Part::Kept(Box::new(datagrams)))
            }
        }
    }

    /// Where a program of this flow leaves what it prints.
    pub(crate) fn log(&self, index: usize, role: &str) -> PathBuf {
        self.logs.join(format!("{index}-{role}.log"))
    }

    fn ours(&self, words: &str) -> Vec<OsString> {
        let mut command = vec![self.program.clone().into_os_string()];
        command.extend(split(words));
        command
    }

    fn start(
        &self,
        host: &Host,
        index: usize,
        role: &str,
        command: &[OsString],
        may_end: bool,
    ) -> Result<Part, HostError> {
        let log = self.log(index, role);
        let output = File::create(&log).map_err(|error| HostError::File(log.clone(), error))?;
        let child = host.start(&self.program, command, output)?;
        let mut name = String::new();
        for word in command {
            let _ = write!(name, "{} ", word.to_string_lossy());
        }
        Ok(Part::Program(Program {
            child,
            name: name.trim_end().to_owned(),
            log,
            may_end,
        }))
    }
}

impl Part {
    /// An error if it ended when it should not have.
    pub(crate) fn check(&mut self) -> Result<(), HostError> {
        match self {
            Self::Program(program) => program.check(),
            Self::Kept(_) => Ok(()),
        }
    }

    /// A kernel takes no signal.
    pub(crate) fn signal(&mut self, signal: Signal) {
        if let Self::Program(program) = self {
            program.signal(signal);
        }
    }
}

fn port(index: usize) -> u16 {
    FIRST_PORT.saturating_add(u16::try_from(index).unwrap_or(u16::MAX))
}

fn split(words: &str) -> Vec<OsString> {
    words.split_whitespace().map(OsString::from).collect()
}
