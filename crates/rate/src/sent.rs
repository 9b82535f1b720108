//! Packets and frames that have left, and the packets under way: sent and not yet reported.

use crate::queue::SliceQueue;

/// A packet that has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPacket {
    /// Time of departure, in seconds.
    pub(crate) at: f64,
    /// Size in bytes.
    pub(crate) size: f64,
    /// Bytes that had left before it.
    pub(crate) sent_before: f64,
    /// The number of the packet's burst, which is a frame.
    pub(crate) burst: u64,
    /// True for the last packet of a burst.
    pub(crate) ends_burst: bool,
    delivered: bool,
}

/// A frame whose packets have left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DepartedFrame {
    pub(crate) number: u64,
    /// Departures of the first and the last packet, in seconds.
    pub(crate) sent: [f64; 2],
    /// Bytes after the first packet.
    pub(crate) bytes: f64,
}

/// The packets under way, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentPackets {
    packets: SliceQueue<SentPacket>,
    /// The number of the first packet.
    first: u64,
    burst: u64,
    /// Bytes that have left.
    total: f64,
    /// The number after the highest that arrived.
    reported: u64,
}

/// Bound on the packets under way: a tenth of a second of uncompressed HDTV, as in the session.
pub(crate) const MAX_PACKETS: usize = 8_192;
/// Bound on the size of a packet, in bytes (RFC 768), so that sums of sizes are exact.
const MAX_SIZE: f64 = 65_535.0;
/// Reports of packets that later ones overtook by more than this are ignored.
const MAX_OVERTAKEN: usize = 64;

impl SentPackets {
    /// Records a packet that leaves. Numbers that were passed over belong to no packet.
    pub(crate) fn push(&mut self, number: u64, at: f64, size: f64, ends_burst: bool) {
        // No packet has the last number, which has no next.
        let number = number.min(u64::MAX - 1);
        let size = size.min(MAX_SIZE);
        let next = self.next();
        if self.packets.is_empty() || number < next || number - next > MAX_OVERTAKEN as u64 {
            self.packets.clear();
            (self.first, self.reported) = (number, number);
        }
        let packet = SentPacket {
            at,
            size,
            sent_before: self.total,
            burst: self.burst,
            ends_burst,
            delivered: false,
        };
        for _ in self.next()..number {
            self.packets.push(SentPacket {
                delivered: true,
                ..packet
            });
        }
        self.packets.push(packet);
        self.total += size;
        self.burst += u64::from(ends_burst);
        self.forget(self.packets.len().saturating_sub(MAX_PACKETS));
    }

    /// Forgets this many of the oldest packets.
    fn forget(&mut self, count: usize) {
        self.packets.pop_oldest(count);
        self.first += count as u64;
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns the number of the next packet if no number is skipped.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// Returns the bytes that have left.
    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// Returns the number after the highest that arrived.
    pub(crate) fn reported(&self) -> u64 {
        self.reported
    }

    /// Returns the departure of the first packet that is newer than all that arrived; `None` if no such packet
    /// left.
    pub(crate) fn unreported_since(&self) -> Option<f64> {
        let index = usize::try_from(self.reported.saturating_sub(self.first)).ok()?;
        self.packets.get(index).map(|packet| packet.at)
    }

    /// Forgets the packets that left up to `at`, lost ones included. Passes each packet without a reported arrival
    /// to `take`, and returns the bytes that had left before the next packet.
    pub(crate) fn report_until(&mut self, at: f64, take: impl FnMut(&SentPacket)) -> f64 {
        let index = self.packets.partition_point(|packet| packet.at <= at);
        let unreported = self.packets[..index].iter().filter(|p| !p.delivered);
        unreported.for_each(take);
        self.forget(index);
        self.reported = self.reported.max(self.first);
        self.packets
            .first()
            .map_or(self.total, |packet| packet.sent_before)
    }

    /// Records the arrival of a packet; `None` if the arrival was known or the packet is not.
    pub(crate) fn deliver(&mut self, number: u64) -> Option<SentPacket> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let packet = self.packets.get_mut(index)?;
        self.reported = self.reported.max(number + 1);
        if packet.delivered {
            return None;
        }
        packet.delivered = true;
        let packet = *packet;
        // The oldest packet mostly arrives next.
        self.forget(if index == 0 {
            1
        } else {
            index.saturating_sub(MAX_OVERTAKEN)
        });
        while self.packets.first().is_some_and(|p| p.delivered) {
            self.forget(1);
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_OVERTAKEN, SentPackets};

    fn sent(count: u64) -> SentPackets {
        let mut sent = SentPackets::default();
        for number in 0..count {
            sent.push(number, number as f64, 1_000.0, true);
        }
        sent
    }

    #[test]
    fn packets_are_delivered_once_in_any_order() {
        let mut sent = sent(4);
        let delivered = [2, 0, 2, 0, 1, 3, 3, 4].map(|number| sent.deliver(number).is_some());
        assert_eq!(
            delivered,
            [true, true, false, false, true, true, false, false]
        );
        assert_eq!(sent.len(), 0);
    }

    #[test]
    fn packets_that_many_overtook_are_forgotten() {
        let newest = MAX_OVERTAKEN as u64 + 10;
        let mut sent = sent(newest + 1);
        assert!(sent.deliver(newest).is_some());
        assert!(sent.deliver(9).is_none());
        assert!(sent.deliver(10).is_some());
        assert_eq!(sent.deliver(11).map(|packet| packet.at), Some(11.0));
    }
}
