//! What each variant sends, packet by packet, worked by hand. All windows start at 8 packets unless a
//! test says otherwise, and every packet is acknowledged.
#![expect(
    clippy::single_range_in_vec_init,
    reason = "a SACK block is a run of packets"
)]

mod fast_recovery;
mod timeout;

use super::*;
use std::ops::Range;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

struct Script {
    sender: Sender,
    now: Instant,
}

impl Script {
    fn new(config: &Config) -> Self {
        Self {
            sender: Sender::new(config).unwrap(),
            now: Instant::ZERO,
        }
    }

    /// A sender with 8 packets in flight.
    fn with_8_sent(variant: Variant) -> Self {
        let mut script = Self::new(&config(variant, 8));
        assert_eq!(script.sent(), [0, 1, 2, 3, 4, 5, 6, 7]);
        script
    }

    /// The packets that leave now.
    fn sent(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.sender.poll_transmit(self.now))
            .map(|segment| segment.number)
            .collect()
    }

    /// The packets that an acknowledgement lets leave.
    fn ack(&mut self, next: u64) -> Vec<u64> {
        self.acks(Ack::new(next))
    }

    fn acks(&mut self, ack: Ack) -> Vec<u64> {
        self.sender.handle_ack(self.now, ack);
        self.sent()
    }

    fn sack(&mut self, next: u64, blocks: &[Range<u64>]) -> Vec<u64> {
        let ack = Ack::new(next);
        self.acks(blocks.iter().cloned().fold(ack, Ack::with_block))
    }

    /// The packets that leave when the timer expires, and when it did, in ms.
    fn timeout(&mut self) -> (u64, Vec<u64>) {
        self.now = self.sender.poll_timeout().unwrap();
        self.sender.handle_timeout(self.now);
        (self.now.as_micros() / 1_000, self.sent())
    }

    /// Window and threshold.
    fn windows(&self) -> (f64, f64) {
        (self.sender.cwnd(), self.sender.ssthresh())
    }
}

fn marked(next: u64) -> Ack {
    let mut ack = Ack::new(next);
    ack.ece = true;
    ack
}

fn config(variant: Variant, initial: u32) -> Config {
    Config {
        variant,
        initial_window: InitialWindow::Packets(initial),
        limited_transmit: false,
        ..Config::default()
    }
}

#[test]
fn slow_start_adds_a_packet_for_each_acknowledgement() {
    let mut script = Script::new(&config(Variant::Reno, 1));
    assert_eq!(script.sent(), [0]);
    assert_eq!(script.ack(1), [1, 2]);
    assert_eq!(script.ack(2), [3, 4]);
    assert_eq!(script.ack(3), [5, 6]);
    // One acknowledgement of two packets adds one packet too.
    assert_eq!(script.ack(5), [7, 8, 9]);
    assert_eq!(script.windows(), (5.0, f64::INFINITY));
}

#[test]
fn congestion_avoidance_adds_a_packet_in_a_round_trip() {
    let mut script = Script::with_8_sent(Variant::Reno);
    for _ in 0..3 {
        script.ack(0);
    }
    script.ack(8);
    assert_eq!(script.windows(), (4.0, 4.0));
    // 4 + 1/4 + 1/4.25 + 1/4.485… + 1/4.708…
    for next in 9..13 {
        script.ack(next);
    }
    assert!(
        (script.sender.cwnd() - 4.92).abs() < 0.01,
        "{}",
        script.sender.cwnd()
    );
}

#[test]
fn limited_transmit_sends_two_new_packets_which_the_threshold_does_not_count() {
    for variant in [Variant::NewReno, Variant::Sack] {
        let mut script = Script::new(&Config {
            limited_transmit: true,
            ..config(variant, 8)
        });
        script.sent();
        assert_eq!(script.sack(0, &[1..2]), [8]);
        assert_eq!(script.sack(0, &[1..3]), [9]);
        assert_eq!(script.sack(0, &[1..4]), [0]);
        assert_eq!(script.sender.ssthresh(), 4.0);
    }
}

#[test]
fn a_mark_halves_the_window_once_and_is_confirmed() {
    let mut script = Script::new(&Config {
        ecn: true,
        ..config(Variant::Sack, 8)
    });
    let first = script.sender.poll_transmit(script.now).unwrap();
    assert_eq!((first.ecn, first.cwr), (Ecn::Ect0, false));
    script.sent();

    assert_eq!(script.acks(marked(1)), []);
    assert_eq!(script.windows(), (4.0, 4.0));
    // Further echoes of the same window change nothing.
    for next in 2..5 {
        assert_eq!(script.acks(marked(next)), []);
    }
    script.sender.handle_ack(script.now, marked(5));
    let segment = script.sender.poll_transmit(script.now).unwrap();
    assert_eq!((segment.number, segment.cwr), (8, true));
    assert_eq!(script.windows(), (4.0, 4.0));
    // From the next window on they count again.
    script.ack(7);
    script.acks(marked(8));
    assert_eq!(script.sender.ssthresh(), 2.0);
    assert_eq!(script.sender.counters().ecn_reductions, 2);
}

#[test]
fn what_is_sent_again_is_not_offered_for_marking_and_new_data_tells_of_the_loss() {
    for (ecn, offered) in [(true, Ecn::Ect0), (false, Ecn::NotEct)] {
        let mut script = Script::new(&Config {
            ecn,
            ..config(Variant::Sack, 8)
        });
        script.sent();
        let mut after = |block| {
            let ack = Ack::new(0).with_block(block);
            script.sender.handle_ack(script.now, ack);
            let segment = script.sender.poll_transmit(script.now).unwrap();
            (segment.number, segment.ecn, segment.cwr)
        };
        assert_eq!(after(1..4), (0, Ecn::NotEct, false));
        assert_eq!(after(1..6), (8, offered, ecn));
        assert_eq!(after(1..7), (9, offered, false));
    }
}

#[test]
fn marks_take_the_window_down_to_one_packet() {
    for (variant, left) in [(Variant::Sack, 1.0), (Variant::Cubic, 1.4)] {
        let mut script = Script::new(&Config {
            ecn: true,
            ..config(variant, 2)
        });
        script.sent();
        assert_eq!(script.acks(marked(1)), []);
        assert_eq!(script.windows(), (left, 2.0));
        assert_eq!(script.acks(marked(2)), [2]);
        assert_eq!(script.windows(), (1.0, 2.0));
    }
}

#[test]
fn a_sender_without_ecn_ignores_the_echo() {
    let mut script = Script::with_8_sent(Variant::Sack);
    script.acks(marked(1));
    assert_eq!(script.windows(), (9.0, f64::INFINITY));
}

#[test]
fn the_receive_window_limits_exactly_and_the_congestion_window_stays_with_it() {
    let mut script = Script::new(&Config {
        receive_window: 5,
        ..config(Variant::Sack, 4)
    });
    assert_eq!(script.sent(), [0, 1, 2, 3]);
    assert_eq!(script.ack(1), [4, 5]);
    for next in 2..50 {
        assert_eq!(script.ack(next), [next + 4]);
        assert_eq!(script.sender.in_flight(), 5);
    }
    assert!(script.sender.cwnd() <= 6.0, "{}", script.sender.cwnd());
}

#[test]
fn the_last_packet_is_as_small_as_what_is_left() {
    let mut script = Script::new(&Config {
        length: Some(Bytes::new(1_001)),
        ..config(Variant::Reno, 8)
    });
    let sizes = std::iter::from_fn(|| script.sender.poll_transmit(script.now));
    assert!(sizes.map(|segment| segment.size.get()).eq([1_040, 41]));
    script.ack(2);
    assert!(script.sender.is_done());
    assert_eq!(script.sender.acknowledged(), Bytes::new(1_001));
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_changes_nothing() {
    let mut script = Script::with_8_sent(Variant::Sack);
    assert_eq!(script.ack(9), []);
    assert_eq!(script.ack(u64::MAX), []);
    assert_eq!(script.sender.acknowledged(), Bytes::ZERO);
    // Nor does a block of it.
    assert_eq!(script.sack(0, &[8..100]), []);
    assert_eq!(script.sender.in_flight(), 8);
}
