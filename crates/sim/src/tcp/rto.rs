//! The retransmission timeout (RFC 6298).

use tfrc::time::{Duration, Instant};

/// RFC 6298 §2.5 asks for 60 s at least.
const MAX_RTO: Duration = Duration::from_secs(60);

/// So that a path without delay does not time out at once, whatever the minimum is set to.
const MIN_RTO: Duration = Duration::from_millis(1);

/// By then any timeout has reached its maximum.
const MAX_BACKOFF: u32 = 16;

/// Round-trip times to timeouts, by the clock of the host.
#[derive(Clone, Debug)]
pub(crate) struct Rto {
    /// SRTT and RTTVAR; `None` before the first sample.
    smoothed: Option<(Duration, Duration)>,
    /// Before backing off.
    base: Duration,
    /// Timeouts since the last sample: each doubles the timeout (§5.5).
    backoff: u32,
    min: Duration,
    granularity: Duration,
}

impl Rto {
    pub(crate) fn new(initial: Duration, min: Duration, granularity: Duration) -> Self {
        Self {
            smoothed: None,
            base: initial.max(MIN_RTO),
            backoff: 0,
            min: min.max(MIN_RTO),
            granularity,
        }
    }

    /// The smoothed round-trip time.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|(srtt, _)| srtt)
    }

    /// The timeout, backed off.
    pub(crate) fn timeout(&self) -> Duration {
        self.base.saturating_mul(1 << self.backoff).min(MAX_RTO)
    }

    /// When a timer that is started now expires: at the first tick by which it has run long enough.
    pub(crate) fn expiry(&self, now: Instant) -> Instant {
        let at = now + self.timeout();
        match self.tick() {
            0 => at,
            tick => Instant::from_nanos(at.as_nanos().div_ceil(tick).saturating_mul(tick)),
        }
    }

    /// A packet that was sent once, at `sent`, is acknowledged now (§2.2, §2.3).
    pub(crate) fn sample(&mut self, sent: Instant, now: Instant) {
        let rtt = self.read(now) - self.read(sent);
        let (srtt, rttvar) = match self.smoothed {
            None => (rtt, rtt / 2),
            Some((srtt, rttvar)) => {
                let deviation = srtt.abs_diff(rtt);
                ((srtt * 7 + rtt) / 8, (rttvar * 3 + deviation) / 4)
            }
        };
        self.smoothed = Some((srtt, rttvar));
        let margin = self.granularity.max(rttvar * 4);
        self.base = srtt.saturating_add(margin).max(self.min);
        self.end_backoff();
    }

    /// The next timeout is not backed off.
    pub(crate) fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// The timer expired (§5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// The time as the host's clock shows it.
    fn read(&self, now: Instant) -> Instant {
        match self.tick() {
            0 => now,
            tick => Instant::from_nanos(now.as_nanos() / tick * tick),
        }
    }

    fn tick(&self) -> u64 {
        self.granularity.as_nanos().try_into().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn sample(rto: &mut Rto, rtt_ms: u64) {
        rto.sample(Instant::ZERO, Instant::from_millis(rtt_ms));
    }

    #[test]
    fn the_timeout_follows_rfc_6298_worked_by_hand() {
        let mut rto = Rto::new(MS(1_000), Duration::ZERO, Duration::ZERO);
        assert_eq!(rto.timeout(), MS(1_000));
        // SRTT 100, RTTVAR 50.
        sample(&mut rto, 100);
        assert_eq!((rto.srtt(), rto.timeout()), (Some(MS(100)), MS(300)));
        // RTTVAR 3/4·50 + 1/4·|100 - 180| = 57.5; SRTT 7/8·100 + 1/8·180 = 110.
        sample(&mut rto, 180);
        assert_eq!((rto.srtt(), rto.timeout()), (Some(MS(110)), MS(340)));
    }

    #[test]
    fn the_timeout_has_a_minimum_and_a_maximum() {
        let mut rto = Rto::new(MS(3_000), MS(200), Duration::ZERO);
        sample(&mut rto, 10);
        assert_eq!(rto.timeout(), MS(200));
        for doubled in [
            400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 60_000, 60_000,
        ] {
            rto.back_off();
            assert_eq!(rto.timeout(), MS(doubled));
        }
        sample(&mut rto, 10);
        assert_eq!(rto.timeout(), MS(200));
    }

    #[test]
    fn settings_without_sense_are_the_longest_timeout() {
        let mut rto = Rto::new(Duration::MAX, Duration::MAX, Duration::MAX);
        assert_eq!(rto.timeout(), MAX_RTO);
        sample(&mut rto, 100);
        rto.back_off();
        assert_eq!(rto.timeout(), MAX_RTO);
        assert_eq!(rto.expiry(Instant::ZERO + MS(1)), Instant::MAX);
    }

    #[test]
    fn a_coarse_clock_counts_whole_ticks() {
        let mut rto = Rto::new(MS(1_000), Duration::ZERO, MS(100));
        // From the tick at 0 to the tick at 200 ms.
        rto.sample(Instant::from_millis(90), Instant::from_millis(210));
        assert_eq!((rto.srtt(), rto.timeout()), (Some(MS(200)), MS(600)));
        assert_eq!(
            rto.expiry(Instant::from_millis(250)),
            Instant::from_millis(900)
        );
        // Within one tick: the round trip shows as nothing, and the timeout is no less than a tick.
        let mut rto = Rto::new(MS(1_000), Duration::ZERO, MS(100));
        rto.sample(Instant::from_millis(10), Instant::from_millis(30));
        assert_eq!((rto.srtt(), rto.timeout()), (Some(MS(0)), MS(100)));
        assert_eq!(
            rto.expiry(Instant::from_millis(130)),
            Instant::from_millis(300)
        );
    }
}
