//! How large a frame may be, and whether it may still be sent: equations 6.3 and 6.4 of the thesis.
//!
//! With the deadline γ from capture to display, the playout allowance t_pbuf, the queued bytes θ,
//! the round-trip time R and the allowed rate X, the thesis encodes to
//! `L < (γ − R/2 − t_pbuf)·X − θ` (6.3) and begins to send a frame only if
//! `(now − t_capture) + R/2 + L/X + t_pbuf < γ` (6.4).
//!
//! Taken alone, 6.3 makes every frame as large as the deadline allows, so that the smallest fall of
//! X makes 6.4 fail (thesis §7.3). Here the target obeys two further limits:
//!
//! - **Rate.** No more than X lets through until the next frame comes: the sending buffer then
//!   neither grows nor runs empty, and what is left of the deadline absorbs a fall of X.
//! - **Queueing counts whole.** Media fills the queue in its own direction, so what R exceeds its
//!   minimum by delays the frame in full: `R_min/2 + (R − R_min)` in place of `R/2`.
//!
//! What waits is not θ alone: X_inst lets no packet leave for a while after the last one, and that time is off the target too.
//!
//! 6.4, which throws away work already done, keeps the milder `R/2` and lets a frame that became
//! larger than its target use up half of t_pbuf. The time that a frame spends in the encoder and its
//! headers on the wire are measured and taken off too.
//!
//! What the deadline leaves may be less than X carries. X would then rise where it is of no use; see
//! `ceiling.rs`. Where it leaves room for a part of the path's queue, X is taken back before more of it stands: see
//! `drain.rs`.
//!
//! When even an empty buffer leaves no time for a frame worth sending, the thesis's sender falls
//! silent (§7.2.2). This one says so and stretches the deadline to what the path needs; it returns
//! to γ by itself once γ has been feasible, with room to spare, for a second.

mod config;
mod deadline;
mod thesis;

use std::time::Duration;

use evenkeel_rtp::session::Path;
use tfrc::time::Instant;
use tfrc::units::{Bytes, LossEventRate, Rate};

use self::deadline::{LONGEST_DEADLINE, Stretched};
use crate::back_queue::BackQueue;
use crate::ceiling::{self, Ceiling};
use crate::drain::{self, Drain};
use crate::fall::{self, Fall};
use crate::rtt_track::RttTrack;

pub use self::config::{PolicyConfig, Rules, UnknownRules};
pub(crate) use self::deadline::FRAME;
pub use crate::rtt_track::Sample;

/// What leaves before a picture that was just captured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ahead {
    /// θ, as TFRC counts it.
    pub queued: Bytes,
    /// Until a packet may leave at all, after the last one: packets leave at X_inst, which is less than X while a queue
    /// grows, so a frame of one packet would wait longer than the one before it, up to an interval.
    pub wait: Duration,
}

/// What the encoder is to make of the picture just captured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameTarget {
    /// The size to aim at, of the coded bytes ([`CodedPicture::size`](crate::frame::CodedPicture::size)).
    pub size: Bytes,
    /// What the path carries of coded bytes, for a codec whose frames have a size of their own.
    pub rate: Rate,
    /// From capture to display, at the latest.
    pub deadline: Duration,
    /// True while the deadline is longer than the configured one.
    pub stretched: bool,
    /// The picture must not refer to any before it: one of those is lost.
    pub keyframe: bool,
}

/// A frame that was coded, for what it teaches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodedFrame {
    /// From its capture until it entered the sending buffer.
    pub(crate) preparation: Duration,
    /// What it was asked to be.
    pub(crate) target: Option<Bytes>,
    /// Its coded scan.
    pub(crate) scan: Bytes,
    /// The same with every header that TFRC counts.
    pub(crate) wire: Bytes,
}

/// The sending buffer's policy and what it has measured.
#[derive(Clone, Debug)]
pub struct Policy {
    config: PolicyConfig,
    /// A full packet, as TFRC counts it.
    packet: Bytes,
    rtt: RttTrack,
    back: BackQueue,
    fall: Fall,
    ceiling: Ceiling,
    drain: Drain,
    /// Without a queue the deadline leaves hardly more than a frame interval, or less.
    held_by_deadline: bool,
    /// The rate that the last target comes to.
    aimed: Rate,
    /// Frames have met a queue on this path.
    has_met_queue: bool,
    /// The largest X_recv of late.
    received: Rate,
    /// p.
    p: LossEventRate,
    /// Mean time from capture to the sending buffer.
    preparation: Duration,
    /// Bytes on the wire for a byte that the encoder was asked for: headers, and what it stays below.
    expansion: f64,
    /// Bytes on the wire for a coded byte, in full packets.
    headers: f64,
    /// By how much frames leave faster than at X: the pacer's credit for time without data.
    credit: Duration,
    /// The rate at which the last frame left. Where a round trip is much shorter than the pause between
    /// frames, X halves in the pause (RFC 5348 §4.4) and is back before a large frame has left.
    departed: Rate,
    /// Frames are of the size that they are.
    own_size: bool,
    /// What the encoder could not go below of late, on the wire.
    floor: Bytes,
    /// The last frame was larger than it was asked to be.
    missed: bool,
    stretched: Option<Stretched>,
    /// Since when the configured deadline has been feasible again.
    feasible_since: Option<Instant>,
}

impl Policy {
    /// A policy that has measured nothing yet. `packet` is the size of a full packet as TFRC counts it,
    /// `expansion` is a first guess at the bytes that TFRC
    /// counts for each byte of coded scan.
    pub fn new(config: PolicyConfig, packet: Bytes, expansion: f64) -> Self {
        Self {
            config,
            packet,
            rtt: RttTrack::new(config.frame_interval * QUEUE_FRAMES),
            back: BackQueue::default(),
            fall: Fall::default(),
            ceiling: Ceiling::new(config.frame_interval),
            drain: Drain::new(packet, config.frame_interval),
            held_by_deadline: false,
            aimed: Rate::ZERO,
            received: Rate::ZERO,
            p: LossEventRate::ZERO,
            has_met_queue: false,
            preparation: Duration::ZERO,
            expansion,
            headers: expansion,
            credit: Duration::ZERO,
            departed: Rate::ZERO,
            own_size: false,
            floor: Bytes::ZERO,
            missed: false,
            stretched: None,
            feasible_since: None,
        }
    }

    /// What it was configured with.
    pub const fn config(&self) -> &PolicyConfig {
        &self.config
    }

    /// A full packet, as TFRC counts it.
    pub(crate) const fn packet(&self) -> Bytes {
        self.packet
    }

    /// The path is another one: nothing that was measured of it holds.
    pub(crate) fn forget_path(&mut self) {
        self.rtt = RttTrack::new(self.config.frame_interval * QUEUE_FRAMES);
        self.back = BackQueue::default();
        self.received = Rate::ZERO;
        self.p = LossEventRate::ZERO;
        self.has_met_queue = false;
        self.departed = Rate::ZERO;
        self.forget_decisions();
    }

    /// What followed from what was measured.
    fn forget_decisions(&mut self) {
        let interval = self.config.frame_interval;
        self.fall = Fall::default();
        self.ceiling = Ceiling::new(interval);
        self.drain = Drain::new(self.packet, interval);
        self.held_by_deadline = false;
        self.stretched = None;
        self.feasible_since = None;
    }

    /// Another encoder takes over: what its frames cost is not known yet. They may have a size of their own.
    pub(crate) fn set_encoder(&mut self, own_size: bool) {
        self.own_size = own_size;
        self.expansion = self.headers;
        self.floor = Bytes::ZERO;
        self.missed = false;
    }

    /// From now on these rules hold. What was measured holds on; what followed from the other rules does not.
    pub(crate) fn set_rules(&mut self, rules: Rules) {
        if rules == self.config.rules {
            return;
        }
        self.config.rules = rules;
        self.forget_decisions();
    }

    /// Media came from the peer: when they arrived, and when they left by its clock, in microseconds modulo 2^32.
    pub(crate) fn observe_arrival(&mut self, arrival: Instant, send_time: u32) {
        self.back.observe(arrival, send_time);
    }

    /// Feedback came: a sample of the round-trip time, and the path as it leaves it.
    pub fn observe_feedback(&mut self, now: Instant, sample: Sample, path: &Path) {
        let rtt = self.back.take_off(now, sample.rtt);
        self.rtt.observe(now, Sample { rtt, ..sample });
        self.received = path.receive_rate.max(self.received * RECEIVED_DECAY);
        let lost = path.loss_event_rate > self.p;
        self.p = path.loss_event_rate;
        let interval = self.config.frame_interval;
        let rtt = path.rtt.unwrap_or_default();
        let left = self.left_for_frame(path);
        // Between frames that the deadline holds small there are pauses, in which nothing arrives; X_recv counts those
        // that a round trip has, and a frame that met a queue takes longer to arrive.
        let pauses = |busy: Duration| {
            let pauses = rtt.min(interval).as_secs_f64() / busy.as_secs_f64();
            pauses.clamp(1.0, WORTH_SENDING as f64)
        };
        let carried = path.receive_rate * pauses(left.saturating_add(self.rtt.frame_queue()));
        let carried = carried.max(self.rtt.carried() * RECEIVED_DECAY);
        self.rtt.observe_carried(carried);
        self.has_met_queue |= self.meets_queue();
        // What a full packet takes at X. Where others leave so little that it takes longer, their queue was met.
        let wire = self.wire(path).min(interval / 2);
        let queue = self.rtt.standing_queue().saturating_sub(wire);
        // X_recv is measured over a round trip. Over less than a frame and a half it tells of the
        // pauses between frames, not of the path; and five such round trips are few frames.
        let tells = rtt >= interval * 3 / 2;
        self.fall.observe(&fall::Report {
            allowed: path.allowed_rate,
            aimed: self.aimed,
            received: tells.then_some(path.receive_rate),
            lost,
            queue,
        });
        self.drain.observe(
            now,
            &drain::Report {
                allowed: path.allowed_rate,
                received: if tells {
                    path.receive_rate
                } else {
                    self.received
                },
                carried: self.received * pauses(left),
                rtt,
                queue,
                room: left.saturating_sub(interval.min(FRAME)),
                frame_queue: self.rtt.frame_queue(),
                lost,
                late: self.is_late_without_queue(path),
            },
        );
        self.ceiling.observe(
            now,
            &ceiling::Report {
                allowed: path.allowed_rate,
                received: path.receive_rate,
                carried,
                rtt,
                p: path.loss_event_rate,
                lost,
                queue: self.rtt.frame_queue(),
                latest: self.rtt.last_queue(),
                span: self.rtt.span(rtt),
                left,
                held_by_deadline: self.held_by_deadline,
            },
        );
    }

    /// The rate beyond which X would be of no use. It is to be set before a frame's target is asked for:
    /// lowered while a frame waits, it would make that one late.
    pub fn ceiling(&self) -> Rate {
        match self.config.rules {
            Rules::Evenkeel => self.ceiling.rate().min(self.drain.rate()),
            Rules::Thesis => Rate::INFINITY,
        }
    }

    /// May a frame be sent that cannot be in time, so that there is a picture?
    pub(crate) fn prefers_late_to_none(&self) -> bool {
        self.config.rules == Rules::Evenkeel
    }

    /// The target of a picture captured at `now`, or `None` if what is before it keeps the sender busy until there is a
    /// fresher one.
    pub fn target(&mut self, now: Instant, path: &Path, before: Ahead) -> Option<FrameTarget> {
        if self.config.rules == Rules::Thesis {
            // What the thesis does not count would make every frame late: its headers, and the time that
            // the encoder takes.
            let ahead = before.queued + path.allowed_rate * self.preparation;
            let wire = thesis::largest_frame(&self.config, path, ahead);
            let size = Bytes::new((wire.as_f64() / self.headers) as u64);
            return Some(FrameTarget {
                size,
                // The transmission condition alone adapts frames that have a size of their own (§6.3.2).
                rate: Rate::INFINITY,
                deadline: self.config.deadline,
                stretched: false,
                keyframe: false,
            });
        }
        let least = self.least(self.rate(path));
        self.update_deadline(now, path, least);
        let (proven, rate) = (self.ceiling.proven(), self.rate(path));
        // What will still be to leave when this picture has been coded.
        let waiting = path.instantaneous_rate * before.wait;
        let prepared = rate * self.preparation;
        let ahead = before.queued + waiting - prepared;
        let carried = self.carried(now, path, rate);
        let in_time =
            path.allowed_rate.min(proven) * self.time_for_frame(path, self.deadline()) - ahead;
        let wire = (carried - ahead).min(in_time);
        // One that holds frames now does so until there is clearly more room: X may be twice what arrives.
        let spare = if self.ceiling.rate().is_finite() {
            self.config.frame_interval * 3 / 4
        } else {
            self.config.frame_interval / SPARE
        };
        self.held_by_deadline = !self.is_path_too_slow() && self.room_for_queue(path) < spare;
        // Where nothing is queued the last packet is all that is waited for, and the pacer would not give the time back that
        // passes without a frame: what the encoder cannot make smaller goes, if it can be in time.
        let waits = before.queued > prepared || in_time < least;
        let worth = if waits {
            least
        } else {
            self.worth_sending(rate)
        };
        if !self.own_size && ahead > Bytes::ZERO && wire < worth {
            return None;
        }
        let wire = wire.max(least);
        let left = carried.max(self.departed * self.config.frame_interval);
        self.aimed = wire / self.config.frame_interval;
        Some(FrameTarget {
            size: self.coded_size(wire),
            rate: self.coded_size(left) / self.config.frame_interval,
            deadline: self.deadline(),
            stretched: self.is_path_too_slow(),
            keyframe: false,
        })
    }

    /// Equation 6.4: whether a frame of `size` bytes on the wire that begins now can be displayed in
    /// time.
    pub fn is_in_time(&self, now: Instant, captured: Instant, size: Bytes, path: &Path) -> bool {
        let delay = self.delay_if_sent(now, captured, size, path);
        match self.config.rules {
            Rules::Evenkeel => delay < self.deadline() + self.config.playout / 2,
            Rules::Thesis => thesis::is_in_time(&self.config, path, delay),
        }
    }

    /// From capture to display if the frame begins now: the left side of equation 6.4.
    pub fn delay_if_sent(
        &self,
        now: Instant,
        captured: Instant,
        size: Bytes,
        path: &Path,
    ) -> Duration {
        if self.config.rules == Rules::Thesis {
            let age = now.saturating_since(captured);
            return thesis::delay_if_sent(&self.config, path, age, size);
        }
        // The last packet's own time on the wire is in L/X already.
        let wire = self.wire(path);
        let half = path.rtt.unwrap_or_default().saturating_sub(wire) / 2;
        let half = half.min(self.rtt.one_way(path));
        (now.saturating_since(captured))
            .saturating_add(half)
            .saturating_add(size / path.allowed_rate)
            .saturating_add(self.config.playout)
            .saturating_sub(self.credit)
    }

    /// A frame was coded: how long that took, and what it costs on the wire.
    pub(crate) fn observe_frame(&mut self, frame: &CodedFrame) {
        self.preparation = average(self.preparation, frame.preparation);
        let scan = frame.scan.as_f64();
        if self.own_size {
            self.floor = frame.wire;
            self.expansion = frame.wire.as_f64() / scan.max(1.0);
            return;
        }
        let target = frame.target.map_or(scan, Bytes::as_f64);
        let missed = scan > MISSED * target;
        // One may be a keyframe, or a first picture: two tell what the encoder cannot go below.
        self.floor = if missed && self.missed {
            frame.wire
        } else {
            Bytes::new(self.floor.get() - self.floor.get().div_ceil(FLOOR_DECAY))
        };
        self.missed = missed;
        // A frame far from its target tells of the picture, not of the encoder.
        if !missed && MISSED * scan > target && scan > 0.0 {
            let expansion = frame.wire.as_f64() / target;
            self.expansion += (expansion - self.expansion) / f64::from(AVERAGE_OVER);
        }
    }

    /// A frame of `size` bytes on the wire took `duration` from its first packet to its last.
    pub(crate) fn observe_departure(&mut self, size: Bytes, duration: Duration, path: &Path) {
        let nominal = (size / path.allowed_rate).min(LONGEST_DEADLINE);
        self.credit = average(self.credit, nominal.saturating_sub(duration));
        self.departed = if duration.is_zero() {
            Rate::ZERO
        } else {
            size / duration
        };
    }

    /// What frames are made for, whatever the deadline.
    fn rate(&self, path: &Path) -> Rate {
        let rate = self.fall.rate(path.allowed_rate);
        rate.min(self.ceiling.proven())
    }

    /// What the path carries from one frame to the next.
    ///
    /// A deadline that holds frames small lets X rise above the link (RFC 5348 §4.3), because nothing
    /// is lost. When that deadline is stretched, only what has been seen to arrive is a measure.
    fn carried(&self, now: Instant, path: &Path, rate: Rate) -> Bytes {
        let interval = rate * self.config.frame_interval;
        if self.is_path_too_slow() && self.received > Rate::ZERO {
            let seen = self.received * self.growth(now, path) * self.config.frame_interval;
            interval.min(seen.max(self.least(rate)))
        } else {
            interval
        }
    }

    /// By how much frames by a stretched deadline may be larger than what arrived.
    fn growth(&self, now: Instant, path: &Path) -> f64 {
        let is_met = self.rtt.last_queue() > ceiling::harmless(self.config.frame_interval);
        let stretches = is_met && !self.is_late_without_queue(path);
        if !self.has_met_queue {
            FREE_GROWTH
        } else if stretches && !self.is_queue_of_others(now) {
            DRAINING
        } else {
            STRETCHED_GROWTH
        }
    }

    /// The smallest frame worth sending, on the wire.
    fn least(&self, rate: Rate) -> Bytes {
        self.floor.max(self.worth_sending(rate))
    }

    /// The smallest that is worth its headers.
    fn worth_sending(&self, rate: Rate) -> Bytes {
        let frame = rate * self.config.frame_interval.min(FRAME);
        Bytes::new(frame.get() / WORTH_SENDING)
    }

    /// The coded bytes that take `wire` bytes with their headers.
    fn coded_size(&self, wire: Bytes) -> Bytes {
        Bytes::new((wire.as_f64() / self.expansion) as u64)
    }

    /// The queue stayed when less was sent.
    fn is_queue_of_others(&self, now: Instant) -> bool {
        self.drain.yields(now) || self.ceiling.yields(now)
    }

    /// Frames met a queue of late that is more than one frame makes.
    fn meets_queue(&self) -> bool {
        self.rtt.frame_queue() > ceiling::harmless(self.config.frame_interval)
    }

    /// What a full packet takes at X.
    fn wire(&self, path: &Path) -> Duration {
        (self.packet / path.allowed_rate).min(LONGEST_DEADLINE)
    }
}

/// Frame intervals that the present queue is read from, by its maximum: what one frame met, another
/// one meets, and a target that followed each frame would swing from large to small.
const QUEUE_FRAMES: u32 = 4;

/// A frame that gets less than this part of what X carries in an interval, or in [`FRAME`], is not worth its headers:
/// the picture would cost 12 dB or so against what the path could show a little later. (Of an interval of 100 ms 25 are
/// hardly left over 200 ms: every frame was late there, where all are in time at 25 frames a second.)
const WORTH_SENDING: u64 = 4;

/// With room for a queue of less than this part of a frame interval no queue stands before frames are late: what one
/// frame makes is then what tells.
const SPARE: u32 = 2;

/// What X_recv once was counts less by this with each report: half of it after some twenty.
const RECEIVED_DECAY: f64 = 0.97;

/// Frames by a stretched deadline may be this much larger than what arrived, once they have met a queue and before.
const STRETCHED_GROWTH: f64 = 1.1;
const FREE_GROWTH: f64 = 1.5;
/// And they are this much smaller while they meet a queue without which the deadline would not be stretched: it would stand
/// for as long as they grew. (Over 190 ms and 600 kb/s slow start's queue lasted three seconds.)
const DRAINING: f64 = 0.9;

/// Frames that a running mean looks back over: a third of a second at 25 frames a second.
const AVERAGE_OVER: u32 = 8;

/// An encoder that comes out this far above its target could not make the picture smaller.
const MISSED: f64 = 1.25;

/// The floor that an encoder showed once is forgotten by this part at each frame.
const FLOOR_DECAY: u64 = 64;

fn average(mean: Duration, sample: Duration) -> Duration {
    (mean.saturating_mul(AVERAGE_OVER - 1).saturating_add(sample)) / AVERAGE_OVER
}

#[cfg(test)]
mod tests;
