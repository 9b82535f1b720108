//! Congestion control feedback (RFC 8888): which packets arrived, when, and with which ECN field.

use std::time::Duration;

use tfrc::Ecn;
use tfrc::sent_packets::{PacketStatus, ReportHeader};
use tfrc::time::Instant;

use super::feedback::Feedback;
use super::header::{TRANSPORT_FEEDBACK, emit_header};
use crate::ntp::NtpTime;
use crate::packet::wire::{ParseError, Reader, Writer};

/// The FMT of the message.
pub const FORMAT: u8 = 11;
/// The unit of arrival times, 1/1024 s.
pub const RESOLUTION: Duration = Duration::from_nanos(976_563);

/// The most packets that a block may cover (§3.1).
const MAX_PACKETS: usize = 16_384;
/// The longest arrival time offset that can be reported. The next values mean a longer time, and an unknown time.
const MAX_OFFSET: u64 = 0x1ffd;
const OVER_RANGE: u16 = 0x1ffe;
const UNAVAILABLE: u16 = 0x1fff;
/// The shift from the unit of the NTP fraction to the unit of arrival times.
const OFFSET_SHIFT: u32 = 22;
/// A period of the report timestamp, which counts 2^-16 s and wraps after 18 hours. Adding it keeps arrivals before
/// a wrap from becoming negative.
const ERA_NANOS: u64 = 65_536 * 1_000_000_000;

/// The part of a report about one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The source of the packets.
    pub ssrc: u32,
    /// The number of the first packet, modulo 2^16.
    pub first: u16,
    /// The metric blocks, of two bytes a packet.
    metrics: &'a [u8],
    made_at: Instant,
}

impl<'a> Block<'a> {
    /// Returns the header of the report, whose clock counts from some multiple of 18 hours.
    pub const fn header(&self) -> ReportHeader {
        ReportHeader {
            first: self.first,
            made_at: self.made_at,
            resolution: RESOLUTION,
        }
    }

    /// Returns the status of each packet.
    pub fn statuses(&self) -> impl ExactSizeIterator<Item = PacketStatus> + Clone + use<'a> {
        let made_at = self.made_at;
        let (metrics, _) = self.metrics.as_chunks::<2>();
        metrics
            .iter()
            .map(move |metric| status(u16::from_be_bytes(*metric), made_at))
    }
}

/// Reads the block about `ssrc`, if there is one. All blocks are checked.
///
/// # Errors
///
/// Returns the first field that is truncated or invalid.
pub fn parse<'a>(feedback: &Feedback<'a>, ssrc: u32) -> Result<Option<Block<'a>>, ParseError> {
    let timestamp = feedback.fci.len().checked_sub(4);
    let (blocks, timestamp) = timestamp
        .and_then(|at| feedback.fci.split_at_checked(at))
        .ok_or(ParseError::Truncated {
            field: "report timestamp",
            offset: 8,
        })?;
    let made_at = instant(Reader::new(timestamp).u32("report timestamp")?);
    let (mut reader, mut source) = (Reader::new(blocks), feedback.media_ssrc);
    let mut found = None;
    loop {
        let first = reader.u16("begin_seq")?;
        let offset = reader.offset();
        let count = usize::from(reader.u16("num_reports")?);
        if count > MAX_PACKETS {
            return Err(ParseError::Invalid {
                field: "num_reports",
                offset: offset + 8,
            });
        }
        let metrics = reader.take(2 * count, "packet metrics")?;
        reader.take(2 * (count % 2), "padding of packet metrics")?;
        if source == ssrc {
            found.get_or_insert(Block {
                ssrc,
                first,
                metrics,
                made_at,
            });
        }
        if reader.rest().is_empty() {
            return Ok(found);
        }
        source = reader.u32("SSRC of a block")?;
    }
}

/// Returns the length of the whole RTCP packet with one block of `count` packets.
pub const fn packet_len(count: usize) -> usize {
    20 + count.next_multiple_of(2) * 2
}

/// Writes a report about one source, made at `made_at`. It has the arrival and the ECN field of each packet from
/// `first` on that arrived. Returns `None` if the report does not fit or covers too many packets.
pub fn emit(
    (sender_ssrc, media_ssrc): (u32, u32),
    first: u16,
    packets: impl ExactSizeIterator<Item = Option<(NtpTime, Ecn)>>,
    made_at: NtpTime,
    buf: &mut [u8],
) -> Option<usize> {
    let count = packets.len();
    if count > MAX_PACKETS {
        return None;
    }
    // The timestamp is rounded up, so that no arrival follows it.
    let timestamp = made_at.to_bits().wrapping_add(0xffff) >> 16;
    let mut writer = Writer::new(buf);
    emit_header(
        &mut writer,
        FORMAT,
        TRANSPORT_FEEDBACK,
        packet_len(count) - 4,
    )?;
    writer.u32(sender_ssrc)?;
    writer.u32(media_ssrc)?;
    writer.u16(first)?;
    writer.u16(count as u16)?;
    let (metrics, _) = writer.space(2 * count)?.as_chunks_mut();
    for (written, packet) in metrics.iter_mut().zip(packets) {
        let metric = packet.map_or(0, |(at, ecn)| metric(at, ecn, timestamp << 16));
        *written = metric.to_be_bytes();
    }
    writer.pad_to_word()?;
    writer.u32(timestamp as u32)?;
    Some(writer.len())
}

/// Returns the instant of a report timestamp.
const fn instant(timestamp: u32) -> Instant {
    Instant::from_nanos(ERA_NANOS + ((timestamp as u64 * 1_000_000_000) >> 16))
}

fn status(metric: u16, made_at: Instant) -> PacketStatus {
    if metric >> 15 == 0 {
        return PacketStatus::Missing;
    }
    let ecn = match metric >> 13 & 3 {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    };
    let offset = metric & UNAVAILABLE;
    let before = (u64::from(offset) * 1_000_000_000) >> 10;
    let at = Instant::from_nanos(made_at.as_nanos().saturating_sub(before));
    PacketStatus::Arrived {
        at: (offset != UNAVAILABLE).then_some(at),
        ecn,
    }
}

fn metric(at: NtpTime, ecn: Ecn, made_at: u64) -> u16 {
    let ecn = match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    };
    let before = made_at.wrapping_sub(at.to_bits());
    // The offset is rounded down: a round trip may be measured a unit too long, but never too short.
    let offset = match before >> OFFSET_SHIFT {
        offset @ 0..=MAX_OFFSET => offset as u16,
        _ if before >> 63 == 0 => OVER_RANGE,
        _ => UNAVAILABLE,
    };
    1 << 15 | ecn << 13 | offset
}

#[cfg(test)]
mod tests {
    use super::super::{Packet, Packets};
    use super::*;
    use proptest::prelude::*;

    fn read(packet: &[u8]) -> Feedback<'_> {
        match Packets::parse(packet).unwrap().next().unwrap().unwrap() {
            Packet::Feedback(feedback) if feedback.format == FORMAT => feedback,
            other => panic!("{other:?}"),
        }
    }

    /// The report covers two sources: three packets of the first, of which the second is missing, and none of the
    /// other.
    const DRAWN: [u8; 40] = [
        0x8b, 205, 0, 9, 0, 0, 0, 1, //
        0, 0, 0, 7, 0xff, 0xfe, 0, 3, //
        0xc0, 0x02, 0, 0, 0xff, 0xff, 0,
        0, // ECT(0) 2/1024 s before; missing; CE, time unavailable
        0, 0, 0, 8, 0, 5, 0, 1, 0x9f, 0xfe, 0, 0, // over range
        0, 2, 0x80, 0, // 2.5 s
    ];

    #[test]
    fn a_report_is_read_as_rfc_8888_draws_it() {
        let feedback = read(&DRAWN);
        let made_at = Instant::from_nanos(ERA_NANOS) + Duration::from_millis(2_500);
        let block = parse(&feedback, 7).unwrap().unwrap();
        assert_eq!(block.header().first, 0xfffe);
        assert_eq!(block.header().made_at, made_at);
        let arrived = |at, ecn| PacketStatus::Arrived { at, ecn };
        let expected = [
            arrived(Some(made_at - Duration::from_nanos(1_953_125)), Ecn::Ect0),
            PacketStatus::Missing,
            arrived(None, Ecn::Ce),
        ];
        assert_eq!(block.statuses().collect::<Vec<_>>(), expected);
        let other = parse(&feedback, 8).unwrap().unwrap();
        let over = Duration::from_nanos((8_190 * 1_000_000_000) >> 10);
        assert_eq!(
            other.statuses().collect::<Vec<_>>(),
            [arrived(Some(made_at - over), Ecn::NotEct)]
        );
        assert_eq!(parse(&feedback, 9), Ok(None));
    }

    #[test]
    fn what_is_cut_short_or_claims_too_much_is_an_error() {
        for len in 12..DRAWN.len() {
            let feedback = Feedback {
                fci: &DRAWN[12..len],
                ..read(&DRAWN)
            };
            // Whole blocks alone are a valid report.
            let is_whole = len == 28;
            assert_eq!(parse(&feedback, 7).is_ok(), is_whole, "{len}");
        }
        let mut long = vec![0; 8 + 2 * 16_386];
        long[2..4].copy_from_slice(&16_386u16.to_be_bytes());
        let feedback = Feedback {
            fci: &long,
            ..read(&DRAWN)
        };
        let error = ParseError::Invalid {
            field: "num_reports",
            offset: 10,
        };
        assert_eq!(parse(&feedback, 7), Err(error));
    }

    proptest! {
        /// Times are exact to a unit and never too early, so that no packet seems to arrive before it left.
        #[test]
        fn what_is_reported_is_read(
            first: u16,
            made_ms in 100_000u64..10_000_000_000,
            packets in proptest::collection::vec(
                proptest::option::of((0u64..9_000_000_000, 0u8..4)), 0..100),
        ) {
            let ecns = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
            let zero = NtpTime::from_unix(Duration::from_secs(1_700_000_000));
            let made = Instant::from_millis(made_ms);
            let reported = packets.iter().map(|packet| packet.map(|(before, ecn)| {
                (zero.at(made - Duration::from_nanos(before)), ecns[usize::from(ecn)])
            }));
            let mut buf = [0; 512];
            let len = emit((1, 7), first, reported, zero.at(made), &mut buf).unwrap();
            prop_assert_eq!(len, packet_len(packets.len()));
            let feedback = read(&buf[..len]);
            let block = parse(&feedback, 7).unwrap().unwrap();
            prop_assert_eq!(block.first, first);
            prop_assert_eq!(block.statuses().len(), packets.len());
            for (status, packet) in block.statuses().zip(packets) {
                match (status, packet) {
                    (PacketStatus::Missing, None) => {}
                    (PacketStatus::Arrived { at: Some(at), ecn }, Some((before, expected))) => {
                        prop_assert_eq!(ecn, ecns[usize::from(expected)]);
                        let reported = (block.made_at - at).as_nanos() as u64;
                        let most = before + 15_260;
                        let is_over = before > 8_189 * 976_563;
                        prop_assert!(reported <= most && (reported + 976_563 >= before || is_over), "{} for {}", reported, before);
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }

        #[test]
        fn arbitrary_bytes_are_no_panic(fci: Vec<u8>, ssrc in 0u32..3, media_ssrc in 0u32..3) {
            let feedback = Feedback { format: FORMAT, sender_ssrc: 0, media_ssrc, fci: &fci };
            if let Ok(Some(block)) = parse(&feedback, ssrc) {
                prop_assert!(block.statuses().count() * 2 <= fci.len());
            }
        }
    }
}
