//! The first loss on the path of the `light` paper's example (§V).

use super::cases::{LIGHT_PATH, receiver};
use tfrc::{Arrival, Receiver};

/// The packet that is lost.
const LOST: usize = 100;

/// A receiver that misses a packet for the first time, and the arrival that makes it a loss: p follows from
/// X_recv then (RFC 5348 §6.3.1).
pub(crate) fn before_first_loss() -> (Receiver, Arrival) {
    let mut receiver = receiver();
    let mut arrivals = LIGHT_PATH.arrivals(LOST as u64 + 4);
    arrivals.remove(LOST);
    for arrival in &arrivals[..LOST + 2] {
        receiver.handle_data(arrival);
        receiver.poll_report(arrival.at);
    }
    (receiver, arrivals[LOST + 2])
}
