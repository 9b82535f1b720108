//! The encoder that hits a size: the rate controller says how many bytes the next frame may have.
//!
//! Size falls with the quantiser's scale nearly as a power of it, and the power changes slowly. So
//! the search runs on logarithms: scales are steps of 2^(1/64), and the slope of log size
//! over steps is remembered from frame to frame. Each frame is first *probed*: a spread of its
//! intervals is coded at a trial scale, which costs a small part of a pass and follows any cut or
//! any jump of the target; what the whole weighs over that part is remembered too. Then the frame is
//! coded, and again if that missed the tolerance. Nothing is interpolated from past frames alone,
//! so nothing can become stuck as three points on a line do (thesis §7.5), and a [`Scale`] between two
//! tables is as good as one on them, so no spikes come from the steps of an integer quality.
//!
//! Where bytes are few a picture is coded with half of its sides (`downscale.rs`).

#[cfg(test)]
mod tests;

use tfrc::units::Bytes;

use crate::coder::FrameTarget;
use crate::coder::{Coded, EncodeError, PictureSizeError, VideoEncoder};
use crate::downscale::{HALF_SCALE_OCTAVES, Halves};
use crate::log2::log2;
use crate::mjpeg::{Coefficients, Scale, Scan, check_size, restart_interval_for};
use crate::picture::{JpegImage, Picture};

/// A frame is accepted from this share of its target on. It is never accepted above the target,
/// which is what the network gives, unless it cannot be coded smaller.
const ACCEPTED_FRACTION: f64 = 0.95;

/// The aim as a share of the target. The rest is twice the usual error of the first pass.
const AIM_FRACTION: f64 = 0.985;

/// After this many passes any size below the target is accepted. The third is for a change that the probes did not see, as
/// after a cut.
const MAX_PASSES: u32 = 3;

/// Trial scales a frame at most; each halves the error several times.
const MAX_PROBES: u32 = 4;

/// A probe this near the aim ends the search, as log2: 0.7 %, less than a step.
const PROBE_TOLERANCE: f64 = 0.01;

/// Intervals in a probe at least, where the picture has them.
const MIN_PROBE_INTERVALS: usize = 8;

/// Steps from the finest scale to the coarsest: 64 an octave, so 0.8 % of size each.
const SCALE_STEPS: usize = 632;

/// Slope of log2 size over steps before anything is known: size as scale to the power of -0.7.
const FIRST_SLOPE: f64 = -0.7 / 64.0;

/// Bounds on the slope. It is flattest where only the ends of blocks are left to code.
const SLOPE_BOUNDS: (f64, f64) = (-1.5 / 64.0, -0.1 / 64.0);

/// Steps between two sizes that tell a slope.
const MIN_SLOPE_STEPS: f64 = 4.0;

/// Steps by which the scale is finer with half of the sides.
const HALVING_STEPS: usize = (HALF_SCALE_OCTAVES * 64.0) as usize;

/// Codes pictures of a stream to a size each; pictures may change their size.
#[derive(Debug)]
pub struct Encoder {
    restart_interval: Option<u16>,
    coefficients: Coefficients,
    /// The scan being tried, and the largest that fits the target.
    trial: Scan,
    fitting: Scan,
    step: usize,
    slope: f64,
    /// log2 of the whole's size over what the probe made it.
    whole_over_probe: f64,
    /// How often the sides are halved.
    halvings: usize,
    /// True until the first picture, which is not halved, since a recording takes its size.
    is_first: bool,
}

/// A coded frame and how it came about.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The picture; every interval is present.
    pub image: JpegImage,
    /// The scale it was quantised with.
    pub scale: Scale,
    /// How many times the whole was coded.
    pub passes: u32,
    /// The size that was asked for.
    pub target: Bytes,
    /// Why the size could not come near the target, if it could not.
    pub limit: Option<Limit>,
}

/// The end of what a picture's size can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At the coarsest scale it is still larger than the target.
    Coarsest,
    /// At the finest scale it is still smaller.
    Finest,
}

impl Encoded {
    /// |size − target| / target, where the target is taken as what the picture can reach: 0 at a
    /// limit.
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
    /// An encoder that chooses the restart interval by [`restart_interval_for`].
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

    /// The same with `mcus` MCUs in an interval; 0 makes each picture one piece.
    pub fn with_restart_interval(mcus: u16) -> Self {
        Self {
            restart_interval: Some(mcus),
            ..Self::new()
        }
    }

    /// Codes a picture in at most `target` bytes of scan, and as near to it as three passes come; with half or a quarter
    /// of its sides where that shows more of it.
    ///
    /// Only where the coarsest scale is still too large for it does the scan exceed the target;
    /// then [`Encoded::limit`] says so.
    ///
    /// # Errors
    /// If the picture is larger than RFC 2435 can carry, or empty.
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
            // If each of two sizes predicts the opposite one to be better, the second is used.
            if better == self.halvings || left == Some(better) {
                return Ok(self.search(target, aim, interval, probed));
            }
            left = Some(self.halvings);
            self.halve(better);
        }
    }

    /// From now on the sides are halved so often.
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

    /// Moves `step` to where the probe says the aim is; returns log2 of the size that the whole would
    /// have there if it were like the probe.
    fn probe(&mut self, aim: f64, interval: u16) -> f64 {
        let mcus = self.coefficients.mcu_count();
        let intervals = match interval {
            0 => 1,
            n => mcus.div_ceil(usize::from(n)),
        };
        // Odd, so that it does not see the same columns in every row.
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
            // While nothing fits, go further than the slope says, four times as far each pass: that
            // reaches the coarsest within seven.
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

    /// The step that changes log2 size by `change`, as the slope has it.
    fn towards(&self, change: f64) -> usize {
        let step = self.step as f64 + change / self.slope;
        // The cast clamps at zero, and takes NaN there too.
        ((step + 0.5) as usize).min(SCALE_STEPS)
    }

    fn learn_slope(&mut self, a: (usize, f64), b: (usize, f64)) {
        let steps = b.0 as f64 - a.0 as f64;
        // Nearer ones differ by which few divisors round up, not by the slope.
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

/// log2 of a step's factor: the finest is 4.644 octaves below the tables of Annex K.
fn octaves(step: usize) -> f64 {
    step as f64 / 64.0 - 4.644
}

fn scale(step: usize) -> Scale {
    Scale::new(SCALES[step])
}

/// The factor of each step; the last is beyond the coarsest and clamped to it.
static SCALES: [f64; SCALE_STEPS + 1] = {
    /// 2^(1/64).
    const RATIO: f64 = 1.010_889_286_051_700_5;
    let mut factors = [Scale::FINEST.factor(); SCALE_STEPS + 1];
    let mut step = 1;
    while step <= SCALE_STEPS {
        factors[step] = factors[step - 1] * RATIO;
        step += 1;
    }
    factors
};
