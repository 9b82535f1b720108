//! How large a frame may be, and whether it may still be sent.
//!
//! The path model ([`evenkeel_rate`]) gives the rate and, with the deadline, the largest frame that arrives whole in time.
//! What the encoder and the headers add is measured and taken off. A deadline that the path cannot hold is lengthened to
//! what the path needs, because a smaller picture would not arrive sooner.
//!
//! With [`Rules::Thesis`] equations 6.3 and 6.4 of the thesis decide alone, for comparison.

mod config;
mod frame_cost;
mod thesis;

use std::time::Duration;

use evenkeel_rate::{Mode, Params, PathModel, TransitReport};
use evenkeel_rtp::session::{Path, PathSample, PathSignal, RateSource};
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

use self::frame_cost::FrameCost;

pub use self::config::{PolicyConfig, Rules, UnknownRules};
pub(crate) use self::frame_cost::CodedFrame;

/// What the encoder is to make of the picture just captured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameTarget {
    /// The size to aim at, of the coded bytes ([`CodedPicture::size`](crate::frame::CodedPicture::size)).
    pub size: Bytes,
    /// The rate of coded bytes that the path carries, for a codec whose frames have a size of their own.
    pub rate: Rate,
    /// From capture to display, at the latest.
    pub deadline: Duration,
    /// True while the deadline is longer than the configured one.
    pub stretched: bool,
    /// The picture must not refer to any before it: one of those is lost.
    pub keyframe: bool,
}

/// The sending buffer's policy and what it has measured.
#[derive(Clone, Debug)]
pub struct Policy {
    config: PolicyConfig,
    model: PathModel,
    cost: FrameCost,
    /// What was left for pictures that the encoder cannot make small enough.
    saved: Bytes,
    deadline: Duration,
}

/// Two packets with headers, of which a smaller frame would have one alone: it measures nothing of the path.
const LEAST_FRAME: Bytes = Bytes::new(240);
/// The rate before anything is known of the path: what RFC 8698 §4.1 and WebRTC endpoints begin with.
const FIRST_RATE: Rate = Rate::from_bits_per_sec(300e3);
/// A frame takes no longer than this to send where the deadline asks for less than its interval: 25 frames a second.
const LONGEST_FRAME: Duration = Duration::from_millis(40);
/// The deadline changes in steps of this, so that it stays where it is while the path does.
const DEADLINE_STEP: Duration = Duration::from_millis(10);

impl Policy {
    /// A policy that has measured nothing yet. `headers` is a first guess at the bytes that TFRC counts for each coded
    /// byte.
    pub fn new(config: PolicyConfig, headers: f64) -> Self {
        Self {
            model: new_model(&config),
            cost: FrameCost::new(headers),
            saved: Bytes::ZERO,
            deadline: config.deadline,
            config,
        }
    }

    /// What it was configured with.
    pub const fn config(&self) -> &PolicyConfig {
        &self.config
    }

    /// The model of the path.
    pub const fn model(&self) -> &PathModel {
        &self.model
    }

    /// The path is another one: nothing that was measured of the last one holds.
    pub(crate) fn forget_path(&mut self) {
        self.model = new_model(&self.config);
        self.deadline = self.config.deadline;
    }

    /// Another encoder takes over, whose frames may have a size of their own.
    pub(crate) fn set_encoder(&mut self, own_size: bool) {
        self.cost.set_encoder(own_size);
    }

    /// From now on these rules hold. What was measured holds on.
    pub(crate) fn set_rules(&mut self, rules: Rules) {
        self.config.rules = rules;
        self.update_deadline();
    }

    /// A packet left under this number.
    pub(crate) fn packet_sent(&mut self, now: Instant, number: u64, len: usize, ends_frame: bool) {
        self.model
            .handle_sent(now, number, Bytes::from(len), ends_frame);
    }

    /// A packet of filler left under this number.
    pub(crate) fn filler_sent(&mut self, now: Instant, number: u64, len: usize) {
        self.model.handle_filler_sent(now, number, Bytes::from(len));
    }

    /// Feedback came, which leaves the path in this state.
    pub(crate) fn observe_path(&mut self, now: Instant, sample: &PathSample<'_>, path: &Path) {
        self.model.set_bound(path.allowed_rate);
        if sample.loss_event {
            self.model.handle_loss_event(now);
        }
        self.model.handle_losses(sample.lost);
        match sample.signal {
            PathSignal::Deliveries => self.model.handle_report(now, sample.deliveries()),
            PathSignal::TransitBounds {
                sent_at,
                round_trip,
                least,
                largest,
                receive_rate,
            } => self.model.handle_transit_bounds(
                now,
                &TransitReport {
                    sent_at,
                    round_trip,
                    least,
                    largest,
                    receive_rate,
                },
            ),
            PathSignal::RoundTrip {
                sent_at,
                round_trip,
                receive_rate,
            } => self
                .model
                .handle_round_trip(now, sent_at, round_trip, receive_rate),
        }
        self.update_deadline();
    }

    /// The rate beyond which X would be of no use: the pace of a frame's packets.
    pub fn ceiling(&self) -> Rate {
        match self.config.rules {
            Rules::Evenkeel => self.model.useful_rate(),
            Rules::Thesis => Rate::INFINITY,
        }
    }

    /// The rate that media may use of this path: X, or less where the path model keeps the queue short.
    pub fn available_rate(&self, path: &Path) -> Rate {
        if self.follows_model(path) {
            path.allowed_rate.min(self.model.rate())
        } else {
            path.allowed_rate
        }
    }

    /// The losses per packet that TFRC is not to count; `None` if it counts all ([`PolicyConfig::random_loss`]).
    pub fn tolerated_loss(&self) -> Option<f64> {
        self.config.random_loss.then(|| self.model.random_loss())
    }

    /// The model learns from feedback alone. Where something else sets X, frames are made for X.
    fn follows_model(&self, path: &Path) -> bool {
        self.config.rules == Rules::Evenkeel && path.source == RateSource::Feedback
    }

    /// The target of a picture captured at `now`, with `queued` bytes before it; `None` if the picture is better left out.
    pub fn target(&mut self, now: Instant, path: &Path, queued: Bytes) -> Option<FrameTarget> {
        if self.config.rules == Rules::Thesis {
            return Some(self.thesis_target(path, queued));
        }
        // Feedback updates the deadline from the first round trip on.
        if self.model.base_round_trip().is_none() {
            self.update_deadline();
        }
        if path.rtt.is_some() {
            self.model.set_bound(path.allowed_rate);
        }
        let share = self.available_rate(path) * self.config.frame_interval;
        let (budget, pace) = if self.follows_model(path) {
            let before = self.fixed_delay() + self.expected_queue();
            let time = self.deadline.saturating_sub(before);
            (self.model.frame_budget(now, time), self.model.pacing_rate())
        } else {
            (share, path.instantaneous_rate)
        };
        let leaves_meanwhile = pace * self.cost.preparation;
        let wire = budget - (queued - leaves_meanwhile);
        let wire = wire.max(LEAST_FRAME);
        let least = self.cost.floor;
        if wire >= least || self.cost.own_size {
            self.saved = Bytes::ZERO;
        } else {
            self.saved += wire;
            if self.saved < least {
                return None;
            }
            self.saved -= least;
        }
        Some(FrameTarget {
            size: self.cost.coded_size(wire.max(least)),
            rate: self.cost.coded_size(share) / self.config.frame_interval,
            deadline: self.deadline,
            stretched: self.stretched().is_some(),
            keyframe: false,
        })
    }

    /// What the thesis does not count would make every frame late: its headers, and the time that the encoder takes.
    fn thesis_target(&self, path: &Path, queued: Bytes) -> FrameTarget {
        let ahead = queued + path.allowed_rate * self.cost.preparation;
        let wire = thesis::largest_frame(&self.config, path, ahead);
        FrameTarget {
            size: self.cost.without_headers(wire),
            // The transmission condition alone adapts frames that have a size of their own (§6.3.2).
            rate: Rate::INFINITY,
            deadline: self.config.deadline,
            stretched: false,
            keyframe: false,
        }
    }

    /// Whether a frame of `size` bytes on the wire may begin now (equation 6.4). A frame that follows the path model was made
    /// to be in time.
    pub(crate) fn may_begin(&self, age: Duration, size: Bytes, path: &Path) -> bool {
        match self.config.rules {
            Rules::Evenkeel => true,
            Rules::Thesis => thesis::is_in_time(&self.config, path, age, size),
        }
    }

    /// True if a frame that waits gives way to a newer one.
    pub(crate) fn prefers_newest(&self) -> bool {
        self.config.rules == Rules::Evenkeel
    }

    /// A frame was coded: how long that took, and what it costs on the wire.
    pub(crate) fn observe_frame(&mut self, frame: &CodedFrame) {
        self.cost.observe(frame);
    }

    /// The deadline that frames are coded for: the configured one, or longer while the path cannot hold that.
    pub const fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The deadline, while it is longer than the configured one.
    pub fn stretched(&self) -> Option<Duration> {
        (self.deadline > self.config.deadline).then_some(self.deadline)
    }

    /// The delay of a frame, whatever its size.
    fn fixed_delay(&self) -> Duration {
        let round_trip = self.model.base_round_trip().unwrap_or_default();
        self.cost.preparation + round_trip / 2 + self.config.playout
    }

    /// The queueing delay that a frame is to be ready for.
    fn expected_queue(&self) -> Duration {
        match self.model.mode() {
            Mode::Delay => self.model.target_delay() * 2,
            Mode::Compete => self.model.queueing_delay(),
        }
    }

    /// A frame at the available rate takes its interval.
    fn update_deadline(&mut self) {
        let frame = self.config.frame_interval.min(LONGEST_FRAME);
        let needed = self.fixed_delay() + frame + self.expected_queue();
        let needed = needed.min(PolicyConfig::LONGEST_DEADLINE);
        let is_slack = needed + DEADLINE_STEP * 2 < self.deadline;
        if self.config.rules == Rules::Thesis {
            self.deadline = self.config.deadline;
        } else if needed > self.deadline || is_slack {
            let steps = needed.as_millis().div_ceil(DEADLINE_STEP.as_millis());
            let deadline = DEADLINE_STEP * u32::try_from(steps).unwrap_or(u32::MAX);
            self.deadline = deadline.max(self.config.deadline);
        }
    }
}

fn new_model(config: &PolicyConfig) -> PathModel {
    let model = PathModel::new(Params::CALL, config.frame_interval, FIRST_RATE);
    if config.random_loss {
        model.seeking_random_loss()
    } else {
        model
    }
}

#[cfg(test)]
mod tests;
