//! Measures the transit times of packets since the last report.

use tfrc::Arrival;

use crate::packet::rtcp::TransitBounds;

/// Keeps the least and the largest transit time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::session) struct TransitMeter {
    bounds: Option<TransitBounds>,
}

impl TransitMeter {
    /// Records a packet that had not arrived before. Its timestamp is its send time in microseconds.
    pub(super) fn observe(&mut self, arrival: &Arrival) {
        let transit = (arrival.at.as_micros() as u32).wrapping_sub(arrival.timestamp);
        let bounds = self.bounds.get_or_insert(TransitBounds {
            least: transit,
            largest: transit,
        });
        // A time modulo 2^32 precedes another if the other is ahead by less than half of 2^32.
        let is_before = |a: u32, b: u32| a.wrapping_sub(b).cast_signed() < 0;
        if is_before(transit, bounds.least) {
            bounds.least = transit;
        } else if is_before(bounds.largest, transit) {
            bounds.largest = transit;
        }
    }

    /// Returns the bounds since the last call; `None` if no packet arrived.
    pub(super) fn take(&mut self) -> Option<TransitBounds> {
        self.bounds.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::Ecn;
    use tfrc::time::Instant;
    use tfrc::units::Bytes;

    /// Returns the bounds for packets that left and arrived at these microseconds.
    fn bounds(packets: &[(u32, u64)]) -> Option<[u32; 2]> {
        let mut meter = TransitMeter::default();
        for (timestamp, at) in packets {
            meter.observe(&Arrival {
                seq: 0,
                at: Instant::from_micros(*at),
                timestamp: *timestamp,
                rtt: None,
                size: Bytes::new(1_000),
                ecn: Ecn::NotEct,
            });
        }
        let bounds = meter.take();
        assert_eq!(meter.take(), None);
        bounds.map(|bounds| [bounds.least, bounds.largest])
    }

    #[test]
    fn transit_bounds_are_those_since_last_report() {
        assert_eq!(bounds(&[]), None);
        assert_eq!(bounds(&[(100, 150)]), Some([50, 50]));
        let packets = [(100, 150), (200, 270), (300, 340), (400, 460)];
        assert_eq!(bounds(&packets), Some([40, 70]));
    }

    #[test]
    fn transit_bounds_hold_across_the_wrap() {
        // The sender's clock wraps between the packets, and transit times are negative.
        let packets = [(u32::MAX - 5, 4), (2, 14), (10, 20)];
        assert_eq!(bounds(&packets), Some([10, 12]));
        let behind = [(1_000, 900), (1_100, 1_150), (1_200, 1_100)];
        assert_eq!(bounds(&behind), Some([u32::MAX - 99, 50]));
    }
}
