//! The built-in sources share their limits of size, their film grain and the digest of their tests.

use super::contract::SourceError;
use super::format::Format;
use super::random::Random;
use crate::picture::{BLACK, Picture, WHITE};

/// The smallest side, into which the counter fits.
const MIN_SIDE: usize = 16;

/// The largest side: JPEG over RTP has no larger one (RFC 2435 §3.1.5).
const MAX_SIDE: usize = 2040;

/// Each of the two parts of the film grain has this peak, in steps of a sample: a clean 8-bit camera has one or two.
const GRAIN_PEAK: i32 = 2;

/// Light that changes no sample, in 1/128.
pub(super) const FULL_LIGHT: u16 = 128;

/// The samples in a table of grain, in addition to the longest row.
const GRAIN_SAMPLES: usize = 1 << 16;

/// Returns an error that names the side of `format` that a source called `name` cannot have.
pub(super) fn check_sides(name: &str, format: &Format) -> Result<(), SourceError> {
    for (field, side) in [("width", format.width), ("height", format.height)] {
        if !(MIN_SIDE..=MAX_SIDE).contains(&side) {
            let value = format!("{side}: a {name} has {MIN_SIDE} to {MAX_SIDE}");
            return Err(SourceError::Invalid { field, value });
        }
    }
    Ok(())
}

/// Draws a table of grain for rows of `width`. The sum of two numbers up to the peak is nearer to film's distribution
/// than one number.
pub(super) fn grain(width: usize, random: &mut Random) -> Vec<u8> {
    (0..GRAIN_SAMPLES + width)
        .map(|_| (random.between(0, GRAIN_PEAK) + random.between(0, GRAIN_PEAK)) as u8)
        .collect()
}

/// Lights the luma of a picture, and adds film grain to each row from a random place of the table.
pub(super) fn develop(picture: &mut Picture, light: u16, grain: &[u8], random: &mut Random) {
    let width = picture.width();
    for row in picture.planes_mut()[0].chunks_mut(width) {
        let start = (random.next() % GRAIN_SAMPLES as u64) as usize;
        for (sample, grain) in row.iter_mut().zip(&grain[start..][..width]) {
            let lit = u16::from(*sample) * light / FULL_LIGHT;
            let exposed = (lit + u16::from(*grain)).saturating_sub(GRAIN_PEAK as u16);
            *sample = exposed.clamp(BLACK.into(), WHITE.into()) as u8;
        }
    }
}

/// Returns FNV-1a over all samples of the first `count` pictures.
#[cfg(test)]
pub(super) fn digest(mut source: impl super::Source, count: usize) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325;
    for _ in 0..count {
        let picture = source.next().expect("a picture").expect("no end");
        for &byte in picture.data() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
    hash
}
