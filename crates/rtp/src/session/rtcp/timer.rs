//! Decides when a full compound report leaves (RFC 3550 §6.2, §6.3, §A.7).

use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::{Rate, duration_from_secs};

use crate::session::random::Random;

/// The share of the session bandwidth for RTCP (RFC 3550 §6.2).
const RTCP_FRACTION: f64 = 0.05;
/// e - 3/2: the average factor by which the timer's reconsideration shortens its interval (§6.3.1).
const COMPENSATION: f64 = 1.218_281_828_459_045;
/// The dividend of the reduced minimum interval, whose divisor is the session bandwidth in kb/s (§6.2).
const REDUCED_MINIMUM_SECS_KBPS: f64 = 360.0;
/// The least minimum interval: ten compounds a second suffice for any bandwidth, and the timer must advance.
pub(in crate::session) const LEAST_MINIMUM: Duration = Duration::from_millis(100);
/// The least minimum interval where TFRC depends on compounds; the quotient of §6.2 reaches it at 3.6 Gb/s.
pub(in crate::session) const LEAST_MINIMUM_OF_APP: Duration = Duration::from_micros(100);
/// The length of IPv4 and UDP headers, which count as well (§6.2).
pub(in crate::session) const LOWER_LAYERS: usize = 28;

/// The members of the session, on which the interval depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct Members {
    /// The number of members, including ourselves.
    pub(in crate::session) all: u32,
    /// The number of members that send media.
    pub(in crate::session) senders: u32,
    /// True if we send media.
    pub(in crate::session) we_send: bool,
}

/// The transmission timer of one participant. AVPF's `trr-int` is the reduced minimum.
#[derive(Debug)]
pub(in crate::session) struct RtcpTimer {
    random: Random,
    /// The bytes per second for RTCP.
    bandwidth: f64,
    minimum: f64,
    average_size: f64,
    previous: Option<Instant>,
    before_previous: Option<Instant>,
    next: Option<Instant>,
}

impl RtcpTimer {
    /// Creates a timer that does not run yet, with a minimum interval of at least `least`. `first_size` is the
    /// likely size of the first compound.
    pub(in crate::session) fn new(
        random: Random,
        session_bandwidth: Rate,
        least: Duration,
        first_size: usize,
    ) -> Self {
        Self {
            random,
            bandwidth: session_bandwidth.bytes_per_sec() * RTCP_FRACTION,
            minimum: (REDUCED_MINIMUM_SECS_KBPS / (session_bandwidth.bits_per_sec() / 1e3))
                .max(least.as_secs_f64()),
            average_size: (first_size + LOWER_LAYERS) as f64,
            previous: None,
            before_previous: None,
            next: None,
        }
    }

    /// Starts the timer unless it runs. In a unicast session the first delay may be zero (§6.2).
    pub(in crate::session) fn start(&mut self, now: Instant) {
        self.next.get_or_insert(now);
    }

    /// Returns when the timer expires, if it runs.
    pub(in crate::session) fn expiry(&self) -> Option<Instant> {
        self.next
    }

    /// Returns true if a compound is due now. An expiry is reconsidered (§6.3.6): if a fresh interval ends later,
    /// the timer continues until then.
    pub(in crate::session) fn is_due(&mut self, now: Instant, members: Members) -> bool {
        if self.next.is_none_or(|next| next > now) {
            return false;
        }
        let Some(previous) = self.previous else {
            return true;
        };
        let candidate = previous + self.interval(members);
        if candidate <= now {
            return true;
        }
        self.next = Some(candidate);
        false
    }

    /// Records that a compound of `size` bytes left.
    pub(in crate::session) fn handle_sent(&mut self, now: Instant, size: usize, members: Members) {
        self.average(size);
        self.before_previous = self.previous;
        self.previous = Some(now);
        self.next = Some(now + self.interval(members));
    }

    /// Records that a compound of `size` bytes arrived.
    pub(in crate::session) fn handle_received(&mut self, size: usize) {
        self.average(size);
    }

    /// Returns when the last report but one left: a member that has sent media since is a sender (§6.3.8).
    pub(in crate::session) fn before_previous(&self) -> Option<Instant> {
        self.before_previous
    }

    fn average(&mut self, size: usize) {
        self.average_size += ((size + LOWER_LAYERS) as f64 - self.average_size) / 16.0;
    }

    /// Draws a random interval (§A.7).
    fn interval(&mut self, members: Members) -> Duration {
        let (all, senders) = (f64::from(members.all), f64::from(members.senders));
        let (count, bandwidth) = match (senders <= 0.25 * all, members.we_send) {
            (true, true) => (senders, 0.25 * self.bandwidth),
            (true, false) => (all - senders, 0.75 * self.bandwidth),
            (false, _) => (all, self.bandwidth),
        };
        let mean = (self.average_size * count / bandwidth).max(self.minimum);
        duration_from_secs(mean * (self.random.unit() + 0.5) / COMPENSATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: Members = Members {
        all: 2,
        senders: 2,
        we_send: true,
    };

    fn timer(bandwidth: f64) -> RtcpTimer {
        RtcpTimer::new(
            Random::new(1, "timer"),
            Rate::from_bits_per_sec(bandwidth),
            LEAST_MINIMUM,
            100,
        )
    }

    /// Returns the intervals between `count` compounds, if the timer is served the moment it expires.
    fn intervals(timer: &mut RtcpTimer, count: usize, members: Members) -> Vec<f64> {
        timer.start(Instant::ZERO);
        let mut sent: Vec<Instant> = Vec::new();
        while sent.len() <= count {
            let now = timer.expiry().unwrap();
            if timer.is_due(now, members) {
                timer.handle_sent(now, 100, members);
                sent.push(now);
            }
        }
        sent.windows(2)
            .map(|w| (w[1] - w[0]).as_secs_f64())
            .collect()
    }

    #[test]
    fn the_first_compound_leaves_at_once_and_none_before_the_start() {
        let mut timer = timer(1e6);
        assert!(!timer.is_due(Instant::from_secs(9), CALL));
        timer.start(Instant::from_secs(9));
        assert!(timer.is_due(Instant::from_secs(9), CALL));
    }

    #[test]
    fn intervals_average_the_reduced_minimum_and_stay_within_its_randomisation() {
        let mut timer = timer(1e6);
        let intervals = intervals(&mut timer, 4_000, CALL);
        let mean = intervals.iter().sum::<f64>() / 4_000.0;
        // Reconsideration cancels the division by e - 3/2 (RFC 3550 §6.3.1).
        assert!((mean / 0.36 - 1.0).abs() < 0.02, "{mean}");
        let (low, high) = (0.36 * 0.5 / COMPENSATION, 0.36 * 1.5 / COMPENSATION);
        assert!(intervals.iter().all(|&i| i > low && i < high));
    }

    #[test]
    fn a_narrow_session_spends_no_more_than_its_share() {
        // At 16 kb/s, 5 % are 100 B/s, of which a compound of 128 B takes 2.56 s for two members, but the minimum
        // of 22.5 s is longer. At 1 Gb/s the minimum would vanish, and [`LEAST_MINIMUM`] bounds it.
        let mean = |bandwidth: f64| {
            let list = intervals(&mut timer(bandwidth), 4_000, CALL);
            list.iter().sum::<f64>() / 4_000.0
        };
        assert!((mean(16e3) / 22.5 - 1.0).abs() < 0.02);
        assert!((mean(f64::INFINITY) / 0.1 - 1.0).abs() < 0.02);
        assert!((mean(1e9) / 0.1 - 1.0).abs() < 0.02);
    }

    /// The paper `hdtv` §6 has "a report every 400 µs on average" at 850 Mb/s.
    #[test]
    fn a_session_of_hdtv_may_report_every_400_microseconds() {
        let bandwidth = Rate::from_bits_per_sec(850e6);
        let least = LEAST_MINIMUM_OF_APP;
        let mut timer = RtcpTimer::new(Random::new(1, "timer"), bandwidth, least, 100);
        let list = intervals(&mut timer, 4_000, CALL);
        let mean = list.iter().sum::<f64>() / 4_000.0;
        assert!((mean / 423.5e-6 - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn a_lone_receiver_has_three_quarters_of_the_share() {
        let quiet = Members {
            all: 2,
            senders: 0,
            we_send: false,
        };
        let mut timer = timer(1e9);
        timer.minimum = 0.0;
        let list = intervals(&mut timer, 4_000, quiet);
        let mean = list.iter().sum::<f64>() / 4_000.0;
        let expected = 128.0 * 2.0 / (0.75 * 0.05 * 1e9 / 8.0);
        assert!((mean / expected - 1.0).abs() < 0.02, "{mean}");
    }
}
