//! The scene and the presenter cost bits as real video does.
//!
//! `cargo test --release -p evenkeel-codec --test scene_cost -- --nocapture` prints the figures; with
//! `EVENKEEL_MEDIA_DIR` naming a folder, also the figures of the clips in it.

mod common;

use evenkeel_codec::mjpeg::{Decoder, Scale, encode};
use evenkeel_codec::picture::Picture;
use evenkeel_codec::quality::luma_psnr;
use evenkeel_codec::rate_target::Encoder;
use evenkeel_codec::source::{Format, FrameRate, Presenter, Source};
use evenkeel_codec::test_support::pictures;
use tfrc::units::Bytes;

/// The means of `clips_cost_what_the_scene_is_held_to`, in bits a pixel at quality 50, are 0.58 to 0.90.
const CLIPS: core::ops::RangeInclusive<f64> = 0.57..=0.92;

/// Bounds of the presenter's mean: a person in a room costs less than the busiest clip.
const PRESENTER: core::ops::RangeInclusive<f64> = 0.3..=0.9;

/// Means over pictures, at one quality.
#[derive(Debug)]
struct Cost {
    bits_a_pixel: f64,
    psnr: f64,
}

impl Cost {
    fn of(pictures: &[Picture], quality: f64) -> Self {
        let mut decoder = Decoder::new();
        let (mut bits, mut psnr) = (0.0, 0.0);
        for picture in pictures {
            let image = encode(picture, Scale::from_quality(quality)).expect("possible size");
            let shown = decoder.decode(&image).expect("valid").picture;
            let pixels = (picture.width() * picture.height()) as f64;
            bits += image.scan_size().as_f64() * 8.0 / pixels;
            psnr += luma_psnr(picture, &shown).expect("same size");
        }
        let count = pictures.len() as f64;
        Self {
            bits_a_pixel: bits / count,
            psnr: psnr / count,
        }
    }
}

fn print(name: &str, pictures: &[Picture]) {
    for quality in [10.0, 25.0, 50.0, 75.0] {
        let Cost { bits_a_pixel, psnr } = Cost::of(pictures, quality);
        println!("{name} at quality {quality}: {bits_a_pixel:.2} bits a pixel, {psnr:.1} dB");
    }
}

#[test]
fn the_scene_costs_as_much_as_the_clips() {
    for size in [(176, 144), (320, 240), (640, 480), (1280, 720)] {
        // A picture every two seconds, past the second cut.
        let pictures: Vec<_> = pictures(size, 1, 18).into_iter().step_by(2).collect();
        print(&format!("scene {}x{}", size.0, size.1), &pictures);
        let cost = Cost::of(&pictures, 50.0);
        assert!(CLIPS.contains(&cost.bits_a_pixel), "{size:?}: {cost:?}");
    }
}

#[test]
fn presenter_costs_as_much_as_a_talking_head() {
    for (width, height) in [(176, 144), (320, 240), (640, 480), (1280, 720)] {
        let format = Format {
            width,
            height,
            frame_rate: FrameRate::new(1, 1).expect("valid"),
        };
        let mut presenter = Presenter::new(format, 1).expect("possible size");
        let pictures: Vec<_> = (0..9)
            .map(|_| presenter.next().expect("unbroken").expect("endless"))
            .collect();
        print(&format!("presenter {width}x{height}"), &pictures);
        let cost = Cost::of(&pictures, 50.0);
        assert!(
            PRESENTER.contains(&cost.bits_a_pixel),
            "{width}x{height}: {cost:?}"
        );
    }
}

#[test]
fn clips_cost_what_the_scene_is_held_to() {
    for (name, pictures) in common::clips() {
        print(&name, &pictures);
        let cost = Cost::of(&pictures, 50.0);
        assert!(CLIPS.contains(&cost.bits_a_pixel), "{name}: {cost:?}");
    }
}

#[test]
fn scene_looks_good_at_three_megabits() {
    // 15,000 bytes a picture of 640x480, 25 a second.
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
    let mut sum = 0.0;
    let pictures = pictures((640, 480), 1, 16);
    for picture in &pictures {
        let encoded = encoder
            .encode(picture, Bytes::new(15_000))
            .expect("possible size");
        let shown = decoder.decode(&encoded.image).expect("valid").picture;
        sum += luma_psnr(picture, &shown).expect("same size");
    }
    let mean = sum / pictures.len() as f64;
    println!("scene 640x480 in 15,000 bytes: {mean:.1} dB");
    assert!((33.0..37.0).contains(&mean), "{mean}");
}
