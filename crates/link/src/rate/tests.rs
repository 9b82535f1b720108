//! The wire takes times worked by hand, at constant rates and along a trace.

use super::*;

const SIZE: Bytes = Bytes::new(1_000);

fn rate(bits_per_sec: f64) -> Rate {
    Rate::from_bits_per_sec(bits_per_sec)
}

fn nanos(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Sends `count` packets back to back and gives the end of the last.
fn busy_until(wire: &mut Wire, count: u64, size: Bytes) -> Instant {
    let mut at = Instant::ZERO;
    for _ in 0..count {
        wire.begin(at, size);
        at = wire
            .complete(Instant::MAX)
            .expect("the wire is not stalled");
    }
    at
}

#[test]
fn a_packet_takes_its_bits_over_the_rate() {
    let mut wire = Wire::new(rate(8e6));
    wire.begin(nanos(5), SIZE);
    assert_eq!(wire.end(), Some(nanos(1_000_005)));
    assert_eq!(wire.complete(nanos(1_000_004)), None);
    assert_eq!(wire.complete(nanos(1_000_005)), Some(nanos(1_000_005)));
    assert!(wire.is_idle());
}

#[test]
fn the_mean_rate_of_a_million_packets_is_exact() {
    // 8000 bits at 3 Mb/s take 2666666 2/3 ns.
    let mut wire = Wire::new(rate(3e6));
    let end = busy_until(&mut wire, 1_000_000, SIZE);
    assert_eq!(end, nanos(2_666_666_666_667));
}

#[test]
fn packets_shorter_than_a_nanosecond_share_it() {
    // 8 bits at 32 Gb/s take a quarter of a nanosecond.
    let mut wire = Wire::new(rate(32e9));
    assert_eq!(busy_until(&mut wire, 1_001, Bytes::new(1)), nanos(251));
}

#[test]
fn a_packet_of_any_size_keeps_the_wire_busy() {
    let mut wire = Wire::new(rate(1e12));
    for size in [0, 1, u64::MAX] {
        wire.begin(wire.job.end, Bytes::new(size));
        assert!(!wire.is_idle(), "{size}");
        assert!(wire.complete(Instant::MAX).is_some());
        assert!(wire.is_idle());
    }
}

#[test]
fn a_new_rate_takes_effect_on_the_remaining_bits() {
    let mut wire = Wire::new(rate(8e6));
    wire.begin(Instant::ZERO, SIZE);
    // 750 bytes are left at 250 us; at 2 Mb/s they take 3 ms.
    wire.set_rate(nanos(250_000), rate(2e6));
    assert_eq!(wire.end(), Some(nanos(3_250_000)));
    wire.set_rate(nanos(1_250_000), Rate::ZERO);
    assert_eq!(wire.end(), None);
    assert_eq!(
        wire.drain_time(nanos(1_250_000), Bytes::ZERO),
        Duration::MAX
    );
    wire.set_rate(nanos(9_000_000), rate(4e6));
    assert_eq!(wire.end(), Some(nanos(10_000_000)));
    wire.set_rate(nanos(9_500_000), Rate::INFINITY);
    assert_eq!(wire.end(), Some(nanos(9_500_000)));
}

#[test]
fn a_trace_delivers_fifteen_hundred_bytes_an_opportunity() {
    let trace = DeliveryTrace::parse("1\n4\n4\n10\n").expect("valid");
    let mut wire = Wire::new(rate(1.0));
    wire.set_trace(Instant::ZERO, trace);
    let mut at = Instant::ZERO;
    // One fills an opportunity; two share the next and spill over; the third fits in the spill.
    let ends: Vec<u64> = [1_500, 1_000, 1_000, 1_000, 1_500]
        .into_iter()
        .map(|size| {
            wire.begin(at, Bytes::new(size));
            at = wire.complete(Instant::MAX).expect("never stalled");
            at.as_micros() / 1_000
        })
        .collect();
    assert_eq!(ends, [1, 4, 4, 4, 10]);
    // The next opportunity is 1 ms into the second loop, but this packet comes later.
    wire.begin(Instant::from_millis(12), SIZE);
    assert_eq!(wire.end(), Some(Instant::from_millis(14)));
}

#[test]
fn leaving_a_trace_keeps_what_it_has_sent() {
    let mut wire = Wire::new(rate(8e6));
    wire.set_trace(
        Instant::ZERO,
        DeliveryTrace::parse("1\n20\n").expect("valid"),
    );
    wire.begin(Instant::ZERO, Bytes::new(2_500));
    wire.set_rate(Instant::from_millis(5), rate(8e6));
    assert_eq!(wire.end(), Some(Instant::from_millis(6)));
}
