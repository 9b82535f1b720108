//! The built-in sources share their limits of size, their film grain and the digest of their tests.

use super::contract::SourceError;
use super::format::Format;
use super::random::Random;

/// The smallest side, into which the counter fits.
const MIN_SIDE: usize = 16;

/// The largest side, that of JPEG over RTP (RFC 2435 §3.1.5).
const MAX_SIDE: usize = 2040;

/// The samples in a table of grain, in addition to the longest row.
pub(super) const GRAIN_SAMPLES: usize = 1 << 16;

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

/// Draws a table of grain for rows of `width`. The sum of two numbers up to `peak` is nearer to film's distribution
/// than one number.
pub(super) fn grain(width: usize, peak: i32, random: &mut Random) -> Vec<u8> {
    (0..GRAIN_SAMPLES + width)
        .map(|_| (random.between(0, peak) + random.between(0, peak)) as u8)
        .collect()
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
