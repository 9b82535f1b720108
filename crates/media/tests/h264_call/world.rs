//! A call of H.264 over a link that loses packets, in virtual time.

use std::time::Duration;

use evenkeel_codec::Codec;
use evenkeel_codec::picture::Picture;
use evenkeel_codec::quality::luma_psnr;
use evenkeel_codec::source::Source as _;
use evenkeel_codec::test_support::scene;
use evenkeel_media::call::{Call, CallEvent};
use evenkeel_media::event::{EventKind, NotShown};
use evenkeel_media::filler::Filler;
use evenkeel_media::frame::ReceivedFrame;
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::reassemble::Payload;
use evenkeel_rtp::session::{self, Config, FeedbackMode, ReceiveConfig, RepairConfig, SendConfig};
use tfrc::time::Instant;
use tfrc::units::Rate;

use crate::two_ends::{TwoEnds, address};

const INTERVAL: Duration = Duration::from_millis(100);
const PAYLOAD_TYPE: u8 = 97;
/// Slow start takes the first seconds: only what comes after them counts.
const WARM: Instant = Instant::from_secs(3);

/// What is run: 160x120, 10 pictures a second, at 300 kb/s and 40 ms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// The share of packets that is lost on the way to the receiver.
    pub(crate) loss: f64,
    pub(crate) filler: Filler,
    pub(crate) feedback: FeedbackMode,
    /// The very first packet is lost, whatever the share. The rate is fixed then: in slow start the first picture would
    /// have no other.
    pub(crate) loses_first: bool,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
}

impl Setting {
    pub(crate) const fn new(loss: f64, filler: Filler) -> Self {
        Self {
            loss,
            filler,
            feedback: FeedbackMode::Tfrc,
            loses_first: false,
            seconds: 20,
            seed: 7,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) keyframes: usize,
    pub(crate) requests: usize,
    /// Pictures that arrived and were not shown, and how many of these did not decode because the sender had discarded their
    /// reference.
    pub(crate) frozen: usize,
    pub(crate) undecodable: usize,
    /// Pictures captured after the first three seconds, and how many of these were shown.
    pub(crate) captured: usize,
    pub(crate) shown: usize,
    /// dB of each of these.
    pub(crate) psnr: Vec<f64>,
    /// dB of what was in sight of each picture captured then, 150 ms after its capture.
    pub(crate) in_time: Vec<f64>,
    /// The longest time between two pictures shown, and to the end, after the first three seconds.
    pub(crate) longest_gap: Duration,
}

impl Outcome {
    pub(crate) fn shown_share(&self) -> f64 {
        self.shown as f64 / self.captured as f64
    }
}

/// One captured picture.
struct Original {
    captured: Instant,
    /// On the wire, if it was coded.
    timestamp: Option<u32>,
    picture: Picture,
}

fn call(end: usize, setting: &Setting) -> Call {
    let mut config = Config::new("end", end as u64 + 1);
    config.peer = Some(address(1 - end));
    let repair = (setting.filler != Filler::None).then_some(RepairConfig::PAYLOAD_TYPE);
    if end == 0 {
        config.send = Some(SendConfig {
            feedback: setting.feedback,
            fixed_rate: setting
                .loses_first
                .then_some(Rate::from_bits_per_sec(240e3)),
            repair: repair.map(|payload_type| RepairConfig {
                payload_type,
                ssrc: None,
            }),
            ..SendConfig::new(PAYLOAD_TYPE)
        });
    } else {
        config.receive = Some(ReceiveConfig {
            feedback: setting.feedback,
            repair,
            ..ReceiveConfig::new(PAYLOAD_TYPE)
        });
    }
    let policy = PolicyConfig {
        filler: setting.filler,
        ..PolicyConfig::new(INTERVAL)
    };
    Call::new(Instant::ZERO, config, policy, Payload::H264)
}

pub(crate) fn run(setting: &Setting) -> Outcome {
    let calls = [0, 1].map(|end| call(end, setting));
    let rate = Rate::from_bits_per_sec(300e3);
    let mut ends = TwoEnds::new(calls, rate, setting.loss, setting.seed);
    let mut scene = scene((160, 120), 10);
    let mut encoder = Codec::H264.encoder(INTERVAL);
    let mut decoder = Codec::H264.decoder();
    let mut originals: Vec<Original> = Vec::new();
    // What was shown, by the number of the capture.
    let mut shown: Vec<(usize, Picture)> = Vec::new();
    let mut due = 0;
    let mut loses_next = setting.loses_first;
    let mut outcome = Outcome::default();
    let mut last_shown = WARM;
    let end = Instant::from_secs(setting.seconds);
    for step in 0..setting.seconds * 1_000 {
        let now = Instant::from_millis(step);
        if step % 100 == 0 {
            let picture = scene.next().expect("endless").expect("endless");
            let timestamp = ends.capture(now, &picture, &mut *encoder);
            let session = ends.calls[0].session();
            let timestamp = timestamp.map(|timestamp| session.wire_timestamp(timestamp));
            outcome.captured += usize::from(now >= WARM);
            originals.push(Original {
                captured: now,
                timestamp,
                picture,
            });
        }
        let show = |call: &mut Call, frame: ReceivedFrame| {
            let Ok(decoded) = decoder.decode(&frame.picture) else {
                call.reference_lost(now, frame.timestamp, NotShown::Undecodable);
                return;
            };
            let of_it = |original: &Original| original.timestamp == Some(frame.timestamp);
            let captured = originals.iter().rposition(of_it).expect("it was captured");
            let original = &originals[captured];
            if original.captured >= WARM {
                outcome.shown += 1;
                let psnr = luma_psnr(&original.picture, &decoded.picture);
                outcome.psnr.extend(psnr);
                let gap = now.saturating_since(last_shown);
                outcome.longest_gap = outcome.longest_gap.max(gap);
                last_shown = now;
            }
            shown.push((captured, decoded.picture));
        };
        // Of media: the second octet of RTCP is 192 or more (RFC 5761).
        let passes =
            |bytes: &[u8]| bytes[1] & 0x7f != PAYLOAD_TYPE || !std::mem::take(&mut loses_next);
        ends.step(now, show, passes);
        for call in &mut ends.calls {
            while let Some(event) = call.poll_event() {
                match event {
                    CallEvent::Media(event) => match event.kind {
                        EventKind::Keyframe => outcome.keyframes += 1,
                        EventKind::Dropped { reason, .. } => {
                            outcome.frozen += usize::from(reason.freezes());
                            outcome.undecodable += usize::from(reason == NotShown::Undecodable);
                        }
                        _ => {}
                    },
                    CallEvent::Session(event) => {
                        let asked = event.kind == session::EventKind::KeyframeRequested;
                        outcome.requests += usize::from(asked);
                    }
                }
            }
        }
        while let Some(original) = originals.get(due)
            && original.captured + PolicyConfig::DEADLINE <= now
        {
            let seen = shown.iter().rev().find(|(captured, _)| *captured <= due);
            if let Some((_, seen)) = seen.filter(|_| original.captured >= WARM) {
                outcome.in_time.extend(luma_psnr(&original.picture, seen));
            }
            due += 1;
        }
    }
    let gap = end.saturating_since(last_shown);
    outcome.longest_gap = outcome.longest_gap.max(gap);
    outcome
}
