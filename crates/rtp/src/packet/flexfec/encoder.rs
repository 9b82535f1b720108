//! Makes repair packets from media packets.

use super::header::{Header, MAX_SPAN, Recovery, add_growing};
use crate::packet::wire::Writer;

/// Makes repair packets for a block of media packets, usually one frame.
///
/// The packets of the block are dealt in turn to the repair packets, so that a burst of as many losses leaves one
/// missing packet to each. The number of repair packets need not be known before the block ends.
#[derive(Debug, Default)]
pub struct Encoder {
    /// The sequence number of the first packet.
    base: u16,
    /// The packets of the block, then buffers that earlier blocks left.
    packets: Vec<Vec<u8>>,
    len: usize,
    /// The number of planned repair packets.
    columns: usize,
    /// The next planned repair packet.
    next: usize,
}

impl Encoder {
    /// Begins a block.
    pub fn clear(&mut self) {
        (self.len, self.columns, self.next) = (0, 0, 0);
    }

    /// Adds the next packet of the block, which has this sequence number. Returns false, and leaves the packet
    /// unprotected, if one repair packet cannot name it together with those before it, or if it is no RTP packet.
    pub fn push(&mut self, sequence: u16, packet: &[u8]) -> bool {
        if self.len == 0 {
            self.base = sequence;
        }
        let follows = sequence == self.base.wrapping_add(self.len as u16);
        if !follows || self.len == MAX_SPAN || Recovery::of(packet).is_none() {
            return false;
        }
        if self.packets.len() == self.len {
            self.packets.push(Vec::new());
        }
        self.packets[self.len].clear();
        self.packets[self.len].extend_from_slice(packet);
        self.len += 1;
        true
    }

    /// Returns the number of packets in the block.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the block is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Ends the block and plans this many repair packets, but no more than the block has packets.
    pub fn plan(&mut self, repairs: usize) {
        (self.columns, self.next) = (repairs.min(self.len), 0);
    }

    /// Returns the number of repair packets that are still to be written.
    pub fn planned(&self) -> usize {
        self.columns - self.next
    }

    /// Returns the length of the next repair packet's payload; `None` if none is planned.
    pub fn next_len(&self) -> Option<usize> {
        let longest = self.column()?.map(|(_, packet)| packet.len()).max()?;
        let mask = self.mask();
        let parts = usize::from(mask >> 15 != 0) * 4 + usize::from(mask >> 46 != 0) * 8;
        Some(12 + parts + longest - crate::packet::rtp::HEADER_LEN)
    }

    /// Writes the payload of the next repair packet to `payload`, whose content is replaced; returns false if none
    /// is planned.
    pub fn write(&mut self, payload: &mut Vec<u8>) -> bool {
        let Some(column) = self.column() else {
            return false;
        };
        let mut header = Header {
            recovery: Recovery::default(),
            base: self.base.wrapping_add(self.next as u16),
            mask: self.mask(),
        };
        let mut sum = std::mem::take(payload);
        sum.clear();
        for (recovery, rest) in column.filter_map(|(_, packet)| Recovery::of(packet)) {
            header.recovery.add(&recovery);
            add_growing(&mut sum, rest);
        }
        let mut buf = [0; Header::MAX_LEN];
        let mut writer = Writer::new(&mut buf);
        // The buffer has room for the longest header.
        let written = header.emit(&mut writer).map(|()| writer.len());
        sum.splice(0..0, buf[..written.unwrap_or(0)].iter().copied());
        *payload = sum;
        self.next += 1;
        true
    }

    /// Returns the packets of the next repair packet, with their distances from the base.
    fn column(&self) -> Option<impl Iterator<Item = (usize, &Vec<u8>)>> {
        let packets = &self.packets[..self.len];
        let columns = self.columns;
        (self.next < columns).then(|| {
            packets
                .iter()
                .skip(self.next)
                .enumerate()
                .step_by(columns.max(1))
        })
    }

    fn mask(&self) -> u128 {
        let places = self.column().into_iter().flatten();
        places.fold(0, |mask, (place, _)| mask | 1 << place)
    }
}

/// Writes the payload of a dummy, a repair packet that names no packet, with `len` bytes. A receiver need not do
/// anything about it.
pub fn dummy(len: usize, payload: &mut Vec<u8>) {
    payload.clear();
    payload.resize(len, 0);
}
