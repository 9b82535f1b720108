//! Losses that duplicate acknowledgements and SACK blocks reveal.

use super::*;

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
