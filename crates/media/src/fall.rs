//! Holds frames below X for the moments in which the path has lost most of its rate.
//!
//! TFRC comes down over five round trips or so, because it is made not to follow every loss. Until
//! then every frame of the size that X allows overflows the queue and is damaged. What the receiver
//! reports it sees tells the new rate at once: so while losses go on and the receive rate is far
//! below X, frames are made for a little less than the receive rate, and grow back to X when the
//! losses have ended. X itself, and so the fairness to others, stays TFRC's.

use tfrc::units::{LossEventRate, Rate};

/// The rate has fallen if the receiver sees less than this share of X while it loses packets. TFRC
/// alone on a link stays above 0.85 of it.
const FALLEN: f64 = 0.7;
/// Frames are then made for this share of what the receiver sees: what overflowed must drain.
const BELOW: f64 = 0.85;
/// Growth with each report, about one a round trip, up to what the receiver saw at the last loss.
const RETURN: f64 = 0.03;
/// Growth beyond that, where the next loss may wait, and what each report without one adds to it: a
/// link that overflows by a per cent loses a packet, not four frames, and one that is as wide as
/// before is filled again in eight seconds at a round trip of 60 ms.
const PROBE: f64 = 0.002;
const PROBE_GROWTH: f64 = 0.000_1;
/// Reports for which a loss event counts as going on. The one that brings it was made early, over a
/// time that lay in part before the fall.
const REPORTS: u32 = 3;

/// The limit under X, while there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fall {
    limit: Option<Limit>,
    p: LossEventRate,
    /// Reports for which the last loss event still counts.
    losing: u32,
}

#[derive(Clone, Copy, Debug)]
struct Limit {
    rate: Rate,
    /// What the receiver saw when packets were lost: about what the path carries.
    carried: Rate,
    /// Reports without loss beyond that.
    probes: u32,
}

impl Fall {
    /// A report came: X after it, X_recv and p in it.
    pub(crate) fn observe(&mut self, allowed: Rate, received: Rate, p: LossEventRate) {
        if p > self.p {
            self.losing = REPORTS;
        }
        self.p = p;
        let seen = received > Rate::ZERO;
        let fallen = seen && received < allowed * FALLEN;
        self.limit = match self.limit {
            limit if self.losing > 0 && (fallen || limit.is_some() && seen) => {
                let below = received * BELOW;
                let rate = limit.map_or(below, |limit| limit.rate.min(below));
                Some(Limit {
                    rate,
                    carried: received,
                    probes: 0,
                })
            }
            limit => limit.map(Limit::grown).filter(|limit| limit.rate < allowed),
        };
        self.losing = self.losing.saturating_sub(1);
    }

    /// The rate to make frames for.
    pub(crate) fn rate(&self, allowed: Rate) -> Rate {
        self.limit.map_or(allowed, |limit| limit.rate.min(allowed))
    }
}

impl Limit {
    fn grown(self) -> Self {
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

    fn p(p: f64) -> LossEventRate {
        LossEventRate::new(p)
    }

    #[test]
    fn a_sender_that_is_only_data_limited_is_not_held_down() {
        let mut fall = Fall::default();
        fall.observe(mbps(8.0), mbps(2.0), p(0.0));
        fall.observe(mbps(8.0), mbps(2.0), p(0.0));
        assert_eq!(fall.rate(mbps(8.0)), mbps(8.0));
    }

    #[test]
    fn an_ordinary_loss_event_does_not_hold_it_down() {
        let mut fall = Fall::default();
        fall.observe(mbps(3.0), mbps(2.9), p(0.002));
        fall.observe(mbps(2.8), mbps(2.5), p(0.003));
        assert_eq!(fall.rate(mbps(2.8)), mbps(2.8));
    }

    #[test]
    fn a_fall_is_followed_at_once_and_left_gradually() {
        let mut fall = Fall::default();
        fall.observe(mbps(8.0), mbps(7.0), p(0.001));
        fall.observe(mbps(7.5), mbps(2.0), p(0.001));
        assert_eq!(fall.rate(mbps(7.5)), mbps(2.0) * BELOW);
        let mut reports = 0;
        while fall.rate(mbps(2.0)) < mbps(2.0) {
            fall.observe(mbps(2.0), mbps(1.7), p(0.001));
            reports += 1;
        }
        assert!((10..60).contains(&reports), "{reports}");
    }
}
