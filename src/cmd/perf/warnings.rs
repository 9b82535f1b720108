//! Warns about a completed test: an overloaded host, or packets that never arrived.

use evenkeel_perf::RateLimited;
use tfrc::units::{Bytes, Rate};

use super::report::End;
use super::tally::Row;

/// The length that passes wherever IPv6 does: the least MTU is 1,280 with headers (RFC 8200 §5).
const SAFE_LENGTH: u16 = 1_200;

/// The share of its rate that a punctual host keeps. It keeps a thousandth (docs/notebook, traffic generator); the
/// start and the end of a test take less than the rest of this.
const RATE_KEPT_FRACTION: f64 = 0.99;

/// Returns a warning if flows of this stated rate sent less although only that rate held them back: the host is
/// late. There is none if TFRC held them back for most of the test of this length.
pub(super) fn too_late(
    rate: Rate,
    held: impl Iterator<Item = RateLimited>,
    seconds: f64,
) -> Option<String> {
    let (mut flows, mut time, mut bytes) = (0, 0.0, Bytes::ZERO);
    for held in held {
        flows += 1;
        time += held.time.as_secs_f64();
        bytes += held.bytes;
    }
    if time < seconds * f64::from(flows) / 2.0 || time <= 0.0 {
        return None;
    }
    let sent = Rate::from_bytes_per_sec(bytes.as_f64() / time);
    (sent < rate * RATE_KEPT_FRACTION).then(|| {
        format!(
            "this host was too late for -b: {sent} of {rate} a flow while nothing else held it back; leave it a core, \
             or let it catch up by more with --burst"
        )
    })
}

/// Returns a warning for each direction in which packets of `length` bytes were sent and none arrived. This system
/// itself refused `refused` of them.
pub(super) fn none_arrived(ends: &[End], length: u16, refused: u64) -> Vec<String> {
    let lines = ends.iter().filter_map(|end| {
        let (sent, received) = (end.sent.as_ref()?, end.received.as_ref()?);
        let refused = if end.forward { refused } else { 0 };
        none_of(&sent.sum, &received.sum, length, refused)
    });
    lines.collect()
}

fn none_of(sent: &Row, received: &Row, length: u16, refused: u64) -> Option<String> {
    let count = sent.count.packets_sent;
    if count == 0 || received.count.packets_received > 0 {
        return None;
    }
    let why = if refused > 0 {
        format!("the system refused {refused}")
    } else if length > SAFE_LENGTH {
        format!("a hop may refuse packets of that size; try -l {SAFE_LENGTH}")
    } else {
        "a hop loses or refuses them all".to_owned()
    };
    Some(format!(
        "none of {count} packets of {length} bytes arrived: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tally::{self, Half};
    use super::*;
    use evenkeel_perf::Count;
    use tfrc::time::Duration;

    fn end(packets_sent: u64, received: Option<u64>) -> End {
        let count = |packets_received| Count {
            packets_sent,
            packets_received,
            ..Count::default()
        };
        let total = |half, count| tally::total(half, 1.0, &[(count, None)]);
        End {
            sent: Some(total(Half::Sent, count(0))),
            received: received.map(|received| total(Half::Received, count(received))),
            forward: true,
        }
    }

    #[test]
    fn late_host_is_warned_of_unlike_slow_path() {
        let held = |millis, bytes| RateLimited {
            time: Duration::from_millis(millis),
            bytes: Bytes::new(bytes),
        };
        let warning = |held: &[RateLimited]| {
            too_late(Rate::from_bits_per_sec(8e6), held.iter().copied(), 2.0)
        };
        let line = warning(&[held(2_000, 1_000_000), held(2_000, 1_000_000)]).unwrap();
        assert!(line.contains("4.00 Mb/s of 8.00 Mb/s a flow"), "{line}");
        assert_eq!(warning(&[held(2_000, 1_990_000)]), None);
        // TFRC held the flow back for more than half of the test.
        assert_eq!(warning(&[held(900, 100_000)]), None);
        assert_eq!(warning(&[RateLimited::default()]), None);
    }

    #[test]
    fn lost_packets_are_named_with_a_safe_size() {
        assert_eq!(
            none_arrived(&[end(9, Some(9)), end(7, Some(0))], 1_400, 0),
            [
                "none of 7 packets of 1400 bytes arrived: a hop may refuse packets of that size; try -l 1200"
            ]
        );
        assert_eq!(
            none_arrived(&[end(7, Some(0))], 1_200, 0),
            ["none of 7 packets of 1200 bytes arrived: a hop loses or refuses them all"]
        );
        assert_eq!(
            none_arrived(&[end(7, Some(0))], 1_400, 7),
            ["none of 7 packets of 1400 bytes arrived: the system refused 7"]
        );
        // The ends have one packet of many, nothing sent, and no count of the server.
        for end in [end(7, Some(1)), end(0, Some(0)), end(7, None)] {
            assert!(none_arrived(&[end], 1_400, 0).is_empty());
        }
    }
}
