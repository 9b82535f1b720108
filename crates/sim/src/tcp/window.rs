//! The congestion window: how it grows, and what congestion leaves of it.

use super::binomial::Binomial;
use super::config::{Config, Variant};
use super::cubic::Cubic;
use tfrc::time::{Duration, Instant};

/// The congestion window and the slow-start threshold, in packets.
#[derive(Clone, Debug)]
pub(super) struct Window {
    cwnd: f64,
    ssthresh: f64,
    growth: Growth,
    /// What congestion leaves is cut to whole packets.
    whole: bool,
    /// An acknowledgement counts for as many as it covers packets.
    byte_counting: bool,
}

/// Congestion avoidance.
#[derive(Clone, Debug)]
enum Growth {
    Binomial(Binomial),
    Cubic(Cubic),
}

impl Window {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            cwnd: config.initial_window.packets(config.segment).into(),
            ssthresh: f64::INFINITY,
            whole: config.whole_windows,
            byte_counting: config.byte_counting,
            growth: match config.variant {
                Variant::Cubic => Growth::Cubic(Cubic::default()),
                Variant::Binomial(rule) => Growth::Binomial(rule),
                Variant::Tahoe | Variant::Reno | Variant::NewReno | Variant::Sack => {
                    Growth::Binomial(Binomial::TCP)
                }
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
    /// Growth is by acknowledgement, not by packet, as in ns-2 and in the model of the throughput
    /// equation, unless bytes are counted: acknowledging every second packet halves it. RFC 5681 §3.1
    /// allows that.
    pub(super) fn grow(&mut self, now: Instant, acked: u64, srtt: Duration) {
        let counted = if self.byte_counting { acked } else { 1 };
        for _ in 0..counted {
            if self.cwnd < self.ssthresh {
                self.cwnd += 1.0;
                continue;
            }
            match &mut self.growth {
                Growth::Binomial(rule) => self.cwnd = rule.grow(self.cwnd),
                // It counts packets in any case.
                Growth::Cubic(cubic) => {
                    self.cwnd = cubic.grow(now, self.cwnd, acked, srtt);
                    return;
                }
            }
        }
    }

    /// Congestion, when `flight` packets were in the network: the threshold is what is left of them
    /// (RFC 5681 equation 4, RFC 9438 §4.6), and so is what this gives, but for the least threshold.
    pub(super) fn on_congestion(&mut self, flight: f64) -> f64 {
        let left = match &mut self.growth {
            Growth::Binomial(rule) => rule.on_congestion(flight),
            Growth::Cubic(cubic) => cubic.on_congestion(self.cwnd, flight),
        };
        let left = if self.whole { left.floor() } else { left };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::InitialWindow;

    #[test]
    fn after_a_timeout_cubic_forgets_the_plateau_before_it() {
        let mut window = Window::new(&Config {
            variant: Variant::Cubic,
            initial_window: InitialWindow::Packets(8),
            ..Config::default()
        });
        window.on_congestion(8.0);
        window.on_timeout();
        assert_eq!(window.cwnd(), 1.0);
        assert!((window.ssthresh() - 5.6).abs() < 1e-9);
        let grow = |window: &mut Window, millis| {
            window.grow(Instant::from_millis(millis), 1, Duration::ZERO);
            window.cwnd()
        };
        for _ in 0..5 {
            grow(&mut window, 0);
        }
        assert_eq!(window.cwnd(), 6.0);
        // The stage starts at 6 packets. W_est is ahead at first: 6 + 9/17 / 6.
        assert!((grow(&mut window, 0) - 6.088_2).abs() < 1e-4);
        // After a second W_cubic is 6 + 0.4: a 6.0882th of the way there. Towards the plateau of 8 packets
        // it would be 7.86.
        assert!((grow(&mut window, 1_000) - 6.139_4).abs() < 1e-4);
    }

    #[test]
    fn bytes_counted_make_an_acknowledgement_of_two_packets_as_good_as_two() {
        let grown = |byte_counting, each: [u64; 2]| {
            let mut window = Window::new(&Config {
                byte_counting,
                initial_window: InitialWindow::Packets(3),
                ..Config::default()
            });
            window.on_congestion(9.0);
            for acked in each {
                window.grow(Instant::ZERO, acked, Duration::ZERO);
            }
            window.cwnd()
        };
        // Slow start from 3 packets past a threshold of 4.5; above it, a packet a window.
        let all = 5.0 + 1.0 / 5.0;
        let all = all + 1.0 / all;
        assert_eq!(grown(true, [2, 2]), all);
        assert_eq!(grown(true, [1, 3]), all);
        assert_eq!(grown(false, [2, 2]), 5.0);
    }

    #[test]
    fn half_of_a_window_is_cut_to_whole_packets_on_request() {
        for (whole_windows, left) in [(false, 4.5), (true, 4.0)] {
            let mut window = Window::new(&Config {
                whole_windows,
                ..Config::default()
            });
            assert_eq!(window.on_congestion(9.0), left);
            assert_eq!(window.ssthresh(), left);
        }
    }
}
