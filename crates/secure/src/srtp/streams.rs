//! The streams of one direction by SSRC: which packet indices each used, and which index a sequence number has.

use super::replay::ReplayWindow;

/// The most streams of one direction. A peer that holds the key could otherwise fill the memory.
const MAX_STREAMS: usize = 64;

/// The packet indices end here: with another packet a key would give the same keystream twice (RFC 3711 §9.2).
pub(super) const RTP_INDICES: u64 = 1 << 48;
pub(super) const RTCP_INDICES: u64 = 1 << 31;

/// The streams of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams(Vec<(u32, ReplayWindow)>);

impl Streams {
    /// Returns the index that `sequence` most likely has, or `None` if there is none: the nearest to the highest index so
    /// far (RFC 3711 §3.3.1).
    pub(super) fn index(&self, ssrc: u32, sequence: u16) -> Option<u64> {
        let Some(highest) = self.window(ssrc).and_then(ReplayWindow::highest) else {
            return Some(sequence.into());
        };
        let ahead = sequence.wrapping_sub(highest as u16) as i16;
        let index = highest.checked_add_signed(ahead.into());
        index.filter(|&index| index < RTP_INDICES)
    }

    /// Returns the index that `sequence` has if it is not [`index`](Self::index), or `None` if there is none. Of a stream's first
    /// packet nobody knows if the numbers began again since the sender's first (RFC 3711 §3.3.1), and its tag tells.
    pub(super) fn second_index(&self, ssrc: u32, sequence: u16) -> Option<u64> {
        let is_first = self.window(ssrc).is_none();
        is_first.then(|| u64::from(sequence) + (1 << 16))
    }

    /// Returns true if the stream did not use the index, and is not too far beyond it.
    pub(super) fn is_fresh(&self, ssrc: u32, index: u64) -> bool {
        self.window(ssrc)
            .is_none_or(|window| window.is_fresh(index))
    }

    /// Returns true if the stream is known or there is room for it.
    pub(super) fn has_room(&self, ssrc: u32) -> bool {
        self.0.len() < MAX_STREAMS || self.window(ssrc).is_some()
    }

    /// Marks an index as used. A stream without room is not remembered.
    pub(super) fn insert(&mut self, ssrc: u32, index: u64) {
        if !self.has_room(ssrc) {
            return;
        }
        let position = self.0.iter().position(|(known, _)| *known == ssrc);
        let position = position.unwrap_or_else(|| {
            self.0.push((ssrc, ReplayWindow::new()));
            self.0.len() - 1
        });
        self.0[position].1.insert(index);
    }

    fn window(&self, ssrc: u32) -> Option<&ReplayWindow> {
        let mut streams = self.0.iter();
        streams.find_map(|(known, window)| (*known == ssrc).then_some(window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_the_nearest_to_the_highest() {
        let mut streams = Streams::default();
        assert_eq!(streams.index(1, 65_530), Some(65_530));
        streams.insert(1, 65_530);
        for (sequence, index) in [(65_531, 65_531), (3, 65_539), (65_000, 65_000)] {
            assert_eq!(streams.index(1, sequence), Some(index));
        }
        streams.insert(1, 65_539);
        assert_eq!(streams.index(1, 65_535), Some(65_535));
        // Each stream has its own indices.
        assert_eq!(streams.index(2, 65_535), Some(65_535));
        streams.insert(2, 3);
        assert_eq!(streams.index(2, 65_535), None, "before the first round");
    }

    #[test]
    fn first_packet_may_be_of_the_second_round() {
        let mut streams = Streams::default();
        assert_eq!(streams.index(1, 3), Some(3));
        assert_eq!(streams.second_index(1, 3), Some(65_539));
        streams.insert(1, 65_539);
        assert_eq!(streams.index(1, 65_535), Some(65_535));
        assert_eq!(streams.second_index(1, 65_535), None);
    }

    #[test]
    fn index_ends_with_the_rounds() {
        let mut streams = Streams::default();
        streams.insert(1, RTP_INDICES - 1);
        assert_eq!(streams.index(1, 0), None);
        assert_eq!(streams.index(1, 65_534), Some(RTP_INDICES - 2));
    }

    #[test]
    fn streams_are_bounded() {
        let mut streams = Streams::default();
        for ssrc in 0..1_000 {
            streams.insert(ssrc, 1);
        }
        assert_eq!(streams.0.len(), 64);
        assert!(streams.has_room(63) && !streams.has_room(64));
    }
}
