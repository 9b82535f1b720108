//! The cost of a frame beyond its target: headers, encoding time and the encoder's error.

use std::time::Duration;

use tfrc::units::Bytes;

/// A frame that was coded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodedFrame {
    /// Time from the capture to the sending buffer.
    pub(crate) preparation: Duration,
    /// The size that the encoder aimed at.
    pub(crate) target: Option<Bytes>,
    /// The coded bytes.
    pub(crate) scan: Bytes,
    /// The coded bytes and every header that TFRC counts.
    pub(crate) wire: Bytes,
}

/// Headers, encoding time and the encoder's error, measured over the last frames.
#[derive(Clone, Debug)]
pub(super) struct FrameCost {
    /// Mean time from capture to the sending buffer.
    pub(super) preparation: Duration,
    /// Bytes on the wire for each byte of the target.
    expansion: f64,
    /// Bytes on the wire for each coded byte, in full packets.
    headers: f64,
    /// True if frames have a size of their own, as in DV.
    pub(super) own_size: bool,
    /// The least size on the wire that the encoder could reach.
    pub(super) floor: Bytes,
    /// True if the last frame was larger than its target.
    missed: bool,
}

/// The running means are over this many frames, about a third of a second.
const AVERAGED_FRAMES: u32 = 8;
/// An encoder that exceeds its target by this factor could not make the picture smaller.
const OVERSIZE_FACTOR: f64 = 1.25;
/// The floor falls by one part in this many with each frame.
const FLOOR_DECAY: u64 = 64;

impl FrameCost {
    pub(super) fn new(headers: f64) -> Self {
        Self {
            preparation: Duration::ZERO,
            expansion: headers,
            headers,
            own_size: false,
            floor: Bytes::ZERO,
            missed: false,
        }
    }

    /// Begins with another encoder, whose frames may have a size of their own.
    pub(super) fn set_encoder(&mut self, own_size: bool) {
        self.own_size = own_size;
        self.expansion = self.headers;
        self.floor = Bytes::ZERO;
        self.missed = false;
    }

    pub(super) fn observe(&mut self, frame: &CodedFrame) {
        let mean = self.preparation.saturating_mul(AVERAGED_FRAMES - 1);
        self.preparation = mean.saturating_add(frame.preparation) / AVERAGED_FRAMES;
        let scan = frame.scan.as_f64();
        if self.own_size {
            self.floor = frame.wire;
            self.expansion = frame.wire.as_f64() / scan.max(1.0);
            return;
        }
        let target = frame.target.map_or(scan, Bytes::as_f64);
        let missed = scan > OVERSIZE_FACTOR * target;
        // A single miss may be a keyframe or a first picture.
        self.floor = if missed && self.missed {
            frame.wire
        } else {
            Bytes::new(self.floor.get() - self.floor.get().div_ceil(FLOOR_DECAY))
        };
        self.missed = missed;
        // A frame far from its target measures the picture, not the encoder.
        if !missed && OVERSIZE_FACTOR * scan > target && scan > 0.0 {
            let expansion = frame.wire.as_f64() / target;
            self.expansion += (expansion - self.expansion) / f64::from(AVERAGED_FRAMES);
        }
    }

    /// Returns the target with which a frame takes `wire` bytes with its headers.
    pub(super) fn coded_size(&self, wire: Bytes) -> Bytes {
        Bytes::new((wire.as_f64() / self.expansion) as u64)
    }

    /// Returns the coded bytes of a frame in full packets of `wire` bytes.
    pub(super) fn without_headers(&self, wire: Bytes) -> Bytes {
        Bytes::new((wire.as_f64() / self.headers) as u64)
    }
}
