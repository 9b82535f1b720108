//! The product's own call as the ends of a flow, with the virtual clock in place of threads.

use crate::agent::{Agent, Packet};
use crate::body::Body;
use crate::camera::{Camera, Pictures, Shooting};
use crate::tfrc_flow::LOWER_LAYERS;
use crate::viewer::Viewer;
use evenkeel_codec::source::Source;
use evenkeel_media::call::{Call, CallEvent};
use evenkeel_media::event::EventKind;
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::reassemble::Payload;
use evenkeel_media::report::{CallReport, ShownFrame};
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Transmit};
use evenkeel_rtp::session::{
    CONTROL_BUFFER, Config, FeedbackMode, ReceiveConfig, RepairConfig, SendConfig,
};
use std::net::SocketAddr;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;
use tfrc::{SenderConfig, Standard};

/// The static payload type of JPEG (RFC 3551 §6).
const JPEG: u8 = 26;
/// What decoding a picture takes, which is less than coding it.
const DECODING: Duration = Duration::from_millis(2);

/// One end of a call whose media goes one way.
#[derive(Debug)]
pub struct MediaEnd {
    call: Call,
    /// For a sender.
    camera: Option<Camera>,
    /// For a receiver that looks at what it shows.
    viewer: Option<Viewer>,
    peer: SocketAddr,
    start: Instant,
    now: Instant,
    buffer: Vec<u8>,
    /// When the report begins.
    warm: Instant,
    report: CallReport,
    /// The media timestamp of every frame that arrived whole, and when its last packet did.
    completed: Vec<(u32, Instant)>,
}

impl MediaEnd {
    /// The end that sends: it captures what `shooting` says. With `ecn` its media says so.
    pub fn sender(
        pictures: Pictures,
        shooting: Shooting,
        tfrc: SenderConfig,
        ecn: bool,
        seed: u64,
    ) -> Self {
        let policy = PolicyConfig::new(pictures.format().frame_rate.interval());
        Self::sender_by(policy, shooting.start, pictures, shooting, tfrc, ecn, seed)
    }

    /// The same with this policy; what fills its rate is told apart from media if there is any. Its report is
    /// of what happens from `warm` on.
    pub fn sender_by(
        policy: PolicyConfig,
        warm: Instant,
        pictures: Pictures,
        shooting: Shooting,
        tfrc: SenderConfig,
        ecn: bool,
        seed: u64,
    ) -> Self {
        let repair = RepairConfig {
            payload_type: RepairConfig::PAYLOAD_TYPE,
            ssrc: None,
        };
        let send = SendConfig {
            repair: (policy.filler != Filler::None).then_some(repair),
            tfrc,
            feedback: FeedbackMode::Ccfb,
            leave_out_sequence_numbers: true,
            ..SendConfig::new(JPEG)
        };
        let config = Config {
            send: Some(send),
            ecn,
            ..Config::new("sender@sim", seed)
        };
        let camera = Camera::new(pictures, shooting);
        Self::new(config, policy, Some(camera), shooting.start, warm)
    }

    /// The end that receives, from `start` on, by this edition. Its report is of what happens from `warm` on.
    pub fn receiver(start: Instant, warm: Instant, standard: Standard, seed: u64) -> Self {
        let mut receive = ReceiveConfig {
            repair: Some(RepairConfig::PAYLOAD_TYPE),
            feedback: FeedbackMode::Ccfb,
            ..ReceiveConfig::new(JPEG)
        };
        receive.tfrc.standard = standard;
        let config = Config {
            receive: Some(receive),
            ..Config::new("receiver@sim", seed)
        };
        // A receiver has no frames to make.
        let policy = PolicyConfig::new(Duration::from_millis(40));
        Self::new(config, policy, None, start, warm)
    }

    /// Decodes what it shows and compares it with the pictures that the sender captured from `start`
    /// on: the same pictures as its sources give, in the same order. One is read as pictures are shown, the other as
    /// they are due.
    pub fn looks_at(mut self, originals: [Box<dyn Source + Send>; 2], start: Instant) -> Self {
        self.viewer = Some(Viewer::new(originals, start, self.warm));
        self
    }

    fn new(
        config: Config,
        policy: PolicyConfig,
        camera: Option<Camera>,
        start: Instant,
        warm: Instant,
    ) -> Self {
        let packet = config
            .send
            .as_ref()
            .map_or(Bytes::ZERO, |send| send.packet_size);
        let peer = SocketAddr::from(([192, 0, 2, 1], 5004));
        let config = Config {
            peer: Some(peer),
            ..config
        };
        let report = CallReport::new(warm, policy.deadline);
        Self {
            call: Call::new(start, config, policy, Payload::Jpeg),
            camera,
            viewer: None,
            peer,
            start,
            now: start,
            buffer: vec![0; CONTROL_BUFFER.max(packet.get() as usize)],
            warm,
            report,
            completed: Vec::new(),
        }
    }

    /// Counts the pictures that the camera captured from one instant on until before another.
    pub fn captures(&self, window: [Instant; 2]) -> usize {
        let camera = self.camera.as_ref();
        camera.map_or(0, |camera| camera.captures(window))
    }

    /// The frames that arrived whole, late or not: when each was captured, and when its last packet arrived.
    ///
    /// Capture times are known once a sender report has arrived, also for frames before it.
    pub fn arrivals(&self) -> impl Iterator<Item = [Instant; 2]> + '_ {
        let session = self.call.session();
        self.completed
            .iter()
            .filter_map(|(timestamp, at)| Some([session.captured_at(*timestamp)?, *at]))
    }

    /// Its state: X, R, p, the deadline.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// What became of the frames.
    pub fn report(&self) -> &CallReport {
        &self.report
    }

    /// What a receiver that looks has seen.
    pub fn viewer(&self) -> Option<&Viewer> {
        self.viewer.as_ref()
    }

    /// Captures and shows what is due.
    fn drive(&mut self) {
        if let Some(camera) = &mut self.camera {
            if let Some(frame) = camera.poll_coded(self.now) {
                // Only sizes that the encoder refuses before are refused here.
                let _ = self.call.push_frame(self.now, frame);
            }
            if let Some(captured) = camera.poll_captured(self.now)
                && let Some(target) = self.call.frame_target(self.now)
            {
                camera.code(self.now, &captured, target.size);
            }
        }
        if let Some(viewer) = &mut self.viewer {
            viewer.look_back(self.now);
        }
        while let Some(frame) = self.call.poll_frame(self.now) {
            let at = self.now + DECODING;
            let captured = self.call.session().captured_at(frame.timestamp);
            self.report.handle_shown(&ShownFrame {
                at,
                codec: frame.picture.codec(),
                delay: captured.map(|captured| at.saturating_since(captured)),
                psnr: self
                    .viewer
                    .as_mut()
                    .and_then(|viewer| viewer.look(&frame.picture, captured?, at)),
                damaged: !frame.picture.is_whole(),
                // What comes decodes: the links bend no bytes.
                concealed: frame.picture.parts().missing,
            });
        }
        while let Some(event) = self.call.poll_event() {
            if let CallEvent::Media(media) = &event
                && let EventKind::Queued {
                    target: Some(target),
                    size,
                    ..
                } = media.kind
                && target > Bytes::ZERO
            {
                let error = size.as_f64() / target.as_f64() - 1.0;
                self.report.handle_coded(media.at, error.abs());
            }
            if let CallEvent::Media(media) = &event
                && let EventKind::Completed { timestamp, .. } = media.kind
            {
                self.completed.push((timestamp, media.at));
            }
            self.report.handle_event(&event);
        }
    }
}

impl Agent for MediaEnd {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        let Body::Bytes(bytes) = &packet.body else {
            return;
        };
        self.now = now;
        let datagram = Datagram {
            source: self.peer,
            arrival: now,
            ecn: packet.ecn,
            payload: bytes,
        };
        self.call.handle_datagram(now, datagram);
        self.drive();
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now < self.start {
            return;
        }
        self.now = now;
        self.call.handle_timeout(now);
        self.drive();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        if now < self.start {
            return None;
        }
        self.now = now;
        let Transmit { len, ecn, .. } = self.call.poll_transmit(now, &mut self.buffer)?;
        Some(Packet {
            size: Bytes::from(len) + LOWER_LAYERS,
            ecn,
            body: Body::Bytes(self.buffer[..len].into()),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let call = self.call.poll_timeout().map(|(at, _)| at);
        let camera = self.camera.as_ref().and_then(Camera::poll_timeout);
        let next = call.into_iter().chain(camera).min();
        next.map(|at| at.max(self.start))
    }
}
