//! Finds the pictures with which a decoder can begin, in the packets of a stream of pictures.

use evenkeel_rtp::packet::payload::h264::unit_type;

/// How pictures are coded, where their headers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VideoCoding {
    /// ISO/IEC 11172-2 or 13818-2.
    Mpeg2,
    /// ITU-T H.264.
    H264,
    /// ITU-T H.265.
    Hevc,
}

impl VideoCoding {
    /// The coding of a stream of this type (ISO/IEC 13818-1 §2.4.4.9).
    pub(crate) fn of_stream_type(kind: u8) -> Option<Self> {
        match kind {
            0x01 | 0x02 => Some(Self::Mpeg2),
            0x1b => Some(Self::H264),
            0x24 => Some(Self::Hevc),
            _ => None,
        }
    }
}

/// Bytes of a PES packet's header before the fields that it may have (ISO/IEC 13818-1 §2.4.3.6).
const PES_HEADER: usize = 9;

/// Reads a PES packet up to its first picture.
#[derive(Debug)]
pub(crate) struct EntryFinder {
    coding: VideoCoding,
    /// Bytes of the PES packet's header that are still to come.
    skip: usize,
    /// The last eight bytes; all ones at first, which begin nothing.
    bits: u64,
    /// The parameters for the pictures: the sequence's, and the picture's.
    has_sequence: bool,
    has_picture: bool,
}

impl EntryFinder {
    /// Begins with the payload that the PES packet begins in; `None` if it does not.
    pub(crate) fn new(coding: VideoCoding, payload: &[u8]) -> Option<Self> {
        let [0, 0, 1, _, _, _, _, _, len, ..] = *payload else {
            return None;
        };
        Some(Self {
            coding,
            skip: PES_HEADER + usize::from(len),
            bits: u64::MAX,
            has_sequence: false,
            has_picture: false,
        })
    }

    /// Takes the payload of the next packet: true if the first picture needs no other and its parameters come
    /// before it, and `None` while no picture has begun.
    pub(crate) fn read(&mut self, payload: &[u8]) -> Option<bool> {
        let skipped = self.skip.min(payload.len());
        self.skip -= skipped;
        payload[skipped..].iter().find_map(|byte| {
            self.bits = self.bits << 8 | u64::from(*byte);
            match self.coding {
                VideoCoding::Mpeg2 => self.mpeg2(),
                VideoCoding::H264 => self.h264(),
                VideoCoding::Hevc => self.hevc(),
            }
        })
    }

    /// The byte after a start code, `behind` bytes before the last one.
    fn unit(&self, behind: u32) -> Option<u8> {
        let bits = self.bits >> (8 * behind);
        (bits >> 8 & 0xff_ffff == 1).then_some(bits as u8)
    }

    /// A picture header's type is in the second byte after its start code (ISO/IEC 13818-2 §6.2.3).
    fn mpeg2(&mut self) -> Option<bool> {
        self.has_sequence |= self.unit(0) == Some(0xb3);
        let is_picture = self.unit(2) == Some(0x00);
        let kind = self.bits >> 3 & 7;
        is_picture.then_some(self.has_sequence && kind == 1)
    }

    /// ITU-T H.264 table 7-1.
    fn h264(&mut self) -> Option<bool> {
        match unit_type(self.unit(0)?) {
            7 => self.has_sequence = true,
            8 => self.has_picture = true,
            1..=4 => return Some(false),
            5 => return Some(self.has_parameters()),
            _ => {}
        }
        None
    }

    /// ITU-T H.265 table 7-1: types 16 to 23 are pictures at which decoding can begin.
    fn hevc(&mut self) -> Option<bool> {
        match self.unit(0)? >> 1 & 0x3f {
            33 => self.has_sequence = true,
            34 => self.has_picture = true,
            0..=15 => return Some(false),
            16..=23 => return Some(self.has_parameters()),
            _ => {}
        }
        None
    }

    fn has_parameters(&self) -> bool {
        self.has_sequence && self.has_picture
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_stream::{IDR, INTER};

    /// What is found in a PES packet whose payload arrives in parts of this length.
    fn found(coding: VideoCoding, units: &[u8], part: usize) -> Option<bool> {
        let whole = [&[0, 0, 1, 0xe0, 0, 0, 0x80, 0x80, 5, 1, 2, 3, 4, 5], units].concat();
        let mut finder = EntryFinder::new(coding, &whole).expect("a PES packet");
        whole.chunks(part).find_map(|part| finder.read(part))
    }

    #[test]
    fn picture_that_needs_no_other_is_found() {
        struct Row<'a> {
            coding: VideoCoding,
            units: &'a [u8],
            found: Option<bool>,
        }
        let row = |coding, units, found| Row {
            coding,
            units,
            found,
        };
        let (h264, hevc, mpeg2) = (VideoCoding::H264, VideoCoding::Hevc, VideoCoding::Mpeg2);
        let rows = [
            row(h264, IDR, Some(true)),
            row(h264, INTER, Some(false)),
            // Without parameters, and before the first picture.
            row(h264, &IDR[18..], None),
            row(h264, &[0, 0, 1, 0x68, 0, 0, 1, 0x65], Some(false)),
            row(h264, &IDR[..14], None),
            row(
                hevc,
                &[0, 0, 1, 0x42, 1, 0, 0, 1, 0x44, 1, 0, 0, 1, 0x26, 1],
                Some(true),
            ),
            row(hevc, &[0, 0, 1, 0x26, 1], Some(false)),
            row(hevc, &[0, 0, 1, 0x02, 1], Some(false)),
            row(mpeg2, &[0, 0, 1, 0xb3, 9, 0, 0, 1, 0, 0, 0x08], Some(true)),
            row(mpeg2, &[0, 0, 1, 0xb3, 9, 0, 0, 1, 0, 0, 0x10], Some(false)),
            row(mpeg2, &[0, 0, 1, 0, 0, 0x08], Some(false)),
        ];
        for (number, row) in rows.iter().enumerate() {
            for part in [1, 2, 3, 7, 184] {
                let found = found(row.coding, row.units, part);
                assert_eq!(found, row.found, "row {number} in parts of {part}");
            }
        }
        assert!(EntryFinder::new(h264, &[0, 0, 1, 0xe0]).is_none());
    }
}
