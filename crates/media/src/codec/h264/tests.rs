//! The codec as a call uses it: coded, cut into packets, put together, decoded.

use std::time::Duration;

use evenkeel_rtp::session::MediaPacket;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

use super::{Decoder, Encoder};
use crate::codec::{Codec, DecodeError, VideoDecoder, VideoEncoder};
use crate::event::NotShown;
use crate::frame::{CodedPicture, EncodedFrame, H264Picture, Picture};
use crate::packetize::Packetizer;
use crate::policy::FrameTarget;
use crate::quality::luma_psnr;
use crate::reassemble::{Payload, Reassembler};
use crate::source::{Format, FrameRate, Scene, Source};

const TARGET: u64 = 1_500;

fn scene(count: usize) -> Vec<Picture> {
    let format = Format {
        width: 160,
        height: 120,
        frame_rate: FrameRate::new(10, 1).unwrap(),
    };
    let mut scene = Scene::new(format, 1).unwrap();
    let mut next = || scene.next().unwrap().unwrap();
    (0..count).map(|_| next()).collect()
}

fn target(size: u64) -> FrameTarget {
    FrameTarget {
        size: Bytes::new(size),
        rate: Rate::from_bytes_per_sec(size as f64 * 10.0),
        deadline: Duration::from_millis(150),
        stretched: false,
        keyframe: false,
    }
}

fn units(picture: &CodedPicture) -> &H264Picture {
    match picture {
        CodedPicture::H264(picture) => picture,
        _ => unreachable!("an encoder has one codec"),
    }
}

fn is_keyframe(picture: &CodedPicture) -> bool {
    units(picture).access_units[0].is_keyframe()
}

/// A stream of packets, and what the receiver makes of it.
struct Stream {
    packetizer: Packetizer,
    reassembler: Reassembler,
    sequence: u64,
}

impl Stream {
    fn new() -> Self {
        Self {
            packetizer: Packetizer::new(400),
            reassembler: Reassembler::new(Payload::H264),
            sequence: 65_530,
        }
    }

    /// Frame `n` as it arrives without those of its packets.
    fn deliver(
        &mut self,
        n: u32,
        picture: CodedPicture,
        lost: &[usize],
    ) -> Result<CodedPicture, NotShown> {
        let frame = EncodedFrame {
            captured: Instant::ZERO,
            timestamp: 9_000 * n,
            picture,
        };
        let frame = self.packetizer.packetize(frame).unwrap();
        let now = Instant::from_millis(u64::from(n));
        for index in 0..frame.packets() {
            let mut payload = Vec::new();
            frame.write(index, 0, &mut payload);
            assert!(payload.len() <= 400 && payload.len() == frame.payload_len(index));
            let packet = MediaPacket {
                sequence: self.sequence,
                payload_type: 0,
                timestamp: 9_000 * n,
                marker: index + 1 == frame.packets(),
                payload: &payload,
                arrival: now,
                send_time: 0,
                rtt: None,
            };
            if !lost.contains(&index) {
                self.reassembler.push(&packet);
            }
            self.sequence += 1;
        }
        let complete = self.reassembler.frames().next().unwrap().complete;
        assert_eq!(complete, lost.is_empty(), "frame {n}");
        let timestamp = self.reassembler.extend(9_000 * n);
        let frame = self.reassembler.take(timestamp, now).unwrap();
        frame.map(|frame| frame.picture)
    }
}

#[test]
fn a_stream_survives_its_packets() {
    let mut encoder = Encoder::default();
    let (mut stream, mut decoder) = (Stream::new(), Decoder::default());
    for (n, picture) in scene(20).iter().enumerate() {
        let coded = encoder.encode(picture, &target(TARGET)).unwrap().unwrap();
        let received = stream
            .deliver(n as u32, coded.picture.clone(), &[])
            .unwrap();
        assert_eq!(received, coded.picture);
        let decoded = decoder.decode(&received).unwrap();
        let psnr = luma_psnr(picture, &decoded.picture).unwrap();
        assert!(psnr > 28.0, "frame {n}: {psnr}");
    }
}

#[test]
fn a_hole_stops_the_picture_until_a_keyframe() {
    let mut encoder = Encoder::default();
    let (mut stream, mut decoder) = (Stream::new(), Decoder::default());
    for (n, picture) in scene(12).iter().enumerate() {
        let asked = FrameTarget {
            keyframe: n == 8,
            ..target(TARGET)
        };
        let coded = encoder.encode(picture, &asked).unwrap().unwrap();
        assert_eq!(is_keyframe(&coded.picture), n == 0 || n == 8, "frame {n}");
        let lost: &[usize] = if n == 4 { &[1] } else { &[] };
        let received = stream.deliver(n as u32, coded.picture, lost);
        if n == 4 {
            // Its one slice has a hole.
            assert_eq!(received, Err(NotShown::Empty));
            continue;
        }
        let decoded = decoder.decode(&received.unwrap());
        if (5..8).contains(&n) {
            assert!(matches!(decoded, Err(DecodeError::H264(_))), "frame {n}");
        } else {
            let psnr = luma_psnr(picture, &decoded.unwrap().picture).unwrap();
            assert!(psnr > 28.0, "frame {n}: {psnr}");
        }
    }
}

#[test]
fn a_keyframe_is_no_larger_than_its_target() {
    let mut encoder = Encoder::default();
    for picture in &scene(3) {
        let asked = FrameTarget {
            keyframe: true,
            ..target(TARGET)
        };
        let coded = encoder.encode(picture, &asked).unwrap().unwrap();
        let size = coded.picture.size().as_f64() / TARGET as f64;
        assert!(size <= 1.09 && size > 0.6, "{size}");
    }
}

#[test]
fn pictures_of_another_size_begin_anew_and_impossible_ones_are_refused() {
    let mut encoder = Encoder::default();
    for (width, height) in [(64, 48), (64, 48), (96, 48)] {
        let picture = Picture::new(width, height);
        let coded = encoder.encode(&picture, &target(TARGET)).unwrap().unwrap();
        let mut decoder = Decoder::default();
        let decoded = decoder.decode(&coded.picture).ok();
        // The second one refers to the first.
        let expected = is_keyframe(&coded.picture).then_some((width, height));
        let size = decoded.map(|decoded| (decoded.picture.width(), decoded.picture.height()));
        assert_eq!(size, expected);
    }
    let odd = Picture::new(63, 48);
    assert!(encoder.encode(&odd, &target(TARGET)).is_err());
    assert_eq!(Codec::H264.payload((63, 48)), None);
}

/// Pictures of noise of so many levels about the middle.
fn noise(size: (usize, usize), levels: u32) -> impl FnMut() -> Picture {
    let mut state = 1_u32;
    move || {
        let samples = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let level = ((state >> 24) * levels) >> 8;
            (128 + level - levels / 2) as u8
        });
        let samples = samples.take(Picture::samples(size.0, size.1)).collect();
        Picture::from_data(size.0, size.1, samples).unwrap()
    }
}

#[test]
fn a_cut_that_comes_out_far_too_large_is_coded_anew_as_a_keyframe() {
    // What flat pictures tell makes the first of noise 2.9 aims large.
    let size = (320, 240);
    let mut encoder = Encoder::default();
    let mut code = |picture: &Picture| encoder.encode(picture, &target(3_000)).unwrap().unwrap();
    for _ in 0..10 {
        code(&Picture::new(size.0, size.1));
    }
    let mut noise = noise(size, 16);
    let cut = code(&noise());
    let aims = |picture: &CodedPicture| picture.size().as_f64() / (3_000.0 * 0.95);
    assert!(is_keyframe(&cut.picture) && aims(&cut.picture) <= 1.42);
    let next = aims(&code(&noise()).picture);
    assert!((0.8..=1.2).contains(&next), "{next}");
}

#[test]
fn what_is_too_much_for_the_encoder_is_left_out_and_forgotten_once_it_is_over() {
    let mut noise = noise((160, 120), 256);
    let mut encoder = Encoder::default();
    let mut code = |picture: &Picture| encoder.encode(picture, &target(1 << 20)).unwrap();
    let scene = scene(80);
    for picture in &scene[..3] {
        assert!(code(picture).is_some());
    }
    let left_out = (0..20).take_while(|_| code(&noise()).is_none()).count();
    assert!((1..5).contains(&left_out), "{left_out}");
    // That had a keyframe, and there is room for those that follow.
    for _ in 0..5 {
        assert!(!is_keyframe(&code(&noise()).unwrap().picture));
    }
    let sizes = |encoder: &mut dyn FnMut(&Picture) -> Option<crate::codec::Coded>| {
        let coded = scene.iter().map(encoder);
        coded
            .map(|coded| coded.unwrap().picture.size().get())
            .collect::<Vec<_>>()
    };
    let after = sizes(&mut code);
    let mut fresh = Encoder::default();
    let before = sizes(&mut |picture| fresh.encode(picture, &target(1 << 20)).unwrap());
    assert!(after[1] < before[1] * 9 / 10, "the noise has left no mark");
    assert!(
        after[79] > before[79] * 9 / 10,
        "{} {}",
        after[79],
        before[79]
    );
}
