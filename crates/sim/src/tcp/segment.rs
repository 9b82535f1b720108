//! The segments between the two ends: small values, as a simulator moves millions of them a second.

use std::ops::Range;
use tfrc::Ecn;
use tfrc::units::Bytes;

/// Which of the connections between two hosts, as ports tell. The two ends of one connection leave it
/// at its default; an agent with several writes it into what they send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Where its ends are kept: connections of one time differ in it.
    pub slot: u16,
    /// Counts the connections that a slot has had, one after the other.
    pub generation: u16,
}

/// A segment of data: one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its place in the flow, counted in packets from 0.
    pub number: u64,
    /// Its size on the wire, header included.
    pub size: Bytes,
    /// The ECN field: as it leaves, then as the network has marked it.
    pub ecn: Ecn,
    /// Congestion Window Reduced (RFC 3168 §6.1.2).
    pub cwr: bool,
    /// Whose it is.
    pub connection: Connection,
}

/// SACK blocks in one ACK: what fits beside RFC 7323's timestamps, which most stacks send.
pub const SACK_BLOCKS: usize = 3;

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The lowest packet that has not arrived: all below have.
    pub next: u64,
    /// ECN-Echo (RFC 3168 §6.1.3).
    pub ece: bool,
    /// Whose it is.
    pub connection: Connection,
    blocks: [Block; SACK_BLOCKS],
}

/// Packets that arrived out of order, told by their distance from the lowest that has not: half the
/// size of two packet numbers, and enough for any window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Block {
    start: u32,
    end: u32,
}

impl Ack {
    /// An acknowledgement of all below `next`, without blocks.
    pub fn new(next: u64) -> Self {
        Self {
            next,
            ..Self::default()
        }
    }

    /// Adds the block of `packets` that arrived above [`next`](Self::next). A fourth block, and what
    /// is not above `next` or 2^32 packets further, is left out.
    #[must_use]
    pub fn with_block(mut self, packets: Range<u64>) -> Self {
        let distance = |packet: u64| {
            packet
                .checked_sub(self.next)
                .and_then(|d| u32::try_from(d).ok())
        };
        if let (Some(start), Some(end)) = (distance(packets.start), distance(packets.end))
            && let Some(free) = self.blocks.iter_mut().find(|block| block.end == 0)
        {
            *free = Block { start, end };
        }
        self
    }

    /// The SACK blocks, the most recent first.
    pub fn sacked(&self) -> impl Iterator<Item = Range<u64>> {
        let next = self.next;
        let place = move |distance: u32| next.saturating_add(u64::from(distance));
        self.blocks
            .into_iter()
            .take_while(|block| block.end > 0)
            .map(move |block| place(block.start)..place(block.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_gives_back_its_first_three_blocks() {
        let ack = Ack::new(100)
            .with_block(105..107)
            .with_block(90..95)
            .with_block(110..111)
            .with_block(102..103)
            .with_block(120..121);
        assert!(ack.sacked().eq([105..107, 110..111, 102..103]));
    }

    #[test]
    fn an_ack_is_small() {
        assert!(size_of::<Ack>() <= 40, "{}", size_of::<Ack>());
        assert!(size_of::<Segment>() <= 24, "{}", size_of::<Segment>());
    }
}
