//! Tests of the codec by its public interface: sizes, keyframes and cuts.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{Decoder, Encoder, is_possible};
use crate::coder::{Coded, FrameTarget, VideoDecoder, VideoEncoder};
use crate::picture::{CodedPicture, Picture};
use crate::test_support::{frame_target, is_keyframe, pictures};

const TARGET: u64 = 1_500;

fn scene(count: usize) -> Vec<Picture> {
    pictures((160, 120), 10, count)
}

fn target(size: u64) -> FrameTarget {
    frame_target(size, 10.0)
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
fn new_picture_size_begins_a_new_stream() {
    let mut encoder = Encoder::default();
    for (width, height) in [(64, 48), (64, 48), (96, 48)] {
        let picture = Picture::new(width, height);
        let coded = encoder.encode(&picture, &target(TARGET)).unwrap().unwrap();
        let mut decoder = Decoder::default();
        let decoded = decoder.decode(&coded.picture).ok();
        // The second picture refers to the first.
        let expected = is_keyframe(&coded.picture).then_some((width, height));
        let size = decoded.map(|decoded| (decoded.picture.width(), decoded.picture.height()));
        assert_eq!(size, expected);
    }
    let odd = Picture::new(63, 48);
    assert!(encoder.encode(&odd, &target(TARGET)).is_err());
    assert!(!is_possible(63, 48));
}

/// Returns pictures of noise with this many levels about the middle.
fn noise(size: (usize, usize), levels: u32) -> impl FnMut() -> Picture {
    let mut random = SplitMix64::seed_from_u64(1);
    move || {
        let samples = std::iter::repeat_with(|| {
            let level = ((random.next_u64() >> 56) as u32 * levels) >> 8;
            (128 + level - levels / 2) as u8
        });
        let samples = samples.take(Picture::samples(size.0, size.1)).collect();
        Picture::from_data(size.0, size.1, samples).unwrap()
    }
}

#[test]
fn oversized_cut_is_coded_again_as_keyframe() {
    // By the sizes of flat pictures, the first of noise is 2.9 aims large.
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
fn noise_is_left_out_and_later_forgotten() {
    let mut noise = noise((160, 120), 256);
    let mut encoder = Encoder::default();
    let mut code = |picture: &Picture| encoder.encode(picture, &target(1 << 20)).unwrap();
    let scene = scene(80);
    for picture in &scene[..3] {
        assert!(code(picture).is_some());
    }
    let left_out = (0..20).take_while(|_| code(&noise()).is_none()).count();
    assert!((1..5).contains(&left_out), "{left_out}");
    // That picture had a keyframe, and there is room for later ones.
    for _ in 0..5 {
        assert!(!is_keyframe(&code(&noise()).unwrap().picture));
    }
    let sizes = |encoder: &mut dyn FnMut(&Picture) -> Option<Coded>| {
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

/// Returns a parameter set of BT.601 as one of BT.709.
fn as_bt709(unit: &[u8]) -> Vec<u8> {
    let bits: String = unit.iter().map(|byte| format!("{byte:08b}")).collect();
    // Primaries, transfer and matrix are neighbours (H.264 §E.1.1).
    let stated = format!("{0}{0}{0}", "00000110");
    let other = format!("{0}{0}{1}", "00000110", "00000001");
    assert_eq!(bits.matches(&stated).count(), 1);
    let bits = bits.replace(&stated, &other);
    let byte = |at| u8::from_str_radix(&bits[at..at + 8], 2).expect("bits");
    (0..bits.len()).step_by(8).map(byte).collect()
}

#[test]
fn green_of_bt709_is_green() {
    // 0x00bc00 in BT.709, and in BT.601.
    let (sent, expected) = ([131_u8, 64, 53], [111_u8, 73, 59]);
    let mut picture = Picture::new(64, 48);
    for (plane, sample) in picture.planes_mut().into_iter().zip(sent) {
        plane.fill(sample);
    }
    let coded = Encoder::default().encode(&picture, &target(1 << 16));
    let CodedPicture::H264(mut coded) = coded.unwrap().unwrap().picture else {
        panic!("no H.264");
    };
    for unit in coded.access_units[0].units.iter_mut().flatten() {
        if unit[0] & 0x1f == 7 {
            *unit = as_bt709(unit);
        }
    }
    let decoded = Decoder::default().decode(&CodedPicture::H264(coded));
    let shown = decoded.unwrap().picture;
    for (plane, expected) in shown.planes().into_iter().zip(expected) {
        let is_near = |sample: &u8| sample.abs_diff(expected) <= 2;
        assert!(plane.iter().all(is_near), "{} for {expected}", plane[0]);
    }
}
