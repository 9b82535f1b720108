//! What samples of the round-trip time tell of the way there.

use std::collections::VecDeque;
use std::time::Duration;

use evenkeel_rtp::session::Path;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

/// A round-trip time, and the size of the packet that it was measured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    /// R_sample.
    pub rtt: Duration,
    /// Its own time on the wire is in R_sample.
    pub packet: Bytes,
}

/// The recent round-trip times, and the least of the last half to whole minute.
#[derive(Clone, Debug)]
pub(crate) struct RttTrack {
    window: Duration,
    /// Newest first: those of the window, and [`FEWEST`] at least.
    recent: VecDeque<(Instant, Sample)>,
    least: Least<Sample>,
    /// The most that the path was seen to carry of late: X_recv, or more where frames leave pauses between them.
    carried: Rate,
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
            carried: Rate::ZERO,
        }
    }

    /// A sample came with feedback.
    pub(crate) fn observe(&mut self, now: Instant, sample: Sample) {
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

    /// What the path is seen to carry from now on: so fast packets come over the wire.
    pub(crate) fn observe_carried(&mut self, carried: Rate) {
        self.carried = carried;
    }

    /// What it was seen to carry.
    pub(crate) fn carried(&self) -> Rate {
        self.carried
    }

    /// The queue that stands between frames: the least of the window over the least of all, with what a packet takes on
    /// the wire. Calls that share a queue are to see the same, whatever their packets.
    pub(crate) fn standing_queue(&self) -> Duration {
        let present = self.recent.iter().map(|(_, sample)| sample.rtt).min();
        let least = self.least.get().map(|sample| sample.rtt);
        present
            .zip(least)
            .map_or(Duration::ZERO, |(present, least)| {
                present.saturating_sub(least)
            })
    }

    /// Half the least round trip: the way there with an empty queue.
    pub(crate) fn way(&self, path: &Path) -> Duration {
        let least = self.least.get().map(|sample| sample.rtt);
        least.or(path.rtt).unwrap_or_default() / 2
    }

    /// How far back the samples reach that the present queue is read from, where they come every `rtt`.
    pub(crate) fn span(&self, rtt: Duration) -> Duration {
        self.window.max(rtt.saturating_mul(FEWEST as u32))
    }

    /// The delay of media on its way: half the least round trip, and all of the queueing that the last
    /// packet of a frame meets.
    pub(crate) fn one_way(&self, path: &Path) -> Duration {
        self.way(path) + self.frame_queue()
    }

    /// The queue of late that the last packet of a frame meets.
    ///
    /// It is read from the longest sample: feedback meets a frame anywhere, the last packet meets the
    /// queue that the whole frame made.
    pub(crate) fn frame_queue(&self) -> Duration {
        self.queues().max().unwrap_or_default()
    }

    /// The queue that the last sample met.
    pub(crate) fn last_queue(&self) -> Duration {
        self.queues().next().unwrap_or_default()
    }

    /// What recent samples have over the least of all. A packet's own time on the wire is no queue, and a larger one has
    /// more of it: at 400 kb/s a full one 25 ms, one of a few bytes none.
    fn queues(&self) -> impl Iterator<Item = Duration> {
        let least = self.least.get();
        self.recent
            .iter()
            .zip(least.into_iter().cycle())
            .map(|((_, sample), least)| {
                let larger = sample.packet - least.packet;
                let wire = (larger / self.carried).min(self.window / MOST_WIRE);
                sample.rtt.saturating_sub(least.rtt).saturating_sub(wire)
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

/// The most of a sample that is a packet's own time on the wire, of the window: half of a frame interval. Where others
/// leave so little that it takes longer, their queue was met.
const MOST_WIRE: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::units::LossEventRate;

    const PATH: Path = Path {
        allowed_rate: Rate::ZERO,
        instantaneous_rate: Rate::ZERO,
        rtt: Some(Duration::from_millis(90)),
        loss_event_rate: LossEventRate::ZERO,
        receive_rate: Rate::ZERO,
    };

    fn observe_packet(track: &mut RttTrack, ms: u64, rtt: u64, packet: u64) {
        let sample = Sample {
            rtt: Duration::from_millis(rtt),
            packet: Bytes::new(packet),
        };
        track.observe(Instant::from_millis(ms), sample);
    }

    fn observe(track: &mut RttTrack, ms: u64, sample: u64) -> u128 {
        observe_packet(track, ms, sample, 1_000);
        track.one_way(&PATH).as_millis()
    }

    #[test]
    fn queueing_counts_whole_and_the_rest_by_half() {
        let mut track = RttTrack::new(Duration::from_millis(160));
        assert_eq!(track.one_way(&PATH), Duration::from_millis(45));
        assert_eq!(observe(&mut track, 0, 60), 30);
        assert_eq!(observe(&mut track, 10, 80), 50);
        assert_eq!(observe(&mut track, 20, 70), 50);
    }

    /// At 50 kB/s 900 bytes take 18 ms, and at 20 kB/s more than half of a frame interval.
    #[test]
    fn what_a_larger_packet_takes_longer_on_the_wire_is_no_queue() {
        for (carried, queue) in [(50_000.0, 6), (20_000.0, 4), (f64::INFINITY, 24)] {
            let mut track = RttTrack::new(Duration::from_millis(160));
            track.observe_carried(Rate::from_bytes_per_sec(carried));
            observe_packet(&mut track, 0, 60, 100);
            observe_packet(&mut track, 10, 84, 1_000);
            assert_eq!(track.frame_queue(), Duration::from_millis(queue));
            observe_packet(&mut track, 20, 61, 40);
            assert_eq!(track.frame_queue(), Duration::from_millis(queue));
        }
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
