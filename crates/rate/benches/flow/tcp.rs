//! A flow that reacts to loss alone.

use tfrc::time::Instant;
use tfrc::units::Bytes;

use super::{DropTailLink, ONE_WAY, PACKET};

/// A sender without end that fills its window, adds a packet to it in a round trip and halves it on a loss (Reno's avoidance).
#[derive(Clone, Debug)]
pub(super) struct BulkSender {
    window: f64,
    next: Instant,
    /// Losses until then belong to the one before.
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

    /// Sends the packets that are due up to then.
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
