//! Repair packets (RFC 8627): a second source beside the media, sent inside the allowed rate and counted by TFRC
//! with the media; and what they give back.

use std::net::SocketAddr;

use tfrc::time::Instant;

use super::inbound::Packet;
use super::peer::Origin;
use super::statistics::Ignored;
use super::{Incoming, MediaPacket, Session};
use crate::endpoint::Transmit;
use crate::packet::flexfec::{Decoder, Unusable};
use crate::packet::rtp::RtpPacket;

impl Session {
    /// Bytes of a repair packet's payload; 0 for a session that sends none. Whatever media packets carry, what
    /// [`Encoder`](crate::packet::flexfec::Encoder) makes of them fits.
    pub fn repair_capacity(&self) -> usize {
        let Some(outbound) = &self.outbound else {
            return 0;
        };
        match outbound.repair_overhead() {
            0 => 0,
            // The contributing source is a header here.
            _ => outbound
                .packet_size()
                .saturating_sub(outbound.headers_len() + 4),
        }
    }

    /// Writes a repair packet around `payload` that departs at `now`, as [`write_media`](Self::write_media)
    /// writes a media packet. `None` if this session has none to send, too.
    pub fn write_repair(
        &mut self,
        now: Instant,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Option<Transmit> {
        let now = self.advance(now);
        if self.next_departure(now)? > now || payload.len() > self.repair_capacity() {
            return None;
        }
        let header = self.outbound.as_ref()?.repair_header(now)?;
        let len = self.write_rtp(now, &header, Some(self.ssrc), payload, buf)?;
        let ecn = self.outbound.as_mut()?.handle_repair_sent(now, len);
        self.statistics.repair_sent += 1;
        self.statistics.repair_bytes_sent += len as u64;
        self.note_sent(now, len, ecn)
    }

    /// The next media packet that a repair packet gave back. It arrived, if late: the last datagram made it.
    pub fn poll_recovered(&mut self) -> Option<MediaPacket<'_>> {
        let receive = self.config.receive.as_ref()?;
        let sequence = loop {
            let (sequence, packet) = self.decoder.as_mut()?.poll_recovered()?;
            let read = RtpPacket::parse(packet);
            if read.is_ok_and(|rtp| receive.takes(rtp.header().payload_type)) {
                break sequence;
            }
            // What reads as no packet of the stream was lost with its repair packet.
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
            send_time: 0,
            rtt: None,
        })
    }

    /// The share of packets that did not arrive, by the last reception reports; 0 before the second.
    pub fn reported_loss(&self) -> f64 {
        self.outbound
            .as_ref()
            .map_or(0.0, super::outbound::Outbound::reported_loss)
    }

    /// Takes in a repair packet; tells whether it is of use.
    pub(super) fn handle_repair<'a>(
        &mut self,
        source: SocketAddr,
        rtp: &RtpPacket<'_>,
        packet: &Packet,
    ) -> Result<Incoming<'a>, Ignored> {
        // It introduces nobody: the media that it repairs has come before.
        let ssrc = rtp.first_csrc().ok_or(Ignored::WrongSsrc)?;
        match self.peer.origin(self.now, source, ssrc) {
            Origin::Known => {}
            Origin::Stranger(kind) => return Err(kind),
            Origin::New | Origin::Successor => return Err(Ignored::WrongSsrc),
        }
        let inbound = self.inbound.as_mut().ok_or(Ignored::WrongSsrc)?;
        inbound.handle_repair(packet)?;
        self.peer.handle_heard(self.now, packet.size);
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
            // It came, and counts; what it says is of no use.
            Err(Unusable::Malformed(_) | Unusable::Untrue) => {
                self.statistics.count_ignored(Ignored::BadRepair);
                Ok(Incoming::Dummy)
            }
        }
    }
}
