//! RAP, the rate adaptation protocol: AIMD of the gap between packets.
//!
//! Sources: Rejaie, Handley and Estrin, "RAP: An End-to-End Rate-Based Congestion Control Mechanism for Realtime Streams in the
//! Internet", INFOCOM 1999; `thesis` §2.5.2.
//!
//! The receiver acknowledges every packet. Each smoothed round trip without loss adds a packet a round
//! trip to the rate, and a loss halves it. Losses among the packets that were under way at a reduction
//! belong to it. Nothing is sent again.
//!
//! This is the paper's basic form: its fine grain, which follows the round-trip time within a step, is
//! left out. The first rate is a packet a round trip, and there is no slow start. Ours is that a round
//! trip without any acknowledgement adds nothing, or a dead path would be sent ever more between two
//! timeouts.

use crate::agent::{Agent, Packet};
use crate::body::{Body, RapAck};
use crate::tcp::{DUP_THRESH, Rto};
use std::collections::VecDeque;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// The first gap, while no round-trip time is known, and the first and the least timeout: RFC 6298's.
const SECOND: Duration = Duration::from_secs(1);

/// No gap is longer, so that a flow comes back when its path does: RFC 6298's longest timeout.
const MAX_GAP: Duration = Duration::from_secs(60);

/// No gap and no step is shorter, so that time goes on when a path has no delay.
const MIN_GAP: Duration = Duration::from_micros(1);

/// Packets that wait for their acknowledgement at most; a sender with more waits too.
const MAX_UNDER_WAY: usize = 10_000;

/// A sender that always has something to send.
#[derive(Clone, Debug)]
pub struct RapSender {
    packet_size: Bytes,
    start: Instant,
    stop: Instant,
    last_departure: Option<Instant>,
    gap: Duration,
    rto: Rto,
    /// When the rate grows; `None` before the first round-trip time.
    step: Option<Instant>,
    /// An acknowledgement came since the last step: silence is no reason to send more.
    heard: bool,
    /// The packets before `next` that are neither acknowledged in order nor lost.
    under_way: VecDeque<Sent>,
    next: u64,
    /// One more than the highest acknowledged packet.
    acknowledged: u64,
    /// The first packet whose loss reduces the rate: earlier ones were under way at the last reduction.
    recover: u64,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    acknowledged: bool,
}

impl RapSender {
    /// A sender of packets of `packet_size`, headers of all layers included, that starts and stops at
    /// these times.
    pub fn new(packet_size: Bytes, start: Instant, stop: Instant) -> Self {
        Self {
            packet_size,
            start,
            stop,
            last_departure: None,
            gap: SECOND,
            rto: Rto::new(SECOND, SECOND, Duration::ZERO),
            step: None,
            heard: false,
            under_way: VecDeque::new(),
            next: 0,
            acknowledged: 0,
            recover: 0,
        }
    }

    /// The time from one packet to the next.
    pub fn gap(&self) -> Duration {
        self.gap
    }

    /// How many packets it has sent.
    pub fn packets_sent(&self) -> u64 {
        self.next
    }

    fn first(&self) -> u64 {
        self.next - self.under_way.len() as u64
    }

    fn handle_ack(&mut self, now: Instant, ack: RapAck) {
        if ack.sequence >= self.next {
            return;
        }
        self.heard = true;
        let first = self.first();
        if let Some(index) = ack.sequence.checked_sub(first) {
            self.rto.sample(self.under_way[index as usize].at, now);
            if self.step.is_none() {
                self.set_gap(self.srtt());
                self.step = Some(now + self.srtt());
            }
            let since = ack.since.clamp(first, ack.sequence) - first;
            for sent in self.under_way.range_mut(since as usize..=index as usize) {
                sent.acknowledged = true;
            }
        }
        self.acknowledged = self.acknowledged.max(ack.sequence + 1);
        while let Some(sent) = self.under_way.front().copied() {
            let first = self.first();
            let lost = self.acknowledged > first + DUP_THRESH;
            if !sent.acknowledged && !lost {
                break;
            }
            self.under_way.pop_front();
            if !sent.acknowledged {
                self.on_loss(now, first);
            }
        }
    }

    fn on_loss(&mut self, now: Instant, sequence: u64) {
        if sequence >= self.recover {
            self.set_gap(self.gap * 2);
            self.recover = self.next;
            self.step = self.step.map(|_| now + self.srtt());
        }
    }

    /// A round trip is over. One packet more in it: with rates 1/g and 1/R, 1/g' = 1/g + 1/R.
    fn grow(&mut self, now: Instant) {
        if std::mem::take(&mut self.heard) {
            let (gap, srtt) = (self.gap.as_secs_f64(), self.srtt().as_secs_f64());
            self.set_gap(Duration::from_secs_f64(gap * srtt / (gap + srtt)));
        }
        self.step = Some(now + self.srtt());
    }

    fn set_gap(&mut self, gap: Duration) {
        self.gap = gap.clamp(MIN_GAP, MAX_GAP);
    }

    fn srtt(&self) -> Duration {
        self.rto.srtt().unwrap_or(SECOND).max(MIN_GAP)
    }

    /// When the oldest packet is lost for want of any acknowledgement.
    fn expiry(&self) -> Option<Instant> {
        let oldest = self.under_way.front()?;
        Some(oldest.at + self.rto.timeout())
    }

    fn next_departure(&self) -> Option<Instant> {
        let at = self
            .last_departure
            .map_or(self.start, |last| last + self.gap);
        (self.under_way.len() < MAX_UNDER_WAY).then_some(at)
    }
}

impl Agent for RapSender {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        if let Body::RapAck(ack) = packet.body
            && now < self.stop
        {
            self.handle_ack(now, ack);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.expiry().is_some_and(|at| at <= now) {
            let first = self.first();
            self.under_way.clear();
            self.rto.back_off();
            self.on_loss(now, first);
        }
        if self.step.is_some_and(|at| at <= now) {
            self.grow(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        if now >= self.stop || self.next_departure().is_none_or(|at| at > now) {
            return None;
        }
        self.last_departure = Some(now);
        self.under_way.push_back(Sent {
            at: now,
            acknowledged: false,
        });
        let sequence = self.next;
        self.next += 1;
        Some(Packet {
            size: self.packet_size,
            ecn: Ecn::NotEct,
            body: Body::Datagram {
                sequence,
                sent: now,
            },
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timers = [self.next_departure(), self.expiry(), self.step];
        let next = timers.into_iter().flatten().min();
        next.filter(|&at| at < self.stop)
    }
}

/// The receiver of a flow: an acknowledgement for each packet.
#[derive(Clone, Debug)]
pub struct RapReceiver {
    ack_size: Bytes,
    received: Bytes,
    /// The newest packets without a hole: the first, and one more than the last.
    run: (u64, u64),
    ack: Option<RapAck>,
}

impl RapReceiver {
    /// A receiver whose acknowledgements have `ack_size`, headers of all layers included.
    pub fn new(ack_size: Bytes) -> Self {
        Self {
            ack_size,
            received: Bytes::ZERO,
            run: (0, 0),
            ack: None,
        }
    }

    /// What has arrived, headers of all layers included.
    pub fn received(&self) -> Bytes {
        self.received
    }
}

impl Agent for RapReceiver {
    type Body = Body;

    fn handle_packet(&mut self, _now: Instant, packet: &Packet<Body>) {
        let Body::Datagram { sequence, .. } = packet.body else {
            return;
        };
        self.received += packet.size;
        let (start, end) = self.run;
        if sequence >= end {
            let start = if sequence == end { start } else { sequence };
            self.run = (start, sequence + 1);
        }
        // What came late, before the run, says nothing of its neighbours.
        let since = self.run.0.min(sequence);
        self.ack = Some(RapAck { sequence, since });
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant) -> Option<Packet<Body>> {
        Some(Packet {
            size: self.ack_size,
            ecn: Ecn::NotEct,
            body: Body::RapAck(self.ack.take()?),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// A sender that knows a round trip of 100 ms, and so sends a packet in each.
    fn sender() -> RapSender {
        let mut sender = RapSender::new(Bytes::new(1_000), Instant::ZERO, Instant::MAX);
        assert!(sender.poll_transmit(at(0)).is_some());
        assert_eq!(sender.poll_timeout(), Some(at(1_000)));
        ack(&mut sender, 100, 0, 0);
        assert_eq!(sender.gap(), MS(100));
        sender
    }

    fn ack(sender: &mut RapSender, millis: u64, since: u64, sequence: u64) {
        sender.handle_ack(at(millis), RapAck { sequence, since });
    }

    #[test]
    fn each_round_trip_adds_a_packet_to_it() {
        let mut sender = sender();
        for (millis, gap) in [(200, 50_000_000), (300, 33_333_333), (400, 25_000_000)] {
            ack(&mut sender, millis - 1, 0, 0);
            sender.handle_timeout(at(millis - 1));
            sender.handle_timeout(at(millis));
            assert_eq!(sender.gap().as_nanos().abs_diff(gap) / 10, 0, "{millis} ms");
        }
    }

    #[test]
    fn three_later_packets_tell_of_a_loss_which_halves_the_rate_once_for_all_under_way() {
        let mut sender = sender();
        // Packets 1 to 8.
        for millis in (100..900).step_by(100) {
            assert!(sender.poll_transmit(at(millis)).is_some());
        }
        // 1 and 3 are missing.
        ack(&mut sender, 900, 2, 2);
        ack(&mut sender, 900, 4, 4);
        assert_eq!(sender.gap(), MS(200));
        ack(&mut sender, 900, 4, 6);
        assert_eq!(sender.gap(), MS(200));
        assert_eq!(sender.first(), 7);
    }

    #[test]
    fn an_acknowledgement_makes_up_for_those_before_it_that_were_lost() {
        let mut sender = sender();
        for millis in (100..900).step_by(100) {
            assert!(sender.poll_transmit(at(millis)).is_some());
        }
        ack(&mut sender, 900, 0, 8);
        assert_eq!((sender.gap(), sender.first()), (MS(100), 9));
    }

    #[test]
    fn silence_halves_the_rate_at_each_timeout_until_the_longest_gap() {
        let mut sender = sender();
        for _ in 0..20_000 {
            let now = sender.poll_timeout().unwrap();
            sender.handle_timeout(now);
            while sender.poll_transmit(now).is_some() {}
            assert!(sender.gap() <= MAX_GAP);
        }
        assert_eq!(sender.gap(), MAX_GAP);
    }

    #[test]
    fn a_receiver_tells_how_far_back_nothing_is_missing() {
        let mut receiver = RapReceiver::new(Bytes::new(40));
        for (sequence, since) in [(0, 0), (1, 0), (3, 3), (4, 3), (2, 2), (5, 3)] {
            let body = Body::Datagram {
                sequence,
                sent: Instant::ZERO,
            };
            let packet = Packet {
                size: Bytes::new(1_000),
                ecn: Ecn::NotEct,
                body,
            };
            receiver.handle_packet(Instant::ZERO, &packet);
            let ack = receiver
                .poll_transmit(Instant::ZERO)
                .map(|packet| packet.body);
            assert_eq!(ack, Some(Body::RapAck(RapAck { sequence, since })));
            assert_eq!(receiver.poll_transmit(Instant::ZERO), None);
        }
    }
}
