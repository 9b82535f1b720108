//! Media: the checks on what comes in, and the writing of what goes out.

use tfrc::Ecn;
use tfrc::time::Instant;

use super::config::clamp_payload_type;
use super::event::EventKind;
use super::inbound::{Inbound, Packet};
use super::outbound::Outbound;
use super::peer::Origin;
use super::statistics::Ignored;
use super::{Closing, Incoming, MediaInfo, MediaPacket, Session};
use crate::endpoint::{Datagram, Transmit};
use crate::packet::ext::{Element, RttSendTs};
use crate::packet::rtp::{RtpError, RtpHeader, RtpPacket};

impl Session {
    /// When the next media packet may leave: not after `now` if at once. `None` while none may (no
    /// peer yet or none that a second packet confirmed, given up, closed, or a session that only
    /// receives).
    pub fn next_departure(&self, now: Instant) -> Option<Instant> {
        if self.closing != Closing::Open {
            return None;
        }
        self.peer.address()?;
        let outbound = self.outbound.as_ref()?;
        // Whoever is not confirmed yet gets no more than it sent, and confirms itself by sending on.
        if !self.peer.allows(outbound.packet_size()) {
            return None;
        }
        outbound.next_departure(now.max(self.now))
    }

    /// Bytes that TFRC counts of a media packet besides its payload; 0 for a session that only receives.
    pub fn packet_overhead(&self) -> usize {
        self.outbound.as_ref().map_or(0, Outbound::headers_len)
    }

    /// Bytes of payload that fit into a packet; 0 for a session that only receives.
    pub fn payload_capacity(&self) -> usize {
        let Some(outbound) = &self.outbound else {
            return 0;
        };
        outbound
            .packet_size()
            .saturating_sub(outbound.headers_len() + outbound.repair_overhead())
    }

    /// The extended sequence number that the next media packet will have; 0 for a session that only
    /// receives.
    pub fn next_sequence(&self) -> u32 {
        self.outbound.as_ref().map_or(0, Outbound::sequence)
    }

    /// From now on media packets have this payload type, held to the ranges of
    /// [`SendConfig::payload_type`](super::SendConfig::payload_type).
    pub fn set_payload_type(&mut self, payload_type: u8) {
        if let Some(outbound) = &mut self.outbound {
            outbound.set_payload_type(clamp_payload_type(payload_type));
        }
    }

    /// Writes a media packet around `payload` that departs at `now`. `None` if
    /// [`next_departure`](Self::next_departure) does not allow it, if the payload exceeds
    /// [`payload_capacity`](Self::payload_capacity) or if `buf` is too small.
    pub fn write_media(
        &mut self,
        now: Instant,
        info: &MediaInfo,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Option<Transmit> {
        let now = self.advance(now);
        if self.next_departure(now)? > now || payload.len() > self.payload_capacity() {
            return None;
        }
        let outbound = self.outbound.as_ref()?;
        let header = outbound.header(self.ssrc, info.timestamp, info.marker);
        let len = self.write_rtp(now, &header, None, payload, buf)?;
        let outbound = self.outbound.as_mut()?;
        let ecn = outbound.handle_sent(now, len, payload.len(), info.marker);
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += len as u64;
        self.note_sent(now, len, ecn)
    }

    /// Writes an RTP packet with our extensions; gives its length.
    pub(super) fn write_rtp(
        &self,
        now: Instant,
        header: &RtpHeader,
        csrc: Option<u32>,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Option<usize> {
        let outbound = self.outbound.as_ref()?;
        let timing = RttSendTs::new(outbound.rtt(), now.as_micros() as u32).to_bytes();
        let transport = outbound.transport().to_bytes();
        let elements = [
            Element {
                id: self.config.extension_id,
                data: &timing,
            },
            Element {
                id: self.config.transport_sequence_id,
                data: &transport,
            },
        ];
        let headers = header.emit_for(csrc, &elements[..outbound.elements()], buf)?;
        let len = headers + payload.len();
        buf.get_mut(headers..len)?.copy_from_slice(payload);
        Some(len)
    }

    /// A packet of `len` bytes leaves.
    pub(super) fn note_sent(&mut self, now: Instant, len: usize, ecn: Ecn) -> Option<Transmit> {
        let destination = self.peer.address()?;
        self.peer.handle_sent(len);
        self.rtcp.start(now);
        Some(Transmit {
            destination,
            len,
            ecn,
        })
    }

    pub(super) fn handle_rtp<'a>(
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
            // Of the peer, by any of its sources: repair packets have their own.
            let origin = self.peer.origin(self.now, datagram.source, header.ssrc);
            if let Origin::Stranger(kind @ Ignored::WrongSource) = origin {
                return Err(kind);
            }
            if self.statistics.packets_received == 0
                && self.unexpected_media.reports(datagram.source, &header)
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
        let packet = Packet {
            header,
            timing,
            transport: transport.filter(|_| receive.repair.is_some()),
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
            Origin::Stranger(kind) => {
                let (ignored, last) = (datagram.source, self.peer.heard());
                if kind == Ignored::WrongSource
                    && let Some(heard) = self.peer.address()
                    && self.strangers.reports(self.now, last, ignored, &header)
                {
                    self.emit(EventKind::SecondSender { heard, ignored });
                }
                return Err(kind);
            }
        }
        let sequence = self.take_in(&packet)?;
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
            send_time: packet.timing.send_time,
            rtt: packet.timing.rtt(),
        }))
    }

    /// The `rtt-sendts` element of a packet, and its transport-wide number if it has one.
    pub(super) fn timing(&self, rtp: &RtpPacket<'_>) -> Result<(RttSendTs, Option<u16>), Ignored> {
        let (mut timing, mut transport) = (None, None);
        for element in rtp.elements() {
            let element = element.map_err(|_| Ignored::BadExtension)?;
            if element.id == self.config.extension_id && timing.is_none() {
                let read = RttSendTs::parse(element.data).map_err(|_| Ignored::BadExtension)?;
                timing = Some(read);
            } else if element.id == self.config.transport_sequence_id {
                transport = element.data.try_into().map(u16::from_be_bytes).ok();
            }
        }
        let timing = timing.ok_or(Ignored::MissingExtension)?;
        Ok((timing, transport))
    }

    /// Gives a packet of the peer's to its source.
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
        self.peer.handle_heard(self.now, packet.size);
        self.budget.earn(packet.size);
        self.statistics.packets_received += 1;
        self.statistics.bytes_received += packet.size as u64;
        self.statistics.packets_marked += u64::from(packet.ecn.is_marked());
        self.statistics.packets_lost = self.lost_before + inbound.lost();
        self.rtcp.start(self.now);
        Ok(sequence)
    }

    /// True if we have sent media since the report before the last (RFC 3550 §6.3.8).
    pub(super) fn is_sending(&self) -> bool {
        let last = self.outbound.as_ref().and_then(Outbound::last_departure);
        last.is_some_and(|last| self.rtcp.before_previous().is_none_or(|then| last >= then))
    }
}
