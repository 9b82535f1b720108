//! The encoder that hits a size: the rate controller gives the bytes of the next frame.
//!
//! Size falls with the quantiser's scale nearly as a power of it, and the exponent changes slowly. The search
//! therefore uses logarithms: scales are steps of 2^(1/64), and the slope of log size over steps is kept from frame
//! to frame. Each frame is first *probed*: some of its intervals, spread evenly, are coded at a trial scale. A
//! probe costs a small part of a pass and follows any cut or any jump of the target. The ratio of the whole to the
//! probe is kept as well. Then the frame is coded, and again if its size missed the tolerance. Nothing is
//! interpolated from past frames alone, so the search cannot become stuck as three points on a line do (thesis
//! §7.5). A [`Scale`] between two tables is as good as one on them, so the steps of an integer quality cause no
//! spikes.
//!
//! If bytes are few, a picture is coded with half of its sides (`downscale.rs`).

#[cfg(test)]
mod tests;

use tfrc::units::Bytes;

use crate::coder::FrameTarget;
use crate::coder::{Coded, EncodeError, PictureSizeError, VideoEncoder};
use crate::downscale::{HALF_SCALE_OCTAVES, Halves};
use crate::log2::log2;
use crate::mjpeg::{Coefficients, Scale, Scan, check_size, restart_interval_for};
use crate::picture::{JpegImage, Picture};

/// The least share of its target at which a frame is accepted. A frame above the target is accepted only if it
/// cannot be coded smaller, because the network permits no more than the target.
const ACCEPTED_FRACTION: f64 = 0.95;

/// The aim as a share of the target. The rest is twice the usual error of the first pass.
const AIM_FRACTION: f64 = 0.985;

/// The number of passes after which any size below the target is accepted. The third pass is for changes that the
/// probes did not show, as after a cut.
const MAX_PASSES: u32 = 3;

/// The most trial scales of a frame; each reduces the error several times.
const MAX_PROBES: u32 = 4;

/// The distance of a probe from the aim, in log2, that ends the search: 0.7 %, less than a step.
const PROBE_TOLERANCE: f64 = 0.01;

/// The least number of intervals in a probe, if the picture has as many.
const MIN_PROBE_INTERVALS: usize = 8;

/// The steps from the finest scale to the coarsest: 64 an octave, so 0.8 % of size each.
const SCALE_STEPS: usize = 632;

/// The first slope of log2 size over steps: size is proportional to scale to the power of -0.7.
const FIRST_SLOPE: f64 = -0.7 / 64.0;

/// The bounds of the slope, which is flattest where only the ends of blocks remain to be coded.
const SLOPE_BOUNDS: (f64, f64) = (-1.5 / 64.0, -0.1 / 64.0);

/// The least number of steps between two sizes from which a slope is computed.
const MIN_SLOPE_STEPS: f64 = 4.0;

/// The steps by which the scale is finer with half of the sides.
const HALVING_STEPS: usize = (HALF_SCALE_OCTAVES * 64.0) as usize;

/// Codes each picture of a stream to a size; pictures may change their width and height.
#[derive(Debug)]
pub struct Encoder {
    restart_interval: Option<u16>,
    coefficients: Coefficients,
    /// The scan that is tried, and the largest that fits the target.
    trial: Scan,
    fitting: Scan,
    step: usize,
    slope: f64,
    /// log2 of the ratio of the whole's size to the prediction of the probe.
    whole_over_probe: f64,
    /// The number of times that the sides are halved.
    halvings: usize,
    /// True until the first picture, which is not halved, because a recording takes its size.
    is_first: bool,
}

/// A coded frame, and the course of its coding.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The picture, of which every interval is present.
    pub image: JpegImage,
    /// The scale of its quantisation.
    pub scale: Scale,
    /// The number of times that the whole was coded.
    pub passes: u32,
    /// The requested size.
    pub target: Bytes,
    /// The reason for which the size could not reach the target, if it could not.
    pub limit: Option<Limit>,
}

/// The limits of a picture's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The size exceeds the target even at the coarsest scale.
    Coarsest,
    /// The size is below the target even at the finest scale.
    Finest,
}

impl Encoded {
    /// Returns |size − target| / target, where the target is limited to the reachable sizes: 0 at a limit.
    pub fn size_error(&self) -> f64 {
        if self.limit.is_some() {
            return 0.0;
        }
        let target = self.target.as_f64();
        (self.image.scan_size().as_f64() - target).abs() / target
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// Creates an encoder that chooses the restart interval by [`restart_interval_for`].
    pub fn new() -> Self {
        Self {
            restart_interval: None,
            coefficients: Coefficients::default(),
            trial: Scan::default(),
            fitting: Scan::default(),
            step: SCALE_STEPS / 2,
            slope: FIRST_SLOPE,
            whole_over_probe: 0.0,
            halvings: 0,
            is_first: true,
        }
    }

    /// Creates an encoder with `mcus` MCUs in an interval; 0 makes each picture one piece.
    pub fn with_restart_interval(mcus: u16) -> Self {
        Self {
            restart_interval: Some(mcus),
            ..Self::new()
        }
    }

    /// Codes a picture in at most `target` bytes of scan, and as near to the target as three passes permit. The
    /// sides are halved or quartered where that shows more of the picture.
    ///
    /// The scan exceeds the target only if it does so at the coarsest scale; [`Encoded::limit`] then says so.
    ///
    /// # Errors
    /// Returns an error if the picture is larger than RFC 2435 can carry, or empty.
    pub fn encode(
        &mut self,
        picture: &Picture,
        target: Bytes,
    ) -> Result<Encoded, PictureSizeError> {
        check_size(picture)?;
        let aim = log2(target.as_f64() * AIM_FRACTION);
        let mut halves = Halves::of(picture);
        let mut left = None;
        loop {
            self.halve(halves.at_most(self.halvings));
            let coded = halves.get(self.halvings);
            self.coefficients.transform(coded);
            let interval = self
                .restart_interval
                .unwrap_or_else(|| restart_interval_for(coded.width()));
            let probed = self.probe(aim, interval);
            let better = if std::mem::take(&mut self.is_first) {
                self.halvings
            } else {
                halves.better(self.halvings, octaves(self.step))
            };
            // If each of two sizes predicts the other one to be better, the second is used.
            if better == self.halvings || left == Some(better) {
                return Ok(self.search(target, aim, interval, probed));
            }
            left = Some(self.halvings);
            self.halve(better);
        }
    }

    /// Sets the number of times that the sides are halved.
    fn halve(&mut self, halvings: usize) {
        if halvings == self.halvings {
            return;
        }
        let finer = HALVING_STEPS * halvings.saturating_sub(self.halvings);
        let coarser = HALVING_STEPS * self.halvings.saturating_sub(halvings);
        self.step = (self.step.saturating_sub(finer) + coarser).min(SCALE_STEPS);
        self.whole_over_probe = 0.0;
        self.halvings = halvings;
    }

    /// Moves `step` to the aim that the probe predicts. Returns log2 of the size that the whole would have there if
    /// it were like the probe.
    fn probe(&mut self, aim: f64, interval: u16) -> f64 {
        let mcus = self.coefficients.mcu_count();
        let intervals = match interval {
            0 => 1,
            n => mcus.div_ceil(usize::from(n)),
        };
        // The stride is odd, so that the probe has different columns in successive rows.
        let stride = (intervals / MIN_PROBE_INTERVALS) | 1;
        let share = log2(intervals as f64) - log2(intervals.div_ceil(stride) as f64);
        let mut previous: Option<(usize, f64)> = None;
        let mut probes = 0;
        loop {
            let scale = scale(self.step);
            self.trial
                .code_every(stride, &self.coefficients, scale, interval);
            let size = log2(self.trial.size().as_f64()) + share;
            if let Some(previous) = previous {
                self.learn_slope(previous, (self.step, size));
            }
            probes += 1;
            let error = size + self.whole_over_probe - aim;
            let next = self.towards(-error);
            if error.abs() < PROBE_TOLERANCE || next == self.step || probes == MAX_PROBES {
                return size;
            }
            previous = Some((self.step, size));
            self.step = next;
        }
    }

    fn search(&mut self, target: Bytes, aim: f64, interval: u16, probed: f64) -> Encoded {
        let mut fitting: Option<usize> = None;
        let (mut too_large, mut previous) = (None, None);
        let mut passes = 0;
        let limit = loop {
            passes += 1;
            self.trial
                .code(&self.coefficients, scale(self.step), interval);
            let size = self.trial.size();
            let logarithm = log2(size.as_f64());
            match previous {
                None => self.whole_over_probe = logarithm - probed,
                Some(previous) => self.learn_slope(previous, (self.step, logarithm)),
            }
            previous = Some((self.step, logarithm));
            if size <= target {
                fitting = Some(self.step);
                core::mem::swap(&mut self.trial, &mut self.fitting);
                if size.as_f64() >= ACCEPTED_FRACTION * target.as_f64() {
                    break None;
                }
                if self.step == 0 {
                    break Some(Limit::Finest);
                }
            } else {
                too_large = Some(self.step);
                if self.step == SCALE_STEPS {
                    fitting = Some(self.step);
                    core::mem::swap(&mut self.trial, &mut self.fitting);
                    break Some(Limit::Coarsest);
                }
            }
            let finer = too_large.map_or(0, |step| step + 1);
            let coarser = fitting.map_or(SCALE_STEPS, |step| step - 1);
            if finer > coarser || (passes >= MAX_PASSES && fitting.is_some()) {
                break None;
            }
            // While nothing fits, each pass goes four times as far beyond the slope: the coarsest scale is reached
            // within seven.
            let margin = match fitting {
                None if passes > 1 => 1 << (2 * passes - 2),
                _ => 0,
            };
            self.step = (self.towards(aim - logarithm) + margin).clamp(finer, coarser);
        };
        self.step = fitting.unwrap_or(SCALE_STEPS);
        Encoded {
            image: self.fitting.image(&self.coefficients, scale(self.step)),
            scale: scale(self.step),
            passes,
            target,
            limit,
        }
    }

    /// Returns the step that changes log2 size by `change` according to the slope.
    fn towards(&self, change: f64) -> usize {
        let step = self.step as f64 + change / self.slope;
        // The cast clamps at zero, and converts NaN to zero too.
        ((step + 0.5) as usize).min(SCALE_STEPS)
    }

    fn learn_slope(&mut self, a: (usize, f64), b: (usize, f64)) {
        let steps = b.0 as f64 - a.0 as f64;
        // Nearer sizes differ by the rounding of a few divisors, not by the slope.
        if steps.abs() >= MIN_SLOPE_STEPS {
            self.slope = ((b.1 - a.1) / steps).clamp(SLOPE_BOUNDS.0, SLOPE_BOUNDS.1);
        }
    }
}

impl VideoEncoder for Encoder {
    fn encode(
        &mut self,
        picture: &Picture,
        target: &FrameTarget,
    ) -> Result<Option<Coded>, EncodeError> {
        let encoded = self.encode(picture, target.size)?;
        let size_error = encoded.size_error();
        let picture = encoded.image.into();
        Ok(Some(Coded {
            picture,
            size_error,
        }))
    }
}

/// Returns log2 of a step's factor: the finest is 4.644 octaves below the tables of Annex K.
fn octaves(step: usize) -> f64 {
    step as f64 / 64.0 - 4.644
}

fn scale(step: usize) -> Scale {
    Scale::new(SCALES[step])
}

/// The factor of each step; the last exceeds the coarsest scale and is clamped to it.
static SCALES: [f64; SCALE_STEPS + 1] = {
    /// The ratio 2^(1/64).
    const RATIO: f64 = 1.010_889_286_051_700_5;
    let mut factors = [Scale::FINEST.factor(); SCALE_STEPS + 1];
    let mut step = 1;
    while step <= SCALE_STEPS {
        factors[step] = factors[step - 1] * RATIO;
        step += 1;
    }
    factors
};
