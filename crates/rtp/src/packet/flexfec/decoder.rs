//! Recovers lost media packets from repair packets.

use std::collections::VecDeque;

use super::header::{Header, Recovery, add};
use crate::endpoint::MAX_DATAGRAM;
use crate::packet::rtp::HEADER_LEN;
use crate::packet::wire::{ParseError, Reader};

/// The media packets that are kept: twice as many as a repair packet can name, so that the packets of the frame
/// before remain if its repair packets are late.
const MEDIA: usize = 256;
/// The repair packets that may wait for media packets: one for each two packets, of two frames of the longest
/// block.
const REPAIRS: usize = 110;

/// The reason for which a repair packet is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// The header is malformed.
    Malformed(ParseError),
    /// The packet names no packets, or none that arrived: it is a dummy, or belongs to another stream.
    Empty,
    /// The recovered bytes are not a packet.
    Untrue,
}

/// Keeps the packets of a source, and recovers lost ones from its repair packets. The decoder holds at most 256
/// media packets and 110 repair packets, of at most [`MAX_DATAGRAM`] bytes each.
#[derive(Debug)]
pub struct Decoder {
    ssrc: u32,
    /// The media packets, by sequence number modulo [`MEDIA`].
    media: Vec<Slot>,
    /// The highest sequence number that arrived.
    newest: Option<u64>,
    repairs: VecDeque<Repair>,
    recovered: VecDeque<u64>,
    untrue: u64,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    sequence: Option<u64>,
    packet: Vec<u8>,
}

#[derive(Debug)]
struct Repair {
    recovery: Recovery,
    base: u64,
    mask: u128,
    payload: Vec<u8>,
}

impl Repair {
    fn names(&self) -> impl Iterator<Item = u64> + use<> {
        let (base, mask) = (self.base, self.mask);
        (0..128u64)
            .filter(move |bit| mask >> bit & 1 != 0)
            .map(move |bit| base.saturating_add(bit))
    }
}

impl Decoder {
    /// Creates a decoder for the packets of this source.
    pub fn new(ssrc: u32) -> Self {
        Self {
            ssrc,
            media: vec![Slot::default(); MEDIA],
            newest: None,
            repairs: VecDeque::new(),
            recovered: VecDeque::new(),
            untrue: 0,
        }
    }

    /// Records a media packet with this extended sequence number.
    pub fn push_media(&mut self, sequence: u64, packet: &[u8]) {
        if packet.len() > MAX_DATAGRAM || self.is_old(sequence) || self.has(sequence) {
            return;
        }
        self.keep(sequence, |kept| kept.extend_from_slice(packet));
        self.recover();
    }

    /// Uses the payload of a repair packet. [`poll_recovered`](Self::poll_recovered) returns the recovered packets,
    /// now or after more packets.
    ///
    /// # Errors
    ///
    /// Returns why the repair packet cannot be used.
    pub fn push_repair(&mut self, payload: &[u8]) -> Result<(), Unusable> {
        let mut reader = Reader::new(payload);
        let header = Header::parse(&mut reader).map_err(Unusable::Malformed)?;
        let newest = self.newest.ok_or(Unusable::Empty)?;
        if header.mask == 0 || reader.rest().len() > MAX_DATAGRAM {
            return Err(Unusable::Empty);
        }
        // The base is the number nearest to the newest that has these lower 16 bits.
        let ahead = header.base.wrapping_sub(newest as u16).cast_signed();
        let base = newest
            .checked_add_signed(ahead.into())
            .ok_or(Unusable::Empty)?;
        let repair = Repair {
            recovery: header.recovery,
            base,
            mask: header.mask,
            payload: reader.rest().to_vec(),
        };
        if !repair.names().any(|sequence| self.has(sequence)) {
            return Err(Unusable::Empty);
        }
        if self.repairs.len() == REPAIRS {
            self.repairs.pop_front();
        }
        self.repairs.push_back(repair);
        let untrue = self.untrue;
        self.recover();
        if self.untrue == untrue {
            Ok(())
        } else {
            Err(Unusable::Untrue)
        }
    }

    /// Returns the next recovered packet, whole, with its extended sequence number.
    pub fn poll_recovered(&mut self) -> Option<(u64, &[u8])> {
        loop {
            let sequence = self.recovered.pop_front()?;
            if self.has(sequence) {
                return Some((sequence, self.packet(sequence)?));
            }
        }
    }

    /// Returns the media packet of this number, if it arrived or was recovered.
    pub(crate) fn packet(&self, sequence: u64) -> Option<&[u8]> {
        self.has(sequence)
            .then(|| self.media[place(sequence)].packet.as_slice())
    }

    /// Uses each repair packet that lacks one media packet, until no such repair packet is left.
    fn recover(&mut self) {
        let mut progress = true;
        while progress {
            progress = false;
            let repairs = std::mem::take(&mut self.repairs);
            for repair in repairs {
                let mut missing = repair.names().filter(|&sequence| !self.has(sequence));
                match (missing.next(), missing.next()) {
                    (Some(sequence), None) => progress |= self.give_back(sequence, &repair),
                    // The repair packet waits: one of two missing packets may still arrive.
                    (Some(_), Some(_)) if !self.is_old(repair.base) => {
                        self.repairs.push_back(repair);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Recovers the packet that a repair packet lacks; returns false if the result is not a packet.
    fn give_back(&mut self, sequence: u64, repair: &Repair) -> bool {
        let mut recovery = repair.recovery;
        let mut rest = repair.payload.clone();
        for other in repair.names().filter(|&other| other != sequence) {
            let Some((of, bytes)) = Recovery::of(&self.media[place(other)].packet) else {
                return false;
            };
            recovery.add(&of);
            add(&mut rest, bytes);
        }
        let len = usize::from(recovery.len);
        if len > rest.len() || HEADER_LEN + len > MAX_DATAGRAM || self.is_old(sequence) {
            self.untrue += 1;
            return false;
        }
        let ssrc = self.ssrc.to_be_bytes();
        self.keep(sequence, |packet| {
            packet.extend_from_slice(&[0x80 | recovery.flags[0] & 0x3f, recovery.flags[1]]);
            packet.extend_from_slice(&(sequence as u16).to_be_bytes());
            packet.extend_from_slice(&recovery.timestamp);
            packet.extend_from_slice(&ssrc);
            packet.extend_from_slice(&rest[..len]);
        });
        if self.recovered.len() == MEDIA {
            self.recovered.pop_front();
        }
        self.recovered.push_back(sequence);
        true
    }

    fn keep(&mut self, sequence: u64, write: impl FnOnce(&mut Vec<u8>)) {
        self.newest = self.newest.max(Some(sequence));
        let slot = &mut self.media[place(sequence)];
        slot.sequence = Some(sequence);
        slot.packet.clear();
        write(&mut slot.packet);
    }

    fn has(&self, sequence: u64) -> bool {
        self.media[place(sequence)].sequence == Some(sequence)
    }

    /// Returns true for a number whose slot a newer packet has, or may have.
    fn is_old(&self, sequence: u64) -> bool {
        self.newest
            .is_some_and(|newest| newest.saturating_sub(sequence) >= MEDIA as u64)
    }
}

const fn place(sequence: u64) -> usize {
    (sequence % MEDIA as u64) as usize
}

#[cfg(test)]
mod tests;
