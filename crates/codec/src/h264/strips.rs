//! Tries some strips of a large picture before the trial of the whole picture.
//!
//! A trial costs time, and a fifth of the rows gives nearly as much information: the ratio of the whole's bytes to
//! theirs hardly changes from one picture to the next. A picture of 720p takes 1.24 times as long with strips (7 ms
//! of 36, of which 4 keep the strips in step with the whole), so a picture like the last ones has no such trial.

use evenkeel_h264::{Encoder, Error, Planes, Qp};

use super::soften::Fineness;

/// The number of strips, spread evenly, and the rows of each: three of macroblocks, so that content may move up and
/// down.
const STRIPS: usize = 3;
const ROWS: usize = 48;

/// An encoder of the strips. It follows the picture before the one to try, and skips earlier ones.
#[derive(Debug)]
pub(super) struct Strips {
    coder: Encoder,
    /// The ratio of the last picture's bytes to its strips' bytes.
    share: f64,
    /// The strips of a picture, from top to bottom.
    planes: [Vec<u8>; 3],
    /// The buffer in which strips are softened.
    soft: Vec<u8>,
    /// The strips of the last picture, if the encoder has yet to follow it.
    last: Option<Last>,
    /// True if the encoder has the reference of the whole picture, so that the next picture shows the share.
    in_step: bool,
}

/// The strips of a picture that was coded.
#[derive(Debug)]
struct Last {
    planes: [Vec<u8>; 3],
    qp: Qp,
    /// The bytes of the whole picture; `None` for a keyframe.
    bytes: Option<usize>,
}

impl Strips {
    /// Creates an encoder for pictures of this size; `None` if strips would contain most of them.
    pub(super) fn new(width: usize, height: usize) -> Result<Option<Self>, Error> {
        if height < 2 * STRIPS * ROWS {
            return Ok(None);
        }
        Ok(Some(Self {
            coder: Encoder::new(width, STRIPS * ROWS)?,
            share: height as f64 / (STRIPS * ROWS) as f64,
            planes: Default::default(),
            soft: Vec::new(),
            last: None,
            in_step: false,
        }))
    }

    /// Returns the predicted size of the picture in bytes; `None` if it has been tried, or there is no reference
    /// yet.
    pub(super) fn try_out(
        &mut self,
        picture: &Planes<'_>,
        fineness: Fineness,
    ) -> Result<Option<usize>, Error> {
        self.catch_up(picture.width)?;
        let strips = cut(picture, &mut self.planes);
        let strips = fineness.picture(&strips, &mut self.soft);
        let bytes = self.coder.try_out(&strips, fineness.qp)?;
        Ok(bytes.map(|bytes| (bytes as f64 * self.share) as usize))
    }

    /// Records that a picture, softened as given, was coded to this many bytes; `None` for a keyframe.
    pub(super) fn record(&mut self, picture: &Planes<'_>, qp: Qp, bytes: Option<usize>) {
        // The strips of a picture that was not followed until now are never followed.
        self.in_step &= self.last.is_none();
        let mut planes = self.last.take().map(|last| last.planes).unwrap_or_default();
        cut(picture, &mut planes);
        self.last = Some(Last { planes, qp, bytes });
    }

    /// Encodes the last picture to follow its reference.
    fn catch_up(&mut self, width: usize) -> Result<(), Error> {
        let Some(Last { planes, qp, bytes }) = self.last.take() else {
            return Ok(());
        };
        let [luma, cb, cr] = &planes;
        let strips = Planes {
            width,
            height: STRIPS * ROWS,
            samples: [luma, cb, cr],
        };
        match bytes {
            None => drop(self.coder.encode_keyframe(&strips, qp)?),
            Some(bytes) => {
                let units = self.coder.encode(&strips, qp)?;
                if self.in_step {
                    let part = units.iter().map(Vec::len).sum::<usize>().max(1);
                    self.share = bytes.max(1) as f64 / part as f64;
                }
            }
        }
        self.in_step = true;
        Ok(())
    }
}

/// Returns the strips of a picture, from top to bottom.
fn cut<'a>(picture: &Planes<'_>, planes: &'a mut [Vec<u8>; 3]) -> Planes<'a> {
    for ((strips, samples), part) in planes.iter_mut().zip(picture.samples).zip([1, 2, 2]) {
        let (width, height, rows) = (picture.width / part, picture.height / part, ROWS / part);
        strips.clear();
        let apart = height / STRIPS;
        for first in (0..STRIPS).map(|strip| strip * apart + (apart - rows) / 2) {
            let samples = samples.get(first * width..(first + rows) * width);
            strips.extend_from_slice(samples.unwrap_or_default());
        }
    }
    let [luma, cb, cr] = planes;
    Planes {
        width: picture.width,
        height: STRIPS * ROWS,
        samples: [luma, cb, cr],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: (usize, usize) = (64, 480);

    /// Returns rows that differ, and move down from picture to picture.
    fn rows(n: usize, (width, height): (usize, usize)) -> Vec<u8> {
        let of = |row: usize| ((row + height - n) * 37 % 251) as u8;
        (0..height).flat_map(|row| vec![of(row); width]).collect()
    }

    #[test]
    fn strips_spread_over_picture_with_their_colours() {
        let luma = (0..SIZE.1).flat_map(|row| vec![(row / 2) as u8; SIZE.0]);
        let chroma = (0..SIZE.1 / 2).flat_map(|row| vec![row as u8; SIZE.0 / 2]);
        let (luma, chroma): (Vec<u8>, Vec<u8>) = (luma.collect(), chroma.collect());
        let picture = Planes {
            width: SIZE.0,
            height: SIZE.1,
            samples: [&luma, &chroma, &chroma],
        };
        let mut planes = Default::default();
        let strips = cut(&picture, &mut planes);
        let [luma, cb, _] = strips.samples;
        assert_eq!((luma.len(), cb.len()), (64 * 144, 32 * 72));
        for (strip, first) in [(0, 28), (1, 108), (2, 188)] {
            // The first rows are 56, 216 and 376, halved.
            assert_eq!(usize::from(luma[strip * 48 * 64]), first);
            assert_eq!(usize::from(cb[strip * 24 * 32]), first);
        }
    }

    #[test]
    fn strips_tell_what_the_picture_weighs() {
        let mut whole = Encoder::new(SIZE.0, SIZE.1).unwrap();
        let mut strips = Strips::new(SIZE.0, SIZE.1).unwrap().unwrap();
        let chroma = vec![128; SIZE.0 * SIZE.1 / 4];
        let qp = Qp::nearest(30.0);
        for n in 0..6 {
            let luma = rows(5 * n, SIZE);
            let picture = Planes {
                width: SIZE.0,
                height: SIZE.1,
                samples: [&luma, &chroma, &chroma],
            };
            if n == 0 {
                whole.encode_keyframe(&picture, qp).unwrap();
                strips.record(&picture, qp, None);
                continue;
            }
            let estimate = strips.try_out(&picture, Fineness::sharp(qp)).unwrap();
            let estimate = estimate.unwrap() as f64;
            let units = whole.encode(&picture, qp).unwrap();
            let bytes = units.iter().map(Vec::len).sum();
            strips.record(&picture, qp, Some(bytes));
            let off = estimate / bytes as f64;
            // The first prediction depends on the number of rows alone.
            assert!(
                n == 1 || (0.8..1.25).contains(&off),
                "{n}: {estimate} {bytes}"
            );
        }
    }

    #[test]
    fn small_pictures_have_none() {
        assert!(Strips::new(3_840, 286).unwrap().is_none());
        assert!(Strips::new(3_840, 288).unwrap().is_some());
    }
}
