//! One run: builds the network, starts what sends and receives, and watches the emulated link.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};

use evenkeel_lab::real::{Bed, RealFlow, RealProtocol, Seen, Setup};
use evenkeel_lab::scenario::RunError;
use evenkeel_net::{Clock, Direction, LinkChange, PacketRecord, Watch};
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use crate::dumbbell::Dumbbell;
use crate::host::{Host, HostError};
use crate::meter::Meter;

/// The test bed.
#[derive(Debug)]
pub struct TestBed {
    /// The program, which launches others and generates TFRC traffic.
    pub program: PathBuf,
    /// Where the programs of a run leave what they print.
    pub logs: PathBuf,
    /// Time.
    pub clock: Clock,
}

/// Flow i listens at this port + i.
const FIRST_PORT: u16 = 5_300;
/// Receivers have this long to listen before anything is sent.
const LEAD_IN: Duration = Duration::from_millis(700);
/// How often it is asked whether the run is still wanted, and whether its programs still run.
const LOOK: Duration = Duration::from_millis(100);
/// Records that wait for the meter: half a second at 40,000 packets a second.
const RECORDS: usize = 1 << 16;
/// TCP's header of 20 bytes and IP's.
const TCP_HEADERS: u64 = 40;
/// UDP's header and IP's.
const UDP_HEADERS: u64 = 28;

/// A program of a run, killed when the run is over.
struct Program {
    child: Child,
    name: String,
    log: PathBuf,
    /// It may end, but not in failure.
    may_end: bool,
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Something that has to be done at its time.
enum Step<'a> {
    Start(usize, &'a RealFlow),
    Stop(usize),
    Rate(Rate),
}

impl Bed for TestBed {
    fn run(&self, setup: &Setup, stop: &AtomicBool) -> Result<Seen, RunError> {
        self.try_run(setup, stop).map_err(|error| match error {
            None => RunError::Interrupted,
            Some(error) => RunError::Failed(error.to_string()),
        })
    }
}

/// `None` if the run was told to stop.
type Ended = Option<HostError>;

impl TestBed {
    fn try_run(&self, setup: &Setup, stop: &AtomicBool) -> Result<Seen, Ended> {
        let (records, watched) = mpsc::sync_channel(RECORDS);
        let watch = Watch {
            records,
            captures: false,
        };
        let network = Dumbbell::build(self.clock, setup.links, setup.seed, watch)?;
        fs::create_dir_all(&self.logs).map_err(|error| HostError::System("logs", error))?;
        let mut receivers = Vec::new();
        for (index, flow) in setup.flows.iter().enumerate() {
            receivers.push(self.receiver(&network, index, flow)?);
        }
        let zero = self.clock.now() + LEAD_IN;
        let mut meter = Meter::new(setup, zero, FIRST_PORT);
        let mut senders: Vec<Option<Program>> = setup.flows.iter().map(|_| None).collect();
        let end = zero + setup.shown[1];
        let mut steps = steps(setup).into_iter().peekable();
        while self.clock.now() < end {
            if stop.load(Ordering::Relaxed) {
                return Err(None);
            }
            while let Some((at, step)) = steps.next_if(|(at, _)| zero + *at <= self.clock.now()) {
                match step {
                    Step::Start(index, flow) => {
                        let left = flow.stop.unwrap_or(setup.shown[1]).saturating_sub(at);
                        let sender = self.sender(&network, index, flow, setup, left)?;
                        senders[index] = Some(sender);
                    }
                    Step::Stop(index) => senders[index] = None,
                    Step::Rate(rate) => {
                        let change = LinkChange::Rate(rate);
                        let changed = network.router().change(Direction::Forward, change);
                        changed.map_err(|_| HostError::Gone)?;
                    }
                }
            }
            let next = steps.peek().map_or(end, |(at, _)| zero + *at).min(end);
            self.watch(&watched, &mut meter, next)?;
            let mut running = receivers.iter_mut().chain(senders.iter_mut().flatten());
            running.try_for_each(Program::check)?;
        }
        drop(senders);
        let snapshot = network.router().snapshot().map_err(|_| HostError::Gone)?;
        watched.try_iter().for_each(|record| meter.count(&record));
        if snapshot.records_lost + snapshot.overrun > 0 {
            let what = format!(
                "{} records and {} frames lost: this machine is too slow for the run",
                snapshot.records_lost, snapshot.overrun
            );
            return Err(Some(HostError::Failed("emulator".into(), what)));
        }
        Ok(meter.finish())
    }

    /// Counts records until then, or until it is time to look around.
    fn watch(
        &self,
        watched: &Receiver<PacketRecord>,
        meter: &mut Meter,
        next: Instant,
    ) -> Result<(), HostError> {
        let until = next.min(self.clock.now() + LOOK);
        loop {
            let left = until.saturating_since(self.clock.now());
            match watched.recv_timeout(left) {
                Ok(record) => meter.count(&record),
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(HostError::Gone),
            }
            if left.is_zero() {
                return Ok(());
            }
        }
    }

    fn receiver(
        &self,
        network: &Dumbbell,
        index: usize,
        flow: &RealFlow,
    ) -> Result<Program, HostError> {
        let port = port(index);
        match &flow.speaks {
            RealProtocol::Tfrc => {
                let words = format!("perf server -1 -i 0 -p {port}");
                self.start(&network.c, index, "receiver", &self.ours(&words), true)
            }
            RealProtocol::Tcp(_) => {
                let words = format!("iperf3 -s -1 -i 0 -p {port}");
                self.start(&network.d, index, "receiver", &split(&words), true)
            }
        }
    }

    fn sender(
        &self,
        network: &Dumbbell,
        index: usize,
        flow: &RealFlow,
        setup: &Setup,
        left: Duration,
    ) -> Result<Program, HostError> {
        let port = port(index);
        // A little longer than it is wanted: who ends by itself says goodbye, and may wait for an answer.
        let seconds = left.as_secs() + 2;
        match &flow.speaks {
            RealProtocol::Tfrc => {
                let length = setup.packet.get().saturating_sub(UDP_HEADERS);
                let to = Dumbbell::C;
                let words = format!("perf client {to} -p {port} -t {seconds} -l {length} -i 0 -J");
                self.start(&network.a, index, "sender", &self.ours(&words), false)
            }
            RealProtocol::Tcp(control) => {
                let segment = setup.packet.get().saturating_sub(TCP_HEADERS);
                let to = Dumbbell::D;
                let words =
                    format!("iperf3 -c {to} -p {port} -t {seconds} -M {segment} -C {control} -i 0");
                self.start(&network.b, index, "sender", &split(&words), false)
            }
        }
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
    ) -> Result<Program, HostError> {
        let log = self.logs.join(format!("{index}-{role}.log"));
        let output = File::create(&log).map_err(|error| HostError::System("logs", error))?;
        let child = host.start(&self.program, command, output)?;
        let mut name = String::new();
        for word in command {
            let _ = write!(name, "{} ", word.to_string_lossy());
        }
        Ok(Program {
            child,
            name: name.trim_end().to_owned(),
            log,
            may_end,
        })
    }
}

impl Program {
    /// An error if it ended when it should not have.
    fn check(&mut self) -> Result<(), HostError> {
        let ended = self.child.try_wait();
        let status = match ended.map_err(|error| HostError::System("waiting", error))? {
            None => return Ok(()),
            Some(status) if self.may_end && status.success() => return Ok(()),
            Some(status) => status,
        };
        // The first line is enough for one: the rest is in the file.
        let said = fs::read_to_string(&self.log).unwrap_or_default();
        let line = said.lines().find(|line| !line.trim().is_empty());
        let why = format!("{status}: {}", line.unwrap_or("it said nothing"));
        Err(HostError::Failed(self.name.clone(), why))
    }
}

/// Everything that has to be done, in the order of time.
fn steps(setup: &Setup) -> Vec<(Duration, Step<'_>)> {
    let mut steps = Vec::new();
    for (index, flow) in setup.flows.iter().enumerate() {
        steps.push((flow.start, Step::Start(index, flow)));
        steps.extend(flow.stop.map(|stop| (stop, Step::Stop(index))));
    }
    steps.extend(setup.rate_change.map(|(at, rate)| (at, Step::Rate(rate))));
    steps.sort_by_key(|(at, _)| *at);
    steps
}

fn port(index: usize) -> u16 {
    FIRST_PORT.saturating_add(u16::try_from(index).unwrap_or(u16::MAX))
}

fn split(words: &str) -> Vec<OsString> {
    words.split_whitespace().map(OsString::from).collect()
}
