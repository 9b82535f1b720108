//! The RTP packet (RFC 3550 §5.1).

use tfrc::time::Instant;

/// `instant` on a media clock of `clock_rate` ticks a second that was zero at [`Instant::ZERO`].
pub const fn media_time(instant: Instant, clock_rate: u32) -> u32 {
    (instant.as_nanos() as u128 * clock_rate as u128 / 1_000_000_000) as u32
}
