//! What a picture costs on one core: to draw, to code to a size, to decode.
//!
//! `cargo bench -p evenkeel-codec --bench codec`

use divan::Bencher;
use divan::counter::ItemsCount;
use evenkeel_codec::Codec;
use evenkeel_codec::mjpeg::{Coefficients, Decoder, Scale, encode};
use evenkeel_codec::rate_target::Encoder;
use evenkeel_codec::source::Source as _;
use evenkeel_codec::test_support::{frame_target, pictures, scene};
use tfrc::units::Bytes;

/// CIF and 720p, whose rates have targets, and the scene's own size.
const SIZES: [(usize, usize); 3] = [(352, 288), (640, 480), (1280, 720)];

fn main() {
    divan::main();
}

#[divan::bench(args = SIZES)]
fn draw_the_scene(bencher: Bencher<'_, '_>, size: (usize, usize)) {
    let mut scene = scene(size, 25);
    bencher
        .counter(ItemsCount::new(1_u32))
        .bench_local(|| scene.next());
}

/// Half a bit a pixel; the target moves by a quarter, up and down, from frame to frame.
#[divan::bench(args = SIZES)]
fn encode_to_a_size(bencher: Bencher<'_, '_>, (width, height): (usize, usize)) {
    let pictures = pictures((width, height), 25, 50);
    let mut encoder = Encoder::new();
    let mut turn = 0;
    bencher.counter(ItemsCount::new(1_u32)).bench_local(|| {
        turn += 1;
        let base = width * height / 16;
        let target = Bytes::from(base + base / 4 * (turn % 3));
        encoder.encode(&pictures[turn % pictures.len()], target)
    });
}

/// An eighth of a bit a pixel, which moves as above: the trials and the picture.
#[divan::bench(args = SIZES)]
fn encode_h264_to_a_size(bencher: Bencher<'_, '_>, (width, height): (usize, usize)) {
    let pictures = pictures((width, height), 25, 50);
    let interval = std::time::Duration::from_millis(40);
    let mut encoder = Codec::H264.encoder(interval);
    let mut turn = 0;
    bencher.counter(ItemsCount::new(1_u32)).bench_local(|| {
        turn += 1;
        let base = width * height / 64;
        let target = frame_target((base + base / 4 * (turn % 3)) as u64, 25.0);
        encoder.encode(&pictures[turn % pictures.len()], &target)
    });
}

#[divan::bench(args = SIZES)]
fn transform_only(bencher: Bencher<'_, '_>, (width, height): (usize, usize)) {
    let picture = &pictures((width, height), 25, 50)[0];
    let mut coefficients = Coefficients::default();
    bencher.bench_local(|| coefficients.transform(picture));
}

#[divan::bench(args = SIZES)]
fn decode(bencher: Bencher<'_, '_>, (width, height): (usize, usize)) {
    let image = encode(
        &pictures((width, height), 25, 50)[0],
        Scale::from_quality(40.0),
    )
    .expect("possible");
    let mut decoder = Decoder::new();
    bencher
        .counter(ItemsCount::new(1_u32))
        .bench_local(|| decoder.decode(&image));
}
