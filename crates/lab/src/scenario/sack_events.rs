//! Loss events counted over the same losses by the receiver, by the sender from SACK vectors, and naively.
//!
//! The naive count has an event for every vector that reports a new loss. Source: `light` §III.

use std::collections::VecDeque;

use evenkeel_link::Random;
use serde::Deserialize;
use tfrc::sent_packets::{MeteredArrivals, PacketStatus, ReportSpan, SentPacketTracker};
use tfrc::time::{Duration, Instant};
use tfrc::{Arrival, Ecn, Receiver, ReceiverConfig};

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::network::require_packet;
use crate::scenario::contract::Scenario;
use crate::units::{BitRate, Share, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SackEvents {
    /// Of every packet.
    packet: Size,
    /// At which they leave, evenly.
    rate: BitRate,
    rtt: Time,
    /// Packets lost at random, by themselves.
    loss: Share,
    /// How long it goes on.
    time: Time,
}

/// Packets that a vector speaks of at most.
const VECTOR: usize = 512;
/// Packets that the sender remembers.
const REMEMBERED: usize = 8_192;
/// The most packets of a run.
const MOST_PACKETS: f64 = 1e7;

impl Scenario for SackEvents {
    fn verify(&self) -> Result<(), Impossible> {
        require_packet(self.packet)?;
        require(!self.rtt.0.is_zero(), "rtt", "above 0")?;
        let packets = self.time.0.as_secs_f64() / self.spacing().as_secs_f64();
        let few = (1.0..=MOST_PACKETS).contains(&packets);
        require(few, "time", "that of 10 million packets at most")
    }

    fn cells(&self) -> usize {
        1
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let mut random = Random::new(job.seed, 0);
        let mut parties = Parties::new(self.rtt.0);
        let (spacing, end) = (self.spacing(), Instant::ZERO + self.time.0);
        let (mut now, mut seq) = (Instant::ZERO, 0);
        let mut curves = [const { Vec::new() }; 3];
        let mut next_point = Instant::ZERO;
        while now < end {
            // Without the first packet nobody knows where to begin.
            let lost = seq > 0 && random.unit() < self.loss.0;
            parties.send(now, seq, self.packet, lost);
            if now >= next_point {
                let counts = parties.counts();
                for (curve, count) in curves.iter_mut().zip(counts) {
                    curve.push((now.as_secs_f64(), count as f64));
                }
                next_point = now + POINT;
                job.go_on()?;
            }
            (now, seq) = (now + spacing, seq + 1);
        }
        let mut sample = Sample::default();
        for ((name, count), curve) in NAMES.into_iter().zip(parties.counts()).zip(curves) {
            sample.metric(format!("loss_events_{name}"), count as f64);
            sample.curve("events", name, curve);
        }
        Ok(sample)
    }

    fn derive(&self, findings: &mut Findings) {
        let by_receiver = findings.value("loss_events_receiver");
        for name in ["naive", "right"] {
            let ratio = findings.value(&format!("loss_events_{name}")) / by_receiver;
            findings.derive(format!("loss_events_{name}_over_receiver"), ratio);
        }
    }
}

const NAMES: [&str; 3] = ["naive", "right", "receiver"];
/// From point to point of the curves.
const POINT: Duration = Duration::from_secs(1);

impl SackEvents {
    fn spacing(&self) -> Duration {
        self.packet.0 / self.rate.0
    }
}

/// Both receivers and the sender of the vectors.
struct Parties {
    rtt: Duration,
    receiver: Receiver,
    arrivals: Box<MeteredArrivals<VECTOR>>,
    departures: Box<SentPacketTracker<REMEMBERED>>,
    /// Vectors on their way, and when they come.
    reports: VecDeque<(Instant, tfrc::sent_packets::AckVector, Vec<bool>)>,
    /// One past the highest packet that a vector told of.
    reported_until: u64,
    naive: u64,
}

impl Parties {
    fn new(rtt: Duration) -> Self {
        Self {
            rtt,
            receiver: Receiver::new(ReceiverConfig::default()),
            arrivals: Box::new(MeteredArrivals::new(VECTOR)),
            departures: Box::new(SentPacketTracker::new(0, ReceiverConfig::default())),
            reports: VecDeque::new(),
            reported_until: 0,
            naive: 0,
        }
    }

    fn counts(&self) -> [u64; 3] {
        [
            self.naive,
            self.departures.counters().loss_events,
            self.receiver.counters().loss_events,
        ]
    }

    fn send(&mut self, now: Instant, seq: u64, packet: Size, lost: bool) {
        while let Some((at, vector, received)) = self.reports.pop_front() {
            if at > now {
                self.reports.push_front((at, vector, received));
                break;
            }
            self.departures.handle_vector(at, &vector, received);
        }
        self.departures.handle_sent(now, packet.0, Some(self.rtt));
        if lost {
            return;
        }
        let arrival = Arrival {
            seq,
            at: now + self.rtt / 2,
            timestamp: 0,
            rtt: Some(self.rtt),
            size: packet.0,
            ecn: Ecn::NotEct,
        };
        self.receiver.handle_data(&arrival);
        self.arrivals.handle_data(&arrival);
        if let Some((span, vector)) = self.arrivals.poll_report(arrival.at) {
            let received = self.received(span);
            self.reports
                .push_back((arrival.at + self.rtt / 2, vector, received));
        }
    }

    /// The vector; counts it where a reader of vectors alone would.
    fn received(&mut self, span: ReportSpan) -> Vec<bool> {
        let seqs = span.first..span.first + span.count as u64;
        let received: Vec<bool> = seqs
            .clone()
            .map(|seq| self.arrivals.arrivals().status(seq) != PacketStatus::Missing)
            .collect();
        let reported_until = self.reported_until;
        let is_new = |(seq, received): (u64, &bool)| seq >= reported_until && !received;
        self.naive += u64::from(seqs.zip(&received).any(is_new));
        self.reported_until = reported_until.max(span.first + span.count as u64);
        received
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::units::Bytes;

    /// Two losses within a round trip, which two vectors tell of, are one event.
    #[test]
    fn losses_of_one_round_trip_are_one_event_unless_vectors_are_counted() {
        let rtt = Duration::from_millis(100);
        let mut parties = Parties::new(rtt);
        for seq in 0..400 {
            let now = Instant::ZERO + Duration::from_millis(8) * seq as u32;
            let lost = (100..400).contains(&seq) && matches!(seq % 100, 0 | 10);
            parties.send(now, seq, Size(Bytes::new(1_000)), lost);
        }
        let [naive, right, receiver] = parties.counts();
        assert_eq!((right, receiver), (3, 3));
        assert!(naive > 3, "{naive}");
    }
}
