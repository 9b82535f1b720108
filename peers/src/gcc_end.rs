//! The ends of a call whose rate is that of str0m's GCC: two whole peers with its pacer, probes,
//! retransmissions and transport-wide feedback.

use std::fmt;
use std::time::Instant as StdInstant;

use evenkeel_lab::scenario::CallSetup;
use evenkeel_sim::{Agent, Body, Camera, FrameLog, LOWER_LAYERS, Packet, PeerEnd, Traffic};
use str0m::Event;
use str0m::bwe::BweKind;
use str0m::format::Codec;
use str0m::media::Pt;
use str0m::rtp::RtpWrite;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use crate::connect::{INITIAL_RATE, RtcPeer, SSRC, connect};

/// The largest packet above UDP, as a call's.
const MAX_PACKET: u64 = 1_200;
/// RTP header, header extensions and SRTP tag, which count towards the target as a call's headers do.
const PACKET_HEADERS: u64 = 12 + 16 + 10;
/// What the payload begins with: frame, packet in the frame, packets of the frame.
const LABEL: usize = 8 + 4 + 4;
/// str0m may ask to be woken at once; time has to go on.
const LEAST_WAIT: Duration = Duration::from_micros(1);

/// The ends of a call.
pub(crate) fn ends(setup: CallSetup) -> [Traffic; 2] {
    let rate = setup.pictures.format().frame_rate;
    let start = setup.shooting.start;
    let ([sender, receiver], connected) = connect(setup.shooting.most.bits_per_sec());
    let pt = sender
        .rtc
        .codec_config()
        .find(|params| params.spec().codec == Codec::Vp8);
    let pt = pt.expect("VP8 is configured").pt();
    let addresses = [sender.address, receiver.address];
    let log = FrameLog::new(setup.shooting, rate);
    let video = GccVideo {
        interval: rate.interval(),
        camera: Camera::new(setup.pictures, setup.shooting),
        coding: 0,
        target: Rate::from_bits_per_sec(INITIAL_RATE as f64),
        sequence: 1,
        pt,
    };
    let end = |peer, other: usize, role| {
        Traffic::peer(GccEnd {
            peer,
            other: addresses[other],
            connected,
            start,
            now: start,
            role,
        })
    };
    [
        end(sender, 1, CallRole::Sender(Box::new(video))),
        end(receiver, 0, CallRole::Receiver(log)),
    ]
}

/// One end. Its clock begins when the flow starts: no probe leaves before.
struct GccEnd {
    peer: RtcPeer,
    other: std::net::SocketAddr,
    /// str0m's time at `start`.
    connected: StdInstant,
    start: Instant,
    now: Instant,
    role: CallRole,
}

enum CallRole {
    Sender(Box<GccVideo>),
    Receiver(FrameLog),
}

struct GccVideo {
    interval: Duration,
    camera: Camera,
    /// The frame that is being coded.
    coding: u64,
    target: Rate,
    sequence: u64,
    pt: Pt,
}

impl fmt::Debug for GccEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GccEnd")
    }
}

impl GccVideo {
    /// Captures what is due and sends the frame that is coded.
    fn drive(&mut self, now: Instant, at: StdInstant, peer: &mut RtcPeer) {
        if let Some(frame) = self.camera.poll_coded(now) {
            self.send(frame.picture.size(), frame.timestamp, at, peer);
        }
        if let Some(captured) = self.camera.poll_captured(now) {
            self.coding = self.camera.pictures_due() - 1;
            let target = self.target * self.interval;
            self.camera.code(now, &captured, target);
        }
    }

    fn send(&mut self, frame: Bytes, timestamp: u32, at: StdInstant, peer: &mut RtcPeer) {
        let of = frame.get().div_ceil(MAX_PACKET).max(1);
        let payload = frame.get().div_ceil(of).saturating_sub(PACKET_HEADERS);
        for index in 0..of {
            let mut bytes = vec![0; (payload as usize).max(LABEL)];
            bytes[..8].copy_from_slice(&self.coding.to_be_bytes());
            bytes[8..12].copy_from_slice(&(index as u32).to_be_bytes());
            bytes[12..16].copy_from_slice(&(of as u32).to_be_bytes());
            let packet = RtpWrite::new(self.pt, self.sequence.into(), timestamp, at, bytes)
                .marker(index + 1 == of)
                .nackable(true);
            self.sequence += 1;
            let mut api = peer.rtc.direct_api();
            let stream = api
                .stream_tx(&SSRC[0].into())
                .expect("the stream is declared");
            stream.write_rtp(packet);
            peer.drain(|event| self.handle(&event));
        }
    }

    fn handle(&mut self, event: &Event) {
        if let Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) = event {
            self.target = Rate::from_bits_per_sec(estimate.as_f64());
        }
    }
}

impl CallRole {
    fn handle(&mut self, now: Instant, event: &Event) {
        match self {
            Self::Sender(sender) => sender.handle(event),
            Self::Receiver(log) => {
                if let Event::RtpPacket(packet) = event
                    && let Some((frame, packet, of)) = label(&packet.payload)
                {
                    log.arrived(now, frame, packet, Some(of));
                }
            }
        }
    }
}

/// Which packet of which frame it is; nothing for padding.
fn label(payload: &[u8]) -> Option<(u64, u32, u32)> {
    let (frame, rest) = payload.split_first_chunk()?;
    let (packet, rest) = rest.split_first_chunk()?;
    let (of, _) = rest.split_first_chunk()?;
    Some((
        u64::from_be_bytes(*frame),
        u32::from_be_bytes(*packet),
        u32::from_be_bytes(*of),
    ))
}

impl GccEnd {
    fn at(&self, now: Instant) -> StdInstant {
        self.connected + (now - self.start)
    }

    fn drive(&mut self, now: Instant) {
        self.now = now;
        let at = self.at(now);
        if let CallRole::Sender(sender) = &mut self.role {
            sender.drive(now, at, &mut self.peer);
        }
        let role = &mut self.role;
        self.peer.advance(at, |event| role.handle(now, &event));
    }
}

impl Agent for GccEnd {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        let Body::Bytes(bytes) = &packet.body else {
            return;
        };
        let (at, role) = (self.at(now), &mut self.role);
        self.peer
            .receive(at, self.other, bytes, |event| role.handle(now, &event));
        self.drive(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now >= self.start {
            self.drive(now);
        }
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Packet<Body>> {
        let bytes = self.peer.outgoing.pop_front()?;
        Some(Packet {
            size: Bytes::from(bytes.len()) + LOWER_LAYERS,
            ecn: Ecn::NotEct,
            body: Body::Bytes(bytes.into()),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = self.peer.due.saturating_duration_since(self.connected);
        let due = (self.start + due).max(self.now + LEAST_WAIT);
        let camera = match &self.role {
            CallRole::Sender(sender) => sender.camera.poll_timeout(),
            CallRole::Receiver(_) => None,
        };
        camera.into_iter().chain([due]).min()
    }
}

impl PeerEnd for GccEnd {
    fn frames(&self) -> Option<&FrameLog> {
        match &self.role {
            CallRole::Sender(_) => None,
            CallRole::Receiver(log) => Some(log),
        }
    }
}
