//! Departures of media: when the next packet may leave, and its content.

use tfrc::Ecn;
use tfrc::time::Instant;

use super::not_sent::NotSent;
use super::outbound::Outbound;
use crate::endpoint::Transmit;
use crate::packet::ext::{Element, PlayoutDelay, RttSendTs, TransportSequence};
use crate::packet::rtp::{HEADER_LEN, RtpHeader};
use crate::session::config::clamp_payload_type;
use crate::session::media::MediaInfo;
use crate::session::{Closing, Session};

impl Session {
    /// Returns when the next media packet may leave; a time up to `now` means at once.
    ///
    /// Returns `None` while no packet may leave: there is no peer, or it got three times its bytes without proof; media
    /// stopped; the session is closed or only receives.
    pub fn next_departure(&self, now: Instant) -> Option<Instant> {
        self.departure(now).ok()
    }

    fn departure(&self, now: Instant) -> Result<Instant, NotSent> {
        if self.closing != Closing::Open {
            return Err(NotSent::Closed);
        }
        let outbound = self.outbound.as_ref().ok_or(NotSent::ReceivesOnly)?;
        self.peer.address().ok_or(NotSent::NoPeer)?;
        // A peer that is not confirmed gets no more bytes than it sent. Its next packet confirms it.
        if !self.peer.allows(outbound.packet_size()) {
            return Err(NotSent::UnconfirmedPeer);
        }
        let departure = outbound.next_departure(now.max(self.now));
        departure.ok_or(NotSent::Ended)
    }

    /// Checks that a packet with `payload` may leave at `now`.
    fn check_departure(
        &self,
        now: Instant,
        payload: &[u8],
        capacity: usize,
    ) -> Result<(), NotSent> {
        let until = self.departure(now)?;
        if until > now {
            return Err(NotSent::Early { until });
        }
        if payload.len() > capacity {
            return Err(NotSent::PayloadTooLong { capacity });
        }
        Ok(())
    }

    /// Returns the bytes of a media packet that TFRC counts besides its payload; 0 for a session that only
    /// receives.
    pub fn packet_overhead(&self) -> usize {
        self.outbound.as_ref().map_or(0, Outbound::headers_len)
    }

    /// Returns the bytes of payload that fit into a packet; 0 for a session that only receives.
    pub fn payload_capacity(&self) -> usize {
        let Some(outbound) = &self.outbound else {
            return 0;
        };
        outbound
            .packet_size()
            .saturating_sub(outbound.headers_len() + outbound.repair_overhead())
    }

    /// Returns the extended sequence number of the next media packet; 0 for a session that only receives.
    pub fn next_sequence(&self) -> u32 {
        self.outbound.as_ref().map_or(0, Outbound::sequence)
    }

    /// Sets the payload type of media packets from now on, within the ranges of
    /// [`SendConfig::payload_type`](crate::session::SendConfig::payload_type).
    pub fn set_payload_type(&mut self, payload_type: u8) {
        if let Some(outbound) = &mut self.outbound {
            outbound.set_payload_type(clamp_payload_type(payload_type));
        }
    }

    /// Returns the length of a repair packet's payload; 0 for a session without repair packets. The payloads of an
    /// [`Encoder`](crate::packet::flexfec::Encoder) fit, whatever the media packets contain.
    pub fn repair_capacity(&self) -> usize {
        let Some(outbound) = &self.outbound else {
            return 0;
        };
        match outbound.repair_overhead() {
            0 => 0,
            // The contributing source counts as a header here.
            _ => outbound
                .packet_size()
                .saturating_sub(outbound.headers_len() + 4),
        }
    }

    /// Writes a media packet around `payload` that departs at `now`.
    ///
    /// # Errors
    ///
    /// Returns an error, and sends nothing, if [`next_departure`](Self::next_departure) does not permit a packet,
    /// the payload exceeds [`payload_capacity`](Self::payload_capacity), or `buf` is too short.
    pub fn write_media(
        &mut self,
        now: Instant,
        info: &MediaInfo,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Result<Transmit, NotSent> {
        let now = self.advance(now);
        self.check_departure(now, payload, self.payload_capacity())?;
        let outbound = self.outbound.as_ref().ok_or(NotSent::ReceivesOnly)?;
        let header = outbound.header(self.ssrc, info.timestamp, info.marker);
        let len = self.write_rtp(now, &header, None, payload, buf)?;
        let outbound = self.outbound.as_mut().ok_or(NotSent::ReceivesOnly)?;
        let ecn = outbound.handle_sent(now, len, payload.len(), info.marker);
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += len as u64;
        self.handle_sent(now, len, ecn)
    }

    /// Writes a repair packet around `payload` that departs at `now`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write_media`](Self::write_media), with [`repair_capacity`](Self::repair_capacity) as
    /// the bound, and one if the session sends no repair packets.
    pub fn write_repair(
        &mut self,
        now: Instant,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Result<Transmit, NotSent> {
        let now = self.advance(now);
        let outbound = self.outbound.as_ref().ok_or(NotSent::ReceivesOnly)?;
        let header = outbound.repair_header(now).ok_or(NotSent::NoRepair)?;
        self.check_departure(now, payload, self.repair_capacity())?;
        let len = self.write_rtp(now, &header, Some(self.ssrc), payload, buf)?;
        let outbound = self.outbound.as_mut().ok_or(NotSent::ReceivesOnly)?;
        let ecn = outbound.handle_repair_sent(now, len);
        self.statistics.repair_sent += 1;
        self.statistics.repair_bytes_sent += len as u64;
        self.handle_sent(now, len, ecn)
    }

    /// Writes an RTP packet with our extensions, and returns its length.
    fn write_rtp(
        &self,
        now: Instant,
        header: &RtpHeader,
        csrc: Option<u32>,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Result<usize, NotSent> {
        let outbound = self.outbound.as_ref().ok_or(NotSent::ReceivesOnly)?;
        let timing = RttSendTs::new(outbound.rtt(), now.as_micros() as u32).to_bytes();
        let transport = outbound.transport().to_bytes();
        let playout_delay = outbound.config.playout_delay;
        let playout = playout_delay.map(|(id, delay)| (id, delay.to_bytes()));
        let mut elements = [Element { id: 0, data: &[] }; 3];
        let mut count = 0;
        for (id, data) in [
            self.config.extension_id.map(|id| (id, &timing[..])),
            (outbound.numbering.has_transport())
                .then_some((self.config.transport_sequence_id, &transport[..])),
            playout.as_ref().map(|(id, data)| (*id, &data[..])),
        ]
        .into_iter()
        .flatten()
        {
            elements[count] = Element { id, data };
            count += 1;
        }
        let headers = header
            .emit_for(csrc, &elements[..count], buf)
            .ok_or(NotSent::BufferTooShort)?;
        let len = headers + payload.len();
        buf.get_mut(headers..len)
            .ok_or(NotSent::BufferTooShort)?
            .copy_from_slice(payload);
        Ok(len)
    }

    /// Records that a packet of `len` bytes leaves.
    fn handle_sent(&mut self, now: Instant, len: usize, ecn: Ecn) -> Result<Transmit, NotSent> {
        let destination = self.peer.address().ok_or(NotSent::NoPeer)?;
        self.peer.handle_sent(len);
        self.rtcp.start(now);
        Ok(Transmit {
            destination,
            len,
            ecn,
        })
    }

    /// Returns the share of packets that did not arrive, in [0, 1], by the last reception reports; 0 before the
    /// second.
    pub fn reported_loss(&self) -> f64 {
        self.outbound.as_ref().map_or(0.0, Outbound::reported_loss)
    }

    /// Returns true if we have sent media since the report before the last (RFC 3550 §6.3.8).
    pub(in crate::session) fn is_sending(&self) -> bool {
        let last = self.outbound.as_ref().and_then(Outbound::last_departure);
        last.is_some_and(|last| self.rtcp.before_previous().is_none_or(|then| last >= then))
    }
}

impl Outbound {
    /// Returns the length of a media packet before its payload: the fixed header and the extension.
    pub(in crate::session) fn headers_len(&self) -> usize {
        let transport = usize::from(self.numbering.has_transport()) * (1 + TransportSequence::LEN);
        let timing = usize::from(self.has_timing) * (1 + RttSendTs::LEN);
        let playout = self
            .config
            .playout_delay
            .map_or(0, |_| 1 + PlayoutDelay::LEN);
        match timing + transport + playout {
            0 => HEADER_LEN,
            elements => HEADER_LEN + (4 + elements).next_multiple_of(4),
        }
    }
}
