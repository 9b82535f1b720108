//! A frame of DV from RTP payloads (RFC 6469), each DIF block written where it says it belongs.

use evenkeel_codec::dif::{AUDIO_BLOCKS, BLOCK, BlockId, Section, System};
use evenkeel_codec::picture::DvFrame;

use super::coverage::Coverage;
use super::dv_payload::DvPayload;
use crate::event::NotShown;

/// One frame being put together.
#[derive(Debug)]
pub(super) struct DvAssembly {
    frame: DvFrame,
    covered: Coverage,
}

impl DvAssembly {
    /// A frame of which nothing has come. Without `audio` no block of sound will: what stands in their
    /// places says so.
    pub(super) fn new(system: System, audio: bool) -> Self {
        let mut assembly = Self {
            frame: DvFrame {
                system,
                data: vec![0; system.frame_len()],
                missing: Vec::new(),
            },
            covered: Coverage::default(),
        };
        if !audio {
            let all = |sequence| (0..AUDIO_BLOCKS).map(move |number| (sequence, number));
            for (sequence, number) in (0..system.sequences() as u8).flat_map(all) {
                let id = BlockId {
                    section: Section::Audio,
                    sequence,
                    number,
                };
                // A pack of ones has no information (IEC 61834-4).
                let mut block = [0xff; BLOCK];
                block[..3].copy_from_slice(&id.to_bytes());
                assembly.insert(id.place(), &block);
            }
        }
        assembly
    }

    /// Takes in a packet.
    pub(super) fn push(&mut self, payload: &DvPayload<'_>) {
        for (place, block) in payload.blocks() {
            self.insert(place, block);
        }
    }

    fn insert(&mut self, place: usize, block: &[u8]) {
        let range = place * BLOCK..(place + 1) * BLOCK;
        if let Some(to) = self.frame.data.get_mut(range.clone()) {
            to.copy_from_slice(block);
            self.covered.insert(range);
        }
    }

    /// Every block is there.
    pub(super) fn is_complete(&self) -> bool {
        self.covered.is_whole(self.frame.data.len())
    }

    /// The frame, with what is missing.
    pub(super) fn finish(mut self) -> Result<DvFrame, NotShown> {
        self.frame.missing = self.covered.holes(self.frame.data.len())?;
        Ok(self.frame)
    }
}
