//! Tests of TFRC-SP: the rate of small packets less their headers.

use super::*;

/// RFC 4828 §3: packets of 160 bytes keep 160/200 of the rate that the equation gives for 1,460.
#[test]
fn small_packets_get_full_rate_less_their_headers() {
    let mut sender = Sender::new(
        Instant::ZERO,
        SenderConfig {
            small_packets: true,
            ..config()
        },
    );
    let size = Bytes::new(160);
    let mut now = Instant::ZERO;
    for _ in 0..20 {
        sender.handle_sent(now, size);
        now += Duration::from_millis(10);
        assert_eq!(
            sender.next_departure(now).max(now),
            sender.next_departure(now)
        );
    }
    sender.handle_feedback(now, &report(now, 0.0, 0.0));
    sender.handle_feedback(now + RTT, &report(now + RTT, 1e9, 0.05));
    let equation = equation::rate(SIZE, RTT, LossEventRate::new(0.05)).bytes_per_sec();
    let rate = sender.allowed_rate().bytes_per_sec();
    assert!((rate / (equation * 0.8) - 1.0).abs() < 1e-9, "{rate}");
    assert!((sender.instantaneous_rate().bytes_per_sec() / rate - 1.0).abs() < 1e-9);
}

/// An application that sets the ceiling to the allowed rate must not lower that rate each time.
#[test]
fn a_ceiling_counts_no_headers_either() {
    let mut sender = Sender::new(
        Instant::ZERO,
        SenderConfig {
            small_packets: true,
            ..config()
        },
    );
    sender.handle_sent(Instant::ZERO, Bytes::new(40));
    sender.handle_feedback(at(100), &report(at(100), 0.0, 0.0));
    let rate = sender.allowed_rate();
    for _ in 0..3 {
        sender.set_ceiling(sender.allowed_rate());
    }
    assert_eq!(sender.allowed_rate(), rate);
    sender.set_ceiling(rate / 2.0);
    assert_eq!(sender.allowed_rate(), rate / 2.0);
}

/// With X = 2·X_recv less headers, packets as small as their headers would never start to double the rate.
#[test]
fn small_packets_double_their_rate_in_slow_start() {
    let mut sender = Sender::new(
        Instant::ZERO,
        SenderConfig {
            small_packets: true,
            ..config()
        },
    );
    let size = Bytes::new(40);
    sender.handle_sent(Instant::ZERO, size);
    sender.handle_feedback(at(100), &report(at(100), 0.0, 0.0));
    let first = sender.allowed_rate();
    for ms in [200, 300, 400, 500] {
        sender.handle_sent(at(ms), size);
        let received = sender.allowed_rate().bytes_per_sec();
        sender.handle_feedback(at(ms), &report(at(ms), received, 0.0));
    }
    let factor = sender.allowed_rate() / first;
    assert!((factor - 16.0).abs() < 1e-9, "{factor}");
}
