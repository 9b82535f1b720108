//! One run: builds the network, starts what sends and receives, and watches the emulated link.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};

use evenkeel_lab::error::RunError;
use evenkeel_lab::real::{Bed, BedRecord, BedSetup, RealFlow, RealProtocol};
use evenkeel_net::{Clock, Direction, LinkChange, PacketRecord, RouterSnapshot, Watch};
use rustix::process::Signal;
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use crate::datagrams::Latest;
use crate::dumbbell::Dumbbell;
use crate::host::HostError;
use crate::logs::Logs;
use crate::meter::Meter;
use crate::once::Once;
use crate::parts::Part;
use crate::{played, results, trace};

/// The test bed.
#[derive(Debug)]
pub struct TestBed {
    program: PathBuf,
    logs: Logs,
    clock: Clock,
    /// What was run and seen so far.
    runs: Once<BedSetup, BedRecord>,
}

/// What one run has of it.
#[derive(Debug)]
pub(crate) struct Site {
    /// The program, which launches others and generates TFRC traffic.
    pub(crate) program: PathBuf,
    /// Where the programs of the run leave what they print.
    pub(crate) logs: PathBuf,
    /// Time.
    pub(crate) clock: Clock,
    /// How late its sources of datagrams were.
    pub(crate) latest: Latest,
}

/// Flow i listens at this port + i.
pub(crate) const FIRST_PORT: u16 = 5_300;
/// Receivers have this long to listen before anything is sent.
const LEAD_IN: Duration = Duration::from_millis(700);
/// How often it is asked whether the run is still wanted, and whether its programs still run.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Records that wait for the meter: half a second at 40,000 packets a second.
const RECORDS: usize = 1 << 16;
/// The time after the end for the last packets of titles: longer than any queue of the experiments.
const DRAIN_TIME: Duration = Duration::from_secs(1);

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
    fn run(&self, setup: &BedSetup, stop: &AtomicBool) -> Result<BedRecord, RunError> {
        self.runs.get(setup, || {
            let site = Site {
                program: self.program.clone(),
                logs: self.logs.take(),
                clock: self.clock,
                latest: Latest::default(),
            };
            let seen = site.run(setup, stop);
            self.logs.give_back(site.logs);
            seen.map_err(|error| match error {
                None => RunError::Interrupted,
                Some(error) => RunError::Failed(error.to_string()),
            })
        })
    }
}

/// `None` if the run was told to stop.
type Ended = Option<HostError>;

impl TestBed {
    /// Nothing was run yet. `program` is what launches others and generates TFRC traffic; `logs` is where runs leave
    /// what their programs print, each in a folder that the next one takes over; an error if another process has it.
    pub fn new(program: PathBuf, logs: PathBuf, clock: Clock) -> Result<Self, HostError> {
        Ok(Self {
            program,
            logs: Logs::open(logs)?,
            clock,
            runs: Once::new(),
        })
    }
}

impl Site {
    fn run(&self, setup: &BedSetup, stop: &AtomicBool) -> Result<BedRecord, Ended> {
        let (records, watched) = mpsc::sync_channel(RECORDS);
        let watch = Watch {
            records,
            captures: false,
        };
        let network = Dumbbell::build(self.clock, setup.links, setup.seed, watch)?;
        fs::create_dir_all(&self.logs)
            .map_err(|error| HostError::File(self.logs.clone(), error))?;
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
        let parts = receivers.into_iter().zip(&setup.flows);
        let players = parts.filter(|(_, flow)| matches!(flow.speaks, RealProtocol::Title(_)));
        let players: Vec<Part> = players.map(|(player, _)| player).collect();
        if !players.is_empty() {
            let last = self.clock.now() + DRAIN_TIME;
            while self.clock.now() < last {
                self.watch(&watched, &mut meter, last)?;
            }
            self.end(players);
        }
        let snapshot = network.router().snapshot().map_err(|_| HostError::Gone)?;
        watched.try_iter().for_each(|record| meter.count(&record));
        if let Some(what) = unreported_loss(&snapshot) {
            return Err(Some(HostError::Failed("emulator".into(), what)));
        }
        let mut seen = meter.finish();
        seen.late = snapshot.departures.quantile(0.99);
        if let Some(late) = self.latest.get() {
            seen.sender_was_late(late);
        }
        for (index, flow) in setup.flows.iter().enumerate() {
            match flow.speaks {
                RealProtocol::Tfrc { .. } => {
                    let results = results::read(&self.log(index, "sender"))?;
                    let began = results.began.saturating_sub(self.clock.unix_time(zero));
                    trace::read(&self.trace(index), began, index, &mut seen)?;
                    seen.sender_was_late(results.late_max);
                    if index == 0 {
                        seen.lateness = Some(results.lateness);
                    }
                }
                RealProtocol::Title(_) => {
                    seen.sender_was_late(played::server_was_late(&self.log(index, "sender"))?);
                    seen.played
                        .push(played::read(&self.log(index, "receiver"))?);
                }
                RealProtocol::Tcp(_) | RealProtocol::Udp(..) => {}
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
        let until = next.min(self.clock.now() + POLL_INTERVAL);
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

    /// Ends programs, which first write what they have been told or have counted.
    fn end(&self, parts: impl IntoIterator<Item = Part>) {
        let asked = self.clock.now();
        let mut programs = Vec::new();
        for part in parts {
            if let Part::Program(mut program) = part {
                program.interrupt();
                programs.push(program);
            }
        }
        for program in &mut programs {
            program.await_end(self.clock, asked);
        }
    }
}

/// What makes a run worthless: frames that were lost outside of the link, or of which nobody knows.
fn unreported_loss(snapshot: &RouterSnapshot) -> Option<String> {
    let RouterSnapshot {
        overrun,
        send_errors,
        records_lost,
        ..
    } = snapshot;
    if records_lost + overrun > 0 {
        return Some(format!(
            "{records_lost} records and {overrun} frames lost: this machine is too slow for the run"
        ));
    }
    (*send_errors > 0).then(|| {
        format!(
            "the system refused {send_errors} frames that came out of the link: is an interface of it down, or its MTU too small?"
        )
    })
}

/// Everything that has to be done, in the order of time.
fn steps(setup: &BedSetup) -> Vec<(Duration, Step<'_>)> {
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
