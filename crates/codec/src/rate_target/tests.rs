//! Tests of the encoder that hits a size, and of its halved sides.

use super::*;
use crate::test_support::pictures;

/// Returns noise that grows from left to right to an amplitude; 255 costs nearly as much as any picture can.
fn noise(amplitude: u32, seed: u32) -> Picture {
    let mut picture = Picture::new(96, 80);
    let mut state = seed;
    for (i, sample) in picture.planes_mut()[0].iter_mut().enumerate() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *sample = ((state >> 16 & 0xFF) * amplitude * (i as u32 % 96) / (255 * 96)) as u8;
    }
    picture
}

fn size(encoded: &Encoded) -> u64 {
    encoded.image.scan_size().get()
}

#[test]
fn steps_lead_from_finest_to_coarsest() {
    assert_eq!(
        (scale(0), scale(SCALE_STEPS)),
        (Scale::FINEST, Scale::COARSEST)
    );
    assert!(scale(SCALE_STEPS - 1) < Scale::COARSEST);
    for step in [0, 300, SCALE_STEPS - 1] {
        assert!((octaves(step) - scale(step).factor().log2()).abs() < 1e-3);
    }
}

#[test]
fn pictures_that_share_nothing_still_fit_their_targets() {
    let mut encoder = Encoder::new();
    for turn in 0..40 {
        let picture = noise([255, 3, 80, 20, 160][turn % 5], turn as u32);
        let target = Bytes::new([4_000, 300, 1_500, 900][turn % 4]);
        let encoded = encoder.encode(&picture, target).expect("small");
        assert!(encoded.passes <= 7, "{} passes", encoded.passes);
        if encoded.limit != Some(Limit::Coarsest) {
            assert!(encoded.image.scan_size() <= target, "turn {turn}");
        }
        if encoded.limit.is_none() {
            assert!(
                encoded.size_error() < 0.3,
                "turn {turn}: {}",
                size(&encoded)
            );
        }
    }
}

#[test]
fn a_target_below_reach_gives_the_smallest_picture() {
    let picture = noise(200, 1);
    let mut encoder = Encoder::new();
    for target in [100, 0, 1, 30] {
        let encoded = encoder.encode(&picture, Bytes::new(target)).expect("small");
        assert_eq!(encoded.limit, Some(Limit::Coarsest));
        assert_eq!(
            (encoded.scale, encoded.size_error()),
            (Scale::COARSEST, 0.0)
        );
    }
    let encoded = encoder.encode(&picture, Bytes::new(3_000)).expect("small");
    assert!(encoded.limit.is_none() && encoded.size_error() < 0.06);
}

#[test]
fn a_target_beyond_reach_gives_the_best_picture() {
    let mut encoder = Encoder::new();
    let target = Bytes::new(u64::MAX);
    let encoded = encoder.encode(&noise(20, 1), target).expect("small");
    assert_eq!(
        (encoded.limit, encoded.scale),
        (Some(Limit::Finest), Scale::FINEST)
    );
}

#[test]
fn a_picture_may_change_its_size() {
    let mut encoder = Encoder::new();
    encoder
        .encode(&noise(100, 1), Bytes::new(2_000))
        .expect("small");
    let small = encoder
        .encode(&Picture::new(17, 5), Bytes::new(2_000))
        .expect("small");
    assert_eq!((small.image.width, small.image.height), (17, 5));
    assert!(
        encoder
            .encode(&Picture::new(0, 5), Bytes::new(2_000))
            .is_err()
    );
}

/// Returns a picture that a camera might deliver.
fn scene(width: usize, height: usize) -> Picture {
    pictures((width, height), 25, 1).remove(0)
}

fn side(encoder: &mut Encoder, picture: &Picture, target: u64) -> u16 {
    let encoded = encoder.encode(picture, Bytes::new(target)).expect("small");
    assert!(
        encoded.limit.is_some() || size(&encoded) <= target,
        "{target}"
    );
    encoded.image.width
}

#[test]
fn sides_are_halved_twice_when_bytes_are_few() {
    let picture = scene(192, 128);
    let mut encoder = Encoder::new();
    let sides = [4_000, 500, 100, 500, 4_000].map(|target| side(&mut encoder, &picture, target));
    assert_eq!(sides, [192, 96, 48, 96, 192]);
}

#[test]
fn sides_stay_where_both_sizes_look_alike() {
    let picture = scene(192, 128);
    let mut encoder = Encoder::new();
    let between = |encoder: &mut Encoder, from| {
        side(encoder, &picture, from);
        [1.0, 1.05, 0.95, 1.0].map(|part| side(encoder, &picture, (650.0 * part) as u64))
    };
    assert_eq!(between(&mut encoder, 4_000), [192; 4]);
    assert_eq!(between(&mut encoder, 500), [96; 4]);
}

#[test]
fn the_first_picture_is_whole() {
    let mut encoder = Encoder::new();
    let sides = [0, 0].map(|target| side(&mut encoder, &scene(192, 128), target));
    assert_eq!(sides, [192, 48]);
}

#[test]
fn sides_whose_half_no_header_can_say_stay() {
    let mut encoder = Encoder::new();
    assert_eq!(side(&mut encoder, &scene(184, 128), 0), 184);
    assert_eq!(side(&mut encoder, &scene(184, 128), 0), 184);
    assert_eq!(side(&mut encoder, &scene(192, 128), 0), 48);
    // The half of 48x40 is 24x20.
    assert_eq!(side(&mut encoder, &scene(96, 80), 0), 48);
}

#[test]
fn the_restart_interval_is_the_callers_if_stated() {
    for (mcus, intervals) in [(0, 1), (1, 30), (7, 5), (u16::MAX, 1)] {
        let mut encoder = Encoder::with_restart_interval(mcus);
        let encoded = encoder
            .encode(&noise(100, 1), Bytes::new(3_000))
            .expect("small");
        assert_eq!(encoded.image.intervals.len(), intervals);
        assert_eq!(encoded.image.restart_interval, mcus);
    }
}
