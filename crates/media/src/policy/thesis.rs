//! The sending-buffer policy of the thesis to the letter (§6.3.2), for comparison.
//!
//! Every frame is coded to the largest size that the deadline leaves, and begins only if it will be in time, with
//! the present X, R and θ. The thesis leaves two points open. t_pbuf is “a constant value”. L counts all bytes that
//! TFRC counts, because no frame would be in time otherwise.

use std::time::Duration;

use evenkeel_rtp::session::Path;
use tfrc::units::Bytes;

use super::PolicyConfig;

/// Returns the size to aim at: `L < (γ − R/2 − t_pbuf)·X − θ` (equation 6.3). The size is zero where none is small
/// enough: the encoder then makes the smallest frame that it can, because every frame is coded and queued.
pub(super) fn largest_frame(config: &PolicyConfig, path: &Path, queued: Bytes) -> Bytes {
    let left = config
        .deadline
        .saturating_sub(network(path))
        .saturating_sub(config.playout);
    path.allowed_rate * left - queued
}

/// Returns true if a frame of `size` bytes may begin now, by `(now − t_capture) + R/2 + L/X + t_pbuf < γ` (equation
/// 6.4). Before the first round-trip time every frame counts as in time, since X has no meaning yet (RFC 5348
/// §4.2).
pub(super) fn is_in_time(config: &PolicyConfig, path: &Path, age: Duration, size: Bytes) -> bool {
    let delay = age
        .saturating_add(network(path))
        .saturating_add(size / path.allowed_rate)
        .saturating_add(config.playout);
    path.rtt.is_none() || delay < config.deadline
}

/// Returns t_net, “calculated as a half of the last known RTT”.
fn network(path: &Path) -> Duration {
    path.rtt.unwrap_or_default() / 2
}
