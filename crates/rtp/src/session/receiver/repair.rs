//! Handles repair packets that arrive (RFC 8627), and the media packets that they recover.

use std::net::SocketAddr;

use super::inbound::Packet;
use crate::packet::flexfec::{Decoder, Unusable};
use crate::packet::rtp::RtpPacket;
use crate::session::peer::Origin;
use crate::session::statistics::Ignored;
use crate::session::{Incoming, MediaPacket, Session};

impl Session {
    /// Returns the next recovered media packet. It arrives with the last datagram, so it counts as late.
    pub fn poll_recovered(&mut self) -> Option<MediaPacket<'_>> {
        let receive = self.config.receive.as_ref()?;
        let sequence = loop {
            let (sequence, packet) = self.decoder.as_mut()?.poll_recovered()?;
            let read = RtpPacket::parse(packet);
            if read.is_ok_and(|rtp| receive.takes(rtp.header().payload_type)) {
                break sequence;
            }
            // Recovered bytes that are no packet of the stream were lost with their repair packet.
            self.statistics.count_ignored(Ignored::BadRepair);
        };
        let rtp = RtpPacket::parse(self.decoder.as_ref()?.packet(sequence)?).ok()?;
        let header = rtp.header();
        self.statistics.packets_recovered += 1;
        Some(MediaPacket {
            sequence,
            payload_type: header.payload_type,
            timestamp: header.timestamp,
            marker: header.marker,
            payload: rtp.payload(),
            arrival: self.arrived,
            send_time: None,
            rtt: None,
        })
    }

    /// Handles a repair packet, and returns whether it is of use.
    pub(in crate::session) fn handle_repair<'a>(
        &mut self,
        source: SocketAddr,
        rtp: &RtpPacket<'_>,
        packet: &Packet,
    ) -> Result<Incoming<'a>, Ignored> {
        // A repair packet introduces no peer, because the media that it repairs has arrived before.
        let ssrc = rtp.first_csrc().ok_or(Ignored::WrongSsrc)?;
        match self.peer.origin(self.now, source, ssrc) {
            Origin::Known => {}
            Origin::Stranger(kind) => return Err(kind),
            Origin::New | Origin::Successor => return Err(Ignored::WrongSsrc),
        }
        let inbound = self.inbound.as_mut().ok_or(Ignored::WrongSsrc)?;
        inbound.handle_repair(packet)?;
        self.peer.handle_heard(self.now, ssrc, packet.size);
        self.budget.earn(packet.size);
        self.statistics.repair_received += 1;
        self.statistics.repair_bytes_received += packet.size as u64;
        self.statistics.packets_marked += u64::from(packet.ecn.is_marked());
        let decoder = self
            .decoder
            .get_or_insert_with(|| Box::new(Decoder::new(ssrc)));
        match decoder.push_repair(rtp.payload()) {
            Ok(()) => Ok(Incoming::Repair),
            Err(Unusable::Empty) => Ok(Incoming::Dummy),
            // The packet arrived and counts for TFRC, although its content is of no use.
            Err(Unusable::Malformed(_) | Unusable::Untrue) => {
                self.statistics.count_ignored(Ignored::BadRepair);
                Ok(Incoming::Dummy)
            }
        }
    }
}
