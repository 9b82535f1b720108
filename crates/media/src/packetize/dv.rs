//! Cuts a frame of DV into RTP payloads (RFC 6469 §2.3): whole DIF blocks in order, as many as fit.

use evenkeel_codec::dif::BLOCK;
use evenkeel_codec::picture::DvFrame;
use tfrc::units::Bytes;

use super::PacketizeError;

/// A frame with the plan of its packets.
#[derive(Clone, Debug)]
pub(super) struct DvPayloads {
    frame: DvFrame,
    /// The length of every payload but the last.
    full: usize,
}

impl DvPayloads {
    /// Plans the packets of a frame, whose payloads have at most `capacity` bytes.
    pub(super) fn plan(frame: DvFrame, capacity: usize) -> Result<Self, PacketizeError> {
        if frame.data.len() != frame.system.frame_len() {
            let (width, height) = frame.system.size();
            let (width, height) = (width as u16, height as u16);
            return Err(PacketizeError::Dimensions { width, height });
        }
        let full = capacity / BLOCK * BLOCK;
        if full == 0 {
            return Err(PacketizeError::Capacity);
        }
        Ok(Self { frame, full })
    }

    /// Returns the size of the blocks.
    pub(super) fn size(&self) -> Bytes {
        Bytes::from(self.frame.data.len())
    }

    pub(super) fn packets(&self) -> usize {
        self.frame.data.len().div_ceil(self.full)
    }

    pub(super) fn payload_len(&self, index: usize) -> usize {
        self.payload(index).len()
    }

    pub(super) fn write(&self, index: usize, buf: &mut Vec<u8>) {
        buf.extend_from_slice(self.payload(index));
    }

    fn payload(&self, index: usize) -> &[u8] {
        let mut payloads = self.frame.data.chunks(self.full);
        payloads.nth(index).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_codec::dif::System;

    fn frame() -> DvFrame {
        let system = System::Lines525;
        DvFrame {
            system,
            data: (0..system.frame_len()).map(|i| (i / BLOCK) as u8).collect(),
            missing: Vec::new(),
        }
    }

    #[test]
    fn every_block_travels_once_and_whole() {
        for (capacity, blocks) in [(80, 1), (1_188, 14), (200_000, 1_500)] {
            let payloads = DvPayloads::plan(frame(), capacity).unwrap();
            let mut sent = Vec::new();
            for index in 0..payloads.packets() {
                let before = sent.len();
                payloads.write(index, &mut sent);
                let len = sent.len() - before;
                assert_eq!(len, payloads.payload_len(index));
                assert!(len == blocks * BLOCK || sent.len() == frame().data.len());
                assert!(len > 0 && len.is_multiple_of(BLOCK));
            }
            assert_eq!(sent, frame().data);
            assert_eq!(payloads.payload_len(payloads.packets()), 0);
        }
    }

    #[test]
    fn what_cannot_travel_is_refused() {
        let refused = DvPayloads::plan(frame(), 79).unwrap_err();
        assert_eq!(refused, PacketizeError::Capacity);
        let mut cut = frame();
        cut.data.pop();
        assert!(DvPayloads::plan(cut, 1_000).is_err());
    }
}
