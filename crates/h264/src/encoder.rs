//! An encoder that codes a picture with a given quantiser, and can try a quantiser before.
//!
//! OpenH264's own rate control follows a mean over many pictures. A sender whose rate changes from
//! one picture to the next must know what *this* picture will weigh. It cannot code a picture twice
//! and take the better one: the first would have become the reference of the second. But H.264 knows
//! pictures that nothing refers to, and OpenH264 codes every second picture so when told to use two
//! temporal layers. Such a picture is coded from the same reference as the one after it, changes no
//! state that a decoder would miss (its `frame_num` is used again, H.264 §7.4.3), and so need not be
//! sent: it is a [trial](Encoder::try_out).

use openh264::OpenH264API;
use openh264::encoder::{
    self, Complexity, EncoderConfig, Level, Profile, RateControlMode, VuiConfig,
};
use openh264::formats::YUVSlices;

use crate::{Error, options};

/// A picture in planar 4:2:0 without padding, with the matrix and range of BT.601.
#[derive(Clone, Copy, Debug)]
pub struct Planes<'a> {
    /// Columns of luma, an even number.
    pub width: usize,
    /// Rows of luma, an even number.
    pub height: usize,
    /// Y, Cb, Cr.
    pub samples: [&'a [u8]; 3],
}

/// A quantiser, from 10 to 51; six more double its steps (H.264 §8.5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Qp(u8);

impl Qp {
    /// The finest that we use: steps of 2, and no error that one could see. White noise takes more bytes
    /// already than OpenH264 has room for.
    pub const FINEST: Self = Self(10);
    /// The coarsest that there is.
    pub const COARSEST: Self = Self(51);

    /// The nearest quantiser that there is.
    pub fn nearest(value: f64) -> Self {
        // The cast takes NaN to zero.
        Self(((value + 0.5) as u8).clamp(Self::FINEST.0, Self::COARSEST.0))
    }

    /// From 10 to 51.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// An encoder of pictures of one size: baseline profile, one slice, one reference, no delay.
///
/// After [`Error::Encoder`] its references may differ from a decoder's, so that a new encoder is needed.
pub struct Encoder {
    inner: encoder::Encoder,
    size: (usize, usize),
    /// How the next picture would be coded.
    next: Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// As a keyframe: there is no reference yet.
    Keyframe,
    /// As one that may be left out.
    Disposable,
    /// As one that others refer to.
    Reference,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { size, next, .. } = self;
        write!(f, "Encoder({size:?}, {next:?})")
    }
}

/// The largest picture that OpenH264 codes, lying or standing.
pub const MAX_SIDES: (usize, usize) = (3_840, 2_160);

/// The smallest that it codes.
pub const MIN_SIDE: usize = 16;

impl Encoder {
    /// An encoder for pictures of this size.
    ///
    /// # Errors
    /// If there are no pictures of this size, or OpenH264 has no memory for them.
    pub fn new(width: usize, height: usize) -> Result<Self, Error> {
        let (longer, shorter) = (width.max(height), width.min(height));
        let fits = longer <= MAX_SIDES.0 && (MIN_SIDE..=MAX_SIDES.1).contains(&shorter);
        if !fits || !width.is_multiple_of(2) || !height.is_multiple_of(2) {
            return Err(Error::Size { width, height });
        }
        let config = EncoderConfig::new()
            .rate_control_mode(RateControlMode::Off)
            .skip_frames(false)
            .profile(Profile::Baseline)
            .level(level(width, height))
            .complexity(Complexity::Low)
            // Without it, players take the matrix of pictures of high definition for BT.709's.
            .vui(VuiConfig::bt601())
            .scene_change_detect(false)
            .adaptive_quantization(false)
            .background_detection(false)
            .num_threads(1);
        let inner = encoder::Encoder::with_api_config(OpenH264API::from_source(), config);
        Ok(Self {
            inner: inner.map_err(|_| Error::Encoder)?,
            size: (width, height),
            next: Next::Keyframe,
        })
    }

    /// What [`Encoder::encode`] would make of this picture, in bytes; `None` if there is no reference
    /// yet, or if the last call was a trial too: OpenH264 gives one before each picture.
    ///
    /// # Errors
    /// If the picture has another size, or OpenH264 fails.
    pub fn try_out(&mut self, picture: &Planes<'_>, qp: Qp) -> Result<Option<usize>, Error> {
        if self.next != Next::Disposable {
            return Ok(None);
        }
        let units = self.code(picture, qp)?;
        self.next = Next::Reference;
        Ok(Some(units.iter().map(Vec::len).sum()))
    }

    /// Codes a picture from the one before it: the NAL units of an access unit, without start codes.
    /// The first picture becomes a keyframe.
    ///
    /// # Errors
    /// If the picture has another size, or OpenH264 fails.
    pub fn encode(&mut self, picture: &Planes<'_>, qp: Qp) -> Result<Vec<Vec<u8>>, Error> {
        match self.next {
            Next::Keyframe => return self.encode_keyframe(picture, qp),
            // Another number of layers begins a new group of pictures, and that with a reference.
            Next::Disposable => {
                options::change(&mut self.inner, |p| p.iTemporalLayerNum = 1)?;
                options::change(&mut self.inner, |p| p.iTemporalLayerNum = 2)?;
                self.next = Next::Reference;
            }
            Next::Reference => {}
        }
        let units = self.code(picture, qp)?;
        self.next = Next::Disposable;
        Ok(units)
    }

    /// Codes a picture by itself (IDR), with its parameter sets before it. This may be done again until
    /// the outcome pleases: nothing before a keyframe matters to what follows it.
    ///
    /// # Errors
    /// If the picture has another size, or OpenH264 fails.
    pub fn encode_keyframe(&mut self, picture: &Planes<'_>, qp: Qp) -> Result<Vec<Vec<u8>>, Error> {
        if self.next == Next::Keyframe {
            // The wrapper starts OpenH264 with the first picture, and without layers. It does so with a quantiser of its
            // own, for which the first of ours may be too much.
            let (width, height) = self.size;
            let grey = vec![128; width * height];
            let (luma, chroma) = (&grey[..], &grey[..grey.len() / 4]);
            let grey = Planes {
                width,
                height,
                samples: [luma, chroma, chroma],
            };
            self.code(&grey, qp)?;
            options::change(&mut self.inner, |parameters| {
                parameters.iTemporalLayerNum = 2;
                // With one, OpenH264 begins anew whenever the layers change.
                parameters.iNumRefFrame = 2;
            })?;
        }
        self.inner.force_intra_frame();
        self.next = Next::Reference;
        let units = self.code(picture, qp)?;
        self.next = Next::Disposable;
        Ok(units)
    }

    fn code(&mut self, picture: &Planes<'_>, qp: Qp) -> Result<Vec<Vec<u8>>, Error> {
        let &Planes { width, height, .. } = picture;
        let [luma, cb, cr] = picture.samples;
        let sized =
            luma.len() == width * height && [cb, cr].map(<[u8]>::len) == [luma.len() / 4; 2];
        if (width, height) != self.size || !sized {
            return Err(Error::Size { width, height });
        }
        if self.next != Next::Keyframe {
            // OpenH264 codes references finer than the rest, by this much.
            let finer = if self.next == Next::Reference { 3 } else { 0 };
            options::change(&mut self.inner, |parameters| {
                parameters.sSpatialLayers[0].iDLayerQp = i32::from(qp.get()) + finer;
            })?;
        }
        let source = YUVSlices::new((luma, cb, cr), self.size, (width, width / 2, width / 2));
        let coded = self.inner.encode(&source).map_err(|_| Error::Encoder)?;
        let layers = (0..coded.num_layers()).filter_map(|index| coded.layer(index));
        let mut units = Vec::new();
        for layer in layers {
            let unit = |index| layer.nal_unit(index).map(without_start_code);
            units.extend((0..layer.nal_count()).filter_map(unit).map(<[u8]>::to_vec));
        }
        if units.is_empty() {
            return Err(Error::Encoder);
        }
        Ok(units)
    }
}

/// The level for 60 pictures a second of this size (H.264 table A-1), and no less than level 4, of up to 20 Mb/s. OpenH264
/// would write the least that the size needs, as it knows nothing of how many pictures there are and what they weigh.
fn level(width: usize, height: usize) -> Level {
    match width.div_ceil(16) * height.div_ceil(16) * 60 {
        ..=245_760 => Level::Level_4_0,
        245_761..=522_240 => Level::Level_4_2,
        _ => Level::Level_5_2,
    }
}

/// A NAL unit of a byte stream (H.264 Annex B) without the 00 00 01 or 00 00 00 01 before it.
fn without_start_code(unit: &[u8]) -> &[u8] {
    let zeros = unit.iter().take_while(|&&byte| byte == 0).count();
    unit.get(zeros + 1..).unwrap_or_default()
}
