//! Tests of the JPEG decoder: concealed and refused images.

use super::super::{Scale, encode};
use super::*;
use crate::picture::QuantTables;
use crate::quality::luma_psnr;
use proptest::prelude::*;

/// A slanted ramp with a bright bar, so that every block differs.
fn picture(width: usize, height: usize, bar: usize) -> Picture {
    let mut picture = Picture::new(width, height);
    let [y, cb, cr] = picture.planes_mut();
    for (i, sample) in y.iter_mut().enumerate() {
        let (column, row) = (i % width, i / width);
        *sample = if column / 3 == bar {
            220
        } else {
            (40 + column + 2 * row) as u8
        };
    }
    cb.fill(90);
    cr.fill(170);
    picture
}

fn coded(width: usize, height: usize, bar: usize) -> JpegImage {
    encode(&picture(width, height, bar), Scale::from_quality(90.0)).expect("small")
}

#[test]
fn decoder_comes_near_the_original_at_any_size() {
    for (width, height) in [(1, 1), (16, 16), (17, 15), (40, 24), (33, 65)] {
        let original = picture(width, height, 2);
        let decoded = Decoder::new()
            .decode(&coded(width, height, 2))
            .expect("valid");
        assert_eq!(decoded.concealed, 0);
        let psnr = luma_psnr(&original, &decoded.picture).expect("same size");
        assert!(psnr > 35.0, "{width}x{height}: {psnr}");
        let far = |plane: usize| {
            let planes = (original.planes()[plane], decoded.picture.planes()[plane]);
            planes
                .0
                .iter()
                .zip(planes.1)
                .map(|(a, b)| a.abs_diff(*b))
                .max()
        };
        assert!(far(1) <= Some(2) && far(2) <= Some(2));
    }
}

#[test]
fn decoder_repeats_a_missing_interval_beside_still_ones() {
    let mut decoder = Decoder::new();
    let before = decoder.decode(&coded(40, 48, 2)).expect("valid").picture;
    let mut image = coded(40, 48, 9);
    image.intervals[1] = None;
    let whole = Decoder::new()
        .decode(&coded(40, 48, 9))
        .expect("valid")
        .picture;
    let decoded = decoder.decode(&image).expect("valid");
    assert_eq!(decoded.concealed, 1);
    let rows = |picture: &Picture, from: usize| picture.planes()[0][from * 40..][..640].to_vec();
    assert_eq!(rows(&decoded.picture, 0), rows(&whole, 0));
    assert_eq!(rows(&decoded.picture, 32), rows(&whole, 32));
    // The bar was at 6 to 8 and is at 27 to 29; those are blocks from 0, 8 and 24 on.
    for (shown, before) in rows(&decoded.picture, 16)
        .chunks(40)
        .zip(rows(&before, 16).chunks(40))
    {
        assert_eq!(shown[16..24], before[16..24]);
        assert_eq!(shown[32..], before[32..]);
    }
    let (first, last) = ((16 * 40) + 28, (31 * 40) + 28);
    for at in [first, last] {
        let [shown, before] = [&decoded.picture, &before].map(|p| p.planes()[0][at]);
        assert!(shown > before, "{shown} {before}");
    }
    assert_eq!(
        decoded.picture.planes()[1][160..320],
        before.planes()[1][160..320]
    );
}

#[test]
fn a_damaged_interval_leaves_its_neighbours_alone() {
    let mut image = coded(40, 48, 9);
    let whole = Decoder::new().decode(&image).expect("valid").picture;
    let interval = image.intervals[1].as_mut().expect("coded");
    interval.truncate(interval.len() / 2);
    let decoded = Decoder::new().decode(&image).expect("valid");
    assert_eq!(decoded.concealed, 1);
    let luma = decoded.picture.planes()[0];
    assert_eq!(luma[..640], whole.planes()[0][..640]);
    assert_eq!(luma[640..1280], [16; 640]);
    assert_eq!(luma[1280..], whole.planes()[0][1280..]);
}

#[test]
fn half_and_whole_pictures_conceal_each_other() {
    let mut decoder = Decoder::new();
    for side in [96, 48, 96] {
        let whole = coded(side, side, 2);
        let mut lost = whole.clone();
        lost.intervals.fill(None);
        let before = decoder.previous.clone();
        let decoded = decoder.decode(&lost).expect("valid").picture;
        let fitting = before.map(|b| fitted(&b, (side, side)).unwrap().into_owned());
        assert_eq!(decoded, fitting.unwrap_or(Picture::new(side, side)));
        decoder.decode(&whole).expect("valid");
    }
}

#[test]
fn a_picture_of_another_size_conceals_nothing() {
    let mut decoder = Decoder::new();
    decoder.decode(&coded(48, 48, 2)).expect("valid");
    let mut image = coded(40, 48, 2);
    image.intervals.fill(None);
    let decoded = decoder.decode(&image).expect("valid");
    assert_eq!(
        (decoded.concealed, decoded.picture),
        (3, Picture::new(40, 48))
    );
}

#[test]
fn sizes_and_intervals_that_cannot_be_are_refused() {
    let mut image = coded(40, 48, 2);
    image.intervals.pop();
    let error = Decoder::new().decode(&image).expect_err("too few");
    assert_eq!(
        error,
        JpegImageError::Intervals {
            found: 2,
            expected: 3
        }
    );
    image.width = 2041;
    let error = Decoder::new().decode(&image).expect_err("too wide");
    assert_eq!(
        error,
        JpegImageError::Size {
            width: 2041,
            height: 48
        }
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(
        width in 1_u16..70,
        height in 1_u16..70,
        half in any::<bool>(),
        table in any::<u8>(),
        restart_interval in 0_u16..5,
        bytes in proptest::collection::vec(
            proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)),
            25,
        ),
    ) {
        let mut image = JpegImage {
            width,
            height,
            sampling: if half { Sampling::Yuv422 } else { Sampling::Yuv420 },
            tables: QuantTables { luma: [table; 64], chroma: [table; 64] },
            restart_interval,
            intervals: Vec::new(),
        };
        let pieces = match restart_interval {
            0 => 1,
            mcus => image.mcus().div_ceil(mcus.into()),
        };
        image.intervals = bytes.into_iter().cycle().take(pieces).collect();
        let mut decoder = Decoder::new();
        let decoded = decoder.decode(&image).expect("possible");
        prop_assert!(decoded.concealed <= pieces);
        prop_assert!(decoder.decode(&image).is_ok());
    }
}
