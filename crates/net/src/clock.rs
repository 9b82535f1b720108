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

    /// The system's monotonic time at the clock's zero, for libraries that count in it.
    pub fn system_zero(&self) -> std::time::Instant {
        self.zero
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

    /// Microseconds.
    const SECOND: u64 = 1_000_000;
    /// From datagram to datagram, and from one time that they are read to the next.
    const READ_SPACING: u64 = 1_000;
    const READ_EVERY: u64 = 5_000;
    /// When the wall clock changes its course.
    const CHANGE: u64 = SECOND + 2_500;

    /// Two seconds of datagrams, whose stamps are of this wall clock: by how much each is misplaced, with its
    /// true arrival.
    fn misplaced(wall: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
        let micros = Duration::from_micros;
        let mut previous = Instant::ZERO;
        let mut misplaced = Vec::new();
        for read_at in (READ_EVERY..=2 * SECOND).step_by(READ_EVERY as usize) {
            let reading = Reading {
                now: Instant::from_micros(read_at),
                wall: micros(wall(read_at)),
            };
            for came in (read_at - READ_EVERY..read_at).step_by(READ_SPACING as usize) {
                let arrival = reading.arrival(Some(micros(wall(came))), previous);
                assert!(arrival >= previous && arrival <= reading.now);
                previous = arrival;
                misplaced.push((came, arrival.as_micros().abs_diff(came)));
            }
        }
        misplaced
    }

    #[test]
    fn a_step_of_the_wall_clock_misplaces_only_what_is_read_at_once_after_it_and_by_no_more_than_that_waited()
     {
        const HOUR: u64 = 3_600 * SECOND;
        let forward = |t: u64| HOUR + t + if t < CHANGE { 0 } else { HOUR };
        let backward = |t: u64| 2 * HOUR + t - if t < CHANGE { 0 } else { HOUR };
        for misplaced in [misplaced(forward), misplaced(backward)] {
            let waits = SECOND..SECOND + READ_EVERY;
            let (at_step, others): (Vec<_>, Vec<_>) =
                misplaced.iter().partition(|(came, _)| waits.contains(came));
            assert!(others.iter().all(|(_, by)| *by == 0));
            assert!(at_step.iter().any(|(_, by)| *by > 0), "{at_step:?}");
            assert!(
                at_step.iter().all(|(_, by)| *by <= READ_EVERY),
                "{at_step:?}"
            );
        }
    }

    #[test]
    fn a_wall_clock_that_is_slewed_misplaces_by_its_share_of_the_wait_and_no_error_adds_up() {
        // Twenty times what adjtime(3) does at most: a hundredth.
        let slewed = |t: u64| SECOND + t + t.saturating_sub(CHANGE) / 100;
        let most = misplaced(slewed).into_iter().map(|(_, by)| by).max();
        assert!(
            most.is_some_and(|by| by > 0 && by <= READ_EVERY / 100 + 1),
            "{most:?}"
        );
    }
}
