//! A flow that reacts to loss alone.

use tfrc::time::Instant;
use tfrc::units::Bytes;

use super::{DropTailLink, ONE_WAY, PACKET};

/// An endless sender with Reno's congestion avoidance, which adds a packet to the window in a round trip.
#[derive(Clone, Debug)]
pub(super) struct BulkSender {
    window: f64,
    next: Instant,
    /// End of the round trip in which further losses do not halve the window.
    halved_until: Instant,
}

impl BulkSender {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            window: 2.0,
            next: start,
            halved_until: start,
        }
    }

    /// Sends the packets that are due up to `until`.
    pub(super) fn send_until(&mut self, until: Instant, link: &mut DropTailLink) {
        while self.next <= until {
            let round_trip = 2 * ONE_WAY + link.wait(self.next);
            if link.carry(self.next, Bytes::new(PACKET)).is_some() {
                self.window += 1.0 / self.window;
            } else if self.next > self.halved_until {
                self.window = (self.window / 2.0).max(2.0);
                self.halved_until = self.next + round_trip;
            }
            self.next += round_trip.div_f64(self.window);
        }
    }
}
