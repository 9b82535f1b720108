//! The DIF blocks of DV: 80 bytes that name their place in a frame (IEC 61834-2, SMPTE 314M §7).

/// The bytes of a DIF block, including its ID.
pub const BLOCK: usize = 80;

/// The blocks of a DIF sequence: a header, 2 of subcode, 3 of VAUX, then nine times a block of audio and fifteen of
/// video.
pub const SEQUENCE_BLOCKS: usize = 150;

/// The blocks of sound in a DIF sequence.
pub const AUDIO_BLOCKS: u8 = 9;

/// The blocks of video in a DIF sequence, which have a macroblock each.
pub const VIDEO_BLOCKS: u8 = 135;

/// A scanning system at 25 Mb/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// 720x480 at 30000/1001 frames a second: 10 sequences a frame.
    Lines525,
    /// 720x576 at 25 frames a second: 12 sequences a frame.
    Lines625,
}

impl System {
    /// Both systems.
    pub const ALL: [Self; 2] = [Self::Lines525, Self::Lines625];

    /// Returns the DIF sequences in a frame.
    pub const fn sequences(self) -> usize {
        match self {
            Self::Lines525 => 10,
            Self::Lines625 => 12,
        }
    }

    /// Returns the length of a frame: 120,000 or 144,000 bytes.
    pub const fn frame_len(self) -> usize {
        self.sequences() * SEQUENCE_BLOCKS * BLOCK
    }

    /// Returns the width and height.
    pub const fn size(self) -> (usize, usize) {
        match self {
            Self::Lines525 => (720, 480),
            Self::Lines625 => (720, 576),
        }
    }

    /// Returns the frames a second, as a fraction.
    pub const fn frame_rate(self) -> (u32, u32) {
        match self {
            Self::Lines525 => (30_000, 1_001),
            Self::Lines625 => (25, 1),
        }
    }

    /// Returns the value of `encode` in a session description (RFC 6469 §3.1.1).
    pub const fn encode(self) -> &'static str {
        match self {
            Self::Lines525 => "SD-VCR/525-60",
            Self::Lines625 => "SD-VCR/625-50",
        }
    }

    /// Returns true for the value of this system and for equivalent ones: SMPTE 314M and 306M have the blocks of
    /// IEC 61834 in 525 lines, but another sampling of colour in 625.
    pub fn is_encoded_as(self, encode: &str) -> bool {
        let same = ["314M-25/525-60", "306M/525-60"];
        encode == self.encode() || (self == Self::Lines525 && same.contains(&encode))
    }

    /// Reads the system from the header block of a DIF sequence: its DSF bit, and in 625 lines its application ID,
    /// which distinguishes the sampling of IEC 61834 from the sampling of SMPTE 314M. Returns `None` for other blocks and
    /// systems.
    pub fn of_header(block: &[u8]) -> Option<Self> {
        let id = BlockId::parse(block)?;
        let (Section::Header, &[flags, track, ..]) = (id.section, block.get(3..)?) else {
            return None;
        };
        match (flags & 0x80 == 0, track & 7) {
            (true, _) => Some(Self::Lines525),
            (false, 0) => Some(Self::Lines625),
            (false, _) => None,
        }
    }
}

/// The content of a DIF block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The header of a DIF sequence.
    Header,
    /// Time codes.
    Subcode,
    /// Data about the video.
    Vaux,
    /// Audio, and data about it.
    Audio,
    /// A macroblock.
    Video,
}

/// The ID that begins a DIF block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockId {
    /// The content of the block.
    pub section: Section,
    /// The DIF sequence of the block, from 0.
    pub sequence: u8,
    /// The number of the block within its section and sequence, from 0.
    pub number: u8,
}

impl BlockId {
    /// Reads the first bytes of a block. Returns `None` for an unknown section, a block number beyond its section,
    /// and the second channel, which only formats of 50 Mb/s and more have.
    pub fn parse(block: &[u8]) -> Option<Self> {
        let &[kind, place, number, ..] = block else {
            return None;
        };
        let (section, blocks) = match kind >> 5 {
            0 => (Section::Header, 1),
            1 => (Section::Subcode, 2),
            2 => (Section::Vaux, 3),
            3 => (Section::Audio, AUDIO_BLOCKS),
            4 => (Section::Video, VIDEO_BLOCKS),
            _ => return None,
        };
        let first_channel = place & 0x08 == 0;
        (first_channel && number < blocks).then_some(Self {
            section,
            sequence: place >> 4,
            number,
        })
    }

    /// Returns the first bytes of the block; reserved bits are ones.
    pub const fn to_bytes(self) -> [u8; 3] {
        let kind = match self.section {
            Section::Header => 0,
            Section::Subcode => 1,
            Section::Vaux => 2,
            Section::Audio => 3,
            Section::Video => 4,
        };
        [kind << 5 | 0x1f, self.sequence << 4 | 7, self.number]
    }

    /// Returns the block at this place, counted in blocks.
    pub const fn at(place: usize) -> Self {
        let within = place % SEQUENCE_BLOCKS;
        let (section, number) = match within {
            0 => (Section::Header, 0),
            1..3 => (Section::Subcode, within - 1),
            3..6 => (Section::Vaux, within - 3),
            _ if (within - 6).is_multiple_of(16) => (Section::Audio, (within - 6) / 16),
            _ => (
                Section::Video,
                (within - 6) / 16 * 15 + (within - 6) % 16 - 1,
            ),
        };
        Self {
            section,
            sequence: (place / SEQUENCE_BLOCKS) as u8,
            number: number as u8,
        }
    }

    /// Returns the place of the block in its frame, counted in blocks.
    pub fn place(self) -> usize {
        let number = usize::from(self.number);
        let within = match self.section {
            Section::Header => 0,
            Section::Subcode => 1 + number,
            Section::Vaux => 3 + number,
            Section::Audio => 6 + 16 * number,
            Section::Video => 7 + 16 * (number / 15) + number % 15,
        };
        usize::from(self.sequence) * SEQUENCE_BLOCKS + within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::dv_frame;

    /// Returns every block of a frame, in the order of a file.
    fn frame(system: System) -> Vec<u8> {
        dv_frame(system, 0).data
    }

    #[test]
    fn sequence_has_its_blocks_in_standard_order() {
        let frame = frame(System::Lines525);
        let ids = frame.chunks(BLOCK).map(|block| (block[0] >> 5, block[2]));
        let mut expected = vec![(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)];
        for audio in 0..9 {
            expected.push((3, audio));
            expected.extend((0..15).map(|video| (4, 15 * audio + video)));
        }
        assert!(ids.take(SEQUENCE_BLOCKS).eq(expected));
        assert_eq!(frame[9 * SEQUENCE_BLOCKS * BLOCK..][1], 0x97);
    }

    #[test]
    fn every_block_of_a_frame_has_its_place() {
        for system in System::ALL {
            let frame = frame(system);
            let ids = frame
                .chunks(BLOCK)
                .map(|block| BlockId::parse(block).unwrap());
            assert!(ids.map(BlockId::place).eq(0..frame.len() / BLOCK));
        }
        assert_eq!(System::ALL.map(System::frame_len), [120_000, 144_000]);
    }

    #[test]
    fn a_header_block_tells_its_system() {
        let mut block = frame(System::Lines525);
        assert_eq!(System::of_header(&block), Some(System::Lines525));
        block[3] = 0x80;
        assert_eq!(System::of_header(&block), Some(System::Lines625));
        block[4] = 1;
        assert_eq!(System::of_header(&block), None, "4:1:1 in 625 lines");
        assert_eq!(System::of_header(&block[BLOCK..]), None);
        assert_eq!(System::of_header(&block[..3]), None);
    }
}
