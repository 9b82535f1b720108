//! The coder against a decoder and an encoder that others wrote.

use evenkeel_media::codec::mjpeg::{Decoder, Scale, encode, jfif};
use evenkeel_media::frame::Picture;
use evenkeel_media::source::{Format, FrameRate, Scene, Source};
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

/// The luma as zune-jpeg decodes the file: 0 to 255, as JFIF has it.
fn luma_by_zune(file: &[u8]) -> Vec<u8> {
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::Luma);
    JpegDecoder::new_with_options(ZCursor::new(file), options)
        .decode()
        .expect("a valid file")
}

/// The most by which our luma, of 16 to 235, is off from JFIF's.
fn apart(ours: &Picture, jfif: &[u8]) -> f64 {
    let pairs = ours.planes()[0].iter().zip(jfif);
    let apart = pairs.map(|(&a, &b)| (f64::from(a) - (16.0 + f64::from(b) * 219.0 / 255.0)).abs());
    apart.fold(0.0, f64::max)
}

#[test]
fn black_and_white_are_those_of_jfif() {
    for (luma, shown) in [(16, 0), (235, 255)] {
        let mut picture = Picture::new(24, 16);
        picture.planes_mut()[0].fill(luma);
        let image = encode(&picture, Scale::from_quality(75.0)).expect("small");
        // A flat block is its mean, to half a divisor of 8, over 8.
        let theirs = luma_by_zune(&jfif::write(&image));
        assert!(theirs.iter().all(|sample| sample.abs_diff(shown) <= 1));
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
            let theirs = luma_by_zune(&jfif::write(&image));
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
        let theirs = luma_by_zune(&file);
        let far = apart(&ours.picture, &theirs);
        assert!(far <= 2.0, "{sampling:?}: {far} apart");
        assert!(
            ours.picture.planes()[1]
                .iter()
                .all(|cb| cb.abs_diff(128) <= 2)
        );
    }
}
