//! The coder against a decoder and an encoder that others wrote.

use evenkeel_codec::mjpeg::{Decoder, Scale, encode, jfif};
use evenkeel_codec::picture::Picture;
use evenkeel_codec::source::{Format, FrameRate, Scene, Source};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

fn picture(width: usize, height: usize) -> Picture {
    let format = Format {
        width,
        height,
        frame_rate: FrameRate::new(25, 1).expect("valid"),
    };
    let mut scene = Scene::new(format, 5).expect("possible");
    scene.next().expect("endless").expect("endless")
}

/// The samples as zune-jpeg decodes the file: 0 to 255, as JFIF has them.
fn by_zune(file: &[u8], components: ColorSpace) -> Vec<u8> {
    let options = DecoderOptions::default().jpeg_set_out_colorspace(components);
    JpegDecoder::new_with_options(ZCursor::new(file), options)
        .decode()
        .expect("a valid file")
}

/// The most by which our luma, of 16 to 235, is off from JFIF's.
fn apart(ours: &Picture, jfif: &[u8]) -> f64 {
    let luma = ours.planes()[0];
    assert_eq!(luma.len(), jfif.len());
    let pairs = luma.iter().zip(jfif);
    let apart = pairs.map(|(&a, &b)| (f64::from(a) - (16.0 + f64::from(b) * 219.0 / 255.0)).abs());
    apart.fold(0.0, f64::max)
}

#[test]
fn strongest_colours_equal_those_of_jfif() {
    // Beside the ends, where too large a factor is cut off, what it shows in: 104 steps are 118.4 of JFIF's.
    let chroma = [(16, 0), (24, 10), (128, 128), (232, 246), (240, 255)];
    for (luma, y) in [(16, 0), (235, 255_u8)] {
        for ((cb, shown_cb), (cr, shown_cr)) in chroma.map(|cb| chroma.map(|cr| (cb, cr))).concat()
        {
            let mut picture = Picture::new(24, 16);
            let (levels, jfif) = ([luma, cb, cr], [y, shown_cb, shown_cr]);
            for (plane, level) in picture.planes_mut().into_iter().zip(levels) {
                plane.fill(level);
            }
            let image = encode(&picture, Scale::from_quality(95.0)).expect("small");
            let theirs = by_zune(&jfif::write(&image), ColorSpace::YCbCr);
            assert_eq!(theirs.len(), 3 * 24 * 16);
            for shown in theirs.chunks_exact(3) {
                let pairs = jfif.iter().zip(shown);
                let apart = pairs.map(|(a, b)| a.abs_diff(*b)).max();
                // A flat block is its mean, to half a divisor of 2, over 8.
                assert!(apart <= Some(1), "{levels:?}: {shown:?}");
            }
        }
    }
}

#[test]
fn another_decoder_reads_the_same_picture() {
    for (width, height) in [(64, 48), (75, 49), (350, 33)] {
        for quality in [3.0, 30.0, 75.0, 98.0] {
            let image =
                encode(&picture(width, height), Scale::from_quality(quality)).expect("small");
            let ours = Decoder::new().decode(&image).expect("valid");
            assert_eq!(ours.concealed, 0);
            let theirs = by_zune(&jfif::write(&image), ColorSpace::Luma);
            let far = apart(&ours.picture, &theirs);
            // Its transform is in integers; rounding may differ by one.
            assert!(far <= 2.0, "{width}x{height} at {quality}: {far} apart");
        }
    }
}

#[test]
fn another_encoders_file_is_read() {
    for sampling in [
        jpeg_encoder::SamplingFactor::F_2_2,
        jpeg_encoder::SamplingFactor::F_2_1,
    ] {
        let original = picture(90, 70);
        let mut file = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut file, 80);
        encoder.set_sampling_factor(sampling);
        encoder.set_restart_interval(4);
        encoder
            .encode(original.planes()[0], 90, 70, jpeg_encoder::ColorType::Luma)
            .expect("memory");
        assert_eq!(jfif::parse(&file).expect_err("grey").field, "SOF0");

        let rgb: Vec<u8> = original.planes()[0]
            .iter()
            .flat_map(|&y| [y, y, y])
            .collect();
        let mut file = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut file, 80);
        encoder.set_sampling_factor(sampling);
        encoder.set_restart_interval(4);
        encoder
            .encode(&rgb, 90, 70, jpeg_encoder::ColorType::Rgb)
            .expect("memory");
        let image = jfif::parse(&file).expect("baseline");
        let ours = Decoder::new().decode(&image).expect("valid");
        assert_eq!(ours.concealed, 0);
        let theirs = by_zune(&file, ColorSpace::Luma);
        let far = apart(&ours.picture, &theirs);
        assert!(far <= 2.0, "{sampling:?}: {far} apart");
        let cb = ours.picture.planes()[1];
        assert_eq!(cb.len(), 45 * 35);
        assert!(cb.iter().all(|cb| cb.abs_diff(128) <= 2));
    }
}
