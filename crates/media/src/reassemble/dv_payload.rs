//! The RTP payload of DV (RFC 6469): DIF blocks of 80 bytes and nothing else.

use evenkeel_codec::dif::{BLOCK, BlockId, System};
use evenkeel_rtp::packet::wire::ParseError;
use evenkeel_rtp::packet::wire::Reader;

/// A payload of whole DIF blocks with valid IDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DvPayload<'a> {
    blocks: &'a [u8],
}

impl<'a> DvPayload<'a> {
    /// Reads a payload of at least one block, of a frame of this system.
    pub fn parse(payload: &'a [u8], system: System) -> Result<Self, ParseError> {
        let mut reader = Reader::new(payload);
        loop {
            let offset = reader.offset();
            let block = reader.take(BLOCK, "DIF block")?;
            let id = BlockId::parse(block);
            if id.is_none_or(|id| usize::from(id.sequence) >= system.sequences()) {
                let field = "DIF block ID";
                return Err(ParseError::Invalid { field, offset });
            }
            if reader.rest().is_empty() {
                return Ok(Self { blocks: payload });
            }
        }
    }

    /// Returns the blocks in order, each with its place in the frame, counted in blocks.
    pub fn blocks(&self) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let blocks = self.blocks.chunks_exact(BLOCK);
        blocks.filter_map(|block| Some((BlockId::parse(block)?.place(), block)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_codec::test_support::dv_frame;
    use proptest::prelude::*;

    /// Returns every block of a frame, in the order of a file.
    fn frame(system: System) -> Vec<u8> {
        dv_frame(system, 0).data
    }

    #[test]
    fn a_payload_gives_every_block_its_place() {
        for system in System::ALL {
            let frame = frame(system);
            let payload = DvPayload::parse(&frame, system).unwrap();
            assert!(
                payload
                    .blocks()
                    .map(|(place, _)| place)
                    .eq(0..frame.len() / BLOCK)
            );
        }
    }

    #[test]
    fn what_is_no_dif_block_is_refused() {
        let system = System::Lines525;
        let whole = frame(system);
        let field = "DIF block ID";
        for (at, byte) in [
            (0, 0xff),
            (80 + 1, 0xa7),
            (81, 0x0f),
            (82, 2),
            (160 + 2, 200),
        ] {
            let mut payload = whole[..240].to_vec();
            payload[at] = byte;
            let offset = at / BLOCK * BLOCK;
            let refused = DvPayload::parse(&payload, system);
            assert_eq!(refused, Err(ParseError::Invalid { field, offset }), "{at}");
        }
        for len in [0, 79, 81, 159] {
            assert!(DvPayload::parse(&whole[..len], system).is_err(), "{len}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_lies_within_the_frame(
            ids in proptest::collection::vec(any::<[u8; 3]>(), 1..20),
            cut in 0..3_usize,
        ) {
            let mut bytes = Vec::new();
            for id in ids {
                bytes.extend(id);
                bytes.resize(bytes.len() + BLOCK - 3, 0);
            }
            bytes.truncate(bytes.len() - cut);
            for system in System::ALL {
                if let Ok(payload) = DvPayload::parse(&bytes, system) {
                    prop_assert_eq!(payload.blocks().count() * BLOCK, bytes.len());
                    for (place, block) in payload.blocks() {
                        prop_assert!((place + 1) * block.len() <= system.frame_len());
                    }
                }
            }
        }
    }
}
