//! The receiver's side: what arrived, in a ring, and when to report it.

use core::time::Duration;

use super::packet_status::PacketStatus;
use crate::Ecn;
use crate::receiver::Arrival;
use crate::time::{Instant, Nanos};

/// Reports are this far apart where the sender tells no round-trip time: what RTCP feedback of real-time
/// media commonly uses, so at least one report a round trip on most paths.
const INTERVAL: Duration = Duration::from_millis(50);
/// Reports at the ends of frames are so far apart at least: 100 a second are 2 % of a stream of 2 Mb/s.
const FRAME_GAP: Duration = Duration::from_millis(10);
/// The fewest packets that a report may be limited to.
const MIN_LIMIT: usize = 4;
/// Packets above a hole that make it a loss (RFC 5348 §5.1).
const NDUPACK: u64 = 3;

/// Of no packets, when the first and the last came.
const NONE: [Instant; 2] = [Instant::MAX, Instant::ZERO];

/// The consecutive packets that a report covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportSpan {
    /// The extended number of the first packet.
    pub first: u64,
    /// The number of packets, at least 1.
    pub count: usize,
}

/// A packet that came.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Its number, and its mark below: more than any number before the first packet.
    tag: u64,
    at: Instant,
}

impl Slot {
    const EMPTY: Self = Self {
        tag: u64::MAX,
        at: Instant::ZERO,
    };

    const fn new(seq: u64, at: Instant, ecn: Ecn) -> Self {
        Self {
            tag: seq << 2 | ecn as u64,
            at,
        }
    }

    const fn holds(&self, seq: u64) -> bool {
        self.tag >> 2 == seq
    }

    const fn ecn(&self) -> Ecn {
        match self.tag & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect0,
            2 => Ecn::Ect1,
            _ => Ecn::Ce,
        }
    }
}

/// The last N packets, N a power of two: sixteen bytes each, integers alone. A report speaks of as many as
/// fit into it at most, so N is best the next power above that.
#[derive(Clone, Debug)]
pub struct Arrivals<const N: usize> {
    slots: [Slot; N],
    /// The most packets that a report may speak of, and that may wait for one: seven eighths of that. The others are
    /// for what comes until it leaves.
    limit: u64,
    most_new: u64,
    /// The lowest number that came: nothing is known of those below.
    first: u64,
    /// One past the highest number that came.
    end: u64,
    /// All from this one on came.
    whole_from: u64,
    /// One past what the last report spoke of; a packet that came late moves it back.
    unreported: u64,
    /// How many of those below the next report speaks of again: as many as the last was the first to speak of.
    pub(super) again: u64,
    /// One past what that spoke of.
    reported_end: u64,
    /// When the first and the last came since then of those that were not noted as the next in order.
    others: [Instant; 2],
    /// This packet and higher ones are more than the next in order.
    news: u64,
    /// The arrival of this packet or a higher one makes a hole a loss.
    loss: u64,
    /// Until then a hole is no news: the loss event before it lasts a round trip.
    quiet_until: Instant,
    /// From then on a packet takes a report along; `MAX` while one is due.
    timer: Instant,
    /// When a report is due, if there is news by then.
    due: Instant,
    rtt: Option<Duration>,
    /// Reports are so far apart.
    pub(super) interval: Nanos,
}

impl<const N: usize> Arrivals<N> {
    const IS_IN_RANGE: () = assert!(N.is_power_of_two() && N >= MIN_LIMIT);

    /// A ring without arrivals, for reports of `limit` packets at most.
    ///
    /// # Panics
    ///
    /// Panics unless `limit` is from 4 to N.
    #[track_caller]
    pub fn new(limit: usize) -> Self {
        let () = Self::IS_IN_RANGE;
        assert!(
            (MIN_LIMIT..=N).contains(&limit),
            "a report must be of {MIN_LIMIT} to {N} packets, not {limit}"
        );
        let limit = limit as u64;
        Self {
            slots: [Slot::EMPTY; N],
            limit,
            most_new: limit - limit.div_ceil(8),
            first: u64::MAX,
            end: 0,
            whole_from: 0,
            unreported: 0,
            again: 0,
            reported_end: 0,
            others: NONE,
            news: 0,
            loss: u64::MAX,
            quiet_until: Instant::ZERO,
            timer: Instant::ZERO,
            due: Instant::MAX,
            rtt: None,
            interval: INTERVAL.into(),
        }
    }

    /// Takes in a packet; its number is below 2^61. False if it had come before or is too old to tell: of
    /// several copies the first counts, but a mark on any is kept (RFC 8888 §3.1).
    #[inline]
    pub fn handle_data(&mut self, arrival: &Arrival) -> bool {
        let seq = arrival.seq;
        if !self.is_next(arrival) {
            return self.handle_news(arrival);
        }
        self.slots[seq as usize % N] = Slot::new(seq, arrival.at, arrival.ecn);
        self.end = seq + 1;
        if arrival.at >= self.timer {
            self.call_for_report(arrival);
        }
        true
    }

    /// True if a packet is the next in order and nothing more.
    #[inline]
    pub(super) const fn is_next(&self, arrival: &Arrival) -> bool {
        arrival.seq == self.end && arrival.seq < self.news
    }

    /// Takes in a packet that is not the next, or that calls for a report.
    #[inline(never)]
    fn handle_news(&mut self, arrival: &Arrival) -> bool {
        let &Arrival { seq, at, ecn, .. } = arrival;
        let slot = &mut self.slots[seq as usize % N];
        if slot.holds(seq) {
            if ecn.is_marked() {
                *slot = Slot::new(seq, slot.at, ecn);
            }
            return false;
        }
        if seq + (N as u64) < self.end {
            return false;
        }
        *slot = Slot::new(seq, at, ecn);
        let [first, last] = self.others;
        self.others = [first.min(at), last.max(at)];
        let is_first = self.first == u64::MAX;
        if is_first {
            (self.unreported, self.reported_end) = (seq, seq);
        } else if seq > self.end && at >= self.quiet_until && self.loss == u64::MAX {
            self.loss = seq + (NDUPACK - 1);
        }
        if seq > self.end {
            self.whole_from = seq;
        }
        self.first = self.first.min(seq);
        self.unreported = self.unreported.min(seq);
        self.end = self.end.max(seq + 1);
        let is_loss = seq >= self.loss;
        if is_loss {
            self.loss = u64::MAX;
            self.quiet_until = at + self.interval;
        }
        let is_full = self.end - self.unreported > self.most_new;
        if is_first || is_loss || is_full || at >= self.timer {
            self.call_for_report(arrival);
        }
        self.news = self.loss.min(self.unreported + self.most_new);
        true
    }

    /// Lets a packet take a report along.
    #[inline(never)]
    fn call_for_report(&mut self, arrival: &Arrival) {
        if let Some(rtt) = arrival.rtt
            && self.rtt != Some(rtt)
        {
            (self.rtt, self.interval) = (Some(rtt), rtt.into());
        }
        self.due = self.due.min(arrival.at);
        self.timer = Instant::MAX;
    }

    /// The packet that arrived at `at` ended a frame: its report is due, so that a sender learns at once what the frame
    /// met. Where frames end more than a hundred times a second, some are passed over.
    pub fn end_frame(&mut self, at: Instant) {
        let is_due = self.timer == Instant::MAX;
        if is_due || !self.has_news() {
            return;
        }
        // The last report left two intervals before the next is due.
        if at + self.interval + self.interval >= self.due + FRAME_GAP {
            self.due = at;
            self.timer = Instant::MAX;
        }
    }

    /// When [`Arrivals::poll_report`] has something to do: an instant that has passed means at once.
    /// Reports are a round trip apart, or as the packets that one may speak of fill it; they leave early
    /// when a loss shows, once a round trip at most. Then the next packet takes one along, so that none has waited
    /// for its report, which a sender could not check; it leaves alone a round trip later if none comes, and then the
    /// packet after it takes another along.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.has_news().then_some(self.due)
    }

    const fn has_news(&self) -> bool {
        self.unreported < self.end
    }

    /// What the next report speaks of: all that came since the last, and as much again as that one told
    /// first (more in a [`MeteredArrivals`](super::MeteredArrivals)), up to the limit. One lost report then loses nothing, as
    /// long as two fit into the limit; of a stream so fast that none does beside another, each lost report leaves a hole.
    pub fn next_span(&self) -> ReportSpan {
        let oldest = self.first.max(self.end.saturating_sub(self.limit));
        let first = self.unreported.saturating_sub(self.again).max(oldest);
        ReportSpan {
            first,
            count: (self.end - first) as usize,
        }
    }

    /// The report that is due, if one is.
    #[inline]
    pub fn poll_report(&mut self, now: Instant) -> Option<ReportSpan> {
        self.is_due(now).then(|| self.report(now))
    }

    /// True if one is.
    #[inline]
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due <= now && self.has_news()
    }

    /// The report that is due.
    #[inline(never)]
    pub(super) fn report(&mut self, now: Instant) -> ReportSpan {
        let span = self.next_span();
        self.again = self.end - self.unreported;
        (self.unreported, self.reported_end) = (self.end, self.end);
        self.others = NONE;
        self.news = self.loss.min(self.end + self.most_new);
        // After one that left alone, and so had waited, the next packet has the next: or where packets come in
        // bunches, two round trips and more apart, each report would have.
        let was_alone = self.timer < Instant::MAX;
        let next = now + self.interval;
        self.timer = if was_alone { now } else { next };
        self.due = next + self.interval;
        span
    }

    /// When the first and the last packet came since the last report: at zero, if that is forgotten.
    pub(super) fn arrival_bounds(&self) -> (Instant, Instant) {
        let [mut first, mut last] = self.others;
        let next = self.slots[self.reported_end as usize % N];
        if next.holds(self.reported_end) {
            first = first.min(next.at);
        }
        if first == Instant::MAX {
            first = Instant::ZERO;
        }
        let highest = self.end.saturating_sub(1);
        last = last.max(self.slots[highest as usize % N].at);
        (first, last)
    }

    /// Which of eight packets came, the first of them below the end: 1 for one that did, from the most significant bit on.
    #[inline]
    pub(super) fn eight_bits(&self, first: u64) -> u8 {
        if first < self.whole_from {
            let came = (first..first + 8).map(|seq| self.slots[seq as usize % N].holds(seq));
            came.fold(0, |bits, came| bits << 1 | u8::from(came))
        } else {
            let others = self.end - first;
            !0xff_u8.checked_shr(others as u32).unwrap_or(0)
        }
    }

    /// The status of a packet in a report.
    #[inline]
    pub fn status(&self, seq: u64) -> PacketStatus {
        let slot = &self.slots[seq as usize % N];
        if slot.holds(seq) {
            PacketStatus::Arrived {
                at: Some(slot.at),
                ecn: slot.ecn(),
            }
        } else {
            PacketStatus::Missing
        }
    }

    /// What a report says of each packet of a span: when it came, and with which mark.
    pub fn arrivals_in(
        &self,
        span: ReportSpan,
    ) -> impl ExactSizeIterator<Item = Option<(Instant, Ecn)>> + Clone {
        (0..span.count).map(move |index| match self.status(span.first + index as u64) {
            PacketStatus::Arrived { at, ecn } => at.map(|at| (at, ecn)),
            PacketStatus::Missing => None,
        })
    }

    /// The round-trip time that the sender told last.
    pub const fn round_trip_time(&self) -> Option<Duration> {
        self.rtt
    }
}

#[cfg(test)]
mod tests;
