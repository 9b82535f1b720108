//! Lost media packets from repair packets.

use std::collections::VecDeque;

use super::header::{Header, Recovery, add};
use crate::endpoint::MAX_DATAGRAM;
use crate::packet::rtp::HEADER_LEN;
use crate::packet::wire::{ParseError, Reader};

/// Media packets that are kept: twice what a repair packet can name, so that those of the frame before are
/// still there when its repair packets come late.
const MEDIA: usize = 256;
/// Repair packets that wait for media packets: those of two frames of the longest block, one for each two
/// packets.
const REPAIRS: usize = 110;

/// Why a repair packet was of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Its header does not read.
    Malformed(ParseError),
    /// It names no packets, or none of which any has come: a dummy, or nothing of ours.
    Empty,
    /// What it would give back is no packet.
    Untrue,
}

/// Keeps the packets of a source and gives back those that its repair packets tell of. It holds 256 media
/// packets and 110 repair packets at most, of [`MAX_DATAGRAM`] bytes at most.
#[derive(Debug)]
pub struct Decoder {
    ssrc: u32,
    /// By sequence number modulo [`MEDIA`].
    media: Vec<Slot>,
    /// The highest sequence number that came.
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
    /// A decoder for the packets of this source.
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

    /// A media packet came, with this extended sequence number.
    pub fn push_media(&mut self, sequence: u64, packet: &[u8]) {
        if packet.len() > MAX_DATAGRAM || self.is_old(sequence) || self.has(sequence) {
            return;
        }
        self.keep(sequence, |kept| kept.extend_from_slice(packet));
        self.recover();
    }

    /// The payload of a repair packet came. What it gives back is ready in
    /// [`poll_recovered`](Self::poll_recovered), now or when more has come.
    pub fn push_repair(&mut self, payload: &[u8]) -> Result<(), Unusable> {
        let mut reader = Reader::new(payload);
        let header = Header::parse(&mut reader).map_err(Unusable::Malformed)?;
        let newest = self.newest.ok_or(Unusable::Empty)?;
        if header.mask == 0 || reader.rest().len() > MAX_DATAGRAM {
            return Err(Unusable::Empty);
        }
        // The base is the number nearest to the newest that ends like this.
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

    /// The next packet that was given back, whole, with its extended sequence number.
    pub fn poll_recovered(&mut self) -> Option<(u64, &[u8])> {
        loop {
            let sequence = self.recovered.pop_front()?;
            if self.has(sequence) {
                return Some((sequence, self.packet(sequence)?));
            }
        }
    }

    /// The media packet of this number, if it came or was given back.
    pub(crate) fn packet(&self, sequence: u64) -> Option<&[u8]> {
        self.has(sequence)
            .then(|| self.media[place(sequence)].packet.as_slice())
    }

    /// Uses each repair packet that lacks one packet, until none does.
    fn recover(&mut self) {
        let mut progress = true;
        while progress {
            progress = false;
            let repairs = std::mem::take(&mut self.repairs);
            for repair in repairs {
                let mut missing = repair.names().filter(|&sequence| !self.has(sequence));
                match (missing.next(), missing.next()) {
                    (Some(sequence), None) => progress |= self.give_back(sequence, &repair),
                    // One of these is still to be missed.
                    (Some(_), Some(_)) if !self.is_old(repair.base) => {
                        self.repairs.push_back(repair);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Puts together the packet that a repair packet lacks; false if it comes to nothing.
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

    /// True for a number whose place newer packets have, or may have.
    fn is_old(&self, sequence: u64) -> bool {
        self.newest
            .is_some_and(|newest| newest.saturating_sub(sequence) >= MEDIA as u64)
    }
}

const fn place(sequence: u64) -> usize {
    (sequence % MEDIA as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::flexfec::Encoder;
    use crate::packet::flexfec::encoder::dummy;
    use crate::packet::rtp::RtpHeader;
    use proptest::prelude::*;

    const SSRC: u32 = 0xdead_beef;

    fn packet(sequence: u16, payload: &[u8], marker: bool) -> Vec<u8> {
        let header = RtpHeader {
            payload_type: 26,
            marker,
            sequence,
            timestamp: 3_600 * u32::from(sequence / 5),
            ssrc: SSRC,
        };
        let mut buf = vec![0; HEADER_LEN];
        header.emit(&[], &mut buf).unwrap();
        [&buf[..], payload].concat()
    }

    /// `count` packets from sequence number `first` on, none as long as another.
    fn block(first: u16, count: usize) -> Vec<(u16, Vec<u8>)> {
        (0..count)
            .map(|n| {
                let sequence = first.wrapping_add(n as u16);
                let payload = vec![n as u8 ^ 0x5a; 100 + (n * 37) % 91];
                (sequence, packet(sequence, &payload, n + 1 == count))
            })
            .collect()
    }

    fn repairs(block: &[(u16, Vec<u8>)], count: usize) -> Vec<Vec<u8>> {
        let mut encoder = Encoder::default();
        for (sequence, packet) in block {
            assert!(encoder.push(*sequence, packet));
        }
        encoder.plan(count);
        let mut repairs = Vec::new();
        while let Some(len) = encoder.next_len() {
            let mut payload = vec![7; 3];
            assert!(encoder.write(&mut payload));
            assert_eq!(payload.len(), len);
            repairs.push(payload);
        }
        repairs
    }

    /// What a receiver has of a block of which these are lost, given back or not.
    fn receive(
        block: &[(u16, Vec<u8>)],
        lost: &[usize],
        repairs: &[Vec<u8>],
    ) -> Vec<(u16, Vec<u8>)> {
        let mut decoder = Decoder::new(SSRC);
        let extended = |n: usize| 0x1_0000 + u64::from(block[0].0) + n as u64;
        for n in (0..block.len()).filter(|n| !lost.contains(n)) {
            decoder.push_media(extended(n), &block[n].1);
        }
        for repair in repairs {
            decoder.push_repair(repair).ok();
        }
        std::iter::from_fn(|| {
            let (sequence, packet) = decoder.poll_recovered()?;
            Some((sequence as u16, packet.to_vec()))
        })
        .collect()
    }

    #[test]
    fn one_repair_packet_gives_back_any_one_packet_of_its_block() {
        let block = block(65_534, 5);
        let repairs = repairs(&block, 1);
        assert_eq!(repairs.len(), 1);
        for lost in 0..5 {
            let back = receive(&block, &[lost], &repairs);
            assert_eq!(back, [block[lost].clone()]);
        }
        assert_eq!(receive(&block, &[], &repairs), []);
        assert_eq!(receive(&block, &[1, 2], &repairs), []);
    }

    #[test]
    fn as_many_lost_in_a_row_as_there_are_repair_packets_come_back() {
        let block = block(100, 110);
        let repairs = repairs(&block, 8);
        for first in 0..=102 {
            let lost: Vec<usize> = (first..first + 8).collect();
            let mut back = receive(&block, &lost, &repairs);
            back.sort();
            assert_eq!(back, block[first..first + 8]);
        }
    }

    #[test]
    fn a_late_packet_completes_what_waited_for_it() {
        let block = block(10, 4);
        let repairs = repairs(&block, 1);
        let mut decoder = Decoder::new(SSRC);
        for n in [0, 3] {
            decoder.push_media(10 + n as u64, &block[n].1);
        }
        assert_eq!(decoder.push_repair(&repairs[0]), Ok(()));
        assert_eq!(decoder.poll_recovered(), None);
        decoder.push_media(11, &block[1].1);
        let expected = (12, &block[2].1[..]);
        assert_eq!(decoder.poll_recovered(), Some(expected));
        assert_eq!(decoder.poll_recovered(), None);
    }

    #[test]
    fn a_block_has_the_numbers_that_one_repair_packet_can_name() {
        let mut encoder = Encoder::default();
        assert!(!encoder.push(0, &[0; 11]));
        for (sequence, packet) in block(0, MAX) {
            assert!(encoder.push(sequence, &packet));
        }
        assert!(!encoder.push(MAX as u16, &block(MAX as u16, 1)[0].1));
        encoder.clear();
        assert!(encoder.push(7, &block(7, 1)[0].1));
        assert!(!encoder.push(9, &block(9, 1)[0].1));
        encoder.plan(5);
        assert_eq!(encoder.planned(), 1);
        const MAX: usize = crate::packet::flexfec::MAX_SPAN;
    }

    #[test]
    fn dummies_and_lies_give_nothing_back() {
        let block = block(10, 4);
        let mut decoder = Decoder::new(SSRC);
        let mut payload = Vec::new();
        dummy(1_000, &mut payload);
        assert_eq!(decoder.push_repair(&payload), Err(Unusable::Empty));
        for n in [0, 1, 3] {
            decoder.push_media(10 + n as u64, &block[n].1);
        }
        assert_eq!(decoder.push_repair(&payload), Err(Unusable::Empty));
        // A length that the lost packet never had.
        let mut long = repairs(&block, 1).remove(0);
        long[2] ^= 0x80;
        assert_eq!(decoder.push_repair(&long), Err(Unusable::Untrue));
        // A base far away, of which nothing has come.
        let mut far = repairs(&block, 1).remove(0);
        far[8] ^= 0x80;
        assert_eq!(decoder.push_repair(&far), Err(Unusable::Empty));
        assert!(matches!(
            decoder.push_repair(&long[..9]),
            Err(Unusable::Malformed(_))
        ));
        assert_eq!(decoder.poll_recovered(), None);
    }

    proptest! {
        #[test]
        fn what_comes_back_is_what_was_lost(
            first: u16,
            count in 1..=110usize,
            columns in 1..=20usize,
            lost in proptest::collection::btree_set(0..110usize, 0..6),
        ) {
            let block = block(first, count);
            let repairs = repairs(&block, columns);
            let lost: Vec<usize> = lost.into_iter().filter(|&n| n < count).collect();
            let back = receive(&block, &lost, &repairs);
            // One of a column comes back; two of one do not. Without any packet nothing is known.
            let columns = columns.min(count);
            let alone = |&&n: &&usize| lost.iter().filter(|&&m| m % columns == n % columns).count() == 1;
            let whole = |&&n: &&usize| block.len().div_ceil(columns) > 1 || n % columns != n || lost.len() < count;
            let expected = lost.iter().filter(alone).filter(whole).count();
            prop_assert!(back.len() <= expected);
            prop_assert!(back.iter().all(|packet| block.contains(packet)));
            if count >= 2 * columns {
                prop_assert_eq!(back.len(), expected);
            }
        }

        #[test]
        fn no_bytes_make_it_panic_or_grow(
            steps in proptest::collection::vec(
                (any::<bool>(), 0..700u64, proptest::collection::vec(any::<u8>(), 0..60)), 0..400),
        ) {
            let mut decoder = Decoder::new(SSRC);
            for (is_media, sequence, mut bytes) in steps {
                if is_media {
                    decoder.push_media(sequence, &bytes);
                } else {
                    if let [first, .., base, _, _, _] = &mut bytes[..] {
                        (*first, *base) = (*first & 0x3f, 0);
                    }
                    decoder.push_repair(&bytes).ok();
                }
                prop_assert!(decoder.repairs.len() <= REPAIRS);
                prop_assert!(decoder.recovered.len() <= MEDIA);
                while let Some((_, packet)) = decoder.poll_recovered() {
                    prop_assert!((HEADER_LEN..=MAX_DATAGRAM).contains(&packet.len()));
                }
            }
        }
    }
}
