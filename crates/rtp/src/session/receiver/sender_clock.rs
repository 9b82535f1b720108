//! The sender's clock by the send times of its packets, and which send times are believed.

use std::time::Duration;

use tfrc::time::Instant;

use crate::session::statistics::Ignored;

/// The greatest difference between the send times of a packet and the newest one, and the most by which a packet may
/// lead the sender's clock. Reordering is far shorter, so an older packet is a replayed recording. A packet that leads
/// by more needs a second one.
const MAX_AGE_MICROS: i64 = 2_000_000;
/// The silence after which the sender's clock is believed anew: either end may have been suspended.
pub(super) const CLOCK_PATIENCE: Duration = Duration::from_secs(2);

/// The departure of a packet on the sender's clock, in microseconds modulo 2^32, and its arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) send_time: u32,
    pub(super) arrival: Instant,
}

impl Departure {
    /// Returns true if a packet may follow this one while the sender's clock runs.
    fn continues(self, next: Self) -> bool {
        let ahead = i64::from(next.send_time.wrapping_sub(self.send_time).cast_signed());
        runs_on(ahead, next.arrival.saturating_since(self.arrival))
    }

    /// Returns the departure of a packet that arrives at this time and takes as long as this one.
    fn at(self, arrival: Instant) -> Self {
        let elapsed = arrival.saturating_since(self.arrival).as_micros() as u32;
        Self {
            send_time: self.send_time.wrapping_add(elapsed),
            arrival,
        }
    }

    fn is_before(self, next: Self) -> bool {
        next.send_time.wrapping_sub(self.send_time).cast_signed() >= 0
    }
}

/// Returns true if a clock that is `ahead` of an earlier value, in microseconds, after so long a time may be the same.
pub(super) fn runs_on(ahead: i64, elapsed: Duration) -> bool {
    (-MAX_AGE_MICROS..=elapsed.as_micros() as i64 + MAX_AGE_MICROS).contains(&ahead)
}

/// The clock of a sender, which runs unless a second packet witnesses that it jumped.
#[derive(Debug, Default)]
pub(super) struct SenderClock {
    /// The newest departure.
    newest: Option<Departure>,
    /// The last packet, if it led the clock.
    leading: Option<Departure>,
    /// The newest departure before the last jump, to which the clock may return.
    before_jump: Option<Departure>,
}

impl SenderClock {
    /// Returns the departure of a packet as far as it is believed, or refuses the packet of a recording.
    ///
    /// A jump ahead is believed from its second witness in a row on, and so is the return to the time before it. Until then
    /// the packet counts as if the clock ran on. A recording that is replayed has many witnesses, but lies behind.
    pub(super) fn believe(&mut self, next: Departure) -> Result<Departure, Ignored> {
        let leading = self.leading.take();
        let Some(newest) = self.newest.filter(|_| !self.is_quiet(next.arrival)) else {
            return Ok(next);
        };
        if newest.continues(next) {
            return Ok(next);
        }
        let returns = self
            .before_jump
            .is_some_and(|before| before.continues(next));
        if !returns && !newest.is_before(next) {
            return Err(Ignored::Replayed);
        }
        if leading.is_none_or(|leading| !leading.continues(next)) {
            self.leading = Some(next);
            return Ok(newest.at(next.arrival));
        }
        (self.before_jump, self.newest) = (Some(newest), Some(next));
        Ok(next)
    }

    /// Records the believed departure of a packet that counted.
    pub(super) fn advance(&mut self, departure: Departure) {
        let is_newer = self.newest.is_none_or(|newest| newest.is_before(departure));
        if is_newer || self.is_quiet(departure.arrival) {
            self.newest = Some(departure);
        }
    }

    fn is_quiet(&self, now: Instant) -> bool {
        self.newest
            .is_none_or(|newest| now.saturating_since(newest.arrival) >= CLOCK_PATIENCE)
    }
}
