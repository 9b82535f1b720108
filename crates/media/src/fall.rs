//! Holds frames below X for the moments in which the path has lost most of its rate.
//!
//! TFRC comes down over five round trips or so, because it is made not to follow every loss. Until
//! then every frame of the size that X allows overflows the queue and is damaged, and a long queue
//! stays full. What the receiver reports it sees tells the new rate at once: so while packets are
//! lost and the receive rate is far below the rate that frames were made for a round trip ago, in this report and
//! the one before, they are made for less than the receive rate, until the queue has drained; then the rate returns to what the
//! path carried, and beyond it grows slowly to X. A queue that does not drain, or that comes again
//! although frames are small, is that of others, and ends it at once. X itself, and so the fairness to
//! others, stays TFRC's.

use std::time::Duration;

use tfrc::units::Rate;

use crate::drain::TOLERATED;

/// The rate has fallen if the receiver sees less than this share of what frames are made for now, and saw no more in the report
/// before, while packets are lost. TFRC alone on a link stays above 0.85. (One report is too few: a round trip of five packets,
/// of which one is lost while a queue of others grows, has as little.)
const FALLEN: f64 = 0.7;
/// Frames are then made for this share of what the receiver sees.
const BELOW: f64 = 0.85;
/// The same while a queue stands that X is taken back for, so that what
/// overflowed drains: 240 ms of it in less than a second.
const DRAIN: f64 = 0.7;
/// Reports for which a queue may stand although frames are made for less than what arrives. One of our
/// own, as long as three round trips, drains in half as many. One that is still there is that of others,
/// with whom TFRC must be free to compete.
const STANDING: u32 = 16;
/// A queue that comes after so many reports without one is new: what overflowed at the fall is seen to stand by
/// then. A loss of frames as large as what was carried begins them anew.
const CALM: u32 = 4;
/// Growth with each report, about one a round trip, up to what the path carried.
const RETURN: f64 = 0.03;
/// Growth beyond that, where the next loss may wait, and what each report without one adds to it: a
/// link that overflows by a per cent loses a packet, not four frames, and one that is as wide as
/// before is filled again in eight seconds at a round trip of 60 ms.
const PROBE: f64 = 0.002;
const PROBE_GROWTH: f64 = 0.000_1;
/// Reports for which a loss event counts as going on. The one that brings it was made early, over a
/// time that lay in part before the fall; the two after it may tell of the fall alone.
const REPORTS: u32 = 3;

/// What a report says of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// X after it.
    pub(crate) allowed: Rate,
    /// The rate that frames were made for.
    pub(crate) aimed: Rate,
    /// X_recv, where it tells of the path.
    pub(crate) received: Option<Rate>,
    /// p rose: a loss event began sooner than those before.
    pub(crate) lost: bool,
    /// The queue that stands between frames, as `drain.rs` has it: of two calls that share it, one that took a shorter
    /// one for its own would leave all to the other.
    pub(crate) queue: Duration,
}

/// The limit under X, while there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fall {
    limit: Option<Limit>,
    /// Reports for which the last loss event still counts.
    losing: u32,
    /// What frames were made for at the two reports before.
    aimed: [Option<Rate>; 2],
    /// X_recv when it last told of the path.
    received: Option<Rate>,
}

#[derive(Clone, Copy, Debug)]
struct Limit {
    rate: Rate,
    /// What the receiver saw when the rate fell, or since then of what frames were made for: about what
    /// the path carries.
    carried: Rate,
    /// Reports without loss beyond that.
    probes: u32,
    /// Reports in a row for which the queue has stood.
    standing: u32,
    /// Reports in a row without a queue, or a loss of frames as large as what was carried.
    calm: u32,
}

impl Fall {
    /// A report came.
    pub(crate) fn observe(&mut self, report: &Report) {
        if report.lost {
            self.losing = REPORTS;
        }
        let losing = self.losing > 0;
        self.losing = self.losing.saturating_sub(1);
        // What arrived left a round trip ago, and was made for what was aimed at then. (Beside TCP a loss that let X rise again
        // was taken for a fall time after time, and frames were made for a fifth of X: experiments/call-beside-tcp.toml.)
        let aimed = self
            .aimed
            .into_iter()
            .flatten()
            .fold(report.aimed, Rate::min);
        self.aimed = [Some(report.aimed), self.aimed[0]];
        let Some(received) = report.received else {
            self.limit = None;
            return;
        };
        let before = self.received.replace(received);
        let most = received.max(before.unwrap_or(Rate::INFINITY));
        let fallen = received > Rate::ZERO && most < aimed * FALLEN;
        self.limit = match self.limit {
            _ if losing && fallen => Some(Limit {
                rate: received * BELOW,
                carried: received,
                probes: 0,
                standing: 0,
                calm: 0,
            }),
            Some(limit) if report.queue > TOLERATED => limit.lowered(),
            Some(limit) if report.lost => Some(limit.after_loss()),
            limit => limit.map(|limit| limit.grown(received)),
        };
        self.limit = self.limit.filter(|limit| limit.rate < report.allowed);
    }

    /// The rate to make frames for.
    pub(crate) fn rate(&self, allowed: Rate) -> Rate {
        self.limit.map_or(allowed, |limit| limit.rate.min(allowed))
    }
}

impl Limit {
    /// Low enough for our queue to drain; nothing, if the queue is that of others: it stays, or was gone and comes again
    /// although frames are made for less than the path carried.
    fn lowered(self) -> Option<Self> {
        let others = self.calm >= CALM && self.rate < self.carried;
        (self.standing < STANDING && !others).then(|| Self {
            rate: self.rate.min(self.carried * DRAIN),
            probes: 0,
            standing: self.standing + 1,
            calm: 0,
            ..self
        })
    }

    /// What it is after a loss that is no fall.
    fn after_loss(self) -> Self {
        Self {
            rate: self.rate.min(self.carried * BELOW),
            probes: 0,
            standing: 0,
            // Frames of as much as the path carried, or more, may have overflowed it: the queue of that, if it is seen yet, is ours.
            calm: if self.rate < self.carried {
                self.calm
            } else {
                0
            },
            ..self
        }
    }

    /// Larger, after a report that this arrives and no queue stands.
    fn grown(mut self, received: Rate) -> Self {
        self.standing = 0;
        self.calm += 1;
        // A queue long after the fall is drained at a share of what the path carries by then.
        self.carried = self.carried.max(received.min(self.rate));
        if self.rate < self.carried {
            return Self {
                rate: self.rate * (1.0 + RETURN),
                ..self
            };
        }
        let growth = PROBE + PROBE_GROWTH * f64::from(self.probes);
        Self {
            rate: self.rate * (1.0 + growth),
            probes: self.probes + 1,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbps(rate: f64) -> Rate {
        Rate::from_bits_per_sec(rate * 1e6)
    }

    /// X and X_recv in Mb/s, whether a packet was lost, and the queue in ms, where frames are made for all that is allowed.
    fn report(fall: &mut Fall, allowed: f64, received: f64, lost: bool, queue: u64) -> f64 {
        observe(fall, allowed, Some(received), lost, queue)
    }

    /// The same where X_recv may tell nothing of the path.
    fn observe(
        fall: &mut Fall,
        allowed: f64,
        received: Option<f64>,
        lost: bool,
        queue: u64,
    ) -> f64 {
        fall.observe(&Report {
            allowed: mbps(allowed),
            aimed: fall.rate(mbps(allowed)),
            received: received.map(mbps),
            lost,
            queue: Duration::from_millis(queue),
        });
        (fall.rate(mbps(allowed)).bits_per_sec() / 1e4).round() / 100.0
    }

    /// The report before, without a loss, said that this arrives.
    fn seeing(received: f64) -> Fall {
        let mut fall = Fall::default();
        report(&mut fall, 8.0, received, false, 0);
        fall
    }

    #[test]
    fn a_sender_that_is_only_data_limited_is_not_held_down() {
        let mut fall = Fall::default();
        assert_eq!(report(&mut fall, 8.0, 2.0, false, 0), 8.0);
        assert_eq!(report(&mut fall, 8.0, 2.0, false, 200), 8.0);
    }

    #[test]
    fn a_loss_while_a_deadline_keeps_frames_small_is_no_fall() {
        let mut fall = seeing(0.58);
        fall.observe(&Report {
            allowed: mbps(1.4),
            aimed: mbps(0.6),
            received: Some(mbps(0.58)),
            lost: true,
            queue: Duration::from_millis(20),
        });
        assert_eq!(fall.rate(mbps(1.4)), mbps(1.4));
    }

    /// X rises from one report to the next as a limit ends, and what arrives is of the one before.
    #[test]
    fn a_loss_while_x_rises_is_no_fall() {
        let mut fall = Fall::default();
        assert_eq!(report(&mut fall, 0.2, 0.2, true, 10), 0.2);
        assert_eq!(report(&mut fall, 0.2, 0.2, true, 10), 0.2);
        assert_eq!(report(&mut fall, 0.4, 0.2, true, 10), 0.4);
        assert_eq!(report(&mut fall, 0.6, 0.2, false, 10), 0.6);
        // Two reports later as much would have arrived.
        assert_eq!(report(&mut fall, 0.6, 0.2, true, 10), 0.17);
    }

    #[test]
    fn an_ordinary_loss_event_does_not_hold_it_down() {
        let mut fall = seeing(2.5);
        assert_eq!(report(&mut fall, 3.0, 2.9, true, 50), 3.0);
        assert_eq!(report(&mut fall, 2.8, 2.5, true, 50), 2.8);
    }

    #[test]
    fn one_round_trip_of_which_little_arrives_is_no_fall() {
        for (before, received) in [(6.0, 2.0), (2.0, 6.0)] {
            let mut fall = seeing(before);
            assert_eq!(report(&mut fall, 8.0, received, true, 0), 8.0);
            assert_eq!(report(&mut fall, 8.0, 6.0, false, 0), 8.0);
        }
    }

    #[test]
    fn a_round_trip_that_tells_nothing_leaves_what_arrived_before_it() {
        let after = |before: f64| {
            let mut fall = seeing(before);
            observe(&mut fall, 8.0, None, false, 0);
            report(&mut fall, 8.0, 2.0, true, 0)
        };
        assert_eq!(after(6.0), 8.0);
        assert_eq!(after(2.0), 1.7);
    }

    /// Frames are made for what arrived last.
    #[test]
    fn a_fall_is_one_to_less_than_seven_tenths_twice() {
        let after = |before: f64| {
            let mut fall = seeing(before);
            report(&mut fall, 8.0, 2.0, true, 0)
        };
        assert_eq!(after(5.5), 1.7);
        assert_eq!(after(5.7), 8.0);
    }

    #[test]
    fn a_fall_is_followed_drained_and_left_gradually() {
        let mut fall = Fall::default();
        report(&mut fall, 8.0, 7.0, true, 60);
        report(&mut fall, 7.5, 2.0, false, 100);
        assert_eq!(report(&mut fall, 7.5, 2.0, false, 200), 1.7);
        // 1.4 Mb/s, seven tenths of what the path carries, while the queue is long.
        for _ in 0..5 {
            assert_eq!(report(&mut fall, 7.5, 2.0, false, 150), 1.4);
        }
        let mut reports = 0;
        while report(&mut fall, 7.5, 1.4, false, 10) < 2.0 {
            reports += 1;
        }
        assert!((10..20).contains(&reports), "{reports}");
        while report(&mut fall, 7.5, 2.0, false, 10) < 7.5 {
            reports += 1;
        }
        assert!((100..200).contains(&reports), "{reports}");
    }

    /// A path that came back a hundred reports ago is not taken back to what it carried in between.
    #[test]
    fn a_queue_long_after_a_fall_is_drained_at_what_is_carried_by_then() {
        let mut fall = seeing(2.0);
        report(&mut fall, 8.0, 2.0, true, 10);
        let mut rate = fall.rate(mbps(8.0)).bits_per_sec() / 1e6;
        while rate < 6.0 {
            rate = report(&mut fall, 8.0, rate, false, 10);
        }
        let drained = report(&mut fall, 8.0, rate, false, 60);
        assert!((0.68 * rate..0.72 * rate).contains(&drained), "{drained}");
    }

    /// Beside others that keep losing packets, the limit does not creep down to nothing.
    #[test]
    fn losses_that_are_not_falls_take_it_no_lower() {
        let mut fall = seeing(2.0);
        report(&mut fall, 8.0, 2.0, true, 0);
        for _ in 0..100 {
            let aimed = fall.rate(mbps(8.0)).bits_per_sec() / 1e6;
            assert_eq!(report(&mut fall, 8.0, aimed * 0.95, true, 0), 1.7);
        }
    }

    #[test]
    fn a_queue_that_does_not_drain_is_that_of_others_and_holds_nothing_down() {
        let mut fall = seeing(1.0);
        report(&mut fall, 3.0, 1.0, true, 40);
        let rates: Vec<f64> = (0..20)
            .map(|_| report(&mut fall, 3.0, 0.9, false, 40))
            .collect();
        assert_eq!(rates[..16], [0.7; 16]);
        assert_eq!(rates[16..], [3.0; 4]);
    }

    /// A fall to 2 Mb/s whose queue has gone, and so many reports since that this arrives.
    fn drained(calm: usize, received: f64) -> Fall {
        let mut fall = seeing(2.0);
        report(&mut fall, 8.0, 2.0, true, 40);
        report(&mut fall, 8.0, 1.7, false, 40);
        for _ in 0..calm {
            report(&mut fall, 8.0, received, false, 0);
        }
        fall
    }

    #[test]
    fn a_queue_that_comes_again_although_frames_are_small_is_that_of_others() {
        let after = |calm: usize, received: f64| {
            let mut fall = drained(calm, received);
            report(&mut fall, 8.0, received, false, 40)
        };
        assert_eq!(after(4, 1.5), 8.0);
        // It may be that of the fall, or of frames as large as what was carried.
        assert_eq!(after(3, 1.5), 1.4);
        assert_eq!(after(30, 2.0), 1.4);
    }

    /// The queue that lost a packet may be seen to stand only after the loss has made frames smaller.
    #[test]
    fn a_queue_after_a_loss_is_ours_if_frames_were_as_large_as_what_was_carried() {
        let after = |calm: usize, received: f64| {
            let mut fall = drained(calm, received);
            report(&mut fall, 8.0, received, true, 0);
            report(&mut fall, 8.0, received, false, 40)
        };
        assert_eq!(after(30, 2.0), 1.4);
        assert_eq!(after(4, 1.5), 8.0);
    }

    #[test]
    fn a_round_trip_that_tells_nothing_ends_the_limit_but_not_what_was_aimed_at() {
        let mut fall = seeing(2.0);
        assert_eq!(report(&mut fall, 8.0, 2.0, true, 0), 1.7);
        assert_eq!(observe(&mut fall, 8.0, None, false, 0), 8.0);
        // Two more may tell of what left under it.
        assert_eq!(report(&mut fall, 8.0, 2.0, true, 0), 8.0);
        assert_eq!(report(&mut fall, 8.0, 2.0, true, 0), 8.0);
        assert_eq!(report(&mut fall, 8.0, 2.0, true, 0), 1.7);
    }

    #[test]
    fn a_loss_over_a_round_trip_that_tells_nothing_counts_for_the_reports_after_it() {
        let after = |reports: usize| {
            let mut fall = Fall::default();
            observe(&mut fall, 8.0, None, true, 0);
            for _ in 0..reports {
                report(&mut fall, 8.0, 8.0, false, 0);
            }
            report(&mut fall, 8.0, 2.0, false, 0);
            report(&mut fall, 8.0, 2.0, false, 0)
        };
        assert_eq!(after(0), 1.7);
        assert_eq!(after(1), 8.0);
    }

    /// Two calls that share a queue: one that took a shorter one for its own would leave the link to the other.
    #[test]
    fn what_is_no_queue_to_the_drain_is_none_here() {
        let mut fall = seeing(2.0);
        report(&mut fall, 8.0, 2.0, true, 10);
        assert!(report(&mut fall, 8.0, 2.0, false, 14) > 1.7);
        assert_eq!(report(&mut fall, 8.0, 2.0, false, 15), 1.4);
    }
}
