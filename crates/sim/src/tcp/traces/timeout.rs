//! Losses that the timer reveals, and the round trips that it measures.

use super::*;

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
fn an_acknowledgement_of_what_was_sent_again_ends_backing_off_where_that_is_asked_for() {
    let next = |ends_backoff| {
        let mut script = Script::new(&Config {
            ends_backoff,
            ..config(Variant::Sack, 8)
        });
        script.sent();
        script.timeout();
        assert_eq!(script.timeout().0, 3_000);
        script.ack(1);
        script.timeout().0
    };
    assert_eq!([false, true].map(next), [7_000, 4_000]);
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
fn what_had_arrived_before_a_timeout_grows_no_window_when_the_hole_below_it_is_filled() {
    // RFC 3465 §2.3 has that case; RFC 5681 §3.1 counts what was not acknowledged before.
    let mut script = Script::new(&Config {
        byte_counting: true,
        ..config(Variant::Sack, 8)
    });
    script.sent();
    script.sack(0, &[2..4]);
    script.timeout();
    assert_eq!(script.sack(1, &[2..4]), [1, 4]);
    assert_eq!(script.windows(), (2.0, 4.0));
    // Of packets 1 to 3 it tells anew of the first.
    assert_eq!(script.sack(4, &[]), [5, 6]);
    assert_eq!(script.windows(), (3.0, 4.0));
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
