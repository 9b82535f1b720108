//! PSNR and SSIM of pictures coded whole, with half of their sides and with a quarter, and as the encoder codes them.
//!
//! The table is in docs/notebook/2026-11-28-halve-the-sides-of-coarse-pictures.md.
//!
//! `cargo run --release -p evenkeel-codec --example halved_sides -- 352x288 CLIP...`
//!
//! Two hundred and fifty pictures of the built-in scene and of each clip are made as large as is said. Every tenth is coded to each size
//! as it is and halved; then all of them by one encoder, to targets that wander by up to 15 % about the size. A row has PSNR
//! in dB and SSIM of luma, in the mean, and how often that encoder changed the sides.

use evenkeel_codec::mjpeg::Decoder;
use evenkeel_codec::picture::Picture;
use evenkeel_codec::quality::{luma_psnr, luma_ssim};
use evenkeel_codec::rate_target::Encoder;
use evenkeel_codec::resize::fitted;
use evenkeel_codec::source::{Ffmpeg, FfmpegOptions, Format, FrameRate, Scene, Source};
use tfrc::units::Bytes;

/// Bytes of a picture of 352x288; others have as many for each sample.
const SIZES: [usize; 12] = [
    500, 700, 1_000, 1_400, 2_000, 3_000, 3_500, 4_000, 4_500, 5_000, 6_000, 8_000,
];

const PICTURES: usize = 250;
const EVERY: usize = 10;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "halved_sides WIDTHxHEIGHT CLIP...";
    let [size, clips @ ..] = arguments.as_slice() else {
        return Err(usage.into());
    };
    let (width, height) = size.split_once('x').ok_or(usage)?;
    let (width, height): (usize, usize) = (width.parse()?, height.parse()?);
    let frame_rate = FrameRate::new(25, 1).ok_or(usage)?;
    let format = Format {
        width,
        height,
        frame_rate,
    };
    println!(
        "| Pictures | Bytes | Whole | Half | Quarter | As coded | Changes |\n|---|---|---|---|---|---|---|"
    );
    table("scene", Scene::new(format, 1)?)?;
    for clip in clips {
        let options = FfmpegOptions {
            size: Some((width, height)),
            frame_rate: Some(frame_rate),
            ..FfmpegOptions::default()
        };
        table(clip, Ffmpeg::open(clip, &options)?)?;
    }
    Ok(())
}

fn table(name: &str, mut source: impl Source) -> Result<(), Failure> {
    let mut pictures = Vec::new();
    while let Some(picture) = source.next()?
        && pictures.len() < PICTURES
    {
        pictures.push(picture);
    }
    for size in SIZES {
        print!("| {name} | {size} |");
        let target = size * pictures[0].width() * pictures[0].height() / (352 * 288);
        for halvings in 0..3 {
            let mut mean = Mean::default();
            for picture in pictures.iter().step_by(EVERY) {
                let sides = (picture.width() >> halvings, picture.height() >> halvings);
                let coded = fitted(picture, sides).ok_or("sides that have no quarter")?;
                // The first picture of an encoder stays as it is.
                mean.add(picture, &mut Encoder::new(), &coded, target)?;
            }
            print!(" {mean} |");
        }
        let (mut mean, mut encoder) = (Mean::default(), Encoder::new());
        let (mut changes, mut last, mut random) = (0, None, 1_u32);
        for picture in &pictures {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let wander = 0.85 + 0.3 * f64::from(random >> 8) / f64::from(1 << 24);
            let target = (target as f64 * wander) as usize;
            let width = mean.add(picture, &mut encoder, picture, target)?;
            changes += usize::from(last.replace(width).is_some_and(|last| last != width));
        }
        println!(" {mean} | {changes} |");
    }
    Ok(())
}

#[derive(Default)]
struct Mean {
    psnr: f64,
    ssim: f64,
    pictures: f64,
}

impl Mean {
    /// Codes a picture as this one and takes in how well it shows the original; returns its columns.
    fn add(
        &mut self,
        original: &Picture,
        encoder: &mut Encoder,
        picture: &Picture,
        target: usize,
    ) -> Result<u16, Failure> {
        let image = encoder.encode(picture, Bytes::from(target))?.image;
        let decoded = Decoder::new().decode(&image)?.picture;
        let shown = fitted(&decoded, (original.width(), original.height())).ok_or("other sides")?;
        self.psnr += luma_psnr(original, &shown).ok_or("other sides")?;
        self.ssim += luma_ssim(original, &shown).ok_or("other sides")?;
        self.pictures += 1.0;
        Ok(image.width)
    }
}

impl std::fmt::Display for Mean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (psnr, ssim) = (self.psnr / self.pictures, self.ssim / self.pictures);
        write!(f, "{psnr:.1} {ssim:.3}")
    }
}
