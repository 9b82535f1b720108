//! The sender's side: remembers sent packets and matches reports to them.

mod ingest;
mod ingest_vector;
mod settle;
mod turns;

use core::ops::Range;
use core::time::Duration;

use super::ack_vector::{AckVector, Anchor};
use super::arrival_batch::ArrivalBatch;
use super::packet_status::{Delivery, ReportHeader, StatusRun};
use super::sent_record::{SentRecord, SentState};
use crate::receiver::{Counters, Receiver, ReceiverConfig};
use crate::sender::Feedback;
use crate::time::{Instant, Nanos};
use crate::trust::{BelievedDelay, BelievedTransit, PeerClock, Suspicions};
use crate::units::Bytes;

/// Reported arrivals that cannot have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusedArrivals {
    /// Arrivals of packets that left so long ago that they are forgotten, and again of those that never left; and those in
    /// reports of a date long before that of others which came.
    pub unknown: u64,
    /// Arrivals before the packet can have arrived, for the report came too soon after it left.
    pub too_early: u64,
    /// Arrivals of what never left, each number once: numbers that were left out, and numbers to come beyond those of
    /// which it was said before.
    pub never_sent: u64,
}

/// Tracks the last N packets sent, N a power of two up to 2^15, and feeds their reported arrivals to a [`Receiver`].
///
/// Packets are settled in the order of their numbers: the tracker waits a quarter of a round trip for a report that another
/// overtook. Arrivals that are known by then are counted in the order of time. Where reports covered none of several
/// consecutive packets, the first counts as lost and the others as never sent. After several lost
/// reports a sender SHOULD slow down; after one it may take congestion for what it was before (RFC 8888 §5). It is a loss
/// event all the same, as nothing tells a report that was lost from one that was withheld, and a receiver that passes over
/// what it lost must gain nothing by it. Lost reports say little about the path of the data, so it is no more than one.
///
/// A number may be left out ([`SentPacketTracker::handle_left_out`]): an honest receiver reports it as missing,
/// which counts as nothing, and one that calls lost packets received calls this one so, too.
#[derive(Clone, Debug)]
pub struct SentPacketTracker<const N: usize> {
    sent: [SentRecord; N],
    first: u64,
    /// The number of the next packet.
    next: u64,
    /// The packets below have had their turn.
    turn: u64,
    /// The first number for which room must be made: its place may be that of a packet that waits for its turn, or that
    /// reports covered but did not settle.
    full_at: u64,
    /// Of those, what is said of the ones from here on changes nothing: they came.
    final_from: u64,
    /// One past the highest packet that was reported.
    reported: u64,
    /// Numbers that had their turn and count as never sent.
    skipped: u64,
    /// Packets that had their turn and were never reported.
    never_reported: u64,
    /// One past the last of them and past the numbers left out behind it: the next belongs to the same hole. `MAX` before the first.
    hole_end: u64,
    /// Since when a packet that was not reported keeps others from their turn.
    waiting_since: Option<Instant>,
    /// R of the last packet that left, and in microseconds.
    rtt: Option<Duration>,
    rtt_micros: u32,
    /// R of the last packet that was counted, in microseconds and as the receiver gets it.
    counted_rtt: (u32, Option<Duration>),
    clock: PeerClock,
    /// Where reports without arrival times are placed.
    pub(super) anchor: Option<Anchor>,
    receiver: Receiver,
    /// When the last packet that was counted arrived.
    arrived: Instant,
    /// The packet that is said to have arrived last: when, and when it had left.
    newest: (Instant, Instant),
    /// Bounds on arrival times; `None` before the first report.
    transit: Option<BelievedTransit>,
    batch: ArrivalBatch,
    refused: RefusedArrivals,
    /// One past the highest number of which an arrival was reported before it was sent.
    claimed: u64,
    /// The unit of the last report's times.
    pub(super) resolution: Duration,
    /// X_recv and the delay of the last report, if that carried no arrival times.
    pub(super) vector: Option<AckVector>,
    believed_delay: BelievedDelay,
    suspicions: Suspicions,
    /// [`RefusedArrivals::never_sent`] when reports were last settled.
    judged_claims: u64,
    is_trusting: bool,
}

impl<const N: usize> SentPacketTracker<N> {
    const IS_IN_RANGE: () = assert!(N.is_power_of_two() && N <= 1 << 15);

    /// A tracker that has seen no packet, for a stream whose first packet has this number.
    ///
    /// # Panics
    ///
    /// Panics if [`ReceiverConfig::validate`] refuses `config`.
    #[track_caller]
    pub fn new(first: u64, config: ReceiverConfig) -> Self {
        let () = Self::IS_IN_RANGE;
        Self {
            sent: [SentRecord::NONE; N],
            first,
            next: first,
            turn: first,
            full_at: first + N as u64,
            final_from: first,
            reported: first,
            skipped: 0,
            never_reported: 0,
            hole_end: u64::MAX,
            waiting_since: None,
            rtt: None,
            rtt_micros: 0,
            counted_rtt: (0, None),
            clock: PeerClock::default(),
            anchor: None,
            receiver: Receiver::new(config),
            arrived: Instant::ZERO,
            newest: (Instant::ZERO, Instant::ZERO),
            transit: None,
            batch: ArrivalBatch::new(),
            refused: RefusedArrivals::default(),
            claimed: 0,
            resolution: Duration::ZERO,
            vector: None,
            believed_delay: BelievedDelay::default(),
            suspicions: Suspicions::default(),
            judged_claims: 0,
            is_trusting: false,
        }
    }

    /// Believes what receivers report as far as it could be true of some receiver: for measuring what they
    /// would gain by lies.
    #[must_use]
    pub fn trusting(mut self) -> Self {
        self.is_trusting = true;
        self
    }

    /// Adds further suspicions to those of earlier receivers at the same place.
    #[must_use]
    pub const fn suspecting(mut self, suspicions: Suspicions) -> Self {
        self.suspicions = suspicions;
        self
    }

    /// Returns the suspicions of the receiver and of those before it.
    pub const fn suspicions(&self) -> Suspicions {
        self.suspicions
    }

    /// Notes that the next packet left, of this size, while the sender's round-trip time was `rtt`.
    #[inline]
    pub fn handle_sent(&mut self, now: Instant, size: Bytes, rtt: Option<Duration>) {
        if rtt == self.rtt && self.has_room() {
            self.add_sent(now, size, true);
        } else {
            self.handle_first_sent(now, size, rtt);
        }
    }

    /// Takes in a packet that is the first after R changed, or that others must make room for.
    #[inline(never)]
    fn handle_first_sent(&mut self, now: Instant, size: Bytes, rtt: Option<Duration>) {
        self.rtt = rtt;
        let micros = rtt.map_or(0, |rtt| rtt.as_micros().max(1));
        self.rtt_micros = u32::try_from(micros).unwrap_or(u32::MAX);
        self.make_room();
        self.add_sent(now, size, false);
    }

    #[inline]
    fn add_sent(&mut self, now: Instant, size: Bytes, is_plain: bool) {
        self.add(SentRecord {
            at: now,
            state: SentState::Unreported,
            rtt_micros: self.rtt_micros,
            size: u16::try_from(size.get()).unwrap_or(u16::MAX),
            is_test: false,
            is_plain,
        });
    }

    /// The last packet left with a congestion mark of our own: an honest receiver reports it, and it counts
    /// as none.
    pub fn handle_test_mark(&mut self) {
        let sent = self.slot(self.next.saturating_sub(1));
        (sent.is_test, sent.is_plain) = (true, false);
    }

    /// Leaves the next number out: no packet will ever have it.
    pub fn handle_left_out(&mut self, now: Instant) {
        self.make_room();
        self.add(SentRecord {
            at: now,
            state: SentState::LeftOut,
            ..SentRecord::NONE
        });
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.next < self.full_at
    }

    /// Adds the next, for which there is room.
    #[inline]
    fn add(&mut self, sent: SentRecord) {
        self.sent[self.next as usize % N] = sent;
        self.next += 1;
    }

    /// From now on as many losses per packet begin no loss event ([`Receiver::tolerate_losses`]).
    pub fn tolerate_losses(&mut self, ratio: f64) {
        self.receiver.tolerate_losses(ratio);
    }

    /// Takes in a report that came at `now`, alone: [`SentPacketTracker::ingest_report`] and
    /// [`SentPacketTracker::settle`].
    pub fn handle_report(
        &mut self,
        now: Instant,
        header: &ReportHeader,
        packets: impl IntoIterator<Item = impl Into<StatusRun>>,
    ) -> Option<Feedback> {
        self.ingest_report(now, header, packets);
        self.settle(now)
    }

    /// The packets that the last call of [`SentPacketTracker::settle`] counted as arrived, in the order of arrival. Times are the
    /// receiver's word. A report of more packets than fit into a batch leaves the last of them.
    pub fn deliveries(&self) -> impl Iterator<Item = Delivery> {
        self.batch.taken().iter().map(|known| Delivery {
            number: known.seq,
            arrived_at: known.at,
        })
    }

    /// The number of the next packet.
    pub const fn next_number(&self) -> u64 {
        self.next
    }

    /// p, X_recv and the packets of the receiver as the reports tell it.
    pub const fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Packets since the start, as far as they were reported.
    pub const fn counters(&self) -> Counters {
        self.receiver.counters()
    }

    /// What was refused.
    pub const fn refused(&self) -> RefusedArrivals {
        self.refused
    }

    /// True if two reports claimed packets that never left, which no honest receiver does. A single one may be a
    /// datagram that was damaged on its way, and what says the same a copy of it.
    pub const fn has_caught_a_lie(&self) -> bool {
        self.suspicions.prove_lies() && !self.is_trusting
    }

    /// True if three packets came without the mark of our own with which they had left: the receiver hides
    /// marks, or the path takes them away. Either way none that comes back can be relied on.
    pub const fn loses_marks(&self) -> bool {
        self.suspicions.prove_erased_marks() && !self.is_trusting
    }

    /// Packets that had their turn and that no report ever spoke of.
    pub const fn never_reported(&self) -> u64 {
        self.never_reported
    }

    /// The number whose lower 16 bits these are: the last at or before the highest sent.
    pub(super) fn extend(&self, seq: u16) -> Option<u64> {
        let highest = self.next.checked_sub(1)?;
        let behind = (highest as u16).wrapping_sub(seq);
        highest.checked_sub(behind.into())
    }

    /// Those of which nothing that is said changes anything: they had their turn, and came.
    #[inline]
    pub(super) fn final_range(&self) -> Range<u64> {
        self.final_from.max(self.remembered().start)..self.turn
    }

    /// The packets that are remembered.
    #[inline]
    pub(super) fn remembered(&self) -> Range<u64> {
        self.first.max(self.next.saturating_sub(N as u64))..self.next
    }

    /// How long ago the first of them left, if others were forgotten.
    #[inline]
    fn remembered_for(&self, now: Instant) -> Nanos {
        match self.next.checked_sub(N as u64) {
            Some(oldest) if oldest > self.first => {
                now.nanos_since(self.sent[oldest as usize % N].at)
            }
            _ => Nanos::MAX,
        }
    }

    #[inline]
    pub(super) fn slot(&mut self, seq: u64) -> &mut SentRecord {
        &mut self.sent[seq as usize % N]
    }

    /// Returns the earliest believed arrival of a packet that left at `sent_at`.
    pub(super) fn earliest(&self, sent_at: Instant) -> Instant {
        self.transit
            .map_or(Instant::ZERO, |transit| transit.earliest(sent_at))
    }

    pub(super) fn size(&self, seq: u64) -> Bytes {
        Bytes::new(self.sent[seq as usize % N].size.into())
    }
}
