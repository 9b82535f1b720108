//! Changes a session when a peer is found, replaced or back.

use std::net::SocketAddr;

use super::unexpected_media::SecondSource;
use crate::session::Session;
use crate::session::event::EventKind;
use crate::session::rtcp::keyframes::Keyframes;

impl Session {
    /// Lets media flow again if it had stopped, because the peer sent a packet.
    pub(in crate::session) fn resume(&mut self) {
        let now = self.now;
        let present = self.peer.is_present();
        if let Some(outbound) = &mut self.outbound
            && outbound.has_given_up()
            && present
        {
            outbound.resume(now);
            self.emit(EventKind::Returned);
        }
    }

    /// Follows the peer to another address. Control begins anew if the host is another, because its path is.
    pub(in crate::session) fn follow(&mut self, to: SocketAddr) {
        let (from, before) = (self.peer.address(), self.peer.host());
        self.peer.follow(to);
        self.second_source = SecondSource::default();
        if let (Some(outbound), Some(before), Some(host)) =
            (&mut self.outbound, before, self.peer.host())
            && before != host
        {
            outbound.replace_receiver(self.now, before, host);
        }
        if let Some(from) = from {
            self.emit(EventKind::PeerMoved { from, to });
        }
    }

    /// Makes a source the peer, and replaces the old one if there was one.
    pub(in crate::session) fn latch(&mut self, source: SocketAddr, ssrc: u32) {
        self.second_source = SecondSource::default();
        let is_first = self.peer.ssrc().is_none();
        let before = self.peer.host();
        self.peer.latch(self.now, source, ssrc);
        let address = source;
        if is_first {
            self.emit(EventKind::PeerLatched { address, ssrc });
            return;
        }
        self.lost_before = self.statistics.packets_lost;
        self.inbound = None;
        self.decoder = None;
        self.keyframes = Keyframes::default();
        if let (Some(outbound), Some(from), Some(to)) =
            (&mut self.outbound, before, self.peer.host())
        {
            outbound.replace_receiver(self.now, from, to);
        }
        self.emit(EventKind::PeerChanged { address, ssrc });
    }
}
