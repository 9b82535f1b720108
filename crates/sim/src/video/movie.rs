//! Made-up movies: frame sizes as of real MPEG-4 films, from a seed.
//!
//! The traces of the `vod` paper are gone; of them is known a mean of 640 kb/s, the largest frame over the
//! mean frame (18.2 and 12.1), and that the rate of one changes much faster than that of the other. What
//! else is here is what studies of MPEG traces agree on (Rose, "Statistical properties of MPEG video
//! traffic", LCN 1995; Fitzek and Reisslein, "MPEG-4 and H.263 video traces", IEEE Network 15(6), 2001):
//!
//! - groups of pictures of one intra, three predicted and eight bidirectional frames, so that the
//!   autocorrelation of frame sizes has a peak every twelve frames;
//! - sizes of each kind nearly log-normal;
//! - scenes of heavy-tailed length, each with an activity of its own, so that the autocorrelation of
//!   whole groups decays slowly; a scene begins with an intra frame;
//! - within a scene an activity that wanders from group to group.
//!
//! How strong each of these is cannot be known. It was fitted to the paper's table 1
//! (`experiments/vod-tab1.toml`): to UDP's half, with TFRC's in sight, so only UDP's is reproduced by design.
//!
//! The sizes so drawn are scaled to the mean; what is then above the peak is cut to it, as an encoder's
//! buffer would have it. The largest frame has the peak in any case, so both hold to the byte.

use super::{Frame, FrameKind, FrameTrace, FrameTraceError};
use crate::distribution::{Law, exp};
use evenkeel_link::Random;
use tfrc::time::Duration;
use tfrc::units::Bytes;

/// Frames a second.
pub const FRAME_RATE: u32 = 25;
/// Frames from one intra frame to the next, if no scene begins before.
pub const GOP: usize = 12;

/// What a movie is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Movie {
    /// The mean size of a frame, without headers.
    mean: Bytes,
    /// The size of the largest.
    peak: Bytes,
    /// The mean length of a scene, in frames.
    scene: f64,
    /// How scenes differ: the standard deviation of the logarithm of their activity.
    contrast: f64,
    /// How the activity wanders from group to group of a scene: the same.
    drift: f64,
}

impl Movie {
    /// 640 kb/s.
    const MEAN: u64 = 640_000 / 8 / FRAME_RATE as u64;

    /// The rate changes quickly, as in "V for Vendetta" (`vod` §4): the largest frame is 18.2 mean
    /// frames.
    pub const FAST: Self = Self {
        mean: Bytes::new(Self::MEAN),
        peak: Bytes::new(Self::MEAN * 182 / 10),
        scene: 75.0,
        contrast: 0.5,
        drift: 0.43,
    };

    /// The rate changes slowly, as in "Cinderella Man": the largest frame is 12.1 mean frames.
    pub const SLOW: Self = Self {
        mean: Bytes::new(Self::MEAN),
        peak: Bytes::new(Self::MEAN * 121 / 10),
        scene: 250.0,
        contrast: 0.33,
        drift: 0.2,
    };

    /// The first `frames` frames of the movie of this seed.
    ///
    /// # Errors
    /// If there are fewer frames than the largest has means, or more than a trace may have.
    pub fn shoot(&self, frames: usize, seed: u64) -> Result<FrameTrace, FrameTraceError> {
        let wanted = self.peak.get().div_ceil(self.mean.get()) as usize;
        if frames < wanted {
            return Err(FrameTraceError::TooFew { wanted });
        }
        if frames > FrameTrace::MAX_FRAMES {
            return Err(FrameTraceError::TooMany);
        }
        let drawn = self.draw(frames, seed);
        let sizes = self.fit(&drawn);
        let frames = drawn.iter().zip(sizes).zip(0..);
        let frames = frames.map(|(((kind, _), size), number)| Frame {
            at: number * Duration::from_secs(1) / FRAME_RATE,
            kind: *kind,
            size,
        });
        FrameTrace::new(frames.collect())
    }

    /// Kinds and relative sizes.
    fn draw(&self, frames: usize, seed: u64) -> Vec<(FrameKind, f64)> {
        let mut random = Random::new(seed, 0);
        let lengths = Law::Pareto {
            mean: self.scene,
            shape: SCENE_SHAPE,
        };
        let innovation = (1.0 - PERSISTENCE * PERSISTENCE).sqrt();
        let mut drawn = Vec::with_capacity(frames);
        while drawn.len() < frames {
            let length = lengths.draw(&mut random).min(frames as f64) as usize;
            let scene = log_normal(self.contrast, &mut random);
            let (mut wander, mut group) = (random.normal(), 0.0);
            for place in 0..length.min(frames - drawn.len()) {
                if place % GOP == 0 {
                    wander = PERSISTENCE * wander + innovation * random.normal();
                    group = scene * power(self.drift * wander);
                }
                let (kind, weight) = kind_at(place % GOP);
                drawn.push((kind, weight * group * log_normal(NOISE, &mut random)));
            }
        }
        drawn
    }

    /// Scales the sizes to the mean and holds them to the peak, the largest at it.
    fn fit(&self, drawn: &[(FrameKind, f64)]) -> Vec<Bytes> {
        let peak = self.peak.get();
        let largest = (0..drawn.len()).max_by(|a, b| drawn[*a].1.total_cmp(&drawn[*b].1));
        let size = |frame: usize, scale: f64| {
            if Some(frame) == largest {
                peak
            } else {
                (drawn[frame].1 * scale).min(peak as f64) as u64
            }
        };
        let total = |scale: f64| -> u64 { (0..drawn.len()).map(|i| size(i, scale)).sum() };
        let wanted = self.mean.get() * drawn.len() as u64;
        let (mut least, mut most) = (0.0, 1.0);
        while total(most) < wanted {
            most *= 2.0;
        }
        for _ in 0..HALVINGS {
            let middle = (least + most) / 2.0;
            if total(middle) > wanted {
                most = middle;
            } else {
                least = middle;
            }
        }
        // What rounding down took is given back a byte a frame.
        let mut missing = wanted - total(least);
        let sizes = (0..drawn.len()).map(|frame| {
            let size = size(frame, least);
            let more = u64::from(missing > 0 && size < peak);
            missing -= more;
            Bytes::new(size + more)
        });
        sizes.collect()
    }
}

/// The shape of the lengths of scenes: below 2, so that long ones make for long memory.
const SCENE_SHAPE: f64 = 1.5;
/// The correlation of a group's activity with the activity of the group before it.
const PERSISTENCE: f64 = 0.8;
/// How frames of a kind differ within a group: the standard deviation of the logarithm of their size.
const NOISE: f64 = 0.2;
/// After so many the scale is as fine as a double can say.
const HALVINGS: u32 = 60;

/// `IBBPBBPBBPBB`, and how large frames of each kind are.
fn kind_at(place: usize) -> (FrameKind, f64) {
    match place {
        0 => (FrameKind::Intra, 10.0),
        3 | 6 | 9 => (FrameKind::Predicted, 2.5),
        _ => (FrameKind::Bidirectional, 1.0),
    }
}

fn log_normal(sigma: f64, random: &mut Random) -> f64 {
    power(sigma * random.normal())
}

/// e^x for any x.
fn power(x: f64) -> f64 {
    if x < 0.0 { 1.0 / exp(-x) } else { exp(x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_HOUR: usize = 45_000;

    fn half_hour(movie: &Movie) -> FrameTrace {
        movie.shoot(HALF_HOUR, 1).unwrap()
    }

    fn sizes(frames: &[Frame]) -> Vec<f64> {
        frames.iter().map(|frame| frame.size.as_f64()).collect()
    }

    /// How values are correlated with those `lag` later.
    fn autocorrelation(values: &[f64], lag: usize) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let product = |pair: (&f64, &f64)| (pair.0 - mean) * (pair.1 - mean);
        let covariance: f64 = values.iter().zip(&values[lag..]).map(product).sum();
        covariance / values.iter().zip(values).map(product).sum::<f64>()
    }

    #[test]
    fn mean_and_peak_hold_to_the_byte() {
        for (movie, peak) in [(Movie::FAST, 18.2), (Movie::SLOW, 12.1)] {
            for frames in [25, 1_000, HALF_HOUR] {
                for seed in 1..=5 {
                    let trace = movie.shoot(frames, seed).unwrap();
                    assert_eq!(trace.frames().len(), frames);
                    assert_eq!(trace.mean_rate().bits_per_sec(), 640_000.0);
                    assert_eq!(trace.peak_over_mean(), peak);
                }
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_movie_and_another_another() {
        let shoot = |seed| Movie::FAST.shoot(1_000, seed).unwrap();
        assert_eq!(shoot(1), shoot(1));
        assert_ne!(shoot(1), shoot(2));
    }

    #[test]
    fn a_group_is_one_intra_frame_and_what_is_predicted_from_it() {
        let trace = half_hour(&Movie::SLOW);
        let frames = trace.frames();
        let intra = |frame: &Frame| frame.kind == FrameKind::Intra;
        let starts: Vec<usize> = (0..frames.len()).filter(|n| intra(&frames[*n])).collect();
        let lengths: Vec<usize> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(lengths.iter().all(|length| *length <= GOP));
        // A scene ends one group before its time.
        let whole = lengths.iter().filter(|length| **length == GOP).count();
        assert!(
            whole > lengths.len() * 9 / 10,
            "{whole} of {}",
            lengths.len()
        );
        let mean = |kind: FrameKind| {
            let of: Vec<Frame> = frames.iter().filter(|f| f.kind == kind).copied().collect();
            sizes(&of).iter().sum::<f64>() / of.len() as f64
        };
        let [intra, predicted, bidirectional] = [
            FrameKind::Intra,
            FrameKind::Predicted,
            FrameKind::Bidirectional,
        ]
        .map(mean);
        assert!(intra > 3.0 * predicted && predicted > 2.0 * bidirectional);
    }

    #[test]
    fn sizes_are_alike_a_group_later_and_not_half_a_group_later() {
        for movie in [Movie::FAST, Movie::SLOW] {
            let sizes = sizes(half_hour(&movie).frames());
            let [half, whole] = [GOP / 2, GOP].map(|lag| autocorrelation(&sizes, lag));
            assert!(whole > half + 0.3, "{half} and {whole}");
        }
    }

    #[test]
    fn the_rate_of_the_fast_movie_changes_faster_and_more_and_both_have_long_memory() {
        let [fast, slow] = [Movie::FAST, Movie::SLOW].map(|movie| {
            let trace = half_hour(&movie);
            let seconds = trace.frames().chunks(FRAME_RATE as usize);
            let rates: Vec<f64> = seconds.map(|second| sizes(second).iter().sum()).collect();
            [1, 5, 20].map(|lag| autocorrelation(&rates, lag))
        });
        for (fast, slow) in fast.iter().zip(slow) {
            assert!(*fast < slow, "{fast} and {slow}");
        }
        assert!(fast[0] > 0.3 && slow[0] > 0.6, "{fast:?} {slow:?}");
        // A memory of whole scenes: without it, nothing would be left of 0.8 a group after 20 s.
        assert!(slow[2] > 0.05, "{slow:?}");
    }

    #[test]
    fn what_no_movie_can_be_is_refused() {
        let refused = |frames| Movie::FAST.shoot(frames, 1).unwrap_err();
        assert_eq!(refused(18), FrameTraceError::TooFew { wanted: 19 });
        assert_eq!(refused(usize::MAX), FrameTraceError::TooMany);
    }
}
