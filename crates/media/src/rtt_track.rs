//! What samples of the round-trip time tell of the way there.

use std::collections::VecDeque;
use std::time::Duration;

use evenkeel_rtp::session::Path;
use tfrc::time::Instant;

/// The recent round-trip times, and the least of the last half to whole minute.
#[derive(Clone, Debug)]
pub(crate) struct RttTrack {
    window: Duration,
    /// Newest first: those of the window, and [`FEWEST`] at least.
    recent: VecDeque<(Instant, Duration)>,
    least: Least<Duration>,
}

/// The least of the last half to whole minute.
#[derive(Clone, Debug)]
pub(crate) struct Least<T> {
    /// Of the window before, and of the current one.
    minima: [Option<T>; 2],
    start: Instant,
}

impl<T> Default for Least<T> {
    fn default() -> Self {
        Self {
            minima: [None, None],
            start: Instant::ZERO,
        }
    }
}

impl<T: Ord + Copy> Least<T> {
    /// A sample came.
    pub(crate) fn observe(&mut self, now: Instant, sample: T) {
        if now.saturating_since(self.start) > MINIMUM_WINDOW {
            self.minima = [self.minima[1], None];
            self.start = now;
        }
        let [_, current] = &mut self.minima;
        *current = Some(current.map_or(sample, |least| least.min(sample)));
    }

    /// The least, if a sample came of late.
    pub(crate) fn get(&self) -> Option<T> {
        self.minima.iter().flatten().min().copied()
    }
}

impl RttTrack {
    /// A track that reads the present queue from the samples of this time.
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window,
            recent: VecDeque::new(),
            least: Least::default(),
        }
    }

    /// A sample came with feedback.
    pub(crate) fn observe(&mut self, now: Instant, sample: Duration) {
        self.least.observe(now, sample);
        self.recent.truncate(MOST - 1);
        self.recent.push_front((now, sample));
        while self.recent.len() > FEWEST
            && let Some((at, _)) = self.recent.back()
            && now.saturating_since(*at) > self.window
        {
            self.recent.pop_back();
        }
    }

    /// The queue that stands between frames: the least of the window over the least of all.
    pub(crate) fn standing_queue(&self) -> Duration {
        self.over_least(self.recent.iter().map(|(_, sample)| *sample).min())
    }

    /// Half the least round trip: the way there with an empty queue.
    pub(crate) fn way(&self, path: &Path) -> Duration {
        self.least().or(path.rtt).unwrap_or_default() / 2
    }

    /// How far back the samples reach that the present queue is read from, where they come every `rtt`.
    pub(crate) fn span(&self, rtt: Duration) -> Duration {
        self.window.max(rtt.saturating_mul(FEWEST as u32))
    }

    /// The least round-trip time of late: that of the path with an empty queue.
    fn least(&self) -> Option<Duration> {
        self.least.get()
    }

    /// The delay of media on its way: half the least round trip, and all of the queueing that the last
    /// packet of a frame meets. `wire` is the time that a full packet takes at X.
    pub(crate) fn one_way(&self, path: &Path, wire: Duration) -> Duration {
        self.way(path) + self.frame_queue(wire)
    }

    /// The queue of late that the last packet of a frame meets. Its own time on the wire is not among
    /// it, for the size of the frame accounts for that; yet it is in a sample, while the least round
    /// trip may be that of a packet of a few bytes.
    ///
    /// It is read from the longest sample: feedback meets a frame anywhere, the last packet meets the
    /// queue that the whole frame made.
    pub(crate) fn frame_queue(&self, wire: Duration) -> Duration {
        let longest = self.recent.iter().map(|(_, sample)| *sample).max();
        self.over_least(longest).saturating_sub(wire)
    }

    /// What a sample has over the least.
    fn over_least(&self, sample: Option<Duration>) -> Duration {
        sample
            .zip(self.least())
            .map_or(Duration::ZERO, |(sample, least)| {
                sample.saturating_sub(least)
            })
    }
}

/// Long enough to see an empty queue between two loss events at video rates, short enough that a
/// change of route is learnt.
const MINIMUM_WINDOW: Duration = Duration::from_secs(30);

/// Samples that are kept however old they are; feedback comes once a round trip.
const FEWEST: usize = 4;

/// Samples that are kept at most: more come only with round trips below a tenth of the window.
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::units::{LossEventRate, Rate};

    const PATH: Path = Path {
        allowed_rate: Rate::ZERO,
        instantaneous_rate: Rate::ZERO,
        rtt: Some(Duration::from_millis(90)),
        loss_event_rate: LossEventRate::ZERO,
        receive_rate: Rate::ZERO,
    };

    fn observe(track: &mut RttTrack, ms: u64, sample: u64) -> u128 {
        track.observe(Instant::from_millis(ms), Duration::from_millis(sample));
        track.one_way(&PATH, Duration::ZERO).as_millis()
    }

    #[test]
    fn queueing_counts_whole_and_the_rest_by_half() {
        let mut track = RttTrack::new(Duration::from_millis(160));
        assert_eq!(
            track.one_way(&PATH, Duration::ZERO),
            Duration::from_millis(45)
        );
        assert_eq!(observe(&mut track, 0, 60), 30);
        assert_eq!(observe(&mut track, 10, 80), 50);
        assert_eq!(observe(&mut track, 20, 70), 50);
    }

    #[test]
    fn a_packets_own_time_on_the_wire_is_no_queue() {
        let mut track = RttTrack::new(Duration::from_millis(160));
        observe(&mut track, 0, 60);
        observe(&mut track, 10, 74);
        let queue = |wire| track.frame_queue(Duration::from_millis(wire));
        assert_eq!(queue(4), Duration::from_millis(10));
        assert_eq!(queue(20), Duration::ZERO);
    }

    #[test]
    fn what_three_reports_met_does_not_stand() {
        let mut track = RttTrack::new(Duration::from_millis(160));
        let mut met = |ms, sample| {
            observe(&mut track, ms, sample);
            track.standing_queue().as_millis()
        };
        assert_eq!(
            [met(0, 60), met(100, 90), met(200, 80), met(300, 95)],
            [0; 4]
        );
        assert_eq!([met(400, 85), met(500, 60)], [20, 0]);
    }

    #[test]
    fn a_queue_that_drained_is_forgotten_after_the_window_and_four_samples() {
        let mut track = RttTrack::new(Duration::from_millis(160));
        observe(&mut track, 0, 60);
        observe(&mut track, 10, 90);
        assert_eq!(observe(&mut track, 170, 60), 60);
        assert_eq!(observe(&mut track, 180, 60), 60);
        assert_eq!(observe(&mut track, 190, 60), 60);
        assert_eq!(observe(&mut track, 200, 60), 30);
    }

    #[test]
    fn a_longer_route_is_learnt_in_a_minute() {
        let mut track = RttTrack::new(Duration::from_millis(160));
        observe(&mut track, 0, 20);
        let delays: Vec<u128> = (1..=62)
            .map(|s| observe(&mut track, s * 1_000, 100))
            .collect();
        assert_eq!((delays[0], delays[61]), (90, 50));
    }
}
