//! Encoder and decoder against each other.

use proptest::prelude::*;

use crate::decoder::{DecodeError, Decoded};
use crate::nal::unit_type;
use crate::{Decoder, Encoder, Error, Planes, Qp, Sps};

const SIZE: (usize, usize) = (96, 64);

/// A texture that moves by a column a picture, and a little noise that nothing predicts.
fn picture(n: usize) -> Vec<u8> {
    let mut noise = 1_u32.wrapping_add(n as u32 * 7_919);
    let (width, height) = SIZE;
    let mut samples = Vec::new();
    for (rows, columns) in [
        (height, width),
        (height / 2, width / 2),
        (height / 2, width / 2),
    ] {
        for at in 0..rows * columns {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (row, column) = (at / columns, at % columns + n);
            let wave = (column * 5 + row * 3) % 128;
            samples.push((64 + wave) as u8 + (noise >> 30) as u8);
        }
    }
    samples
}

fn planes(samples: &[u8]) -> Planes<'_> {
    let (luma, chroma) = samples.split_at(SIZE.0 * SIZE.1);
    let (cb, cr) = chroma.split_at(chroma.len() / 2);
    Planes {
        width: SIZE.0,
        height: SIZE.1,
        samples: [luma, cb, cr],
    }
}

fn decode(decoder: &mut Decoder, units: &[Vec<u8>]) -> Result<Option<Decoded>, DecodeError> {
    decoder.decode(units.iter().map(Vec::as_slice))
}

/// Mean squared error of all samples.
fn error(decoded: &Decoded, original: &[u8]) -> f64 {
    assert_eq!((decoded.width, decoded.height), SIZE);
    let square = |(&a, &b): (&u8, &u8)| (f64::from(a) - f64::from(b)).powi(2);
    decoded
        .samples
        .iter()
        .zip(original)
        .map(square)
        .sum::<f64>()
        / original.len() as f64
}

fn qp(value: f64) -> Qp {
    Qp::nearest(value)
}

fn size(units: &[Vec<u8>]) -> usize {
    units.iter().map(Vec::len).sum()
}

#[test]
fn a_stream_decodes_with_and_without_trials_between() {
    let mut encoder = Encoder::new(SIZE.0, SIZE.1).unwrap();
    let mut decoder = Decoder::new().unwrap();
    for n in 0..40 {
        let samples = picture(n);
        // Another quantiser each time, and no trial before every third picture.
        let quantiser = qp(20.0 + (n % 7) as f64);
        if n % 3 != 0 {
            let trial = encoder.try_out(&planes(&samples), qp(30.0)).unwrap();
            assert!(trial.is_some(), "picture {n}");
        }
        let units = encoder.encode(&planes(&samples), quantiser).unwrap();
        let decoded = decode(&mut decoder, &units).unwrap().unwrap();
        // A quantiser of 26 has steps of 13: an error of 13²/12 at most, on average.
        assert!(error(&decoded, &samples) < 15.0, "picture {n}");
    }
}

#[test]
fn keyframes_are_first_or_requested() {
    let mut encoder = Encoder::new(SIZE.0, SIZE.1).unwrap();
    for n in 0..12 {
        // Neither quantisers nor trials make OpenH264 begin anew.
        let quantiser = qp(10.0 + 4.0 * n as f64);
        let samples = picture(n);
        if n % 2 == 0 {
            encoder.try_out(&planes(&samples), quantiser).unwrap();
        }
        let units = match n {
            9 => encoder.encode_keyframe(&planes(&samples), quantiser),
            _ => encoder.encode(&planes(&samples), quantiser),
        };
        let kinds: Vec<_> = units
            .unwrap()
            .iter()
            .map(|unit| unit_type(unit[0]))
            .collect();
        let expected: &[u8] = if n == 0 || n == 9 { &[7, 8, 5] } else { &[1] };
        assert_eq!(kinds, expected, "picture {n}");
    }
}

#[test]
fn a_trial_weighs_what_the_picture_will() {
    let mut encoder = Encoder::new(SIZE.0, SIZE.1).unwrap();
    encoder.encode(&planes(&picture(0)), qp(28.0)).unwrap();
    for n in 1..20 {
        let samples = picture(n);
        let trial = encoder
            .try_out(&planes(&samples), qp(28.0))
            .unwrap()
            .unwrap() as f64;
        let units = encoder.encode(&planes(&samples), qp(28.0)).unwrap();
        let off = (size(&units) as f64 - trial).abs() / trial;
        assert!(off < 0.15, "picture {n}: {trial} for {}", size(&units));
    }
}

#[test]
fn each_picture_but_the_first_allows_one_trial() {
    let mut encoder = Encoder::new(SIZE.0, SIZE.1).unwrap();
    let samples = picture(0);
    assert_eq!(encoder.try_out(&planes(&samples), qp(30.0)), Ok(None));
    encoder.encode(&planes(&samples), qp(30.0)).unwrap();
    assert!(
        encoder
            .try_out(&planes(&samples), qp(30.0))
            .unwrap()
            .is_some()
    );
    assert_eq!(encoder.try_out(&planes(&samples), qp(30.0)), Ok(None));
}

#[test]
fn picture_without_reference_is_refused_until_keyframe() {
    let mut encoder = Encoder::new(SIZE.0, SIZE.1).unwrap();
    let mut decoder = Decoder::new().unwrap();
    for n in 0..8 {
        let samples = picture(n);
        let units = match n {
            6 => encoder.encode_keyframe(&planes(&samples), qp(24.0)),
            _ => encoder.encode(&planes(&samples), qp(24.0)),
        };
        if n == 3 {
            continue;
        }
        let decoded = decode(&mut decoder, &units.unwrap());
        match n {
            4 => assert_eq!(decoded, Err(DecodeError::Damaged)),
            5 => assert!(!matches!(decoded, Ok(Some(_)))),
            _ => assert!(error(&decoded.unwrap().unwrap(), &samples) < 15.0),
        }
    }
}

#[test]
fn keyframe_can_be_coded_again() {
    let mut encoder = Encoder::new(SIZE.0, SIZE.1).unwrap();
    let mut decoder = Decoder::new().unwrap();
    let samples = picture(0);
    let sizes: Vec<_> = [20.0, 30.0, 40.0]
        .map(|value| {
            size(
                &encoder
                    .encode_keyframe(&planes(&samples), qp(value))
                    .unwrap(),
            )
        })
        .into();
    assert!(sizes.is_sorted_by(|a, b| a > b), "{sizes:?}");
    // A picture that was coded but not sent does not matter either.
    encoder.encode(&planes(&picture(1)), qp(20.0)).unwrap();
    let units = encoder
        .encode_keyframe(&planes(&picture(1)), qp(20.0))
        .unwrap();
    assert!(decode(&mut decoder, &units).unwrap().is_some());
    let units = encoder.encode(&planes(&picture(2)), qp(20.0)).unwrap();
    let decoded = decode(&mut decoder, &units).unwrap().unwrap();
    assert!(error(&decoded, &picture(2)) < 15.0);
}

fn white_noise(seed: u32) -> Vec<u8> {
    let mut state = seed;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(SIZE.0 * SIZE.1 * 3 / 2)
    .collect()
}

#[test]
fn white_noise_exceeds_the_finest_quantiser_only() {
    let noise = white_noise(1);
    let code = |quantiser| {
        let mut encoder = Encoder::new(SIZE.0, SIZE.1)?;
        encoder.encode_keyframe(&planes(&noise), quantiser)
    };
    assert_eq!(code(Qp::FINEST), Err(Error::Encoder));
    assert!(code(qp(24.0)).is_ok());
}

/// Where it fails with the coarsest, a sender gives up.
#[test]
fn the_coarsest_quantiser_codes_any_picture() {
    let black_and_white = |n: u32| white_noise(n).iter().map(|of| of / 128 * 255).collect();
    let kinds: [&dyn Fn(u32) -> Vec<u8>; 3] = [&white_noise, &black_and_white, &|n| {
        vec![(n % 2) as u8 * 255; SIZE.0 * SIZE.1 * 3 / 2]
    }];
    for (kind, picture) in kinds.iter().enumerate() {
        let mut encoder = Encoder::new(SIZE.0, SIZE.1).unwrap();
        let mut decoder = Decoder::new().unwrap();
        for n in 0..12 {
            let samples = picture(n);
            let picture = planes(&samples);
            let units = if n % 6 == 5 {
                encoder.encode_keyframe(&picture, Qp::COARSEST)
            } else {
                let trial = encoder.try_out(&picture, Qp::COARSEST);
                assert!(trial.is_ok(), "trial of picture {n} of kind {kind}");
                encoder.encode(&picture, Qp::COARSEST)
            };
            let units = units.unwrap_or_else(|e| panic!("picture {n} of kind {kind}: {e}"));
            assert!(decode(&mut decoder, &units).unwrap().is_some());
        }
    }
}

#[test]
fn impossible_sizes_are_refused_by_name() {
    for (width, height) in [(0, 0), (16, 14), (17, 16), (3_842, 16), (2_162, 2_162)] {
        let error = Error::Size { width, height };
        assert_eq!(Encoder::new(width, height).map(drop), Err(error));
    }
    let mut encoder = Encoder::new(96, 48).unwrap();
    let error = Err(Error::Size {
        width: 96,
        height: 64,
    });
    assert_eq!(encoder.encode(&planes(&picture(0)), qp(30.0)), error);
}

#[test]
fn decoder_needs_a_known_and_bounded_size() {
    let mut encoder = Encoder::new(SIZE.0, SIZE.1).unwrap();
    let units = encoder.encode(&planes(&picture(0)), qp(30.0)).unwrap();
    let sps = Sps::parse(&units[0]).unwrap();
    assert_eq!((sps.width, sps.height), (96, 64));
    let mut decoder = Decoder::new().unwrap();
    assert_eq!(
        decode(&mut decoder, &units[1..]),
        Err(DecodeError::NoParameters)
    );
    // Baseline, level 1; one reference; 65,536 macroblocks wide: ue(65,535) is sixteen zeros and
    // 2^16. The bits before it are 1 (id), 1, 011 (type 2), 010, 0.
    let huge = [
        0x67,
        66,
        0,
        10,
        0b1101_1010,
        0,
        0,
        3,
        0b0100_0000,
        0,
        0b0011_1111,
    ];
    assert_eq!(Sps::parse(&huge).map(|sps| sps.width), Some(65_536 * 16));
    assert_eq!(
        decode(&mut decoder, &[huge.to_vec()]),
        Err(DecodeError::Parameters)
    );
    assert_eq!(
        decode(&mut decoder, &units[1..]),
        Err(DecodeError::NoParameters)
    );
    assert!(decode(&mut decoder, &units).unwrap().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Damage costs pictures, never the decoder: the next keyframe decodes.
    #[test]
    fn a_damaged_stream_never_panics_and_recovers(
        damage in proptest::collection::vec((0..8_usize, any::<u16>(), any::<u8>()), 1..12),
    ) {
        let mut encoder = Encoder::new(SIZE.0, SIZE.1).unwrap();
        let mut decoder = Decoder::new().unwrap();
        for n in 0..8 {
            let mut units = encoder.encode(&planes(&picture(n)), qp(30.0)).unwrap();
            for &(_, place, value) in damage.iter().filter(|&&(at, ..)| at == n) {
                let unit = place as usize % units.len();
                let unit = &mut units[unit];
                let place = place as usize % unit.len();
                unit[place] = value;
            }
            if let Ok(Some(decoded)) = decode(&mut decoder, &units) {
                let pixels = decoded.width * decoded.height;
                prop_assert_eq!(decoded.samples.len(), pixels + pixels / 2);
            }
        }
        let units = encoder.encode_keyframe(&planes(&picture(8)), qp(24.0)).unwrap();
        let decoded = decode(&mut decoder, &units).unwrap().unwrap();
        prop_assert!(error(&decoded, &picture(8)) < 15.0);
    }
}
