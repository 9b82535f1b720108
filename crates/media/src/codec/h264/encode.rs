//! The encoder that hits a size with a picture that depends on the one before it.

use evenkeel_h264::{Encoder as Coder, Error, Planes, Qp};
use tfrc::units::Bytes;

use super::POSSIBLE_SIZES;
use super::size::Sizes;
use crate::codec::{Coded, PictureSizeError, VideoEncoder};
use crate::frame::{AccessUnit, CodedPicture, Picture};
use crate::policy::FrameTarget;

/// What is asked for, as a share of the target: one picture in ten is a fifth larger than what is asked for,
/// and one that cannot be sent in time costs those that refer to it.
const MARGIN: f64 = 0.87;

/// What is aimed at, as a share of that: what lies half a step of the quantiser above is still near it.
const AIM: f64 = 0.97;

/// A picture this many times its target is replaced by a keyframe that is not.
const TOO_LARGE: f64 = 1.4;

/// After so many passes a keyframe of any size below its aim will do.
const PASSES: u32 = 5;

/// A keyframe within these shares of its aim is sent.
const ACCEPTED: (f64, f64) = (0.85, 1.08);

/// Codes pictures of a stream to a size each; pictures may change their size.
#[derive(Debug, Default)]
pub struct Encoder {
    stream: Option<Stream>,
    /// The finest quantiser that OpenH264 had room for, once it had none.
    finest: Option<Qp>,
}

/// Pictures of one size.
#[derive(Debug)]
struct Stream {
    coder: Coder,
    size: (usize, usize),
    keyframes: Sizes,
    predicted: Sizes,
}

/// A picture that was coded, and why it has another size than it should.
struct Attempt {
    units: Vec<Vec<u8>>,
    aim: Bytes,
    /// No quantiser brings it nearer.
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
            coder: Coder::new(size.0, size.1)?,
            size,
            keyframes: Sizes::guess(pixels),
            predicted: Sizes::guess(pixels / 4),
        })
    }

    fn keyframe(&mut self, picture: &Planes<'_>, aim: Bytes, finest: Qp) -> Result<Attempt, Error> {
        // Those below the first are too large, those above the second too small.
        let (mut low, mut high) = (finest, Qp::COARSEST);
        let mut pass = 0;
        loop {
            pass += 1;
            let quantiser = self.keyframes.quantiser(aim).clamp(low, high);
            let units = self.coder.encode_keyframe(picture, quantiser)?;
            let attempt = Attempt::new(units, quantiser, aim);
            match pass {
                1 => self.keyframes.observe(quantiser, attempt.size()),
                _ => self.keyframes.observe_again(quantiser, attempt.size()),
            }
            let share = attempt.size().as_f64() / aim.as_f64();
            let fits = share <= ACCEPTED.1;
            if attempt.at_limit || (fits && (share >= ACCEPTED.0 || pass >= PASSES)) {
                return Ok(attempt);
            }
            if fits {
                high = step(quantiser, -1.0);
            } else {
                low = step(quantiser, 1.0);
            }
            if low > high {
                // None is near: the finest that fits.
                if fits {
                    return Ok(attempt);
                }
                high = low;
            }
        }
    }

    fn predicted(
        &mut self,
        picture: &Planes<'_>,
        aim: Bytes,
        finest: Qp,
    ) -> Result<Attempt, Error> {
        let trial = self.predicted.quantiser(aim).max(finest);
        if let Some(size) = self.coder.try_out(picture, trial)? {
            self.predicted.observe(trial, Bytes::from(size));
        }
        let quantiser = self.predicted.quantiser(aim).max(finest);
        let attempt = Attempt::new(self.coder.encode(picture, quantiser)?, quantiser, aim);
        self.predicted.observe_again(quantiser, attempt.size());
        Ok(attempt)
    }

    fn code(
        &mut self,
        picture: &Picture,
        target: &FrameTarget,
        finest: Qp,
    ) -> Result<Attempt, Error> {
        let planes = planes(picture);
        let aim = |share: f64| Bytes::new((target.size.as_f64() * MARGIN * share) as u64 + 1);
        if target.keyframe {
            // No larger than another picture: the next one would have to wait for it, and be late.
            return self.keyframe(&planes, aim(1.0), finest);
        }
        let attempt = self.predicted(&planes, aim(AIM), finest)?;
        if attempt.size() > aim(TOO_LARGE) && !attempt.at_limit {
            return self.keyframe(&planes, aim(AIM), finest);
        }
        Ok(attempt)
    }
}

/// The picture as the coder takes it.
pub(super) fn planes(picture: &Picture) -> Planes<'_> {
    Planes {
        width: picture.width(),
        height: picture.height(),
        samples: picture.planes(),
    }
}

/// The quantiser so many steps on.
fn step(quantiser: Qp, steps: f64) -> Qp {
    Qp::nearest(f64::from(quantiser.get()) + steps)
}

impl VideoEncoder for Encoder {
    fn encode(
        &mut self,
        picture: &Picture,
        target: &FrameTarget,
    ) -> Result<Option<Coded>, PictureSizeError> {
        let size = (picture.width(), picture.height());
        let same = self.stream.take().filter(|stream| stream.size == size);
        // The first of a stream is a keyframe, whatever the network has seen.
        let keyframe = target.keyframe || same.is_none();
        let mut stream = match same {
            Some(stream) => stream,
            None => Stream::new(picture).map_err(|_| PictureSizeError {
                width: size.0,
                height: size.1,
                possible: POSSIBLE_SIZES,
            })?,
        };
        let target = FrameTarget {
            keyframe,
            ..*target
        };
        let finest = self.finest.unwrap_or(Qp::FINEST);
        let Ok(attempt) = stream.code(picture, &target, finest) else {
            // OpenH264 had no room for it: the next one begins anew, and coarser.
            self.finest = Some(step(finest, COARSER));
            return Ok(None);
        };
        self.stream = Some(stream);
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

/// Steps by which the quantiser is kept coarser after OpenH264 had no room: half the bytes.
const COARSER: f64 = 6.0;
