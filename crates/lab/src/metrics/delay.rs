//! Loss and delay of packets (`vod` §4.1, after ITU-T Y.1540).

use tfrc::time::Duration;

/// What became of a flow's packets. Memory does not grow with their number.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketLog {
    lost: u64,
    delivered: u64,
    delay_sum: f64,
    delay_max: f64,
}

impl PacketLog {
    /// A packet that arrived, from when it was handed to the sender on: its wait in the sender's
    /// queue counts as its way through the network does.
    pub fn delivered(&mut self, delay: Duration) {
        self.delivered += 1;
        self.delay_sum += delay.as_secs_f64();
        self.delay_max = self.delay_max.max(delay.as_secs_f64());
    }

    /// A packet that never arrived.
    pub fn lost(&mut self) {
        self.lost += 1;
    }

    /// IPLR: packets lost, of all.
    pub fn iplr(&self) -> f64 {
        self.lost as f64 / (self.lost + self.delivered) as f64
    }

    /// Mean IPTD in seconds, of the packets that arrived.
    pub fn iptd_mean(&self) -> f64 {
        self.delay_sum / self.delivered as f64
    }

    /// Largest IPTD in seconds; zero if nothing arrived.
    pub fn iptd_max(&self) -> f64 {
        self.delay_max
    }
}

/// The share of what was sent in a window that did not arrive in it, both in packets or in bytes. What arrives in
/// the window and was sent before is no negative loss.
pub fn lost_share(arrived: f64, sent: f64) -> f64 {
    (1.0 - arrived / sent).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_arrive_is_lost() {
        assert_eq!(lost_share(3.0, 4.0), 0.25);
        assert_eq!(lost_share(5.0, 4.0), 0.0);
        assert!(lost_share(0.0, 0.0).is_nan());
    }

    #[test]
    fn delay_is_of_what_arrived_and_loss_of_all() {
        let mut log = PacketLog::default();
        for ms in [10, 20, 60] {
            log.delivered(Duration::from_millis(ms));
        }
        log.lost();
        assert_eq!(log.iplr(), 0.25);
        assert!((log.iptd_mean() - 0.03).abs() < 1e-12);
        assert_eq!(log.iptd_max(), 0.06);
        assert!(PacketLog::default().iplr().is_nan());
    }
}
