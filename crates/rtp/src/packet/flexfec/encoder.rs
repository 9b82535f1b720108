//! Repair packets from media packets.

use super::header::{Header, MAX_SPAN, Recovery, add_growing};
use crate::packet::wire::Writer;

/// Makes repair packets for a block of media packets, a frame's as a rule.
///
/// The block's packets are dealt out in turn to as many repair packets as are wanted, so that losing that
/// many in a row leaves one missing packet to each of them. How many are wanted need not be known before
/// the block is over.
#[derive(Debug, Default)]
pub struct Encoder {
    /// The sequence number of the first.
    base: u16,
    /// Packets of the block; the rest is room that earlier blocks left.
    packets: Vec<Vec<u8>>,
    len: usize,
    /// Repair packets that the block is to have.
    columns: usize,
    /// The next of them.
    next: usize,
}

impl Encoder {
    /// Begins a block.
    pub fn clear(&mut self) {
        (self.len, self.columns, self.next) = (0, 0, 0);
    }

    /// Adds the next packet of the block, which has this sequence number. Gives false if it is none of the
    /// numbers that one repair packet can name with those before it, or no RTP packet: it stays unprotected.
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

    /// Packets in the block.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the block is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The block is complete: it gets so many repair packets, or as many as it has packets.
    pub fn plan(&mut self, repairs: usize) {
        (self.columns, self.next) = (repairs.min(self.len), 0);
    }

    /// Repair packets that are still to be written.
    pub fn planned(&self) -> usize {
        self.columns - self.next
    }

    /// The bytes of the next repair packet's payload; `None` if none is planned.
    pub fn next_len(&self) -> Option<usize> {
        let longest = self.column()?.map(|(_, packet)| packet.len()).max()?;
        let mask = self.mask();
        let parts = usize::from(mask >> 15 != 0) * 4 + usize::from(mask >> 46 != 0) * 8;
        Some(12 + parts + longest - crate::packet::rtp::HEADER_LEN)
    }

    /// Writes the payload of the next repair packet to `payload`, which is emptied before; false if none is
    /// planned.
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

    /// The packets of the next repair packet, with their places from the first of them on.
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

/// The payload of a repair packet that names no packet, `len` bytes long: it repairs nothing and asks
/// nothing of a receiver.
pub fn dummy(len: usize, payload: &mut Vec<u8>) {
    payload.clear();
    payload.resize(len, 0);
}
