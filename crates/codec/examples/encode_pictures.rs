//! Codes a number of pictures of the scene to a size each, to measure the processor time.
//!
//! `cargo run --release -p evenkeel-codec --example encode_pictures -- mjpeg 352x288 500`
//!
//! Fifty pictures are drawn first and coded in turn. The target is half a bit a pixel, an eighth with H.264, and moves by
//! a quarter of that, up and down, from frame to frame. `tests/bench/encode_rate.py` makes a table of it.

use std::time::Duration;

use evenkeel_codec::Codec;
use evenkeel_codec::FrameTarget;
use evenkeel_codec::picture::Picture;
use evenkeel_codec::source::{Format, FrameRate, Scene, Source};
use tfrc::units::Bytes;

const INTERVAL: Duration = Duration::from_millis(40);
const DRAWN: usize = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "encode_pictures CODEC WIDTHxHEIGHT COUNT";
    let [codec, size, count] = arguments.as_slice() else {
        return Err(usage.into());
    };
    let codec: Codec = codec.parse()?;
    let (width, height) = size.split_once('x').ok_or(usage)?;
    let (width, height) = (width.parse()?, height.parse()?);
    let count: usize = count.parse()?;
    let pictures = draw(width, height)?;
    let mut encoder = codec.encoder(INTERVAL);
    let pixels_a_byte = if codec == Codec::H264 { 64 } else { 16 };
    let base = width * height / pixels_a_byte;
    let mut coded = Bytes::ZERO;
    for turn in 0..count {
        let size = Bytes::from(base * 3 / 4 + base / 4 * (turn % 3));
        let target = FrameTarget {
            size,
            rate: size / INTERVAL,
            deadline: 4 * INTERVAL,
            stretched: false,
            keyframe: false,
        };
        let frame = encoder.encode(&pictures[turn % DRAWN], &target)?;
        coded += frame.map_or(Bytes::ZERO, |frame| frame.picture.size());
    }
    println!("{count} pictures, {} bytes", coded.get());
    Ok(())
}

fn draw(width: usize, height: usize) -> Result<Vec<Picture>, Box<dyn std::error::Error>> {
    let frame_rate = FrameRate::new(25, 1).ok_or("a frame rate")?;
    let format = Format {
        width,
        height,
        frame_rate,
    };
    let mut scene = Scene::new(format, 1)?;
    let pictures = (0..DRAWN).map(|_| scene.next()?.ok_or_else(|| "the scene has no end".into()));
    pictures.collect()
}
