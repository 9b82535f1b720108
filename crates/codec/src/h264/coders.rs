//! Runs encoders in lock-step: a picture has as many trials as there are encoders.

use evenkeel_h264::{Encoder, Error, Planes, Qp};

use super::soften::Fineness;
use super::strips::Strips;

/// The trials of pictures up to each number of pixels; larger ones have one trial. Each encoder codes each picture
/// twice, as a trial and as the reference of the next, which takes too long at 720p. QCIF needs trials most, with
/// sizes of a hundred bytes.
const TRIALS: [(usize, usize); 2] = [(176 * 144, 3), (640 * 480, 2)];

/// Encoders of the same pictures with the same references.
#[derive(Debug)]
pub(super) struct Coders {
    /// The encoder whose units are sent.
    first: Encoder,
    /// The encoders of further trials, each at a quantiser that earlier trials suggest.
    trial_encoders: Vec<Encoder>,
    /// The trial of some strips before the only trial of a large picture.
    strips: Option<Strips>,
    /// The number of trials of the present picture.
    trials: usize,
    /// The buffer in which pictures are softened.
    soft: Vec<u8>,
}

impl Coders {
    pub(super) fn new((width, height): (usize, usize)) -> Result<Self, Error> {
        let fits = |&&(pixels, _): &&(usize, usize)| width * height <= pixels;
        let trials = TRIALS.iter().find(fits).map_or(1, |&(_, trials)| trials);
        let trial_encoders = (1..trials).map(|_| Encoder::new(width, height));
        Ok(Self {
            first: Encoder::new(width, height)?,
            trial_encoders: trial_encoders.collect::<Result<_, _>>()?,
            strips: if trials == 1 {
                Strips::new(width, height)?
            } else {
                None
            },
            trials: 0,
            soft: Vec::new(),
        })
    }

    /// Estimates the bytes of the picture from a trial of some strips; `None` without a trial.
    pub(super) fn estimate(
        &mut self,
        picture: &Planes<'_>,
        fineness: Fineness,
    ) -> Result<Option<usize>, Error> {
        let strips = self.strips.as_mut();
        strips.map_or(Ok(None), |strips| strips.try_out(picture, fineness))
    }

    /// Returns the size of the picture in bytes by a trial; `None` if no trial is left, or there is no reference
    /// yet.
    pub(super) fn try_out(
        &mut self,
        picture: &Planes<'_>,
        fineness: Fineness,
    ) -> Result<Option<usize>, Error> {
        let picture = fineness.picture(picture, &mut self.soft);
        let coder = match self.trials.checked_sub(1) {
            None => Some(&mut self.first),
            Some(index) => self.trial_encoders.get_mut(index),
        };
        self.trials += 1;
        coder.map_or(Ok(None), |coder| coder.try_out(&picture, fineness.qp))
    }

    /// Codes the picture from the one before it. The time of the other encoders adds to the delay, because they
    /// need the picture as their reference before the next trial, and it is not available for longer.
    pub(super) fn encode(
        &mut self,
        picture: &Planes<'_>,
        fineness: Fineness,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let picture = fineness.picture(picture, &mut self.soft);
        self.trials = 0;
        for coder in &mut self.trial_encoders {
            coder.encode(&picture, fineness.qp)?;
        }
        let units = self.first.encode(&picture, fineness.qp)?;
        if let Some(strips) = &mut self.strips {
            let bytes = units.iter().map(Vec::len).sum();
            strips.record(&picture, fineness.qp, Some(bytes));
        }
        Ok(units)
    }

    /// Codes the picture by itself, again if necessary. The last result must be [kept](Self::keep).
    pub(super) fn encode_keyframe(
        &mut self,
        picture: &Planes<'_>,
        qp: Qp,
    ) -> Result<Vec<Vec<u8>>, Error> {
        self.first.encode_keyframe(picture, qp)
    }

    /// Makes the keyframe that was coded last, with this quantiser, the reference of later pictures.
    pub(super) fn keep(&mut self, picture: &Planes<'_>, qp: Qp) -> Result<(), Error> {
        self.trials = 0;
        for coder in &mut self.trial_encoders {
            coder.encode_keyframe(picture, qp)?;
        }
        if let Some(strips) = &mut self.strips {
            strips.record(picture, qp, None);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    /// Returns a picture with a slope that rises by a sixteenth a picture, and a little unpredictable noise.
    fn picture(n: u32, (width, height): (usize, usize)) -> Vec<u8> {
        let mut random = SplitMix64::seed_from_u64(n.into());
        let luma = (0..width * height).map(|at| {
            let noise = (random.next_u64() >> 62) as u8;
            (at % width + at / width + 16 * n as usize) as u8 / 2 + noise
        });
        luma.collect()
    }

    #[test]
    fn each_trial_is_coded_from_the_same_reference() {
        for (size, trials) in [((176, 144), 3), ((352, 288), 2), ((656, 480), 1)] {
            let mut coders = Coders::new(size).unwrap();
            let chroma = vec![128; size.0 * size.1 / 4];
            for n in 0..8 {
                let luma = picture(n, size);
                let planes = Planes {
                    width: size.0,
                    height: size.1,
                    samples: [&luma, &chroma, &chroma],
                };
                let qp = Qp::nearest(24.0 + f64::from(n));
                if n % 4 == 0 {
                    // The first result is rejected, and the keyframe coded again.
                    coders.encode_keyframe(&planes, Qp::COARSEST).unwrap();
                    coders.encode_keyframe(&planes, qp).unwrap();
                    coders.keep(&planes, qp).unwrap();
                    continue;
                }
                let mut tried = Vec::new();
                // Every other picture is near its size at the first trial.
                let wanted = if n % 2 == 0 { 1 } else { trials + 1 };
                while tried.len() < wanted
                    && let Some(bytes) = coders.try_out(&planes, Fineness::sharp(qp)).unwrap()
                {
                    tried.push(bytes);
                }
                assert_eq!(tried.len(), wanted.min(trials), "{size:?}");
                assert!(tried.iter().all(|of| *of == tried[0]), "{tried:?}");
                coders.encode(&planes, Fineness::sharp(qp)).unwrap();
            }
        }
    }
}
