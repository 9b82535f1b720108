//! Measures X_recv over the packets' own arrival times (RFC 5348 §6.2).

#[cfg(feature = "cache-layout")]
use core::mem::offset_of;
use core::time::Duration;

use crate::time::{Instant, Nanos};
use crate::units::{Bytes, Rate};

/// The number of remembered reports. Expedited reports follow each other within a round trip, but one of four is
/// nearly always a round trip old; if none is, the oldest serves.
const MARKS: usize = 4;

/// The state of the count when a report was made.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The last arrival before the report.
    last: Instant,
    /// The first arrival after the report.
    next: Option<Instant>,
    /// The bytes that arrived before the report.
    bytes: u64,
}

/// Counts bytes and divides them by the time that their arrivals span. A suspended process, or one that has read
/// only part of the waiting packets, thus measures the same rate as any other.
// The fields that every packet touches come last, because `Receiver` places them side by side.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cache-layout", repr(C))]
pub(crate) struct RateMeter {
    marks: [Option<Mark>; MARKS],
    newest: usize,
    largest: Rate,
    last: Rate,
    latest: Instant,
    bytes: u64,
    largest_packet: Bytes,
}

impl RateMeter {
    /// The start of the bytes that a packet touches.
    #[cfg(feature = "cache-layout")]
    pub(crate) const CACHED: usize = offset_of!(Self, newest);

    pub(crate) const fn new() -> Self {
        Self {
            marks: [None; MARKS],
            newest: 0,
            latest: Instant::ZERO,
            bytes: 0,
            largest_packet: Bytes::ZERO,
            last: Rate::ZERO,
            largest: Rate::ZERO,
        }
    }

    /// Records the time of a packet if it is the first since a report; the call is optional for other packets.
    pub(crate) fn handle_first(&mut self, at: Instant) {
        if let Some(Mark {
            next: next @ None, ..
        }) = &mut self.marks[self.newest % MARKS]
        {
            *next = Some(at);
        }
    }

    #[inline]
    pub(crate) fn handle_data(&mut self, at: Instant, size: Bytes) {
        self.latest = self.latest.max(at);
        self.bytes = self.bytes.saturating_add(size.get());
        if size > self.largest_packet {
            self.largest_packet = size;
        }
    }

    /// Records several packets, the last of which arrived at `at`.
    #[inline]
    pub(crate) fn handle_run(&mut self, at: Instant, bytes: Bytes, largest: Bytes) {
        self.latest = self.latest.max(at);
        self.bytes = self.bytes.saturating_add(bytes.get());
        self.largest_packet = self.largest_packet.max(largest);
    }

    /// Returns X_recv for a report, which is zero for the first one (RFC 5348 §6.3).
    pub(crate) fn report(&mut self, rtt: Option<Duration>) -> Rate {
        let rate = self.measure(rtt);
        self.largest = self.largest.max(rate);
        self.last = rate;
        self.newest = (self.newest + 1) % MARKS;
        self.marks[self.newest] = Some(Mark {
            last: self.latest,
            next: None,
            bytes: self.bytes,
        });
        rate
    }

    /// Returns X_recv of the last report.
    pub(crate) const fn last(&self) -> Rate {
        self.last
    }

    /// Returns the largest X_recv so far, the present one included (RFC 5348 §6.3.1).
    pub(crate) fn largest(&self, rtt: Duration) -> Rate {
        self.largest.max(self.present(rtt))
    }

    /// Returns the X_recv that a report would state now.
    pub(crate) fn present(&self, rtt: Duration) -> Rate {
        self.measure(Some(rtt))
    }

    /// Returns the largest packet as an estimate of the sender's s, at least one byte.
    pub(crate) fn segment_size(&self) -> Bytes {
        self.largest_packet.max(Bytes::new(1))
    }

    /// Measures the rate since the latest report that is a round trip old: "the interval going back to the most
    /// recent feedback timer expiration that was at least R_(m-1) seconds ago" (RFC 5348 §6.2).
    fn measure(&self, rtt: Option<Duration>) -> Rate {
        let rtt = rtt.unwrap_or(Duration::ZERO);
        let round_trip = Nanos::from(rtt);
        let newest_first =
            (0..MARKS).filter_map(|age| self.marks[(self.newest + MARKS - age) % MARKS].as_ref());
        let mut found = None;
        for mark in newest_first {
            found = Some(mark);
            if self.latest.nanos_since(mark.last) >= round_trip {
                break;
            }
        }
        let Some(mark) = found else {
            return Rate::ZERO;
        };
        let bytes = Bytes::new(self.bytes - mark.bytes);
        if bytes == Bytes::ZERO {
            return Rate::ZERO;
        }
        // After a silence of more than a round trip the time before the first packet says nothing about
        // the path: X_recv is then at least one packet per round trip (RFC 5348 §6.2).
        let next = mark.next.unwrap_or(self.latest);
        let window = if next.nanos_since(mark.last) > round_trip {
            self.latest.saturating_since(next).max(rtt)
        } else {
            self.latest.saturating_since(mark.last)
        };
        if window.is_zero() {
            self.last
        } else {
            bytes / window
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Duration> = Some(Duration::from_millis(100));

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Feeds the meter a packet of 1,000 bytes at each of these times.
    fn feed(meter: &mut RateMeter, times: impl IntoIterator<Item = u64>) {
        times.into_iter().for_each(|ms| {
            meter.handle_first(at(ms));
            meter.handle_data(at(ms), Bytes::new(1_000));
        });
    }

    #[test]
    fn the_first_report_is_zero_and_the_next_is_bytes_over_time() {
        let mut meter = RateMeter::new();
        feed(&mut meter, [0]);
        assert_eq!(meter.report(RTT), Rate::ZERO);
        feed(&mut meter, (1..=10).map(|i| i * 10));
        assert_eq!(meter.report(RTT), Rate::from_bytes_per_sec(1e5));
    }

    #[test]
    fn an_expedited_report_looks_back_past_the_one_before() {
        let mut meter = RateMeter::new();
        feed(&mut meter, [0]);
        meter.report(RTT);
        feed(&mut meter, (1..=10).map(|i| i * 10));
        meter.report(RTT);
        feed(&mut meter, [105, 110]);
        // Twelve packets over the 110 ms since the first report.
        assert_eq!(
            meter.report(RTT).bytes_per_sec().round(),
            (12_000.0_f64 / 0.110).round()
        );
    }

    #[test]
    fn after_a_silence_one_packet_is_one_packet_per_round_trip() {
        let mut meter = RateMeter::new();
        feed(&mut meter, [0]);
        meter.report(RTT);
        feed(&mut meter, [60_000]);
        assert_eq!(meter.report(RTT), Rate::from_bytes_per_sec(1e4));
    }

    #[test]
    fn a_burst_with_one_arrival_time_is_no_infinite_rate() {
        let mut meter = RateMeter::new();
        feed(&mut meter, [0]);
        meter.report(RTT);
        feed(&mut meter, [0, 0, 0]);
        assert!(meter.report(RTT).is_finite());
    }
}
