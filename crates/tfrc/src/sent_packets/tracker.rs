//! The sender of sender-based TFRC: remembers sent packets and matches reports to them.

mod advance;
mod ingest;
mod ingest_vector;
mod settle;

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

/// The reported arrivals that were refused as impossible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusedArrivals {
    /// Arrivals of packets that are forgotten or were never sent, if the latter number was claimed before; also all
    /// arrivals in reports made long before others that have arrived.
    pub unknown: u64,
    /// Arrivals earlier than possible: the report came too soon after the packet left.
    pub too_early: u64,
    /// Arrivals of packets that were never sent, each number once: numbers that were left out, and future numbers
    /// above all that were claimed before.
    pub never_sent: u64,
}

/// Tracks the last N packets sent, N a power of two up to 2^15, and feeds their reported arrivals to a
/// [`Receiver`].
///
/// Packets are settled in the order of their numbers: the tracker waits a quarter of a round trip for a report that
/// another overtook. Arrivals that are known by then are counted in the order of time.
///
/// If reports covered none of several consecutive packets, the first counts as lost and the others as never sent.
/// RFC 8888 §5 has a sender slow down after several lost reports (SHOULD), but not necessarily after one. Here one
/// lost report is a loss event, because a sender cannot tell a lost report from a withheld one, and a receiver must
/// gain nothing by hiding its losses. Lost reports say little about the path of the data, so they make no more than
/// one loss event.
///
/// A number may be left out ([`SentPacketTracker::handle_left_out`]): an honest receiver reports it as missing,
/// which has no effect, while a receiver that reports lost packets as received reports this one, too.
#[derive(Clone, Debug)]
pub struct SentPacketTracker<const N: usize> {
    sent: [SentRecord; N],
    first: u64,
    /// The number of the next packet.
    next: u64,
    /// The first packet that is not yet settled.
    next_unsettled: u64,
    /// The first number that needs room: its slot may hold a packet that is not settled, or that unsettled reports
    /// cover.
    full_at: u64,
    /// Reports about settled packets from this number on change nothing, because these packets arrived.
    final_from: u64,
    /// The number after the highest reported packet.
    reported: u64,
    /// The settled numbers that count as never sent.
    skipped: u64,
    /// The settled packets that no report covered.
    never_reported: u64,
    /// The number after the last packet that no report covered, and after the left-out numbers behind that packet.
    /// The next number belongs to the same hole; `MAX` before the first hole.
    hole_end: u64,
    /// The time since which an unreported packet has kept later ones from being settled.
    waiting_since: Option<Instant>,
    /// R of the last packet that left, as a duration and in microseconds.
    rtt: Option<Duration>,
    rtt_micros: u32,
    /// R of the last packet that was counted, in microseconds and as passed to the receiver.
    counted_rtt: (u32, Option<Duration>),
    clock: PeerClock,
    /// The reference of estimated arrival times, for reports without such times.
    pub(super) anchor: Option<Anchor>,
    receiver: Receiver,
    /// The arrival of the last packet that was counted.
    arrived: Instant,
    /// The arrival and the departure of the packet that is reported as the last to arrive.
    newest: (Instant, Instant),
    /// Bounds on arrival times; `None` before the first report.
    transit: Option<BelievedTransit>,
    batch: ArrivalBatch,
    refused: RefusedArrivals,
    /// The number after the highest future number of which an arrival was reported.
    claimed: u64,
    /// The unit of times in the last report.
    pub(super) resolution: Duration,
    /// The last report, if it carried no arrival times: X_recv and the delay.
    pub(super) vector: Option<AckVector>,
    believed_delay: BelievedDelay,
    suspicions: Suspicions,
    /// The value of [`RefusedArrivals::never_sent`] when reports were last settled.
    judged_claims: u64,
    /// True if an arrival of a number that was left out was reported since then.
    claims_left_out: bool,
    is_trusting: bool,
}

impl<const N: usize> SentPacketTracker<N> {
    const IS_IN_RANGE: () = assert!(N.is_power_of_two() && N <= 1 << 15);

    /// Creates a tracker for a stream whose first packet has the number `first`.
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
            next_unsettled: first,
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
            claims_left_out: false,
            is_trusting: false,
        }
    }

    /// Accepts every report that some receiver could honestly make, to measure what a receiver would gain by lies.
    #[must_use]
    pub fn trusting(mut self) -> Self {
        self.is_trusting = true;
        self
    }

    /// Adds further suspicions to the suspicions of earlier receivers at the same host.
    #[must_use]
    pub const fn suspecting(mut self, suspicions: Suspicions) -> Self {
        self.suspicions = suspicions;
        self
    }

    /// Returns the suspicions of the receiver and of those before it.
    pub const fn suspicions(&self) -> Suspicions {
        self.suspicions
    }

    /// Records that the next packet left, while the sender's round-trip time was `rtt`.
    #[inline]
    pub fn handle_sent(&mut self, now: Instant, size: Bytes, rtt: Option<Duration>) {
        if rtt == self.rtt && self.has_room() {
            self.add_sent(now, size, true);
        } else {
            self.handle_first_sent(now, size, rtt);
        }
    }

    /// Records a packet that is the first after R changed, or that needs room.
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

    /// Records that the sender set a congestion mark on the last packet. An honest receiver reports the mark, which
    /// does not count as congestion.
    pub fn handle_test_mark(&mut self) {
        let sent = self.slot(self.next.saturating_sub(1));
        (sent.is_test, sent.is_plain) = (true, false);
    }

    /// Leaves the next number out: no packet will have it.
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

    /// Adds the next packet, for which there is room.
    #[inline]
    fn add(&mut self, sent: SentRecord) {
        self.sent[self.next as usize % N] = sent;
        self.next += 1;
    }

    /// Excludes up to `ratio` losses per packet from loss events from now on ([`Receiver::tolerate_losses`]).
    pub fn tolerate_losses(&mut self, ratio: f64) {
        self.receiver.tolerate_losses(ratio);
    }

    /// Handles a single report that arrived at `now`: [`SentPacketTracker::ingest_report`], then
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

    /// Returns the packets that the last call of [`SentPacketTracker::settle`] counted as arrived, in the order of
    /// arrival. The times are as the receiver stated them. If a report has more packets than a batch, only the last
    /// remain.
    pub fn deliveries(&self) -> impl Iterator<Item = Delivery> {
        self.batch.taken().iter().map(|known| Delivery {
            number: known.seq,
            arrived_at: known.at,
        })
    }

    /// Returns the number of the next packet.
    pub const fn next_number(&self) -> u64 {
        self.next
    }

    /// Returns the receiver that the reports imply, with p, X_recv and the packet counts.
    pub const fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Returns the packet counts since the start, as far as packets were reported.
    pub const fn counters(&self) -> Counters {
        self.receiver.counters()
    }

    /// Returns the refused arrivals.
    pub const fn refused(&self) -> RefusedArrivals {
        self.refused
    }

    /// Returns true if two reports claimed packets that never left. No honest receiver does so, but a single claim
    /// may be a damaged datagram, and its repetition a copy of that datagram.
    pub const fn has_caught_a_lie(&self) -> bool {
        self.suspicions.prove_lies() && !self.is_trusting
    }

    /// Returns true if three packets arrived without the mark that the sender had set on them. The receiver hides
    /// marks, or the path erases them; in both cases reported marks are not reliable.
    pub const fn loses_marks(&self) -> bool {
        self.suspicions.prove_erased_marks() && !self.is_trusting
    }

    /// Returns the number of settled packets that no report covered.
    pub const fn never_reported(&self) -> u64 {
        self.never_reported
    }

    /// Returns the number with these lower 16 bits: the last one at or before the highest sent.
    pub(super) fn extend(&self, seq: u16) -> Option<u64> {
        let highest = self.next.checked_sub(1)?;
        let behind = (highest as u16).wrapping_sub(seq);
        highest.checked_sub(behind.into())
    }

    /// Returns the packets about which further reports change nothing: they are settled, and arrived.
    #[inline]
    pub(super) fn final_range(&self) -> Range<u64> {
        self.final_from.max(self.remembered().start)..self.next_unsettled
    }

    /// Returns the packets that are remembered.
    #[inline]
    pub(super) fn remembered(&self) -> Range<u64> {
        self.first.max(self.next.saturating_sub(N as u64))..self.next
    }

    /// Returns how long ago the first remembered packet left, or the maximum if no packet is forgotten.
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
