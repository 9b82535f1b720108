//! The formats that tell which packets came, as a session writes and reads them.

use std::time::Duration;

use evenkeel_rtp::ntp::NtpTime;
use evenkeel_rtp::packet::rtcp::{Packet, ccfb, sack, twcc};
use tfrc::sent_packets::{AckVector, Arrivals, MeteredArrivals, SentPacketTracker};
use tfrc::time::Instant;
use tfrc::units::Rate;
use tfrc::{Arrival, Ecn};

/// What a session writes control packets into.
pub(crate) const BUFFER: usize = evenkeel_rtp::session::CONTROL_BUFFER;
/// Who reports, and about whom.
const SSRCS: (u32, u32) = (1, 7);
const WALLCLOCK: NtpTime = NtpTime::from_unix(Duration::from_secs(1_700_000_000));

/// What a sender keeps.
pub(crate) type Tracker = SentPacketTracker<8_192>;
type Buffer = [u8; BUFFER];

/// What a receiver keeps.
pub(crate) trait Ring {
    /// For reports of so many packets.
    fn of(limit: usize) -> Self;

    /// What a receiver does with a packet.
    fn record(&mut self, arrival: &Arrival) -> bool;
}

impl Ring for Arrivals<512> {
    fn of(limit: usize) -> Self {
        Self::new(limit)
    }

    #[inline]
    fn record(&mut self, arrival: &Arrival) -> bool {
        self.handle_data(arrival)
    }
}

impl Ring for MeteredArrivals<1_024> {
    fn of(limit: usize) -> Self {
        Self::new(limit)
    }

    #[inline]
    fn record(&mut self, arrival: &Arrival) -> bool {
        self.handle_data(arrival)
    }
}

pub(crate) trait Format {
    type Ring: Ring;

    /// The most packets that a report speaks of.
    const LIMIT: usize;

    /// What it then asks for: how long the report is that is due, none if it is not.
    fn report(ring: &mut Self::Ring, to: (Instant, &mut Buffer)) -> usize;

    /// What a sender does with a packet of a datagram.
    fn ingest(tracker: &mut Tracker, now: Instant, packet: &Packet<'_>);

    /// Reports that take a sender long for their length, as many as so many bytes hold.
    fn worst(len: usize) -> Vec<u8>;
}

/// RFC 8888.
pub(crate) struct Ccfb;

impl Format for Ccfb {
    type Ring = Arrivals<512>;
    const LIMIT: usize = 400;

    #[inline]
    fn report(ring: &mut Self::Ring, (now, buf): (Instant, &mut Buffer)) -> usize {
        ring.poll_report(now).map_or(0, |span| {
            let tracker = ring.arrivals_in(span);
            let packets = tracker.map(|packet| packet.map(|(at, ecn)| (WALLCLOCK.at(at), ecn)));
            ccfb::emit(SSRCS, span.first as u16, packets, WALLCLOCK.at(now), buf).unwrap_or(0)
        })
    }

    fn ingest(tracker: &mut Tracker, now: Instant, packet: &Packet<'_>) {
        if let Packet::Feedback(feedback) = packet
            && let Ok(Some(block)) = ccfb::parse(feedback, SSRCS.1)
        {
            tracker.ingest_report(now, &block.header(), block.statuses());
        }
    }

    /// One report, since a block costs two bytes a packet; all packets came but the first.
    fn worst(len: usize) -> Vec<u8> {
        let mut datagram = vec![0; len];
        let made_at = WALLCLOCK.at(Instant::from_secs(1));
        let packets = (0..len / 2 - 16).map(|index| (index > 0).then_some((made_at, Ecn::Ect0)));
        let written = ccfb::emit(SSRCS, 0, packets, made_at, &mut datagram);
        datagram.truncate(written.unwrap_or(0));
        datagram
    }
}

/// Transport-wide feedback.
pub(crate) struct Twcc;

impl Format for Twcc {
    type Ring = Arrivals<512>;
    const LIMIT: usize = 350;

    #[inline]
    fn report(ring: &mut Self::Ring, (now, buf): (Instant, &mut Buffer)) -> usize {
        ring.poll_report(now).map_or(0, |span| {
            let packets = ring
                .arrivals_in(span)
                .map(|packet| packet.map(|(at, _)| at));
            twcc::emit(SSRCS, span.first as u16, packets, 0, buf).unwrap_or(0)
        })
    }

    fn ingest(tracker: &mut Tracker, now: Instant, packet: &Packet<'_>) {
        if let Packet::Feedback(feedback) = packet
            && let Ok(twcc) = twcc::Twcc::parse(feedback.fci)
        {
            tracker.ingest_report(now, &twcc.header(), twcc.status_runs());
        }
    }

    /// Each report says in 28 bytes that none of the 16,384 packets after the first came.
    fn worst(len: usize) -> Vec<u8> {
        let mut report = vec![0; twcc::max_packet_len(16_384)];
        let packets = (0..16_384).map(|_| None);
        let written = twcc::emit(SSRCS, 1, packets, 0, &mut report).unwrap_or(0);
        report[..written].repeat(len / written.max(1))
    }
}

/// The SACK vector.
pub(crate) struct Sack;

impl Format for Sack {
    type Ring = MeteredArrivals<1_024>;
    const LIMIT: usize = 1_024;

    #[inline]
    fn report(ring: &mut Self::Ring, (now, buf): (Instant, &mut Buffer)) -> usize {
        ring.poll_report(now).map_or(0, |(span, vector)| {
            sack::emit(SSRCS, &vector, span.count, ring.bits(span), buf).unwrap_or(0)
        })
    }

    fn ingest(tracker: &mut Tracker, now: Instant, packet: &Packet<'_>) {
        if let Packet::Application(app) = packet
            && let Ok(sack) = sack::Sack::parse(app)
        {
            tracker.ingest_vector(now, &sack.vector, sack.received());
        }
    }

    /// One report of nearly all numbers, of which every other came.
    fn worst(len: usize) -> Vec<u8> {
        let mut datagram = vec![0; len];
        let vector = AckVector {
            first: 1,
            receive_rate: Rate::ZERO,
            delay: Duration::ZERO,
        };
        let bytes = (len - 32).min(8_191);
        let bits = std::iter::repeat(0xaa);
        let written = sack::emit(SSRCS, &vector, 8 * bytes, bits, &mut datagram);
        datagram.truncate(written.unwrap_or(0));
        datagram
    }
}
