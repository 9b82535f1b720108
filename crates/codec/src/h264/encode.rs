//! The encoder that hits a size with a picture that depends on the one before it.

use evenkeel_h264::{Error, Planes, Qp};
use tfrc::units::Bytes;

use super::POSSIBLE_SIZES;
use super::change::{Change, Watch};
use super::coders::Coders;
use super::size::{STILL_DIFFERENCE, Sizes};
use super::soften::Fineness;
use crate::coder::FrameTarget;
use crate::coder::{Coded, EncodeError, PictureSizeError, VideoEncoder};
use crate::log2::log2;
use crate::picture::{AccessUnit, CodedPicture, Picture};

/// The aim as a share of the target. One picture in ten is a twelfth larger than its aim, and a picture that cannot
/// be sent in time also costs the pictures that refer to it.
const AIM_FRACTION: f64 = 0.95;

/// The shares of the aim between which a trial is accepted.
const ACCEPTED_TRIAL: (f64, f64) = (0.94, 1.06);

/// The most steps by which a picture is coded finer than its trial. A trial with hardly any coefficients says
/// little about finer ones, and too small a picture harms less than too large a one.
const FINER_STEPS: f64 = 5.0;

/// The octaves above its aim at which a keyframe below this excess replaces a picture. Above the second bound any
/// smaller keyframe replaces it.
const RECODE_EXCESS: f64 = 0.5;
const ANY_SIZE_EXCESS: f64 = 1.0;

/// The steps by which the quantiser is finer after a keyframe for the same number of bytes: 4 to 10 in three clips
/// and the scene.
const FINER_AFTER_KEYFRAME: f64 = 7.0;

/// The octaves between two quantisers above which pictures are softened (`soften.rs`). Softening costs detail, and
/// below this gap the nearer quantiser is at most 15 % off.
const SOFTENING_GAP: f64 = 0.4;

/// The least difference, in octaves, between two successive changes at which strips are tried. Strips must also
/// have brought the last pictures nearer to their sizes, by the benefit in octaves.
const STRIPS_CHANGE: f64 = 0.3;
const STRIPS_BENEFIT: f64 = 0.12;
const STRIPS_BENEFIT_GAIN: f64 = 0.2;
const MAX_STRIPS_BENEFIT: f64 = 1.0;

/// The number of passes after which any keyframe below its aim is accepted.
const MAX_PASSES: u32 = 5;

/// The shares of the aim between which a keyframe is sent.
const ACCEPTED_KEYFRAME: (f64, f64) = (0.85, 1.08);

/// Codes each picture of a stream to a size; pictures may change their width and height.
#[derive(Debug, Default)]
pub struct Encoder {
    stream: Option<Stream>,
    /// The finest quantiser for which OpenH264 has enough memory, once it had too little: its memory is as large as
    /// the samples.
    finest: Option<Qp>,
}

/// The state for pictures of one size.
#[derive(Debug)]
struct Stream {
    coders: Coders,
    size: (usize, usize),
    keyframes: Sizes,
    predicted: Sizes,
    watch: Watch,
    /// The quantiser of the last picture.
    reference: f64,
    /// The octaves by which strips improved the prediction of the last pictures' sizes.
    worth: f64,
    /// The change of the last picture.
    change: Change,
}

/// A coded picture, and whether its size could be nearer to the aim.
struct Attempt {
    units: Vec<Vec<u8>>,
    aim: Bytes,
    /// True if no quantiser brings the size nearer to the aim.
    at_limit: bool,
}

impl Attempt {
    fn new(units: Vec<Vec<u8>>, quantiser: Qp, aim: Bytes) -> Self {
        let mut attempt = Self {
            units,
            aim,
            at_limit: false,
        };
        attempt.at_limit = match quantiser {
            Qp::COARSEST => attempt.size() > aim,
            Qp::FINEST => attempt.size() < aim,
            _ => false,
        };
        attempt
    }

    fn size(&self) -> Bytes {
        Bytes::from(self.units.iter().map(Vec::len).sum::<usize>())
    }
}

impl Stream {
    fn new(picture: &Picture) -> Result<Self, Error> {
        let size = (picture.width(), picture.height());
        let pixels = size.0 * size.1;
        Ok(Self {
            coders: Coders::new(size)?,
            size,
            keyframes: Sizes::guess(pixels),
            predicted: Sizes::guess(pixels / 4),
            watch: Watch::default(),
            reference: f64::from(Qp::COARSEST.get()),
            worth: MAX_STRIPS_BENEFIT,
            change: Change::ALL,
        })
    }

    fn keyframe(&mut self, picture: &Planes<'_>, aim: Bytes, finest: Qp) -> Result<Attempt, Error> {
        // Quantisers below the first give too large a picture, those above the second too small a one.
        let (mut low, mut high) = (finest, Qp::COARSEST);
        self.keyframes.turn_to(Change::ALL, self.reference);
        let mut pass = 0;
        loop {
            pass += 1;
            let quantiser = Qp::nearest(self.keyframes.quantiser(aim)).clamp(low, high);
            let units = self.coders.encode_keyframe(picture, quantiser)?;
            let attempt = Attempt::new(units, quantiser, aim);
            let value = f64::from(quantiser.get());
            self.keyframes.observe(value, attempt.size());
            let share = attempt.size().as_f64() / aim.as_f64();
            let fits = share <= ACCEPTED_KEYFRAME.1;
            let near =
                attempt.at_limit || (fits && (share >= ACCEPTED_KEYFRAME.0 || pass >= MAX_PASSES));
            if fits {
                high = step(quantiser, -1.0);
            } else {
                low = step(quantiser, 1.0);
            }
            // If none is near, the finest that fits is taken.
            if near || (low > high && fits) {
                self.coders.keep(picture, quantiser)?;
                self.reference = value;
                self.predicted.turn_to(Change::ALL, value);
                self.predicted
                    .observe(value - FINER_AFTER_KEYFRAME, attempt.size());
                return Ok(attempt);
            }
            if low > high {
                high = low;
            }
        }
    }

    fn predicted(
        &mut self,
        picture: &Planes<'_>,
        aim: Bytes,
        change: Change,
        finest: Qp,
    ) -> Result<Attempt, Error> {
        self.predicted.turn_to(change, self.reference);
        let finest = f64::from(finest.get());
        let mut fineness = self.fineness(aim, finest);
        let at_most = |tried: Fineness| finest.max(tried.value() - FINER_STEPS);
        let guess = self.predicted;
        let other = change.octaves_above(self.change, STILL_DIFFERENCE).abs() > STRIPS_CHANGE;
        self.change = change;
        let mut strips = None;
        if (other || self.worth > STRIPS_BENEFIT)
            && let Some(size) = self.coders.estimate(picture, fineness)?
        {
            self.predicted.expect(fineness.value(), Bytes::from(size));
            strips = Some(self.predicted);
            fineness = self.fineness(aim, at_most(fineness));
        }
        while let Some(size) = self.coders.try_out(picture, fineness)? {
            let size = Bytes::from(size);
            if let Some(by_strips) = strips.take() {
                let octaves = log2(size.as_f64());
                let [without, with] =
                    [guess, by_strips].map(|by| (by.octaves(fineness.value()) - octaves).abs());
                let nearer = (without - with).clamp(-MAX_STRIPS_BENEFIT, MAX_STRIPS_BENEFIT);
                self.worth += STRIPS_BENEFIT_GAIN * (nearer - self.worth);
            }
            self.predicted.observe(fineness.value(), size);
            let share = size.as_f64() / aim.as_f64();
            let better = self.fineness(aim, at_most(fineness));
            if (ACCEPTED_TRIAL.0..=ACCEPTED_TRIAL.1).contains(&share) || better == fineness {
                break;
            }
            fineness = better;
        }
        let attempt = Attempt::new(self.coders.encode(picture, fineness)?, fineness.qp, aim);
        self.predicted.observe(fineness.value(), attempt.size());
        self.reference = fineness.value();
        Ok(attempt)
    }

    /// Returns the fineness whose size is nearest to the aim, with a quantiser no finer than this.
    fn fineness(&self, aim: Bytes, finest: f64) -> Fineness {
        let value = self.predicted.quantiser(aim).max(finest);
        let [finer, coarser] = [0.0, 1.0].map(|on| self.predicted.octaves(value.floor() + on));
        if finer - coarser > SOFTENING_GAP {
            Fineness::nearest(value)
        } else {
            Fineness::sharp(Qp::nearest(value))
        }
    }

    fn code(
        &mut self,
        picture: &Picture,
        target: &FrameTarget,
        finest: Qp,
    ) -> Result<Attempt, Error> {
        let planes = planes(picture);
        let change = self.watch.next(picture);
        let aim = Bytes::new((target.size.as_f64() * AIM_FRACTION) as u64 + 1);
        if target.keyframe {
            // A keyframe is no larger than another picture, because the next one would wait for it and be late.
            return self.keyframe(&planes, aim, finest);
        }
        let attempt = self.predicted(&planes, aim, change, finest)?;
        let least = self.keyframes.octaves(f64::from(Qp::COARSEST.get()));
        let [aimed, coded] = [aim, attempt.size()].map(|size| log2(size.as_f64()));
        let over = coded - aimed;
        let helps = least <= aimed || (over > ANY_SIZE_EXCESS && least < coded);
        if over > RECODE_EXCESS && !attempt.at_limit && helps {
            return self.keyframe(&planes, aim, finest);
        }
        Ok(attempt)
    }
}

/// Converts an error of the encoder.
fn failed(error: Error) -> EncodeError {
    match error {
        Error::Size { width, height } => EncodeError::Size(PictureSizeError {
            width,
            height,
            possible: POSSIBLE_SIZES,
        }),
        Error::Encoder => EncodeError::H264(error),
    }
}

/// Returns the picture in the form of the encoder.
pub(super) fn planes(picture: &Picture) -> Planes<'_> {
    Planes {
        width: picture.width(),
        height: picture.height(),
        samples: picture.planes(),
    }
}

/// Returns the quantiser at a distance of `steps`.
fn step(quantiser: Qp, steps: f64) -> Qp {
    Qp::nearest(f64::from(quantiser.get()) + steps)
}

impl VideoEncoder for Encoder {
    fn encode(
        &mut self,
        picture: &Picture,
        target: &FrameTarget,
    ) -> Result<Option<Coded>, EncodeError> {
        let size = (picture.width(), picture.height());
        let same = self.stream.take().filter(|stream| stream.size == size);
        // The first picture of a stream is a keyframe, whatever the receiver has.
        let keyframe = target.keyframe || same.is_none();
        let mut stream = match same {
            Some(stream) => stream,
            None => Stream::new(picture).map_err(failed)?,
        };
        let target = FrameTarget {
            keyframe,
            ..*target
        };
        let finest = self.finest.unwrap_or(Qp::FINEST);
        let attempt = match stream.code(picture, &target, finest) {
            Ok(attempt) => attempt,
            Err(error) if finest == Qp::COARSEST => return Err(failed(error)),
            Err(_) => {
                // OpenH264 had too little memory for it, so the next picture begins a new stream with a coarser
                // quantiser.
                self.finest = Some(step(finest, COARSER_STEPS));
                return Ok(None);
            }
        };
        self.stream = Some(stream);
        let samples: usize = planes(picture)
            .samples
            .iter()
            .map(|plane| plane.len())
            .sum();
        if attempt.size() < Bytes::from(samples / 2) {
            // The margin of the coded picture permits a finer quantiser by a step.
            self.finest = self.finest.map(|finest| step(finest, -1.0));
        }
        let (size, aim) = (attempt.size().as_f64(), attempt.aim.as_f64());
        let units = attempt.units.into_iter().map(Some).collect();
        Ok(Some(Coded {
            picture: CodedPicture::from(AccessUnit { units }),
            size_error: if attempt.at_limit {
                0.0
            } else {
                (size - aim).abs() / aim
            },
        }))
    }
}

/// The steps by which the quantiser stays coarser after OpenH264 had too little memory: half the bytes.
const COARSER_STEPS: f64 = 6.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::frame_target;

    /// Returns an encoder whose coders fail at any quantiser, because they take pictures of another size.
    fn failing(finest: Option<Qp>) -> Encoder {
        let mut stream = Stream::new(&Picture::new(32, 32)).unwrap();
        stream.coders = Coders::new((64, 64)).unwrap();
        Encoder {
            stream: Some(stream),
            finest,
        }
    }

    #[test]
    fn failing_encoder_goes_coarser_and_then_gives_up() {
        let target = frame_target(1_000, 10.0);
        let encode = |encoder: &mut Encoder| {
            let coded = encoder.encode(&Picture::new(32, 32), &target);
            coded.map(|coded| coded.is_some())
        };
        let mut encoder = failing(None);
        assert_eq!(encode(&mut encoder), Ok(false));
        assert_eq!(encoder.finest, Some(step(Qp::FINEST, COARSER_STEPS)));
        // The next picture begins a new stream.
        assert_eq!(encode(&mut encoder), Ok(true));
        let given_up = encode(&mut failing(Some(Qp::COARSEST)));
        assert!(
            matches!(given_up, Err(EncodeError::Size(_))),
            "{given_up:?}"
        );
    }
}
