//! The one place that reads a clock.

use evenkeel_rtp::ntp::NtpTime;
use std::time::{SystemTime, UNIX_EPOCH};
use tfrc::time::{Duration, Instant};

/// A monotonic clock with a zero, and what the wall clock showed then.
///
/// Copies agree: hand the same clock to everything that exchanges instants.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: std::time::Instant,
    /// The wall clock at zero, since the Unix epoch.
    wall_at_zero: Duration,
}

impl Clock {
    /// A clock whose zero is this moment.
    #[expect(clippy::disallowed_methods, reason = "this is the one clock")]
    pub fn start() -> Self {
        Self {
            zero: std::time::Instant::now(),
            wall_at_zero: wall_now(),
        }
    }

    /// The time since the clock's zero.
    #[expect(clippy::disallowed_methods, reason = "this is the one clock")]
    pub fn now(&self) -> Instant {
        Instant::ZERO + self.zero.elapsed()
    }

    /// Blocks the calling thread until `deadline`. Late by as much as the scheduler makes it.
    #[expect(clippy::disallowed_methods, reason = "this is the one clock")]
    pub fn sleep_until(&self, deadline: Instant) {
        std::thread::sleep(deadline.saturating_since(self.now()));
    }

    /// The wall clock at the clock's zero, for RTCP sender reports.
    pub fn ntp_of_zero(&self) -> NtpTime {
        NtpTime::from_unix(self.wall_at_zero)
    }

    /// The wall clock at the clock's zero, since the Unix epoch.
    pub(crate) fn wall_at_zero(&self) -> Duration {
        self.wall_at_zero
    }

    /// The wall clock at an instant of this one, since the Unix epoch: for files. It does not follow steps
    /// of the wall clock after the zero.
    pub fn unix_time(&self, at: Instant) -> Duration {
        self.wall_at_zero + (at - Instant::ZERO)
    }

    /// Both clocks at one moment, to place kernel receive times on ours.
    ///
    /// The thread may lose the processor between the two: then they are read again.
    pub(crate) fn read_both(&self) -> Reading {
        let mut before = self.now();
        for _ in 1..READING_TRIES {
            let wall = wall_now();
            let now = self.now();
            if now.saturating_since(before) < READING_GAP {
                return Reading { now, wall };
            }
            before = now;
        }
        Reading {
            wall: wall_now(),
            now: self.now(),
        }
    }
}

/// What the monotonic and the wall clock showed at the same moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) now: Instant,
    wall: Duration,
}

impl Reading {
    /// When a datagram arrived that the kernel stamped with the wall clock's `stamp`.
    ///
    /// Its age is measured on the wall clock and subtracted from the monotonic `now`, so a slow
    /// drift between the two does not matter. A step of the wall clock between the arrival and this
    /// reading would, hence the bounds: never after `now`, and never before `previous`, the arrival
    /// of the datagram before it in the same socket, which is a queue.
    pub(crate) fn arrival(&self, stamp: Option<Duration>, previous: Instant) -> Instant {
        let age = stamp.map_or(Duration::ZERO, |stamp| self.wall.saturating_sub(stamp));
        (self.now - age).max(previous).min(self.now)
    }
}

/// The processor time that this process has used, all its threads together.
pub fn processor_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(used).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "this is the one clock")]
fn wall_now() -> Duration {
    // A wall clock before 1970 is no clock: its times would be as useful as zero.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Two readings take well under a microsecond; an interruption takes longer than this.
const READING_GAP: Duration = Duration::from_micros(10);

const READING_TRIES: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(now_ms: u64, wall_ms: u64) -> Reading {
        Reading {
            now: Instant::from_millis(now_ms),
            wall: Duration::from_millis(wall_ms),
        }
    }

    #[test]
    fn an_arrival_is_as_old_as_its_stamp() {
        let stamp = Some(Duration::from_millis(99_990));
        let arrival = reading(1_000, 100_000).arrival(stamp, Instant::ZERO);
        assert_eq!(arrival, Instant::from_millis(990));
    }

    #[test]
    fn a_datagram_without_a_stamp_arrives_now() {
        let arrival = reading(1_000, 100_000).arrival(None, Instant::ZERO);
        assert_eq!(arrival, Instant::from_millis(1_000));
    }

    #[test]
    fn a_step_of_the_wall_clock_moves_no_arrival_out_of_its_bounds() {
        let previous = Instant::from_millis(900);
        let stamp = Some(Duration::from_millis(99_990));
        let forward = reading(1_000, 3_700_000).arrival(stamp, previous);
        assert_eq!(forward, previous);
        let backward = reading(1_000, 50_000).arrival(stamp, previous);
        assert_eq!(backward, Instant::from_millis(1_000));
    }
}
