//! Writes the frame sizes of consecutive clips, coded at one quality, as a frame trace.
//!
//! `cargo run --release -p evenkeel-codec --example frame_sizes -- 640 CLIP...`
//!
//! The clips are scaled to 352x288 at 25 frames a second; the quality is the finest at which they take no
//! more than the given kb/s on average.

use evenkeel_codec::mjpeg::{Coefficients, Scale, Scan};
use evenkeel_codec::source::{Ffmpeg, FfmpegOptions, FrameRate, Source, SourceError};

const SIZE: (usize, usize) = (352, 288);
const FRAME_RATE: u32 = 25;
/// One piece, as nothing is lost here.
const RESTART_INTERVAL: u16 = 0;
/// After so many the scale is as fine as the coder can tell.
const HALVINGS: u32 = 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage =
        "frame_sizes KBPS CLIP...: a mean rate in kb/s above 0, and files that ffmpeg reads";
    let rate: f64 = arguments.next().ok_or(usage)?.parse().map_err(|_| usage)?;
    let mut pictures = Vec::new();
    for clip in arguments {
        read(&clip, &mut pictures)?;
    }
    if pictures.is_empty() || rate <= 0.0 {
        return Err(usage.into());
    }
    let mean = rate * 1e3 / 8.0 / f64::from(FRAME_RATE);
    let sizes = at_mean(&pictures, mean);
    println!("time,type,size");
    for (number, size) in sizes.iter().enumerate() {
        let seconds = number as f64 / f64::from(FRAME_RATE);
        println!("{seconds:.2},I,{size}");
    }
    Ok(())
}

fn read(clip: &str, pictures: &mut Vec<Coefficients>) -> Result<(), SourceError> {
    let options = FfmpegOptions {
        frame_rate: FrameRate::new(FRAME_RATE, 1),
        size: Some(SIZE),
        ..FfmpegOptions::default()
    };
    let mut source = Ffmpeg::open(clip, &options)?;
    while let Some(picture) = source.next()? {
        let mut coefficients = Coefficients::default();
        coefficients.transform(&picture);
        pictures.push(coefficients);
    }
    Ok(())
}

/// The sizes at the finest scale whose mean is not above this.
fn at_mean(pictures: &[Coefficients], mean: f64) -> Vec<u64> {
    let most = mean * pictures.len() as f64;
    let (mut fine, mut coarse) = (Scale::FINEST.factor(), Scale::COARSEST.factor());
    for _ in 0..HALVINGS {
        let middle = (fine + coarse) / 2.0;
        let total: u64 = sizes(pictures, Scale::new(middle)).iter().sum();
        if total as f64 > most {
            fine = middle;
        } else {
            coarse = middle;
        }
    }
    sizes(pictures, Scale::new(coarse))
}

fn sizes(pictures: &[Coefficients], scale: Scale) -> Vec<u64> {
    let mut scan = Scan::default();
    let sizes = pictures.iter().map(|picture| {
        scan.code(picture, scale, RESTART_INTERVAL);
        scan.size().get()
    });
    sizes.collect()
}
