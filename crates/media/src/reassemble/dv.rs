//! Puts a frame of DV together from RTP payloads (RFC 6469): each DIF block names its place.

use evenkeel_codec::dif::{AUDIO_BLOCKS, BLOCK, BlockId, Section, System};
use evenkeel_codec::picture::DvFrame;

use super::coverage::Coverage;
use super::dv_payload::DvPayload;
use crate::event::NotShown;

/// A frame that is being put together.
#[derive(Debug)]
pub(super) struct DvAssembly {
    frame: DvFrame,
    covered: Coverage,
}

impl DvAssembly {
    /// Creates an empty frame. Without `audio` no block of sound will arrive, and the blocks in their places say
    /// so.
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

    /// Records a packet.
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

    /// Returns true if every block has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.covered.is_whole(self.frame.data.len())
    }

    /// Returns the frame, with its missing parts.
    pub(super) fn finish(mut self) -> Result<DvFrame, NotShown> {
        self.frame.missing = self.covered.holes(self.frame.data.len())?;
        Ok(self.frame)
    }
}
