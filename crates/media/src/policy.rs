//! The policy sets the size of each frame, and decides whether the frame may still be sent.
//!
//! The path model ([`evenkeel_rate`]) gives the rate and, with the deadline, the largest frame that arrives whole in time.
//! The policy measures the headers and the error of the encoder, and subtracts both. A deadline that the path cannot hold is
//! lengthened to the delay of the path, because a smaller picture would not arrive sooner.
//!
//! With [`Rules::Thesis`] equations 6.3 and 6.4 of the thesis decide alone, so that both can be compared.

mod config;
mod frame_cost;
mod thesis;

use std::time::Duration;

use evenkeel_codec::FrameTarget;
use evenkeel_rate::{Mode, Params, PathModel, TransitReport};
use evenkeel_rtp::session::{Path, PathSample, PathSignal, RateSource};
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

use self::frame_cost::FrameCost;

pub use self::config::{PolicyConfig, Rules, UnknownRules};
pub(crate) use self::frame_cost::CodedFrame;

/// The sending buffer's policy, with its measurements.
#[derive(Clone, Debug)]
pub struct Policy {
    config: PolicyConfig,
    model: PathModel,
    cost: FrameCost,
    /// Bytes saved up for a picture that the encoder cannot make small enough.
    saved: Bytes,
    deadline: Duration,
}

/// Lower bound of a frame: two packets with headers, since a frame of one packet measures nothing.
const LEAST_FRAME: Bytes = Bytes::new(240);
/// The rate before any measurement, as in RFC 8698 §4.1 and in WebRTC endpoints.
const FIRST_RATE: Rate = Rate::from_bits_per_sec(300e3);
/// Bound on the time that the deadline leaves for sending a frame: the interval at 25 frames a second.
const LONGEST_FRAME: Duration = Duration::from_millis(40);
/// Step of the deadline, so that the deadline is constant while the path hardly changes.
const DEADLINE_STEP: Duration = Duration::from_millis(10);

impl Policy {
    /// Creates a policy without measurements. `headers` is a first guess at the bytes that TFRC counts for each coded byte.
    pub fn new(config: PolicyConfig, headers: f64) -> Self {
        Self {
            model: new_model(&config),
            cost: FrameCost::new(headers),
            saved: Bytes::ZERO,
            deadline: config.deadline,
            config,
        }
    }

    /// Gives the configuration.
    pub const fn config(&self) -> &PolicyConfig {
        &self.config
    }

    /// Gives the model of the path.
    pub const fn model(&self) -> &PathModel {
        &self.model
    }

    /// Forgets the measurements of the last path, since the path is another one.
    pub(crate) fn forget_path(&mut self) {
        self.model = new_model(&self.config);
        self.deadline = self.config.deadline;
    }

    /// Begins with another encoder, whose frames may have a size of their own.
    pub(crate) fn set_encoder(&mut self, own_size: bool) {
        self.cost.set_encoder(own_size);
    }

    /// Changes the rules, and keeps the measurements.
    pub(crate) fn set_rules(&mut self, rules: Rules) {
        self.config.rules = rules;
        self.update_deadline();
    }

    /// Records a packet of media that left under this number.
    pub(crate) fn packet_sent(&mut self, now: Instant, number: u64, len: usize, ends_frame: bool) {
        self.model
            .handle_sent(now, number, Bytes::from(len), ends_frame);
    }

    /// Records a packet of filler that left under this number.
    pub(crate) fn filler_sent(&mut self, now: Instant, number: u64, len: usize) {
        self.model.handle_filler_sent(now, number, Bytes::from(len));
    }

    /// Handles a sample of the path, and the state of the path after the same feedback.
    pub(crate) fn observe_path(&mut self, now: Instant, sample: &PathSample<'_>, path: &Path) {
        if sample.loss_event {
            self.model.handle_loss_event(now);
        }
        self.model.set_bound(now, path.allowed_rate);
        self.model.handle_losses(sample.lost);
        observe_signal(&mut self.model, now, sample);
        self.update_deadline();
    }

    /// Gives the rate beyond which X is of no use: the pace of a frame's packets, or the most that media may have.
    pub fn ceiling(&self) -> Rate {
        let useful = match self.config.rules {
            Rules::Evenkeel => self.model.useful_rate(),
            Rules::Thesis => Rate::INFINITY,
        };
        useful.min(self.config.max_rate)
    }

    /// Gives the rate that media may use: X, or less if the path model keeps the queue short.
    pub fn available_rate(&self, path: &Path) -> Rate {
        let rate = if self.follows_model(path) {
            self.model.rate()
        } else {
            path.allowed_rate
        };
        // The ceiling bounds TFRC's X alone.
        rate.min(self.config.max_rate)
    }

    /// Gives the losses per packet that TFRC leaves out; `None` if every loss counts ([`PolicyConfig::random_loss`]).
    pub fn tolerated_loss(&self) -> Option<f64> {
        self.config.random_loss.then(|| match self.config.rules {
            Rules::Evenkeel => self.model.random_loss(),
            // Frames by the rules of the thesis ignore the model, so that its trials lower no rate.
            Rules::Thesis => 0.0,
        })
    }

    /// Returns true if the model sets the rate. The model needs feedback: if another source sets X, frames are made
    /// for X.
    fn follows_model(&self, path: &Path) -> bool {
        self.config.rules == Rules::Evenkeel && path.rate_source == RateSource::Feedback
    }

    /// Gives the target of a picture captured at `now` behind `queued` bytes; `None` if the picture is better left out.
    pub fn target(&mut self, now: Instant, path: &Path, queued: Bytes) -> Option<FrameTarget> {
        if self.config.rules == Rules::Thesis {
            return Some(self.thesis_target(path, queued));
        }
        // Feedback updates the deadline from the first round trip on.
        if self.model.base_round_trip().is_none() {
            self.update_deadline();
        }
        if path.rtt.is_some() {
            self.model.set_bound(now, path.allowed_rate);
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

    /// Gives the target of equation 6.3. The policy also counts headers and encoding time, without which every frame would be
    /// late.
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

    /// Returns true if a frame of `size` bytes on the wire may begin now (equation 6.4). A frame that follows the path model
    /// has a size with which it is in time.
    pub(crate) fn may_begin(&self, age: Duration, size: Bytes, path: &Path) -> bool {
        match self.config.rules {
            Rules::Evenkeel => true,
            Rules::Thesis => thesis::is_in_time(&self.config, path, age, size),
        }
    }

    /// Returns true if a waiting frame gives way to a newer frame.
    pub(crate) fn prefers_newest(&self) -> bool {
        self.config.rules == Rules::Evenkeel
    }

    /// Records the encoding time of a coded frame and its size on the wire.
    pub(crate) fn observe_frame(&mut self, frame: &CodedFrame) {
        self.cost.observe(frame);
    }

    /// Gives the deadline in force: the configured one, or a longer one while the path cannot hold it.
    pub const fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Gives the deadline while it is longer than the configured one.
    pub fn stretched(&self) -> Option<Duration> {
        (self.deadline > self.config.deadline).then_some(self.deadline)
    }

    /// Gives the shortest deadline that the path permits with empty queues and an instant encoder, once it was measured.
    pub fn least_deadline(&self) -> Option<Duration> {
        let one_way = self.model.base_round_trip()? / 2;
        Some(one_way + self.config.playout + self.config.frame_interval.min(LONGEST_FRAME))
    }

    /// Returns the delay of a frame of any size: encoding, half the round trip, playout.
    fn fixed_delay(&self) -> Duration {
        let round_trip = self.model.base_round_trip().unwrap_or_default();
        self.cost.preparation + round_trip / 2 + self.config.playout
    }

    /// Returns the queueing delay for which a frame leaves room.
    fn expected_queue(&self) -> Duration {
        match self.model.mode() {
            Mode::Delay => self.model.target_delay() * 2,
            Mode::Compete => self.model.queueing_delay(),
        }
    }

    /// Sets the deadline to the delay of a frame at the available rate, which takes its interval to send.
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
    let first = FIRST_RATE.min(config.max_rate);
    let model = PathModel::new(Params::CALL, config.frame_interval, first);
    if config.random_loss {
        model.seeking_random_loss()
    } else {
        model
    }
}

/// Passes the signal of a sample to the path model.
pub fn observe_signal(model: &mut PathModel, now: Instant, sample: &PathSample<'_>) {
    match sample.signal {
        PathSignal::Deliveries => model.handle_report(now, sample.deliveries()),
        PathSignal::TransitReport {
            sent_at,
            round_trip,
            least,
            largest,
            receive_rate,
        } => model.handle_transit_bounds(
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
        } => model.handle_round_trip(now, sent_at, round_trip, receive_rate),
    }
}

#[cfg(test)]
mod tests;
