//! Carries out one run in real time: the interface system on a socket between two implementations.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use evenkeel_conform::{Interposer, Log, Rfc, Run};
use evenkeel_net::{Clock, Driver};
use tfrc::time::Duration;

use super::child::Process;
use crate::failure::Failure;
use crate::stop::Stop;
use crate::wiring;

/// The implementations that are tested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parties {
    /// The standard that our own implementation follows.
    pub(crate) rfc: Rfc,
    /// A running sender; `None` starts a process of this program for each run.
    pub(crate) sender: Option<SocketAddr>,
    /// A running receiver, in the same way.
    pub(crate) receiver: Option<SocketAddr>,
    /// The address of the interface system.
    pub(crate) bind: SocketAddr,
}

impl Parties {
    /// Returns true if the runs must follow one another, because a running implementation takes part in one at a
    /// time.
    pub(crate) fn are_shared(&self) -> bool {
        self.sender.is_some() || self.receiver.is_some()
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) log: Log,
    /// The worst lateness with which this host woke a thread during the run.
    pub(super) late: Duration,
}

/// Carries out a run and measures how late the host is meanwhile; `None` if it was interrupted.
pub(super) fn carry_out(
    run: &Run,
    parties: &Parties,
    stop: &Stop,
) -> Result<Option<Record>, Failure> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| lateness(&over));
        let log = between_two(run, parties, stop);
        over.store(true, Ordering::Relaxed);
        let late = watch.join();
        let late = late.map_err(|_| Failure::runtime("the watch over the host panicked"))?;
        Ok(log?.map(|log| Record { log, late }))
    })
}

/// Returns the most by which a sleep of a millisecond was too long until `over` is set.
fn lateness(over: &AtomicBool) -> Duration {
    let clock = Clock::start();
    let mut late = Duration::ZERO;
    while !over.load(Ordering::Relaxed) {
        let due = clock.now() + Duration::from_millis(1);
        clock.sleep_until(due);
        late = late.max(clock.now().saturating_since(due));
    }
    late
}

fn between_two(run: &Run, parties: &Parties, stop: &Stop) -> Result<Option<Log>, Failure> {
    let clock = Clock::start();
    if parties.are_shared() {
        // A peer that has just received a BYE accepts no new source earlier (RFC 3550 §6.3.7).
        wait(&clock, BETWEEN_RUNS, stop);
    }
    let receiver = match parties.receiver {
        Some(_) => None,
        None => Some(Process::receiver(parties.rfc, run, near(parties.bind))?),
    };
    let address = receiver.as_ref().map(Process::address).or(parties.receiver);
    let address = address.ok_or_else(|| Failure::usage("there is no receiver"))?;
    let socket = wiring::bind(parties.bind, "--bind")?;
    let mut interposer = Interposer::new(address, (run.script)());
    if let Some(sender) = parties.sender {
        interposer = interposer.expecting(sender);
    }
    let between = Driver::spawn(clock, socket, interposer).map_err(Failure::runtime)?;
    let _sender = match parties.sender {
        Some(_) => None,
        None => Some(Process::sender(
            parties.rfc,
            run,
            near(between.local_address()),
        )?),
    };
    let started = clock.now();
    loop {
        let elapsed = between
            .call(|interposer, now| interposer.elapsed(now))
            .map_err(Failure::runtime)?;
        let left = match elapsed {
            Some(elapsed) => run.lasts.saturating_sub(elapsed),
            None if clock.now().saturating_since(started) > START_TIMEOUT => {
                return Err(Failure::runtime(format!(
                    "{}: no data came from the sender to {}",
                    run.name,
                    between.local_address()
                )));
            }
            None => POLL_INTERVAL,
        };
        if left.is_zero() || stop.is_asked() {
            break;
        }
        clock.sleep_until(clock.now() + left.min(POLL_INTERVAL));
    }
    between
        .call(Interposer::say_goodbye)
        .map_err(Failure::runtime)?;
    let interposer = between.stop().map_err(Failure::runtime)?;
    Ok((!stop.is_asked()).then(|| interposer.into_log()))
}

/// Returns the address by which a process on this machine reaches a socket. A socket on all addresses answers from
/// the one that was used.
fn near(bound: SocketAddr) -> SocketAddr {
    if bound.ip().is_unspecified() {
        SocketAddr::new(Ipv4Addr::LOCALHOST.into(), bound.port())
    } else {
        bound
    }
}

fn wait(clock: &Clock, time: Duration, stop: &Stop) {
    let end = clock.now() + time;
    while clock.now() < end && !stop.is_asked() {
        clock.sleep_until(end.min(clock.now() + POLL_INTERVAL));
    }
}

/// The interval at which a run is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time within which a sender starts; a foreign one may be started by hand.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The time between runs. It exceeds the two seconds for which our session refuses a source after a BYE.
const BETWEEN_RUNS: Duration = Duration::from_millis(2_500);
