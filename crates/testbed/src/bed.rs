//! One run: builds the network, starts what sends and receives, and watches the emulated link.

use std::any::Any;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};

use evenkeel_lab::real::{Bed, RealFlow, RealProtocol, Seen, Setup};
use evenkeel_lab::scenario::RunError;
use evenkeel_link::Random;
use evenkeel_net::{Clock, Direction, LinkChange, PacketRecord, Watch};
use rustix::process::Signal;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use crate::datagrams::Datagrams;
use crate::dumbbell::Dumbbell;
use crate::host::{Host, HostError};
use crate::meter::Meter;
use crate::program::Program;
use crate::{results, trace};

/// The test bed.
#[derive(Debug)]
pub struct TestBed {
    /// The program, which launches others and generates TFRC traffic.
    pub program: PathBuf,
    /// Where the programs of a run leave what they print.
    pub logs: PathBuf,
    /// Time.
    pub clock: Clock,
    /// What was run and seen so far.
    runs: Mutex<Vec<(Setup, Seen)>>,
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
const UDP_HEADERS: Bytes = Bytes::new(28);

/// What sends or receives a flow, until it is dropped.
enum Part {
    Program(Program),
    /// What a kernel or a thread does for as long as this is kept.
    Kept(#[expect(dead_code, reason = "keeping it is its use")] Box<dyn Any>),
}

/// Something that has to be done at its time.
enum Step<'a> {
    Start(usize, &'a RealFlow),
    Stop(usize),
    /// The receiver of this flow gets this signal.
    Signal(usize, Signal),
    Rate(Rate),
}

impl Bed for TestBed {
    /// What several figures show is run once.
    fn run(&self, setup: &Setup, stop: &AtomicBool) -> Result<Seen, RunError> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, seen)) = runs.iter().find(|(known, _)| known == setup) {
            return Ok(seen.clone());
        }
        let seen = self.try_run(setup, stop).map_err(|error| match error {
            None => RunError::Interrupted,
            Some(error) => RunError::Failed(error.to_string()),
        })?;
        runs.push((setup.clone(), seen.clone()));
        Ok(seen)
    }
}

/// `None` if the run was told to stop.
type Ended = Option<HostError>;

impl TestBed {
    /// Nothing was run yet.
    pub fn new(program: PathBuf, logs: PathBuf, clock: Clock) -> Self {
        Self {
            program,
            logs,
            clock,
            runs: Mutex::default(),
        }
    }

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
        let mut senders: Vec<Option<Part>> = setup.flows.iter().map(|_| None).collect();
        let end = zero + setup.shown[1];
        let mut steps = steps(setup).into_iter().peekable();
        while self.clock.now() < end {
            if stop.load(Ordering::Relaxed) {
                return Err(None);
            }
            while let Some((_, step)) = steps.next_if(|(at, _)| zero + *at <= self.clock.now()) {
                match step {
                    Step::Start(index, flow) => {
                        let until = flow.stop.unwrap_or(setup.shown[1]);
                        let sender = self.sender(&network, index, flow, setup, (zero, until))?;
                        senders[index] = Some(sender);
                    }
                    Step::Stop(index) => self.end(senders[index].take()),
                    Step::Signal(index, signal) => receivers[index].signal(signal),
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
            running.try_for_each(Part::check)?;
        }
        self.end(senders.into_iter().flatten());
        let snapshot = network.router().snapshot().map_err(|_| HostError::Gone)?;
        watched.try_iter().for_each(|record| meter.count(&record));
        if snapshot.records_lost + snapshot.overrun > 0 {
            let what = format!(
                "{} records and {} frames lost: this machine is too slow for the run",
                snapshot.records_lost, snapshot.overrun
            );
            return Err(Some(HostError::Failed("emulator".into(), what)));
        }
        let mut seen = meter.finish();
        seen.late = snapshot.departures.quantile(0.99);
        for (index, flow) in setup.flows.iter().enumerate() {
            if let RealProtocol::Tfrc(_) = flow.speaks {
                let results = results::read(&self.log(index, "sender"))?;
                let began = results.began.saturating_sub(self.clock.unix_time(zero));
                trace::read(&self.trace(index), began, index, &mut seen)?;
                if index == 0 {
                    seen.lateness = Some(results.lateness);
                }
            }
        }
        Ok(seen)
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

    /// Ends senders, of which TFRC's first write what they have been told.
    fn end(&self, senders: impl IntoIterator<Item = Part>) {
        let asked = self.clock.now();
        let mut programs = Vec::new();
        for part in senders {
            if let Part::Program(program) = part {
                program.interrupt();
                programs.push(program);
            }
        }
        for program in &mut programs {
            program.await_end(self.clock, asked);
        }
    }

    /// Where the sender of this flow writes what it is told.
    fn trace(&self, index: usize) -> PathBuf {
        self.logs.join(format!("{index}-trace.csv"))
    }

    fn receiver(
        &self,
        network: &Dumbbell,
        index: usize,
        flow: &RealFlow,
    ) -> Result<Part, HostError> {
        let port = port(index);
        match &flow.speaks {
            RealProtocol::Tfrc(_) => {
                let words = format!("perf server -1 -i 0 -p {port}");
                self.start(&network.c, index, "receiver", &self.ours(&words), true)
            }
            RealProtocol::Tcp(_) => {
                let words = format!("iperf3 -s -1 -i 0 -p {port}");
                self.start(&network.d, index, "receiver", &split(&words), true)
            }
            RealProtocol::Udp(..) => {
                let socket = network.d.run(move || UdpSocket::bind(("0.0.0.0", port)))?;
                let socket = socket.map_err(|error| HostError::System("UDP socket", error))?;
                Ok(Part::Kept(Box::new(socket)))
            }
        }
    }

    /// A sender of this run, which began at an instant, until a time.
    fn sender(
        &self,
        network: &Dumbbell,
        index: usize,
        flow: &RealFlow,
        setup: &Setup,
        (zero, until): (Instant, Duration),
    ) -> Result<Part, HostError> {
        let port = port(index);
        // A little longer than it is wanted: who ends by itself says goodbye, and may wait for an answer.
        let seconds = until.saturating_sub(flow.start).as_secs() + 2;
        match &flow.speaks {
            RealProtocol::Tfrc(patience) => {
                let length = setup.packet.get().saturating_sub(UDP_HEADERS.get());
                let to = Dumbbell::C;
                let words = format!("perf client {to} -p {port} -t {seconds} -l {length} -i 0 -J");
                let mut command = self.ours(&words);
                if let Some(floor) = patience {
                    let floor = format!("{}us", floor.as_micros());
                    command.extend(["--nofeedback-floor".into(), floor.into()]);
                }
                command.extend(["--trace".into(), self.trace(index).into_os_string()]);
                self.start(&network.a, index, "sender", &command, false)
            }
            RealProtocol::Tcp(control) => {
                let segment = setup.packet.get().saturating_sub(TCP_HEADERS);
                let to = Dumbbell::D;
                let words =
                    format!("iperf3 -c {to} -p {port} -t {seconds} -M {segment} -C {control} -i 0");
                self.start(&network.b, index, "sender", &split(&words), false)
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
                let begin = move || Datagrams::start(clock, zero, source, to, UDP_HEADERS);
                let begun = network.b.run(begin)?;
                let datagrams = begun.map_err(|error| HostError::System("UDP source", error))?;
                Ok(Part::Kept(Box::new(datagrams)))
            }
        }
    }

    /// Where a program of this flow leaves what it prints.
    fn log(&self, index: usize, role: &str) -> PathBuf {
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
        let output = File::create(&log).map_err(|error| HostError::System("logs", error))?;
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
    fn check(&mut self) -> Result<(), HostError> {
        match self {
            Self::Program(program) => program.check(),
            Self::Kept(_) => Ok(()),
        }
    }

    /// A kernel takes no signal.
    fn signal(&self, signal: Signal) {
        if let Self::Program(program) = self {
            program.signal(signal);
        }
    }
}

/// Everything that has to be done, in the order of time.
fn steps(setup: &Setup) -> Vec<(Duration, Step<'_>)> {
    let mut steps = Vec::new();
    for (index, flow) in setup.flows.iter().enumerate() {
        steps.push((flow.start, Step::Start(index, flow)));
        steps.extend(flow.stop.map(|stop| (stop, Step::Stop(index))));
        for [from, to] in &flow.away {
            steps.push((*from, Step::Signal(index, Signal::STOP)));
            steps.push((*to, Step::Signal(index, Signal::CONT)));
        }
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
