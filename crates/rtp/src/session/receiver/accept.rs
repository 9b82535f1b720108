//! Checks media that arrives.

use super::inbound::{Inbound, Packet};
use crate::endpoint::Datagram;
use crate::packet::ext::RttSendTs;
use crate::packet::rtcp::FeedbackMode;
use crate::packet::rtp::{RtpError, RtpHeader, RtpPacket};
use crate::session::event::EventKind;
use crate::session::peer::Origin;
use crate::session::sender::outbound::Outbound;
use crate::session::statistics::Ignored;
use crate::session::{Incoming, MediaPacket, Session};

impl Session {
    pub(in crate::session) fn handle_rtp<'a>(
        &mut self,
        datagram: &Datagram<'a>,
    ) -> Result<Incoming<'a>, Ignored> {
        let rtp = RtpPacket::parse(datagram.payload).map_err(|error| match error {
            RtpError::Truncated(_) => Ignored::TooShort,
            RtpError::Version => Ignored::BadVersion,
            RtpError::Extension(_) => Ignored::BadExtension,
            RtpError::Padding(_) => Ignored::BadPadding,
        })?;
        let header = rtp.header();
        let receive = self.config.receive.as_ref();
        let receive = receive.ok_or(Ignored::UnknownPayloadType)?;
        let is_repair = receive.repair == Some(header.payload_type);
        if !is_repair && !receive.takes(header.payload_type) {
            // Any source of the peer is accepted here, because repair packets have their own.
            let origin = self.peer.origin(self.now, datagram.source, header.ssrc);
            if let Origin::Stranger(kind @ Ignored::WrongSource) = origin {
                return Err(kind);
            }
            if self.statistics.packets_received == 0
                && self.unexpected_media.is_stream(datagram.source, &header)
            {
                let payload_type = header.payload_type;
                self.emit(EventKind::UnknownPayloadType { payload_type });
            }
            return Err(Ignored::UnknownPayloadType);
        }
        let repairs = |outbound: &Outbound| outbound.is_repair_source(header.ssrc);
        if header.ssrc == self.ssrc || self.outbound.as_ref().is_some_and(repairs) {
            return Err(Ignored::OwnSsrc);
        }
        let (timing, transport) = self.timing(&rtp)?;
        if timing.is_none() && receive.feedback.needs_send_times() {
            return Err(Ignored::MissingExtension);
        }
        let is_numbered = receive.repair.is_some() || receive.feedback == FeedbackMode::Twcc;
        let packet = Packet {
            header,
            timing,
            transport: transport.filter(|_| is_numbered),
            arrival: self.arrived,
            size: datagram.payload.len(),
            ecn: datagram.ecn,
        };
        if is_repair {
            return self.handle_repair(datagram.source, &rtp, &packet);
        }
        match self.peer.origin(self.now, datagram.source, header.ssrc) {
            Origin::Known => {}
            Origin::New | Origin::Successor => self.latch(datagram.source, header.ssrc),
            // The peer reported before its media came, by a source of its own.
            Origin::Stranger(Ignored::WrongSsrc)
                if self.inbound.is_none() && self.peer.is_present() =>
            {
                self.peer.adopt(header.ssrc);
            }
            // The media so far was not of the endpoint that reported by this source.
            Origin::Stranger(Ignored::WrongSsrc) if self.peer.is_author(header.ssrc) => {
                self.latch(datagram.source, header.ssrc);
            }
            Origin::Stranger(Ignored::WrongSource) if self.is_continued(&header) => {
                if !self.peer.has_moved(datagram.source, header.sequence) {
                    return Err(Ignored::WrongSource);
                }
                self.follow(datagram.source);
            }
            Origin::Stranger(_)
                if self.peer.yields_to_media(
                    self.now,
                    datagram.source,
                    (header.ssrc, header.sequence),
                ) =>
            {
                self.latch(datagram.source, header.ssrc);
            }
            Origin::Stranger(kind) => {
                let (ignored, last) = (datagram.source, self.peer.heard());
                if kind == Ignored::WrongSource
                    && let Some(heard) = self.peer.address()
                    && self
                        .second_source
                        .is_stream(self.now, last, ignored, &header)
                {
                    self.emit(EventKind::SecondSender { heard, ignored });
                }
                return Err(kind);
            }
        }
        let sequence = self.take_in(&packet)?;
        self.peer.handle_source(self.now, datagram.source, false);
        if let Some(decoder) = &mut self.decoder {
            decoder.push_media(sequence, datagram.payload);
        }
        Ok(Incoming::Media(MediaPacket {
            sequence,
            payload_type: header.payload_type,
            timestamp: header.timestamp,
            marker: header.marker,
            payload: rtp.payload(),
            arrival: packet.arrival,
            send_time: self.inbound.as_ref().and_then(Inbound::send_time),
            rtt: self.inbound.as_ref().and_then(Inbound::round_trip_time),
        }))
    }

    /// Returns the `rtt-sendts` element of a packet and its transport-wide number, if it has them.
    fn timing(&self, rtp: &RtpPacket<'_>) -> Result<(Option<RttSendTs>, Option<u16>), Ignored> {
        let (mut timing, mut transport) = (None, None);
        for element in rtp.elements() {
            let element = element.map_err(|_| Ignored::BadExtension)?;
            if Some(element.id) == self.config.extension_id && timing.is_none() {
                let read = RttSendTs::parse(element.data).map_err(|_| Ignored::BadExtension)?;
                timing = Some(read);
            } else if element.id == self.config.transport_sequence_id {
                transport = element.data.try_into().map(u16::from_be_bytes).ok();
            }
        }
        Ok((timing, transport))
    }

    /// Returns true if a packet is the peer's by its source, and newer than all before.
    fn is_continued(&self, header: &RtpHeader) -> bool {
        self.peer.is_present()
            && self.peer.ssrc() == Some(header.ssrc)
            && self
                .inbound
                .as_ref()
                .is_some_and(|inbound| inbound.is_ahead(header.sequence))
    }

    /// Passes a packet of the peer to the record of its source.
    fn take_in(&mut self, packet: &Packet) -> Result<u64, Ignored> {
        let Some(config) = &self.config.receive else {
            return Err(Ignored::UnknownPayloadType);
        };
        let inbound = self.inbound.get_or_insert_with(|| {
            Inbound::new(packet.header.ssrc, config, packet.transport.is_some())
        });
        let sequence = inbound.handle_media(packet)?;
        if inbound.received() > 1 {
            self.peer.confirm();
        }
        self.peer
            .handle_heard(self.now, packet.header.ssrc, packet.size);
        self.budget.earn(packet.size);
        self.statistics.packets_received += 1;
        self.statistics.bytes_received += packet.size as u64;
        self.statistics.packets_marked += u64::from(packet.ecn.is_marked());
        self.statistics.packets_lost = self.lost_before + inbound.lost();
        self.rtcp.start(self.now);
        Ok(sequence)
    }
}
