//! The receiver of sender-based TFRC: a ring of arrivals, and the times of reports.

use core::time::Duration;

use super::packet_status::PacketStatus;
use crate::Ecn;
use crate::receiver::Arrival;
use crate::time::{Instant, Nanos};

/// The time between reports where the sender states no round-trip time. RTCP feedback of real-time media commonly
/// uses this interval, which gives at least one report a round trip on most paths.
const INTERVAL: Duration = Duration::from_millis(50);
/// The least time between reports at the ends of frames: 100 a second are 2 % of a stream of 2 Mb/s.
const FRAME_GAP: Duration = Duration::from_millis(10);
/// The smallest limit of the packets in a report.
const MIN_LIMIT: usize = 4;
/// The arrivals above a hole that make it a loss (RFC 5348 §5.1).
const NDUPACK: u64 = 3;

/// The first and the last arrival of no packets.
const NONE: [Instant; 2] = [Instant::MAX, Instant::ZERO];

/// The consecutive packets that a report covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportSpan {
    /// The extended number of the first packet.
    pub first: u64,
    /// The number of packets, at least 1.
    pub count: usize,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The number, shifted above the two bits of the ECN field. In an empty slot the number exceeds any real one.
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

/// The last N packets, N a power of two, in sixteen bytes each, integers alone. N should be the next power of two
/// above the packets that fit into a report.
#[derive(Clone, Debug)]
pub struct Arrivals<const N: usize> {
    slots: [Slot; N],
    /// The most packets of a report. Seven eighths of them may wait for a report (`most_new`); the rest is room for
    /// packets that arrive before the report leaves.
    limit: u64,
    most_new: u64,
    /// The lowest number that arrived: nothing is known of numbers below.
    first: u64,
    /// The number after the highest that arrived.
    end: u64,
    /// All packets from this number on arrived.
    whole_from: u64,
    /// The number after the last report's last packet; a late packet moves it back.
    unreported: u64,
    /// How many earlier packets the next report repeats: as many as the last report covered for the first time.
    pub(super) repeated: u64,
    /// The number after the last report's last packet, which late packets do not move.
    reported_end: u64,
    /// The first and the last arrival since that report among the packets that were not plainly the next in order.
    slow_path_bounds: [Instant; 2],
    /// The number after the last packet that was too late for a report.
    too_late: u64,
    /// Packets from this number on need more than the plain path.
    fast_path_end: u64,
    /// The arrival of this packet or a higher one makes a hole a loss.
    loss: u64,
    /// Until this time a new hole causes no report: the loss event before it lasts a round trip.
    quiet_until: Instant,
    /// From this time on the next packet causes a report; `MAX` while one is due.
    timer: Instant,
    /// The time at which a report is due if a packet is unreported by then.
    due: Instant,
    rtt: Option<Duration>,
    /// The time between reports.
    pub(super) interval: Nanos,
}

impl<const N: usize> Arrivals<N> {
    const IS_IN_RANGE: () = assert!(N.is_power_of_two() && N >= MIN_LIMIT);

    /// Creates a ring without arrivals, for reports of at most `limit` packets.
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
            repeated: 0,
            reported_end: 0,
            slow_path_bounds: NONE,
            too_late: u64::MAX,
            fast_path_end: 0,
            loss: u64::MAX,
            quiet_until: Instant::ZERO,
            timer: Instant::ZERO,
            due: Instant::MAX,
            rtt: None,
            interval: INTERVAL.into(),
        }
    }

    /// Records a packet whose number is below 2^61. Returns false if the packet had arrived before or is too old to
    /// decide. The first of several copies counts, but a mark on any copy is kept (RFC 8888 §3.1).
    #[inline]
    pub fn handle_data(&mut self, arrival: &Arrival) -> bool {
        let seq = arrival.seq;
        if !self.is_next(arrival) {
            return self.handle_slow_path(arrival);
        }
        self.slots[seq as usize % N] = Slot::new(seq, arrival.at, arrival.ecn);
        self.end = seq + 1;
        if arrival.at >= self.timer {
            self.call_for_report(arrival);
        }
        true
    }

    /// Returns true if a packet is the next in order and cannot cause a report by itself.
    #[inline]
    pub(super) const fn is_next(&self, arrival: &Arrival) -> bool {
        arrival.seq == self.end && arrival.seq < self.fast_path_end
    }

    /// Records a packet that is not the next in order, or that causes a report.
    #[inline(never)]
    fn handle_slow_path(&mut self, arrival: &Arrival) -> bool {
        let &Arrival { seq, at, ecn, .. } = arrival;
        if seq + self.limit < self.end && core::mem::replace(&mut self.too_late, seq + 1) == seq {
            self.reset_unreported(seq);
        }
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
        let [first, last] = self.slow_path_bounds;
        self.slow_path_bounds = [first.min(at), last.max(at)];
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
        self.fast_path_end = self.loss.min(self.unreported + self.most_new);
        true
    }

    /// Returns to the number `seq`, because two packets in a row are further behind the highest than a report reaches.
    /// The highest was forged, or no packet near it would be reported either.
    fn reset_unreported(&mut self, seq: u64) {
        (self.end, self.whole_from, self.loss) = (seq, seq, u64::MAX);
        self.unreported = self.unreported.min(seq);
        self.reported_end = self.reported_end.min(seq);
    }

    /// Makes a report due with the arrival of this packet.
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

    /// Makes a report due at the end of a frame, whose last packet arrived at `at`. The sender thus learns at once
    /// how the frame arrived. Some frames are skipped where more than a hundred a second end.
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

    /// Replaces R, which was wrong, by `rtt`, and ends the time between two reports at `at`.
    pub fn correct_round_trip(&mut self, at: Instant, rtt: Duration) {
        (self.rtt, self.interval) = (Some(rtt), rtt.into());
        if self.timer < Instant::MAX {
            self.timer = self.timer.min(at);
        }
        self.quiet_until = self.quiet_until.min(at);
    }

    /// Returns when to call [`Arrivals::poll_report`]: an instant that has passed means at once.
    ///
    /// Reports are a round trip apart, or closer if the packets fill one sooner. A loss makes a report leave early,
    /// once a round trip at most. Otherwise a report leaves together with the next packet, because a sender cannot
    /// check how long a packet waited for its report. If no packet arrives within a further round trip, the report
    /// leaves alone, and the next packet then causes another report.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.has_news().then_some(self.due)
    }

    const fn has_news(&self) -> bool {
        self.unreported < self.end
    }

    /// Returns the packets of the next report: all that arrived since the last report, and as many again as that
    /// one covered for the first time (more in a [`MeteredArrivals`](super::MeteredArrivals)), up to the limit.
    ///
    /// One lost report thus loses nothing as long as two reports fit into the limit. If a stream is so fast that
    /// they do not, each lost report leaves a hole.
    pub fn next_span(&self) -> ReportSpan {
        let oldest = self.first.max(self.end.saturating_sub(self.limit));
        let first = self.unreported.saturating_sub(self.repeated).max(oldest);
        ReportSpan {
            first,
            count: (self.end - first) as usize,
        }
    }

    /// Returns the report that is due, if one is.
    #[inline]
    pub fn poll_report(&mut self, now: Instant) -> Option<ReportSpan> {
        self.is_due(now).then(|| self.report(now))
    }

    /// Returns true if a report is due.
    #[inline]
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due <= now && self.has_news()
    }

    /// Returns a report of the next span, due or not.
    #[inline(never)]
    pub(super) fn report(&mut self, now: Instant) -> ReportSpan {
        let span = self.next_span();
        self.repeated = self.end - self.unreported;
        (self.unreported, self.reported_end) = (self.end, self.end);
        self.slow_path_bounds = NONE;
        self.fast_path_end = self.loss.min(self.end + self.most_new);
        // After a report that left alone the next packet causes a report at once. Where packets come in bunches, at
        // least two round trips apart, each report would otherwise leave alone.
        let was_alone = self.timer < Instant::MAX;
        let next = now + self.interval;
        self.timer = if was_alone { now } else { next };
        self.due = next + self.interval;
        span
    }

    /// Returns when the first and the last packet arrived since the last report; the first is zero if it is
    /// forgotten.
    pub(super) fn arrival_bounds(&self) -> (Instant, Instant) {
        let [mut first, mut last] = self.slow_path_bounds;
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

    /// Returns which of eight packets arrived, the most significant bit first: 1 for an arrival. The first of them
    /// must be below the end.
    #[inline]
    pub(super) fn eight_bits(&self, first: u64) -> u8 {
        if first < self.whole_from {
            let came = (first..first + 8).map(|seq| self.slots[seq as usize % N].holds(seq));
            came.fold(0, |bits, came| bits << 1 | u8::from(came))
        } else {
            let count = self.end - first;
            !0xff_u8.checked_shr(count as u32).unwrap_or(0)
        }
    }

    /// Returns the status of a packet in a report.
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

    /// Returns the reported status of each packet of a span: its time of arrival and its ECN field.
    pub fn arrivals_in(
        &self,
        span: ReportSpan,
    ) -> impl ExactSizeIterator<Item = Option<(Instant, Ecn)>> + Clone {
        (0..span.count).map(move |index| match self.status(span.first + index as u64) {
            PacketStatus::Arrived { at, ecn } => at.map(|at| (at, ecn)),
            PacketStatus::Missing => None,
        })
    }

    /// Returns the round-trip time that the sender stated last.
    pub const fn round_trip_time(&self) -> Option<Duration> {
        self.rtt
    }
}

#[cfg(test)]
mod tests;
