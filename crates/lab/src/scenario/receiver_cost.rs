//! The state and the computations of a receiver that computes p, and of one that only reports arrivals.
//!
//! Both receive the same packets on a path without loss. Source: `light` §V, table V.

use std::mem::size_of;

use serde::Deserialize;
use tfrc::sent_packets::{MeteredArrivals, ReportSpan};
use tfrc::time::{Duration, Instant};
use tfrc::{Arrival, Ecn, Receiver, ReceiverConfig};

use crate::error::{Impossible, RunError, require};
use crate::findings::Sample;
use crate::job::Job;
use crate::network::require_packet;
use crate::scenario::contract::Scenario;
use crate::units::{BitRate, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiverCost {
    /// Of every packet.
    packet: Size,
    /// At which they come, evenly.
    rate: BitRate,
    rtt: Time,
    /// How long it goes on.
    time: Time,
    /// From point to point of the curves.
    drawn: Time,
}

/// What the paper's receiver notes of each packet since the last loss: 16 bits of send time, 8 of size and 16
/// of arrival.
const NOTED_BITS: u64 = 40;
/// A vector of the paper covers four round trips, a bit a packet.
const COVERED: u32 = 4;
/// Packets that a vector of ours speaks of at most, and the ring for them: as sessions have it.
const RING: usize = 1_024;
type Ring = MeteredArrivals<RING>;
/// What a ring keeps of a packet.
const SLOT: usize = (size_of::<Ring>() - size_of::<MeteredArrivals<{ RING / 2 }>>()) / (RING / 2);
/// Vectors that tell less, as the stream has only begun: a receiver's first tells one packet, and each of the next four adds
/// a round trip.
const SHORT: u64 = 5;
/// The most packets of a run, and points of a curve.
const MOST_PACKETS: f64 = 1e7;
const MOST_POINTS: f64 = 1e4;

impl Scenario for ReceiverCost {
    fn verify(&self) -> Result<(), Impossible> {
        require_packet(self.packet)?;
        require(!self.rtt.0.is_zero(), "rtt", "above 0")?;
        require(!self.drawn.0.is_zero(), "drawn", "above 0")?;
        let packets = self.time.0.as_secs_f64() / self.spacing().as_secs_f64();
        let few = (1.0..=MOST_PACKETS).contains(&packets);
        require(few, "time", "that of 10 million packets at most")?;
        let points = self.time.secs() / self.drawn.secs();
        require(points <= MOST_POINTS, "drawn", "at most 10000 points")
    }

    fn is_random(&self) -> bool {
        false
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let mut receivers = Receivers::new();
        let (mut now, end) = (Instant::ZERO, Instant::ZERO + self.time.0);
        let mut next_point = now;
        let mut history = Vec::new();
        while now < end {
            receivers.take(now, self.packet, self.rtt.0);
            now += self.spacing();
            if now >= next_point {
                job.go_on()?;
                history.push((now.as_secs_f64(), receivers.history_bytes()));
                next_point = now + self.drawn.0;
            }
        }
        let mut sample = Sample::default();
        let packets = receivers.packets as f64;
        let slots = self.covered();
        let own = size_of::<Receiver>() as f64;
        for (name, value) in [
            ("bytes_history_paper", receivers.history_bytes()),
            ("bytes_receiver", own),
            ("bits_vector_paper", slots as f64),
            ("bytes_slots", (slots * SLOT) as f64),
            ("bytes_ring", size_of::<Ring>() as f64),
            (
                "packets_in_a_report_least",
                receivers.shortest.unwrap_or(0) as f64,
            ),
            (
                "reports_per_packet_receiver",
                receivers.computed as f64 / packets,
            ),
            (
                "reports_per_packet_light",
                receivers.reported as f64 / packets,
            ),
        ] {
            sample.metric(name, value);
        }
        let of_time = |bytes: f64| history.iter().map(move |(at, _)| (*at, bytes));
        sample.curve("bytes", "receiver-based, ours", of_time(own));
        let ring = size_of::<Ring>() as f64;
        sample.curve("bytes", "reports alone, ours", of_time(ring));
        let vector = slots as f64 / 8.0;
        sample.curve("bytes", "SACK vector, the paper's", of_time(vector));
        sample.curve("bytes", "packet history, the paper's", history);
        Ok(sample)
    }
}

impl ReceiverCost {
    fn spacing(&self) -> Duration {
        self.packet.0 / self.rate.0
    }

    /// Packets that a vector of the paper speaks of.
    fn covered(&self) -> usize {
        let span = (self.rtt.0 * COVERED).as_secs_f64();
        (span / self.spacing().as_secs_f64()).ceil() as usize
    }
}

/// Both receivers, and what they did.
struct Receivers {
    receiver: Receiver,
    light: Box<Ring>,
    packets: u64,
    /// Reports of p.
    computed: u64,
    /// Vectors, and the packets in the shortest.
    reported: u64,
    shortest: Option<usize>,
}

impl Receivers {
    fn new() -> Self {
        Self {
            receiver: Receiver::new(ReceiverConfig::default()),
            light: Box::new(Ring::new(RING)),
            packets: 0,
            computed: 0,
            reported: 0,
            shortest: None,
        }
    }

    fn take(&mut self, now: Instant, packet: Size, rtt: Duration) {
        let arrival = Arrival {
            seq: self.packets,
            at: now,
            timestamp: now.as_micros() as u32,
            rtt: Some(rtt),
            size: packet.0,
            ecn: Ecn::NotEct,
        };
        self.receiver.handle_data(&arrival);
        self.computed += u64::from(self.receiver.poll_report(now).is_some());
        self.light.handle_data(&arrival);
        if let Some((ReportSpan { count, .. }, _)) = self.light.poll_report(now) {
            self.reported += 1;
            if self.reported > SHORT {
                let least = self.shortest.unwrap_or(count);
                self.shortest = Some(least.min(count));
            }
        }
        self.packets += 1;
    }

    /// What the paper's receiver would hold: it forgets packets when one is lost, and none is.
    fn history_bytes(&self) -> f64 {
        (self.packets * NOTED_BITS) as f64 / 8.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;

    #[test]
    fn the_papers_example_gives_the_papers_figures() {
        let scenario: ReceiverCost = toml::from_str(
            r#"packet = "1000B"
               rate = "1Mb/s"
               rtt = "100ms"
               time = "74s"
               drawn = "1s""#,
        )
        .unwrap();
        assert_eq!(scenario.verify(), Ok(()));
        assert_eq!(scenario.covered(), 50);
        let findings = trial::findings_of(&scenario, [0]);
        // 370 kbit between t = 63 and t = 137.
        assert_eq!(findings.value("bytes_history_paper") * 8.0, 370e3);
        // A report a round trip, of what came in it and in the four before.
        let each = findings.value("reports_per_packet_light");
        assert!((each - 0.08).abs() < 0.01, "{each}");
        assert!(findings.value("packets_in_a_report_least") >= 50.0);
    }
}
