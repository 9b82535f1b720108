//! What the deadline leaves for a frame and for a queue, and when it is stretched.

use std::time::Duration;

use evenkeel_rtp::session::Path;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

use super::Policy;

/// Why the deadline is stretched, and to what.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stretched {
    /// No frame worth sending can meet γ on this path.
    Path(Duration),
    /// The frame begun last could not, and none other was there to be sent.
    Frame(Duration),
}

impl Policy {
    /// The deadline that frames are coded for: γ, or longer while the path cannot meet that.
    pub fn deadline(&self) -> Duration {
        match self.stretched {
            Some(Stretched::Path(deadline)) => deadline,
            _ => self.config.deadline,
        }
    }

    /// The stretched deadline by which frames go, while they cannot go by the configured one.
    pub fn stretched(&self) -> Option<Duration> {
        self.stretched.map(|stretched| match stretched {
            Stretched::Path(deadline) | Stretched::Frame(deadline) => deadline,
        })
    }

    /// True while no frame worth sending can meet the configured deadline on this path.
    pub fn is_path_too_slow(&self) -> bool {
        matches!(self.stretched, Some(Stretched::Path(_)))
    }

    /// Notes that a frame begins that cannot be displayed before `deadline`, because otherwise the
    /// picture would stand still.
    pub(crate) fn stretch_for_frame(&mut self, deadline: Duration) {
        if !self.is_path_too_slow() {
            self.stretched = Some(Stretched::Frame(deadline));
        }
    }

    /// Notes that a frame begins that can be displayed in time.
    pub(crate) fn relax_after_frame(&mut self) {
        if !self.is_path_too_slow() {
            self.stretched = None;
        }
    }

    /// How long a frame may take to leave an empty buffer.
    pub(super) fn time_for_frame(&self, path: &Path, deadline: Duration) -> Duration {
        (deadline + self.credit).saturating_sub(self.fixed_delay(path))
    }

    /// What a frame is delayed by, whatever its size.
    fn fixed_delay(&self, path: &Path) -> Duration {
        self.preparation + self.rtt.one_way(path) + self.coming(path) + self.config.playout
    }

    /// By what the queue is longer by the time that a frame meets it, where one was met: frames in flight that are made
    /// for more than what arrives add to it for a round trip.
    fn coming(&self, path: &Path) -> Duration {
        let is_new = self.meets_queue() && self.rtt.frame_queue() < self.config.frame_interval;
        if !is_new || !self.is_tight(path) || self.received == Rate::ZERO {
            return Duration::ZERO;
        }
        let excess = (self.aimed / self.received - 1.0).clamp(0.0, 1.0);
        let coming = path.rtt.unwrap_or_default().mul_f64(excess);
        coming.min(self.config.frame_interval)
    }

    /// What the configured deadline leaves for a frame and a queue.
    pub(super) fn left_for_frame(&self, path: &Path) -> Duration {
        let fixed = self.preparation + self.rtt.way(path) + self.config.playout;
        (self.config.deadline + self.credit).saturating_sub(fixed)
    }

    /// The same beside a frame that takes an interval to send.
    pub(super) fn room_for_queue(&self, path: &Path) -> Duration {
        let left = self.left_for_frame(path);
        left.saturating_sub(self.config.frame_interval)
    }

    /// The deadline has room for less than three quarters of a frame interval of queue.
    fn is_tight(&self, path: &Path) -> bool {
        self.room_for_queue(path) < self.config.frame_interval * 3 / 4
    }

    /// The path has no time for a frame worth sending, whatever the queue.
    pub(super) fn is_late_without_queue(&self, path: &Path) -> bool {
        self.left_for_frame(path) < FRAME / GROWING as u32
    }

    /// Stretches the deadline where it has no time for `least` or for frames by which X grows, and returns to it.
    pub(super) fn update_deadline(&mut self, now: Instant, path: &Path, least: Bytes) {
        // Before the first round-trip time X is a formality (RFC 5348 §4.2).
        if path.rtt.is_none() {
            return;
        }
        // Where there is little room a queue of our own would stretch the deadline that lets it grow. It goes when less is
        // sent, and frames are small until then.
        let is_others = self.is_queue_of_others(now);
        let queue = self.rtt.frame_queue();
        let is_long = queue > self.config.frame_interval * 3 / 2;
        let queue = if is_others || is_long || !self.is_tight(path) {
            queue
        } else {
            Duration::ZERO
        };
        let fixed = self.preparation + self.rtt.way(path) + queue + self.config.playout;
        let time = (self.config.deadline + self.credit).saturating_sub(fixed);
        let room = path.allowed_rate * time;
        let frame = path.allowed_rate * self.config.frame_interval.min(FRAME);
        let enough = least.max(Bytes::new(frame.get() / GROWING));
        if room >= enough {
            let since = *self.feasible_since.get_or_insert(now);
            if self.is_path_too_slow() && now.saturating_since(since) >= RELAX_AFTER {
                self.stretched = None;
                if self.has_met_queue {
                    self.ceiling.resume(now, path.allowed_rate, self.received);
                }
            }
        } else {
            self.feasible_since = None;
        }
        if self.is_path_too_slow() || room < Bytes::new(enough.get() * 7 / 8) {
            let needed = fixed + frame.max(least) / path.allowed_rate;
            let deadline = needed.clamp(self.config.deadline, LONGEST_DEADLINE);
            self.stretched = Some(Stretched::Path(deadline));
        }
    }
}

/// Frames of less than this part of what X carries in an interval, or in [`FRAME`], hold X where it is, as it is no more than twice
/// what arrives (RFC 5348 §4.3): where the deadline has no room for more, it is stretched, as what a slow start has reached by
/// then may be little. (Over 250 ms every path was left at 24 dB.)
const GROWING: u64 = 2;

/// What a frame takes at most where the deadline holds it. One that comes less often is made smaller for a queue, as long
/// as there is more time than this: the deadline has room for that queue. (Where 10 frames a second over 100 ms were
/// said to have none, X was 1.3 times the link: `call_over_a_link`.)
pub(crate) const FRAME: Duration = Duration::from_millis(40);

/// How long γ must have been feasible before the deadline returns to it: longer than the queue of
/// a drop-tail link takes to drain and fill again around one loss event.
const RELAX_AFTER: Duration = Duration::from_secs(1);

/// The deadline is not stretched further than this; a frame that needs longer is late.
pub(super) const LONGEST_DEADLINE: Duration = Duration::from_secs(2);
