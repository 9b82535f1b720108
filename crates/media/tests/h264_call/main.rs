//! H.264 over a link that loses packets, in virtual time: the picture stops at a loss, a keyframe is
//! asked for, and it goes on.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_link::{Link, LinkConfig, Loss, Packet};
use evenkeel_media::call::{Call, CallEvent};
use evenkeel_media::codec::Codec;
use evenkeel_media::event::{EventKind, NotShown};
use evenkeel_media::frame::{EncodedFrame, Picture};
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::quality::luma_psnr;
use evenkeel_media::reassemble::Payload;
use evenkeel_media::source::{Format, FrameRate, Scene, Source};
use evenkeel_rtp::endpoint::{Datagram, Endpoint};
use evenkeel_rtp::rtp::media_time;
use evenkeel_rtp::session::{self, Config, FeedbackMode, ReceiveConfig, SendConfig};
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

const INTERVAL: Duration = Duration::from_millis(100);
const PAYLOAD_TYPE: u8 = 97;
/// IPv4 and UDP headers.
const IP_UDP: usize = 28;

#[derive(Clone)]
struct Bytestring(Vec<u8>);

impl Packet for Bytestring {}

#[derive(Debug, Default)]
struct Outcome {
    captured: usize,
    /// dB of each picture shown.
    psnr: Vec<f64>,
    keyframes: usize,
    requests: usize,
    no_reference: usize,
    /// The longest time between two pictures shown.
    longest_gap: Duration,
}

/// Twenty seconds of 160x120, 10 pictures a second, at 300 kb/s and 40 ms.
fn run(loss: f64, feedback: FeedbackMode) -> Outcome {
    let address = |n: usize| SocketAddr::from(([10, 0, 0, n as u8 + 1], 5004));
    let mut calls = [0, 1].map(|index| {
        let mut config = Config::new("end", index as u64 + 1);
        config.peer = Some(address(1 - index));
        if index == 0 {
            config.send = Some(SendConfig {
                feedback,
                ..SendConfig::new(PAYLOAD_TYPE)
            });
        } else {
            config.receive = Some(ReceiveConfig {
                feedback,
                ..ReceiveConfig::new(PAYLOAD_TYPE)
            });
        }
        Call::new(
            Instant::ZERO,
            config,
            PolicyConfig::new(INTERVAL),
            Payload::H264,
        )
    });
    let mut links = [loss, 0.0].map(|loss| {
        let config = LinkConfig {
            rate: Rate::from_bits_per_sec(300e3),
            delay: Duration::from_millis(20),
            loss: if loss > 0.0 {
                Loss::Bernoulli(loss)
            } else {
                Loss::None
            },
            ..LinkConfig::default()
        };
        Link::new(config, 7)
    });
    let format = Format {
        width: 160,
        height: 120,
        frame_rate: FrameRate::new(10, 1).expect("valid"),
    };
    let mut scene = Scene::new(format, 1).expect("possible size");
    let mut encoder = Codec::H264.encoder(INTERVAL);
    let mut decoder = Codec::H264.decoder();
    let mut originals: Vec<(u32, Picture)> = Vec::new();
    let mut outcome = Outcome::default();
    let mut last_shown = None;
    for step in 0..20_000_u64 {
        let now = Instant::from_millis(step);
        if step % 100 == 0 {
            let picture = scene.next().expect("endless").expect("endless");
            outcome.captured += 1;
            if let Some(target) = calls[0].frame_target(now) {
                let coded = encoder.encode(&picture, &target).expect("possible size");
                let timestamp = media_time(now, 90_000);
                let frame = EncodedFrame {
                    captured: now,
                    timestamp,
                    picture: coded.expect("room for it").picture,
                };
                calls[0].push_frame(now, frame).expect("well formed");
                originals.push((calls[0].session().wire_timestamp(timestamp), picture));
            }
        }
        for index in [0, 1] {
            while let Some(Bytestring(bytes)) = links[1 - index].poll_output(now) {
                let datagram = Datagram {
                    source: address(1 - index),
                    arrival: now,
                    ecn: Ecn::NotEct,
                    payload: &bytes,
                };
                calls[index].handle_datagram(now, datagram);
            }
            calls[index].handle_timeout(now);
            while let Some(frame) = calls[index].poll_frame(now) {
                let decoded = decoder
                    .decode(&frame.picture)
                    .expect("what is shown decodes");
                let original = originals.iter().find(|(at, _)| *at == frame.timestamp);
                let (_, original) = original.expect("it was captured");
                outcome.psnr.extend(luma_psnr(original, &decoded.picture));
                let gap = last_shown.map_or(Duration::ZERO, |at| now.saturating_since(at));
                outcome.longest_gap = outcome.longest_gap.max(gap);
                last_shown = Some(now);
            }
            while let Some(event) = calls[index].poll_event() {
                match event {
                    CallEvent::Media(event) => match event.kind {
                        EventKind::Keyframe => outcome.keyframes += 1,
                        EventKind::Dropped { reason, .. } => {
                            outcome.no_reference += usize::from(reason == NotShown::NoReference);
                        }
                        _ => {}
                    },
                    CallEvent::Session(event) => {
                        let asked = event.kind == session::EventKind::KeyframeRequested;
                        outcome.requests += usize::from(asked);
                    }
                }
            }
            let mut buf = [0; 2_048];
            while let Some(transmit) = calls[index].poll_transmit(now, &mut buf) {
                let packet = Bytestring(buf[..transmit.len].to_vec());
                links[index].handle_packet(now, packet, Bytes::from(transmit.len + IP_UDP));
            }
        }
    }
    outcome
}

#[test]
fn without_loss_every_picture_is_shown_and_no_keyframe_is_asked_for() {
    // Where the sender reads arrivals it leaves numbers out, which nobody may see.
    for feedback in [FeedbackMode::Tfrc, FeedbackMode::Ccfb] {
        let outcome = run(0.0, feedback);
        println!("{feedback:?}: {outcome:?}");
        // Slow start takes the first seconds.
        assert!(outcome.psnr.len() * 5 >= outcome.captured * 4);
        assert_eq!((outcome.requests, outcome.no_reference), (0, 0));
        // The first seconds are slow.
        assert!(outcome.psnr.iter().skip(30).all(|&psnr| psnr > 30.0));
    }
}

#[test]
fn after_a_loss_the_picture_waits_for_a_keyframe_and_goes_on() {
    let outcome = run(0.02, FeedbackMode::Tfrc);
    println!("{outcome:?}");
    assert!(outcome.requests > 0 && outcome.keyframes >= outcome.requests / 2);
    assert!(outcome.no_reference > 0);
    // Nothing smeared is ever shown, and half of all is.
    assert!(outcome.psnr.iter().skip(30).all(|&psnr| psnr > 25.0));
    assert!(outcome.psnr.len() * 2 > outcome.captured);
    assert!(outcome.longest_gap < Duration::from_millis(1_500));
}
