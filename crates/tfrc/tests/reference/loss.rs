//! RFC 5348 §5 as its text has it: every arrival is kept, and every question is answered by looking
//! through all of them.

use std::collections::BTreeSet;
use std::time::Duration;

use tfrc::Arrival;
use tfrc::loss::Arrived;
use tfrc::time::Instant;
use tfrc::units::LossEventRate;

/// §5.1.
const NDUPACK: usize = 3;
/// §5.4.
const N: usize = 8;
/// §5.5.
const THRESHOLD: f64 = 0.25;

/// w_i (§5.4).
fn weight(i: usize) -> f64 {
    if i < N / 2 {
        1.0
    } else {
        2.0 * (N - i) as f64 / (N + 2) as f64
    }
}

/// A loss interval, by the loss event that begins it.
struct Interval {
    /// S_A: the packet that started the event.
    start: u64,
    /// T_old: its nominal arrival time.
    at: Instant,
    /// The last packet lost or marked in the event.
    last: u64,
    /// The packets lost or marked in the event that have not come since.
    packets: BTreeSet<u64>,
    /// The length of the synthetic first interval (§6.3.1), which no event begins.
    synthetic: Option<f64>,
    /// DF_i.
    discount: f64,
}

pub(crate) struct Losses {
    discounting: bool,
    /// In the order in which they came; no duplicates.
    arrivals: Vec<Arrival>,
    received: BTreeSet<u64>,
    /// Called lost, and not come since.
    lost: BTreeSet<u64>,
    /// I_0, I_1, … I_n; what would be I_(n+1) "is forgotten" (§5.5).
    intervals: Vec<Interval>,
}

impl Losses {
    pub(crate) fn new(discounting: bool) -> Self {
        Self {
            discounting,
            arrivals: Vec::new(),
            received: BTreeSet::new(),
            lost: BTreeSet::new(),
            intervals: Vec::new(),
        }
    }

    pub(crate) fn handle_arrival(
        &mut self,
        arrival: &Arrival,
        first_interval: impl Fn() -> f64,
    ) -> Arrived {
        let seq = arrival.seq;
        let mut arrived = Arrived::default();
        // What is below the first packet that came was not expected.
        let expected = self.arrivals.first().is_none_or(|first| seq > first.seq);
        if !expected || self.received.contains(&seq) {
            arrived.duplicate = true;
            return arrived;
        }
        let highest_before = self.highest().unwrap_or(seq);
        if self.lost.remove(&seq) {
            arrived.recovered = true;
            arrived.merged = self.undo_loss(seq);
        }
        self.arrivals.push(*arrival);
        self.received.insert(seq);

        let marked = arrival.ecn.is_marked();
        let revealed: Vec<u64> = self
            .missing()
            .filter(|missing| self.above(*missing) >= NDUPACK || (marked && *missing < seq))
            .collect();
        for loss in revealed {
            self.lost.insert(loss);
            arrived.lost += 1;
            let at = self.nominal_time(loss);
            arrived.new_events +=
                u64::from(self.congestion(loss, at, highest_before, &first_interval));
        }
        if marked {
            arrived.new_events +=
                u64::from(self.congestion(seq, arrival.at, highest_before, &first_interval));
        }
        arrived
    }

    /// p (§5.5; with every factor 1, §5.4).
    pub(crate) fn loss_event_rate(&self) -> LossEventRate {
        let Some(highest) = self.highest().filter(|_| !self.intervals.is_empty()) else {
            return LossEventRate::ZERO;
        };
        let k = self.intervals.len() - 1;
        let df = self.general_discount(highest);
        let (mut i_tot0, mut w_tot0) = (self.current(highest) * weight(0), weight(0));
        let (mut i_tot1, mut w_tot1) = (0.0, 0.0);
        // The products are taken in this order on both sides, or their last bits would differ.
        for i in 1..k {
            let w = weight(i) * self.intervals[i].discount * df;
            i_tot0 += self.length(i) * w;
            w_tot0 += w;
        }
        for i in 1..=k {
            let w = weight(i - 1) * self.intervals[i].discount;
            i_tot1 += self.length(i) * w;
            w_tot1 += w;
        }
        LossEventRate::new(f64::min(w_tot0 / i_tot0, w_tot1 / i_tot1))
    }

    /// R_m: what the packet with the highest number told, or the highest before it that told one.
    pub(crate) fn round_trip_time(&self) -> Option<Duration> {
        let (mut highest, mut rtt) = (None, None);
        for arrival in &self.arrivals {
            if highest.is_none_or(|highest| arrival.seq > highest) {
                highest = Some(arrival.seq);
                rtt = arrival.rtt.or(rtt);
            }
        }
        rtt
    }

    /// The lengths and discount factors of I_1 … I_n.
    pub(crate) fn closed(&self) -> Vec<(f64, f64)> {
        (1..self.intervals.len())
            .map(|i| (self.length(i), self.intervals[i].discount))
            .collect()
    }

    fn highest(&self) -> Option<u64> {
        self.received.last().copied()
    }

    /// Packets that have neither come nor been called lost.
    fn missing(&self) -> impl Iterator<Item = u64> {
        let first = self.received.first().copied().unwrap_or(0);
        let highest = self.highest().unwrap_or(0);
        (first..highest).filter(|seq| !self.received.contains(seq) && !self.lost.contains(seq))
    }

    /// Arrivals with a higher number.
    fn above(&self, seq: u64) -> usize {
        self.received.range(seq + 1..).count()
    }

    /// T_loss (§5.2).
    fn nominal_time(&self, loss: u64) -> Instant {
        let after = self
            .arrivals
            .iter()
            .position(|arrival| arrival.seq > loss)
            .expect("a loss is revealed by an arrival above it");
        let (before, after) = (&self.arrivals[after - 1], &self.arrivals[after]);
        let span = after.at.as_nanos() - before.at.as_nanos();
        let share =
            u128::from(span) * u128::from(loss - before.seq) / u128::from(after.seq - before.seq);
        Instant::from_nanos(before.at.as_nanos() + share as u64)
    }

    /// Sorts a lost or marked packet into the events (§5.2). True if it starts one.
    fn congestion(
        &mut self,
        seq: u64,
        at: Instant,
        highest_before: u64,
        first_interval: &impl Fn() -> f64,
    ) -> bool {
        // Before any R is known, losses a second apart are events of their own.
        let rtt = self.round_trip_time().unwrap_or(Duration::from_secs(1));
        if let Some(current) = self.intervals.first_mut()
            // An event begins above all packets of the one before; a late mark may lie below (deviation 14).
            && (current.at + rtt >= at || seq < current.last)
        {
            current.last = current.last.max(seq);
            current.packets.insert(seq);
            return false;
        }
        if self.intervals.is_empty() {
            self.intervals.push(Interval {
                start: 0,
                at: Instant::ZERO,
                last: 0,
                packets: BTreeSet::new(),
                synthetic: Some(first_interval()),
                discount: 1.0,
            });
        } else {
            let df = self.general_discount(highest_before);
            self.intervals[1..]
                .iter_mut()
                .for_each(|interval| interval.discount *= df);
        }
        self.intervals.insert(
            0,
            Interval {
                start: seq,
                at,
                last: seq,
                packets: BTreeSet::from([seq]),
                synthetic: None,
                discount: 1.0,
            },
        );
        self.intervals.truncate(N + 1);
        true
    }

    /// A packet that was called lost has come (§5.1). True if that removes its loss event.
    fn undo_loss(&mut self, seq: u64) -> bool {
        let Some(index) = self
            .intervals
            .iter()
            .position(|interval| interval.packets.contains(&seq))
        else {
            return false;
        };
        self.intervals[index].packets.remove(&seq);
        if !self.intervals[index].packets.is_empty() {
            return false;
        }
        let removed = self.intervals.remove(index);
        // Its packets join the interval before, and count as they counted.
        if let Some(older) = self.intervals.get_mut(index)
            && older.synthetic.is_none()
        {
            older.discount = removed.discount;
        }
        // The synthetic interval alone: there has been no loss.
        if self.intervals.len() < 2 {
            self.intervals.clear();
        }
        true
    }

    /// I_i for i ≥ 1: S_B − S_A (§5.3).
    fn length(&self, i: usize) -> f64 {
        let interval = &self.intervals[i];
        interval
            .synthetic
            .unwrap_or_else(|| (self.intervals[i - 1].start - interval.start) as f64)
    }

    /// I_0 = S_C − S_A + 1 (§5.3).
    fn current(&self, highest: u64) -> f64 {
        highest.saturating_sub(self.intervals[0].start) as f64 + 1.0
    }

    /// DF (§5.5).
    fn general_discount(&self, highest: u64) -> f64 {
        if !self.discounting {
            return 1.0;
        }
        let (mut i_tot, mut w_tot) = (0.0, 0.0);
        for i in 1..self.intervals.len() {
            w_tot += weight(i - 1) * self.intervals[i].discount;
            i_tot += self.length(i) * weight(i - 1) * self.intervals[i].discount;
        }
        let i_mean = i_tot / w_tot;
        let i_0 = self.current(highest);
        if i_0 > 2.0 * i_mean {
            f64::max(2.0 * i_mean / i_0, THRESHOLD)
        } else {
            1.0
        }
    }
}
