//! A TCP sender chooses the packet that leaves next: a lost one, a new one or a last resort.

use super::super::scoreboard::DUP_THRESH;
use super::{Phase, Sender};

impl Sender {
    /// The next packet that leaves now, and whether it was sent before.
    pub(super) fn next_packet(&mut self) -> Option<(u64, bool)> {
        if std::mem::take(&mut self.resend_first) {
            let first = self.board.una();
            if self.config.variant.uses_sack() {
                self.board.resend(first);
            }
            return Some((first, true));
        }
        self.window_limited = self.board.pipe() as f64 + 1.0 > self.allowed();
        if self.window_limited {
            return None;
        }
        if let Some(packet) = self.next_lost() {
            self.board.resend(packet);
            return Some((packet, true));
        }
        if self.may_send_new() {
            return Some((self.board.send_new(), false));
        }
        self.next_resort().map(|packet| (packet, true))
    }

    /// How many packets may be in flight.
    fn allowed(&self) -> f64 {
        let limited_transmit = self.config.limited_transmit
            && self.phase == Phase::Open
            && !self.config.variant.uses_sack();
        // With SACK the packets that arrived are out of the pipe.
        let extra = if limited_transmit {
            self.dup_acks.min(DUP_THRESH - 1)
        } else {
            0
        };
        self.window.cwnd() + extra as f64
    }

    fn may_send_new(&self) -> bool {
        let next = self.board.next();
        let held = self.phase == Phase::Open && self.dup_acks > 0 && !self.config.limited_transmit;
        next < self.config.packets()
            && next - self.board.una() < u64::from(self.config.receive_window)
            && !held
    }

    /// The next packet that is lost. What was sent since the recovery started waits for the next one:
    /// it is another loss, which reduces the window again.
    fn next_lost(&self) -> Option<u64> {
        let resends = self.phase == Phase::Loss
            || self.phase != Phase::Open && self.config.variant.uses_sack();
        let recover = self.recover.filter(|_| resends)?;
        self.board.next_lost().filter(|&lost| lost < recover)
    }

    /// What to send when nothing is lost and nothing new may leave: rules 3 and 4 of NextSeg.
    fn next_resort(&mut self) -> Option<u64> {
        let Phase::Recovery { rescued, .. } = &mut self.phase else {
            return None;
        };
        if !self.config.variant.uses_sack() {
            return None;
        }
        if let Some(missing) = self.board.next_missing() {
            self.board.resend(missing);
            return Some(missing);
        }
        if std::mem::replace(rescued, true) {
            return None;
        }
        self.board.last_missing()
    }
}
