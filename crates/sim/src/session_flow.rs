//! The product's own session as the ends of a flow: real RTP and RTCP, byte by byte.

use crate::agent::{Agent, Packet};
use crate::tfrc_flow::LOWER_LAYERS;
use crate::traffic::Body;
use evenkeel_rtp::endpoint::{Datagram, Transmit};
use evenkeel_rtp::rtp::media_time;
use evenkeel_rtp::session::{CONTROL_BUFFER, Config, MediaInfo, Session};
use std::net::SocketAddr;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// One end of a session that always has media to send, if it sends at all.
#[derive(Debug)]
pub struct SessionEnd {
    session: Session,
    peer: SocketAddr,
    start: Instant,
    now: Instant,
    media: Vec<u8>,
    clock_rate: u32,
    buffer: Vec<u8>,
    received: Bytes,
}

impl SessionEnd {
    /// An end that `config` describes, with a peer at this address; it begins at `start`.
    pub fn new(config: Config, peer: SocketAddr, start: Instant) -> Self {
        let send = config.send.as_ref();
        let clock_rate = send.map_or(1, |send| send.clock_rate);
        let packet_size = send.map_or(0, |send| send.packet_size.get() as usize);
        let session = Session::new(start, config);
        Self {
            media: vec![0; session.payload_capacity()],
            buffer: vec![0; packet_size.max(CONTROL_BUFFER)],
            session,
            peer,
            start,
            now: start,
            clock_rate,
            received: Bytes::ZERO,
        }
    }

    /// Its state: X, R, p, what it counted.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What has arrived, headers of all layers included.
    pub fn received(&self) -> Bytes {
        self.received
    }

    fn transmit(&mut self) -> Option<Transmit> {
        if let Some(control) = self.session.poll_transmit(self.now, &mut self.buffer) {
            return Some(control);
        }
        if self.media.is_empty() {
            return None;
        }
        let info = MediaInfo {
            timestamp: media_time(self.now, self.clock_rate),
            marker: true,
        };
        self.session
            .write_media(self.now, &info, &self.media, &mut self.buffer)
    }
}

impl Agent for SessionEnd {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: Packet<Body>) {
        let Body::Bytes(bytes) = packet.body else {
            return;
        };
        self.received += packet.size;
        self.now = now;
        let datagram = Datagram {
            source: self.peer,
            arrival: now,
            ecn: packet.ecn,
            payload: &bytes,
        };
        self.session.handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.session.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        if now < self.start {
            return None;
        }
        self.now = now;
        let Transmit { len, ecn, .. } = self.transmit()?;
        Some(Packet {
            size: Bytes::from(len) + LOWER_LAYERS,
            ecn,
            body: Body::Bytes(self.buffer[..len].into()),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timer = self.session.poll_timeout().map(|(at, _)| at);
        let departure = self.session.next_departure(self.now);
        let departure = departure.filter(|_| !self.media.is_empty());
        [timer, departure].into_iter().flatten().min()
    }
}
