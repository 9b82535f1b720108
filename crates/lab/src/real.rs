//! The real half of an experiment: the same scenario, with kernels and a clock in place of the simulator.
//!
//! A scenario that can be built from hosts and an emulated link says what to build ([`BedSetup`]) and makes the
//! same metrics and curves of what a test bed saw ([`BedRecord`]) as of what a simulation saw. Its file says in
//! `[real]` what the test bed changes, which is mostly how long it takes.

use std::sync::atomic::AtomicBool;

use evenkeel_link::LinkConfig;
use evenkeel_sim::FrameTrace;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use crate::error::RunError;
use crate::findings::Sample;
use crate::job::Job;
use crate::metrics::Throughput;
use crate::network::{Feedback, LossReports, Measured, Tcp, Udp};

/// What a test bed builds for one run. Equal ones are the same run, which several figures may show.
#[derive(Clone, Debug, PartialEq)]
pub struct BedSetup {
    /// The emulated link with the data, then the one back.
    pub links: [LinkConfig; 2],
    /// Of every data packet, on the wire.
    pub packet: Bytes,
    /// In the order of what is seen of them.
    pub flows: Vec<RealFlow>,
    /// The rate of the link with the data, from an instant on.
    pub rate_change: Option<(Duration, Rate)>,
    /// From and to when each flow is recorded; the run ends then.
    pub shown: [Duration; 2],
    /// From and to when the link is.
    pub measured: [Duration; 2],
    /// The width of the bins that are recorded.
    pub bin: Duration,
    /// Fixes what the link draws.
    pub seed: u64,
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub struct RealFlow {
    /// What it speaks.
    pub speaks: RealProtocol,
    /// When it starts, after the beginning.
    pub start: Duration,
    /// When it stops: at the end unless given.
    pub stop: Option<Duration>,
    /// From and to when its receiver, a process, has no processor.
    pub away: Vec<[Duration; 2]>,
}

/// What a flow speaks.
#[derive(Clone, Debug, PartialEq)]
pub enum RealProtocol {
    /// Ours.
    Tfrc {
        /// What its receiver reports.
        feedback: Feedback,
        /// A floor under the sender's nofeedback timer, if it is not to have its own.
        floor: Option<Duration>,
        /// When its receiver reports, if not as TFRC has it.
        reports: Option<RealReports>,
    },
    /// The kernel's TCP.
    Tcp(RealTcp),
    /// Datagrams that leave when the simulator's would, drawn from a stream with this number.
    Udp(Udp, u64),
    /// A title of video on demand, from a server to a player.
    Title(RealTitle),
}

/// When a receiver of TFRC's reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealReports {
    /// Quarters of a round trip from a report to the next.
    pub quarters: u32,
    /// What RTCP's compounds take a twentieth of.
    pub session_bandwidth: Rate,
    /// Reports leave with compounds alone.
    pub piggy_backed: bool,
}

/// The kernel's TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealTcp {
    /// Its congestion control.
    pub control: String,
    /// Its socket buffers, which bound its window, if not the kernel's own.
    pub window: Option<Bytes>,
}

impl RealTcp {
    /// This TCP as the kernel has it, with packets of this size.
    pub(crate) fn new(tcp: &Tcp, packet: Bytes) -> Self {
        let packets = tcp.receive_window.map(u64::from);
        Self {
            control: tcp.kernel_name().to_owned(),
            window: packets.map(|packets| Bytes::new(packet.get() * packets)),
        }
    }
}

/// What a server of video on demand sends.
#[derive(Clone, Debug, PartialEq)]
pub struct RealTitle {
    /// Its frames, the first due at once.
    pub frames: FrameTrace,
    /// Each is sent when it is due, by UDP, whatever the network does.
    pub is_uncontrolled: bool,
}

/// What a player counted of a title.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Played {
    /// Packets lost of those sent.
    pub iplr: f64,
    /// Seconds from when a packet was due at the server to its arrival, on average.
    pub iptd_mean: f64,
    /// The longest such time.
    pub iptd_max: f64,
    /// How often the picture stood still.
    pub stalls: u64,
    /// For how many seconds in all.
    pub stalled: f64,
}

/// What a test bed saw.
#[derive(Clone, Debug)]
pub struct BedRecord {
    /// What of each flow came to the link.
    pub sent: Vec<Throughput>,
    /// What of each flow came out of it.
    pub received: Vec<Throughput>,
    /// Packets that came to the link while it was measured.
    pub arrived: u64,
    /// Packets that its queue dropped.
    pub dropped: u64,
    /// Packets that it lost besides.
    pub lost: u64,
    /// Bytes that came out.
    pub carried: Bytes,
    /// Times in seconds, and bytes that waited.
    pub queue: Vec<(f64, u64)>,
    /// The loss event rates that TFRC's receivers reported.
    pub loss_reports: LossReports,
    /// X of the first flow, if that is TFRC, each time that its sender set it: seconds, bytes a second.
    pub allowed: Vec<(f64, f64)>,
    /// Seconds from packet to packet of the first flow, as they came to the link while it was measured.
    pub gaps: Vec<f64>,
    /// How late its sender, if that is TFRC, handed packets to the system: the median, and 99 of 100 at most.
    pub lateness: Option<[Duration; 2]>,
    /// The longest that any sender of ours was late with a packet, if there is one: a kernel tells no such time of its TCP.
    pub sender_late: Option<Duration>,
    /// What players counted of the titles, in the order of the flows.
    pub played: Vec<Played>,
    /// How late the emulator was with 99 packets of 100, at most: what a machine that others load adds to
    /// the round trip.
    pub late: Duration,
}

impl BedRecord {
    /// Nothing yet.
    pub fn new(setup: &BedSetup) -> Self {
        let [from, to] = setup.shown.map(|time| Instant::ZERO + time);
        let empty = vec![Throughput::new(from, to, setup.bin); setup.flows.len()];
        Self {
            sent: empty.clone(),
            received: empty,
            arrived: 0,
            dropped: 0,
            lost: 0,
            carried: Bytes::ZERO,
            queue: Vec::new(),
            loss_reports: LossReports::new(setup.measured.map(|time| Instant::ZERO + time)),
            allowed: Vec::new(),
            gaps: Vec::new(),
            lateness: None,
            sender_late: None,
            played: Vec::new(),
            late: Duration::ZERO,
        }
    }

    /// One sender of ours was never later than this.
    pub fn sender_was_late(&mut self, at_most: Duration) {
        self.sender_late = self.sender_late.max(Some(at_most));
    }

    /// How late the machine was, in microseconds, by the beginnings of the metrics that every real half has.
    pub(crate) fn late_us(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let emulator = ("late_p99_us", Some(self.late));
        let senders = ("sender_late_max_us", self.sender_late);
        let reported = [emulator, senders].into_iter();
        reported.filter_map(|(name, late)| Some((name, late?.as_secs_f64() * 1e6)))
    }
}

impl From<BedRecord> for Measured {
    fn from(seen: BedRecord) -> Self {
        Self {
            sent: seen.sent,
            received: seen.received,
            loss_reports: seen.loss_reports,
            gaps: seen.gaps,
            arrived: seen.arrived,
            dropped: seen.dropped,
            lost: seen.lost,
            marked: None,
            carried: seen.carried,
            queue: seen.queue,
        }
    }
}

/// Builds networks of real hosts.
pub trait Bed: Sync {
    /// Builds one, runs it to its end, and takes it down whatever happens.
    fn run(&self, setup: &BedSetup, stop: &AtomicBool) -> Result<BedRecord, RunError>;
}

/// A scenario that a test bed can run.
pub trait Real {
    /// How long one cell runs.
    fn takes(&self, cell: usize) -> Duration;

    /// What one cell needs with one seed.
    fn setup(&self, job: Job<'_>) -> Result<BedSetup, RunError>;

    /// Makes of what was seen what the simulator's half makes of its own.
    fn sample(&self, job: Job<'_>, seen: BedRecord) -> Sample;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_of_the_senders_is_told_and_a_kernels_is_not() {
        let whole = [Duration::ZERO, Duration::from_secs(1)];
        let mut seen = BedRecord::new(&BedSetup {
            links: [LinkConfig::default(); 2],
            packet: Bytes::new(1_000),
            flows: Vec::new(),
            rate_change: None,
            shown: whole,
            measured: whole,
            bin: whole[1],
            seed: 1,
        });
        seen.late = Duration::from_micros(130);
        assert_eq!(Vec::from_iter(seen.late_us()), [("late_p99_us", 130.0)]);
        for micros in [20, 300, 40] {
            seen.sender_was_late(Duration::from_micros(micros));
        }
        let reported = Vec::from_iter(seen.late_us());
        assert_eq!(
            reported,
            [("late_p99_us", 130.0), ("sender_late_max_us", 300.0)]
        );
    }
}
