//! Pictures, targets and coded frames for the tests of this crate and of the crates above it.

use std::time::Duration;

use tfrc::units::{Bytes, Rate};

use crate::coder::FrameTarget;
use crate::dif::{BLOCK, BlockId, System};
use crate::picture::{CodedPicture, DvFrame, JpegImage, Picture, QuantTables, Sampling};
use crate::source::{Format, FrameRate, Scene, Source as _};

/// Creates the scene of seed 1 with this many pictures per second.
///
/// # Panics
/// If there is no scene of this size.
pub fn scene((width, height): (usize, usize), pictures_per_second: u32) -> Scene {
    let format = Format {
        width,
        height,
        frame_rate: FrameRate::new(pictures_per_second, 1).expect("a frame rate"),
    };
    Scene::new(format, 1).expect("a possible size")
}

/// Gives the first `count` pictures of that scene.
///
/// # Panics
/// As [`scene`] does.
pub fn pictures(size: (usize, usize), pictures_per_second: u32, count: usize) -> Vec<Picture> {
    let mut scene = scene(size, pictures_per_second);
    let mut next = || scene.next().expect("endless").expect("endless");
    (0..count).map(|_| next()).collect()
}

/// Gives the target of a picture of this size, in bytes, in a stream of this many pictures per second.
pub fn frame_target(size: u64, pictures_per_second: f64) -> FrameTarget {
    FrameTarget {
        size: Bytes::new(size),
        rate: Rate::from_bytes_per_sec(size as f64 * pictures_per_second),
        deadline: Duration::from_millis(150),
        stretched: false,
        keyframe: false,
    }
}

/// Returns true if a coded picture is a keyframe of H.264.
pub fn is_keyframe(picture: &CodedPicture) -> bool {
    matches!(picture, CodedPicture::H264(picture) if picture.access_units[0].is_keyframe())
}

/// Gives a frame of DV whose blocks have their IDs and are filled with one byte.
pub fn dv_frame(system: System, fill: u8) -> DvFrame {
    let mut data = vec![fill; system.frame_len()];
    for (place, block) in data.chunks_exact_mut(BLOCK).enumerate() {
        block[..3].copy_from_slice(&BlockId::at(place).to_bytes());
    }
    DvFrame {
        system,
        data,
        missing: Vec::new(),
    }
}

/// Gives an image in 4:2:0 with equal values in its tables, and with intervals of these lengths, each filled with its number.
pub fn jpeg_image((width, height): (u16, u16), tables: u8, lengths: &[usize]) -> JpegImage {
    let interval = |(n, &length): (usize, &usize)| Some(vec![n as u8 + 1; length]);
    let mut image = JpegImage {
        width,
        height,
        sampling: Sampling::Yuv420,
        tables: QuantTables {
            luma: [tables; 64],
            chroma: [tables; 64],
        },
        restart_interval: 0,
        intervals: lengths.iter().enumerate().map(interval).collect(),
    };
    image.restart_interval = image.mcus().div_ceil(lengths.len()) as u16;
    image
}
