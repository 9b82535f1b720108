//! The moves of a peer to another address, which its packets or its reports show.

use std::net::SocketAddr;
use std::time::Duration;

use tfrc::time::Instant;

use super::{Peer, SSRC_SILENCE, same};

/// What shows whether the peer is still at its address.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moves {
    /// The last packet of the peer's source from another address, if none came from the peer's since.
    media: Option<(SocketAddr, u16)>,
    /// The other address of the last report, if nothing came from the peer's since.
    report: Option<SocketAddr>,
    /// The time of the last datagram from the peer's address, and the longest of the last gaps between two.
    heard: Option<(Instant, Duration)>,
    /// Reports came from the peer's address.
    has_reported: bool,
    /// The time at which reports moved the peer.
    moved: Option<Instant>,
}

impl Peer {
    /// Records a datagram of the peer from this address: RTCP if `is_control`, or media.
    pub(in crate::session) fn handle_source(
        &mut self,
        now: Instant,
        source: SocketAddr,
        is_control: bool,
    ) {
        let Some(peer) = self
            .latched
            .as_mut()
            .filter(|peer| same(peer.address, source))
        else {
            return;
        };
        let before = peer.moves.heard;
        let gap = before.map_or(Duration::ZERO, |(at, longest)| {
            now.saturating_since(at).max(longest - longest / GAP_DECAY)
        });
        (peer.moves.media, peer.moves.report) = (None, None);
        peer.moves.heard = Some((now, gap));
        peer.moves.has_reported |= is_control;
        peer.packets = peer.packets.saturating_add(u32::from(!is_control));
    }

    /// Records a media packet of the peer's source, newer than all before, from another address. Returns true if the
    /// peer has moved there: an address translator gave it a new port, or it changed networks.
    ///
    /// Two such packets in sequence show that, with none from the peer's address between them: whoever only copies
    /// packets does not silence the peer.
    pub(in crate::session) fn has_moved(&mut self, source: SocketAddr, sequence: u16) -> bool {
        let Some(peer) = &mut self.latched else {
            return false;
        };
        let last = peer.moves.media.replace((source, sequence));
        last.is_some_and(|(address, last)| {
            same(address, source) && sequence == last.wrapping_add(1)
        })
    }

    /// Records a report of the peer's own source about ours from another address, and returns true if the peer has moved
    /// there.
    ///
    /// Two reports in a row show that, after a silence of the peer's address that is twice as long as usual: reports
    /// have no sequence, and a receiver that is there goes on. A receiver whose reports always came from a port of their
    /// own has not moved.
    pub(in crate::session) fn has_moved_reports(
        &mut self,
        now: Instant,
        source: SocketAddr,
        author: u32,
    ) -> bool {
        if !self.is_present() || !self.is_author(author) {
            return false;
        }
        let Some(peer) = self
            .latched
            .as_mut()
            .filter(|peer| !same(peer.address, source))
        else {
            return false;
        };
        let heard = peer.moves.heard.filter(|_| peer.moves.has_reported);
        let Some((heard, gap)) = heard else {
            return false;
        };
        let last = peer.moves.report.replace(source);
        let is_silent = now.saturating_since(heard) >= (2 * gap).max(SSRC_SILENCE);
        is_silent && last.is_some_and(|last| same(last, source))
    }

    /// Follows the peer to another address, where it is to prove anew that it hears us.
    pub(in crate::session) fn follow(&mut self, address: SocketAddr) {
        if let Some(peer) = &mut self.latched {
            peer.address = address;
            peer.moves = Moves::default();
            (peer.confirmed, peer.hears_us, peer.proven) = (false, false, false);
            peer.allowance = 0;
        }
        self.is_elsewhere = self.configured.is_some();
        self.configured = self.configured.map(|_| address);
    }

    /// Records that reports moved the peer, which knew our source before. Only the answer to a report that left since
    /// then proves that it hears us.
    pub(in crate::session) fn await_answer(&mut self, now: Instant) {
        if let Some(peer) = &mut self.latched {
            peer.moves.moved = Some(now);
        }
    }

    /// Returns the time from which on a report of ours is to have left that proves the peer by its answer, if one must.
    pub(in crate::session) fn answers_since(&self) -> Option<Instant> {
        self.latched?.moves.moved
    }
}

/// The longest gap of the past counts for an eighth less with each datagram, as RFC 6298 §2.3 weighs round trips.
const GAP_DECAY: u32 = 8;
