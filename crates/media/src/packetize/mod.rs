//! Cuts coded frames into RTP payloads; each payload format has a file.

mod dv;
mod h264;
mod jpeg;
mod raw;
pub mod tables;
use std::time::Duration;

use evenkeel_codec::Codec;
use evenkeel_codec::picture::CodedPicture;
use evenkeel_rtp::packet::payload::jpeg::WHOLE_FRAME;
use tfrc::time::Instant;
use tfrc::units::Bytes;

use self::dv::DvPayloads;
use self::h264::H264Payloads;
use self::jpeg::JpegPayloads;
use self::raw::RawPayloads;
use self::tables::TableIndex;
use crate::frame::EncodedFrame;

/// The reason for which a frame cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketizeError {
    /// Width or height is beyond what the payload format can say.
    #[error("{width}x{height} is no size that this payload format can carry")]
    Dimensions {
        /// The width.
        width: u16,
        /// The height.
        height: u16,
    },
    /// Not as many intervals as the picture's size and its restart interval make.
    #[error("{found} restart intervals where there must be {expected}")]
    IntervalCount {
        /// The required number.
        expected: usize,
        /// The number of intervals in the image.
        found: usize,
    },
    /// More intervals than a restart count can number (§3.1.7).
    #[error("more than {WHOLE_FRAME} restart intervals")]
    TooManyIntervals,
    /// An interval has no data.
    #[error("restart interval {index} has no data")]
    MissingInterval {
        /// The index of the interval.
        index: usize,
    },
    /// There is no NAL unit, or one of them has no bytes.
    #[error("NAL unit {index} has no bytes")]
    MissingUnit {
        /// The index of the unit.
        index: usize,
    },
    /// The scan exceeds the 2^24 bytes that a fragment offset reaches (§3.1.2).
    #[error("the coded frame exceeds 16 MiB")]
    TooLarge,
    /// A packet is too small for the headers and a byte of data.
    #[error("the packet size leaves no room for data")]
    Capacity,
}

/// The bytes for the payload header of most packets, and for a header of RFC 2435 with tables.
const HEADER: usize = 24;
const LONGEST_HEADER: usize = 160;

/// Cuts the frames of one stream into packets.
#[derive(Clone, Debug)]
pub struct Packetizer {
    tables: TableIndex,
    capacity: usize,
}

impl Packetizer {
    /// Creates a packetiser whose payloads have at most `capacity` bytes, including payload headers.
    pub fn new(capacity: usize) -> Self {
        Self {
            tables: TableIndex::default(),
            capacity,
        }
    }

    /// Returns the length of the largest payload.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Plans the packets of a frame: at least two, because a single packet measures nothing of the path.
    pub fn packetize(&mut self, frame: EncodedFrame) -> Result<PacketizedFrame, PacketizeError> {
        let half = usize::try_from(frame.picture.size().get() / 2).unwrap_or(usize::MAX);
        let capacity = self.capacity.min(half.saturating_add(HEADER));
        let payloads = match frame.picture {
            CodedPicture::Jpeg(image) => {
                let with_tables = self.capacity.min(capacity.max(LONGEST_HEADER));
                Payloads::Jpeg(JpegPayloads::plan(image, &mut self.tables, with_tables)?)
            }
            CodedPicture::Raw(picture) => Payloads::Raw(RawPayloads::plan(picture, capacity)?),
            CodedPicture::H264(picture) => Payloads::H264(H264Payloads::plan(picture, capacity)?),
            CodedPicture::Dv(frame) => Payloads::Dv(DvPayloads::plan(frame, capacity)?),
        };
        let mut packetized = PacketizedFrame {
            captured: frame.captured,
            timestamp: frame.timestamp,
            payloads,
            total: Bytes::ZERO,
        };
        packetized.total = (0..packetized.packets())
            .map(|index| Bytes::from(packetized.payload_len(index)))
            .sum();
        Ok(packetized)
    }
}

/// A coded frame with the plan of its packets, whose bytes are put together at departure.
#[derive(Clone, Debug)]
pub struct PacketizedFrame {
    captured: Instant,
    timestamp: u32,
    payloads: Payloads,
    total: Bytes,
}

#[derive(Clone, Debug)]
enum Payloads {
    Jpeg(JpegPayloads),
    Raw(RawPayloads),
    H264(H264Payloads),
    Dv(DvPayloads),
}

impl PacketizedFrame {
    /// Returns when the picture was captured.
    pub const fn captured(&self) -> Instant {
        self.captured
    }

    /// Returns the media timestamp.
    pub const fn timestamp(&self) -> u32 {
        self.timestamp
    }

    /// Returns the time since the capture.
    pub const fn age(&self, now: Instant) -> Duration {
        now.saturating_since(self.captured)
    }

    /// Returns the codec of the frame.
    pub const fn codec(&self) -> Codec {
        match self.payloads {
            Payloads::Jpeg(_) => Codec::Mjpeg,
            Payloads::Raw(_) => Codec::Raw,
            Payloads::H264(_) => Codec::H264,
            Payloads::Dv(_) => Codec::Dv,
        }
    }

    /// Returns true if the frame can be shown only after those before it.
    pub(crate) const fn refers_back(&self) -> bool {
        match &self.payloads {
            Payloads::H264(h264) => !h264.is_keyframe(),
            Payloads::Jpeg(_) | Payloads::Raw(_) | Payloads::Dv(_) => false,
        }
    }

    /// Returns the size of the coded bytes ([`CodedPicture::size`]).
    pub fn size(&self) -> Bytes {
        match &self.payloads {
            Payloads::Jpeg(jpeg) => jpeg.size(),
            Payloads::Raw(raw) => raw.size(),
            Payloads::H264(h264) => h264.size(),
            Payloads::Dv(dv) => dv.size(),
        }
    }

    /// Returns the size of all payloads, including payload headers.
    pub const fn payload(&self) -> Bytes {
        self.total
    }

    /// Returns the number of packets, at least one.
    pub fn packets(&self) -> usize {
        match &self.payloads {
            Payloads::Jpeg(jpeg) => jpeg.packets(),
            Payloads::Raw(raw) => raw.packets(),
            Payloads::H264(h264) => h264.packets(),
            Payloads::Dv(dv) => dv.packets(),
        }
    }

    /// Returns the length of payload `index` (below [`packets`](Self::packets)), in bytes.
    pub fn payload_len(&self, index: usize) -> usize {
        match &self.payloads {
            Payloads::Jpeg(jpeg) => jpeg.payload_len(index),
            Payloads::Raw(raw) => raw.payload_len(index),
            Payloads::H264(h264) => h264.payload_len(index),
            Payloads::Dv(dv) => dv.payload_len(index),
        }
    }

    /// Writes payload `index` (below [`packets`](Self::packets)) to the empty `buf`. The extended sequence number
    /// of its packet is given, because some formats repeat the upper half.
    pub fn write(&self, index: usize, sequence: u32, buf: &mut Vec<u8>) {
        match &self.payloads {
            Payloads::Jpeg(jpeg) => jpeg.write(index, buf),
            Payloads::Raw(raw) => raw.write(index, sequence, buf),
            Payloads::H264(h264) => h264.write(index, buf),
            Payloads::Dv(dv) => dv.write(index, buf),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_codec::picture::RawPicture;

    #[test]
    fn the_sizes_add_up() {
        let picture = CodedPicture::Raw(RawPicture {
            width: 100,
            height: 3,
            data: vec![0; 600],
            missing: Vec::new(),
        });
        let frame = EncodedFrame {
            captured: Instant::ZERO,
            timestamp: 1,
            picture,
        };
        let frame = Packetizer::new(344).packetize(frame).unwrap();
        let packets = frame.packets();
        let payloads: usize = (0..packets).map(|index| frame.payload_len(index)).sum();
        assert_eq!(frame.payload(), Bytes::from(payloads));
        assert_eq!(frame.size(), Bytes::new(600));
        assert_eq!(frame.payload_len(packets), 0);
    }
}
