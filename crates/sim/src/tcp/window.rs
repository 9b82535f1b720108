//! The congestion window: how it grows, and what congestion leaves of it.

use super::config::Variant;
use super::cubic::Cubic;
use tfrc::time::{Duration, Instant};

/// The congestion window and the slow-start threshold, in packets.
#[derive(Clone, Debug)]
pub(super) struct Window {
    cwnd: f64,
    ssthresh: f64,
    growth: Growth,
}

/// Congestion avoidance.
#[derive(Clone, Debug)]
enum Growth {
    /// One packet a round trip, half of it after a loss (RFC 5681).
    Aimd,
    Cubic(Cubic),
}

impl Window {
    pub(super) fn new(initial: u32, variant: Variant) -> Self {
        Self {
            cwnd: f64::from(initial),
            ssthresh: f64::INFINITY,
            growth: match variant {
                Variant::Cubic => Growth::Cubic(Cubic::default()),
                _ => Growth::Aimd,
            },
        }
    }

    pub(super) fn cwnd(&self) -> f64 {
        self.cwnd
    }

    pub(super) fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Sets the window by the rules of loss recovery; at least one packet.
    pub(super) fn set(&mut self, cwnd: f64) {
        self.cwnd = cwnd.max(1.0);
    }

    /// One acknowledgement of `acked` new packets arrived, and the window had been used up.
    ///
    /// Growth by acknowledgement, not by packet, as in ns-2 and in the model of the throughput
    /// equation: acknowledging every second packet halves it. RFC 5681 §3.1 allows that.
    pub(super) fn grow(&mut self, now: Instant, acked: u64, srtt: Duration) {
        if self.cwnd < self.ssthresh {
            self.cwnd += 1.0;
            return;
        }
        self.cwnd = match &mut self.growth {
            Growth::Aimd => self.cwnd + 1.0 / self.cwnd,
            Growth::Cubic(cubic) => cubic.grow(now, self.cwnd, acked, srtt),
        };
    }

    /// Congestion, when `flight` packets were in the network: the threshold is what is left of them
    /// (RFC 5681 equation 4, RFC 9438 §4.6), and so is what this gives, but for the least threshold.
    pub(super) fn on_congestion(&mut self, flight: f64) -> f64 {
        let left = match &mut self.growth {
            Growth::Aimd => flight / 2.0,
            Growth::Cubic(cubic) => cubic.on_congestion(self.cwnd, flight),
        };
        self.ssthresh = left.max(2.0);
        left
    }

    /// The retransmission timer expired: slow start from one packet.
    pub(super) fn on_timeout(&mut self) {
        self.cwnd = 1.0;
        if let Growth::Cubic(cubic) = &mut self.growth {
            cubic.on_timeout();
        }
    }
}
