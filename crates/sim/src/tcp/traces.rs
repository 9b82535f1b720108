//! What each variant sends, packet by packet, worked by hand. All windows start at 8 packets unless a
//! test says otherwise, and every packet is acknowledged.
#![expect(
    clippy::single_range_in_vec_init,
    reason = "a SACK block is a run of packets"
)]

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
fn newreno_inflates_the_window_in_fast_recovery_and_deflates_it_after() {
    let mut script = Script::with_8_sent(Variant::NewReno);
    // Packet 0 is lost; 1 to 7 each cause a duplicate.
    assert_eq!(script.ack(0), []);
    assert_eq!(script.ack(0), []);
    assert_eq!(script.ack(0), [0]);
    assert_eq!(script.windows(), (7.0, 4.0));
    assert_eq!(script.ack(0), []);
    assert_eq!(script.ack(0), [8]);
    assert_eq!(script.ack(0), [9]);
    assert_eq!(script.ack(0), [10]);
    assert_eq!(script.ack(8), [11]);
    assert_eq!(script.windows(), (4.0, 4.0));
}

/// Packets 0 and 3 of 8 are lost: duplicates from 1, 2, 4, 5, 6 and 7, then packet 0 arrives.
fn two_losses(variant: Variant) -> Script {
    let mut script = Script::with_8_sent(variant);
    let sent: Vec<u64> = (0..6).flat_map(|_| script.ack(0)).collect();
    assert_eq!(sent, [0, 8, 9]);
    script
}

#[test]
fn newreno_sends_the_second_loss_again_at_a_partial_acknowledgement() {
    let mut script = two_losses(Variant::NewReno);
    assert_eq!(script.sender.cwnd(), 10.0);
    assert_eq!(script.ack(3), [3, 10]);
    // Less the three packets acknowledged, plus one.
    assert_eq!(script.sender.cwnd(), 8.0);
    // Packets 8 and 9.
    assert_eq!(script.ack(3), [11]);
    assert_eq!(script.ack(3), [12]);
    assert_eq!(script.ack(10), [13]);
    assert_eq!(script.windows(), (4.0, 4.0));
    assert_eq!(script.sender.counters().fast_retransmits, 1);
    assert_eq!(script.sender.counters().timeouts, 0);
}

#[test]
fn newreno_ends_recovery_with_a_window_that_causes_no_burst() {
    let mut script = Script::with_8_sent(Variant::NewReno);
    for _ in 0..3 {
        script.ack(0);
    }
    // The other duplicates are lost: nothing is in flight, and a window of 4 would leave at once.
    assert_eq!(script.ack(8), [8, 9]);
    assert_eq!(script.windows(), (2.0, 4.0));
}

#[test]
fn newreno_restarts_the_timer_at_the_first_partial_acknowledgement_only() {
    let mut script = Script::with_8_sent(Variant::NewReno);
    for _ in 0..3 {
        script.ack(0);
    }
    script.now = Instant::from_millis(100);
    script.ack(3);
    let expiry = script.sender.poll_timeout();
    assert_eq!(expiry, Some(Instant::from_millis(1_100)));
    script.now = Instant::from_millis(200);
    script.ack(5);
    assert_eq!(script.sender.poll_timeout(), expiry);
}

#[test]
fn reno_waits_for_the_timer_when_a_second_loss_finds_too_few_packets_in_flight() {
    let mut script = two_losses(Variant::Reno);
    assert_eq!(script.ack(3), []);
    assert_eq!(script.windows(), (4.0, 4.0));
    // Packets 8 and 9: two duplicates are not three.
    assert_eq!(script.ack(3), []);
    assert_eq!(script.ack(3), []);
    assert_eq!(script.timeout(), (1_000, vec![3]));
    assert_eq!(script.windows(), (1.0, 2.0));
}

#[test]
fn tahoe_starts_slowly_from_the_loss() {
    let mut script = Script::with_8_sent(Variant::Tahoe);
    script.ack(0);
    script.ack(0);
    assert_eq!(script.ack(0), [0]);
    assert_eq!(script.windows(), (1.0, 4.0));
    assert_eq!(script.ack(0), []);
    // Packet 3 was lost too, but all after 2 are sent again.
    assert_eq!(script.ack(3), [3, 4]);
    // What was sent again without need causes duplicates, which are no loss.
    assert_eq!(script.ack(8), [8, 9, 10]);
    for _ in 0..4 {
        assert_eq!(script.ack(8), []);
    }
    assert_eq!(script.windows(), (3.0, 4.0));
}

#[test]
fn sack_recovers_three_losses_of_a_window_in_one_round_trip() {
    let mut script = Script::new(&config(Variant::Sack, 10));
    assert_eq!(script.sent().len(), 10);
    // Packets 0, 2 and 4 are lost.
    assert_eq!(script.sack(0, &[1..2]), []);
    assert_eq!(script.sack(0, &[3..4, 1..2]), []);
    // In the pipe: 0 again, 2 and 4 not lost yet, 6 to 9.
    assert_eq!(script.sack(0, &[5..6, 3..4, 1..2]), [0]);
    assert_eq!(script.windows(), (5.0, 5.0));
    assert_eq!(script.sender.in_flight(), 7);
    // 0 again, 4, 7, 8 and 9.
    assert_eq!(script.sack(0, &[5..7, 3..4, 1..2]), []);
    assert_eq!(script.sender.in_flight(), 5);
    // 0 again, 8 and 9, then 2 and 4 again.
    assert_eq!(script.sack(0, &[5..8, 3..4, 1..2]), [2, 4]);
    assert_eq!(script.sender.in_flight(), 5);
    assert_eq!(script.sack(0, &[5..9, 3..4, 1..2]), [10]);
    assert_eq!(script.sack(0, &[5..10, 3..4, 1..2]), [11]);
    // What was sent again arrives.
    assert_eq!(script.sack(2, &[5..10, 3..4]), [12]);
    assert_eq!(script.sack(4, &[5..10]), [13]);
    assert_eq!(script.ack(10), [14]);
    assert_eq!(script.windows(), (5.0, 5.0));
    assert_eq!(
        script.sender.counters(),
        Counters {
            sent: 18,
            resent: 3,
            fast_retransmits: 1,
            ..Counters::default()
        }
    );
}

#[test]
fn what_is_sent_again_leaves_the_pipe_when_it_arrives() {
    let mut script = Script::new(&config(Variant::Sack, 10));
    script.sent();
    // Packets 0 and 2 are lost.
    assert_eq!(script.sack(0, &[3..5, 1..2]), [0]);
    assert_eq!(script.sack(0, &[3..6, 1..2]), []);
    assert_eq!(script.sack(0, &[3..7, 1..2]), [2]);
    assert_eq!(script.sack(0, &[3..8, 1..2]), [10]);
    // In the pipe: 0 again, 2 again, 8, 9 and 10. Then 2 arrives, while 0 is lost once more.
    assert_eq!(script.sender.in_flight(), 5);
    assert_eq!(script.sack(0, &[1..8]), [11]);
}

#[test]
fn sack_tells_a_loss_by_three_packets_above_it_though_acknowledgements_are_lost() {
    let mut script = Script::with_8_sent(Variant::Sack);
    assert_eq!(script.sack(0, &[1..3]), []);
    assert_eq!(script.sack(0, &[1..4]), [0]);
}

#[test]
fn a_loss_among_the_packets_of_a_recovery_reduces_the_window_again() {
    let mut script = Script::with_8_sent(Variant::Sack);
    assert_eq!(script.sack(0, &[1..4]), [0]);
    // The window is 4: 0 again, 6 and 7, and a new one, which is lost as the next ones tell.
    assert_eq!(script.sack(0, &[1..6]), [8]);
    assert_eq!(script.sack(0, &[1..7]), [9]);
    assert_eq!(script.sack(0, &[1..8]), [10]);
    assert_eq!(script.sack(8, &[]), [11]);
    assert_eq!(script.windows(), (4.0, 4.0));
    assert_eq!(script.sack(8, &[9..11]), []);
    assert_eq!(script.sack(8, &[9..12]), [8, 12]);
    assert_eq!(script.windows(), (2.0, 2.0));
}

#[test]
fn sack_sends_the_last_packet_again_rather_than_wait_for_the_timer() {
    let mut script = Script::new(&Config {
        length: Some(Bytes::new(8_000)),
        ..config(Variant::Sack, 8)
    });
    script.sent();
    // Packets 0, 6 and 7 are lost and no new ones are left. First 0, then 7, once.
    assert_eq!(script.sack(0, &[1..4]), [0]);
    assert_eq!(script.sack(0, &[1..6]), [7]);
    assert_eq!(script.sack(6, &[]), []);
    // Packet 6 has nothing but 7 above it, which tells too little.
    assert_eq!(script.sack(6, &[7..8]), [6]);
    assert_eq!(script.ack(8), []);
    assert!(script.sender.is_done());
    assert_eq!(script.sender.poll_timeout(), None);
}

#[test]
fn the_timeout_doubles_and_the_threshold_falls_once() {
    let mut script = Script::with_8_sent(Variant::NewReno);
    assert_eq!(script.timeout(), (1_000, vec![0]));
    assert_eq!(script.windows(), (1.0, 4.0));
    assert_eq!(script.timeout(), (3_000, vec![0]));
    assert_eq!(script.timeout(), (7_000, vec![0]));
    assert_eq!(script.windows(), (1.0, 4.0));
    // Everything is sent again, from one packet a window on.
    assert_eq!(script.ack(1), [1, 2]);
    assert_eq!(script.ack(2), [3, 4]);
    // The timeout stays long: the round trip of a packet sent twice is not known (Karn).
    assert_eq!(script.sender.srtt(), None);
    assert_eq!(script.sender.poll_timeout(), Some(Instant::from_secs(15)));
    // Packets 5 to 7 had arrived.
    assert_eq!(script.ack(8), [8, 9, 10, 11]);
    script.now += Duration::from_millis(100);
    script.ack(9);
    assert_eq!(script.sender.srtt(), Some(Duration::from_millis(100)));
    assert_eq!(
        script.sender.poll_timeout(),
        Some(script.now + Duration::from_secs(1))
    );
}

#[test]
fn after_a_timeout_sack_does_not_send_again_what_has_arrived() {
    let mut script = Script::with_8_sent(Variant::Sack);
    assert_eq!(script.sack(0, &[2..4]), []);
    assert_eq!(script.timeout(), (1_000, vec![0]));
    assert_eq!(script.sender.in_flight(), 1);
    assert_eq!(script.sack(1, &[2..4]), [1, 4]);
    assert_eq!(script.sack(4, &[]), [5, 6]);
    assert_eq!(script.sender.in_flight(), 3);
}

#[test]
fn after_a_timeout_sack_sends_again_what_no_later_packet_tells_of() {
    let mut script = Script::with_8_sent(Variant::Sack);
    assert_eq!(script.sack(0, &[2..4]), []);
    assert_eq!(script.timeout(), (1_000, vec![0]));
    // Packet 4 was late. Packet 5 and those after it are lost all the same.
    assert_eq!(script.sack(1, &[2..5]), [1, 5]);
}

#[test]
fn after_a_timeout_new_losses_wait_until_the_old_ones_are_over() {
    let mut script = Script::with_8_sent(Variant::Sack);
    assert_eq!(script.timeout(), (1_000, vec![0]));
    assert_eq!(script.ack(1), [1, 2]);
    assert_eq!(script.ack(3), [3, 4, 5]);
    assert_eq!(script.ack(6), [6, 7, 8, 9]);
    // Packet 6 is lost again, and 8, which is new, too.
    assert_eq!(script.sack(6, &[7..8]), [10]);
    assert_eq!(script.sack(6, &[9..11, 7..8]), [11, 12]);
    assert_eq!(script.sack(6, &[9..13, 7..8]), [13, 14, 15]);
    assert_eq!(script.sender.counters().fast_retransmits, 0);
    // Packet 6 arrives late: what had been sent before the timeout is done with.
    assert_eq!(script.sack(8, &[9..13]), [8]);
    assert_eq!(script.sender.counters().fast_retransmits, 1);
}

#[test]
fn a_packet_sent_again_is_not_timed() {
    let mut script = Script::with_8_sent(Variant::NewReno);
    for _ in 0..3 {
        script.ack(0);
    }
    script.now = Instant::from_millis(300);
    script.ack(8);
    assert_eq!(script.sender.srtt(), None);
}

#[test]
fn a_packet_sent_during_fast_recovery_is_not_timed() {
    let mut script = Script::with_8_sent(Variant::NewReno);
    let sent: Vec<u64> = (0..5).flat_map(|_| script.ack(0)).collect();
    assert_eq!(sent, [0, 8]);
    // Its acknowledgement waits for packet 0.
    script.now = Instant::from_millis(300);
    script.ack(9);
    assert_eq!(script.sender.srtt(), None);
}

#[test]
fn what_is_acknowledged_before_it_is_sent_again_is_not_sent_again() {
    let mut script = Script::with_8_sent(Variant::NewReno);
    for next in [0, 0, 0, 8] {
        script.sender.handle_ack(script.now, Ack::new(next));
    }
    assert_eq!(script.sent(), [8, 9]);
    assert_eq!(script.sender.counters().resent, 0);
}

#[test]
fn a_timeout_during_fast_recovery_ends_it() {
    for variant in [
        Variant::Reno,
        Variant::NewReno,
        Variant::Sack,
        Variant::Cubic,
    ] {
        let mut script = Script::with_8_sent(variant);
        script.sack(0, &[1..4]);
        script.ack(0);
        assert_eq!(
            script.ack(0).first(),
            (!variant.uses_sack()).then_some(&0),
            "{variant:?}"
        );
        assert_eq!(script.timeout(), (1_000, vec![0]), "{variant:?}");
        assert_eq!(script.sender.cwnd(), 1.0);
        assert_eq!(script.ack(8).len(), 2, "{variant:?}");
        assert_eq!(script.sender.cwnd(), 2.0);
    }
}

#[test]
fn duplicates_after_a_timeout_start_no_recovery() {
    let mut script = Script::with_8_sent(Variant::NewReno);
    script.timeout();
    script.ack(8);
    for _ in 0..5 {
        assert_eq!(script.ack(8), []);
    }
    assert_eq!(script.sender.counters().fast_retransmits, 0);
    // But from then on they do: of 9 to 11 in flight the threshold keeps 2, and the window is 5.
    assert_eq!(script.ack(9), [10, 11]);
    let sent: Vec<u64> = (0..3).flat_map(|_| script.ack(9)).collect();
    assert_eq!(sent, [9, 12, 13]);
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
