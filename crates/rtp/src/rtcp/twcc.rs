//! Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01): which
//! packets came and when, as WebRTC endpoints report it. It knows no ECN.

use std::time::Duration;

use tfrc::Ecn;
use tfrc::report::{Fate, Header};
use tfrc::time::Instant;

use super::{TRANSPORT_FEEDBACK, emit_header};
use crate::wire::{ParseError, Reader, Writer};

/// FMT of the message.
pub const FORMAT: u8 = 15;
/// The unit of arrival times.
pub const RESOLUTION: Duration = Duration::from_micros(250);

/// The most packets that we read of in a report: a quarter of all numbers, as in RFC 8888 §3.1.
const MAX_PACKETS: u16 = 16_384;
/// Nanoseconds in a unit of the reference time, and in one of the deltas.
const REFERENCE_NANOS: u64 = 64_000_000;
const DELTA_NANOS: u64 = 250_000;
/// The reference time wraps after so many of its units, some twelve days.
const REFERENCE_WRAP: u64 = 1 << 24;
/// The longest run that a chunk holds.
const MAX_RUN: usize = 8_191;

/// What is said of a packet (§3.1.1): missing, or come with a delta of so many bytes.
const MISSING: u8 = 0;
const SMALL: u8 = 1;
const LARGE: u8 = 2;

/// A report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twcc<'a> {
    /// The number of the first packet.
    pub first: u16,
    /// Packets that it speaks of.
    pub count: u16,
    /// Its own number.
    pub feedback_count: u8,
    reference: Instant,
    chunks: &'a [u8],
    deltas: &'a [u8],
}

impl<'a> Twcc<'a> {
    /// Reads the control information of a message.
    pub fn parse(fci: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(fci);
        let first = reader.u16("base sequence number")?;
        let offset = reader.offset();
        let count = reader.u16("packet status count")?;
        if count > MAX_PACKETS {
            return Err(ParseError::Invalid {
                field: "packet status count",
                offset,
            });
        }
        let reference = reader.u24("reference time")?;
        let feedback_count = reader.u8("feedback packet count")?;
        let rest = reader.rest();
        let mut symbols = Symbols::new(rest, count.into());
        let (mut told, mut bytes) = (0, 0);
        for symbol in symbols.by_ref() {
            let offset = 8 + symbol.chunk;
            bytes += match symbol.kind {
                MISSING | SMALL | LARGE => usize::from(symbol.kind),
                _ => {
                    return Err(ParseError::Invalid {
                        field: "packet status symbol",
                        offset,
                    });
                }
            };
            told += 1;
        }
        let (chunks, deltas) = rest.split_at(symbols.next.min(rest.len()));
        let truncated = |field, offset| ParseError::Truncated { field, offset };
        if told < usize::from(count) {
            return Err(truncated("packet chunk", 8 + chunks.len()));
        }
        let deltas = deltas
            .get(..bytes)
            .ok_or(truncated("receive delta", 8 + chunks.len()))?;
        Ok(Self {
            first,
            count,
            feedback_count,
            reference: reference_time(reference.into()),
            chunks,
            deltas,
        })
    }

    /// What the report says of itself. It does not tell when it was made: at the last arrival, then. Its
    /// clock counts from some multiple of twelve days.
    pub fn header(&self) -> Header {
        let latest = self.fates().filter_map(|fate| match fate {
            Fate::Arrived { at, .. } => at,
            Fate::Missing => None,
        });
        Header {
            first: self.first,
            made_at: latest.max().unwrap_or(self.reference),
            resolution: RESOLUTION,
        }
    }

    /// What it says of each packet.
    pub fn fates(&self) -> impl Iterator<Item = Fate> + Clone + use<'a> {
        let mut deltas = Reader::new(self.deltas);
        let mut at = self.reference.as_nanos();
        Symbols::new(self.chunks, self.count.into()).map(move |symbol| {
            let delta = match symbol.kind {
                SMALL => deltas.u8("receive delta").map(i64::from),
                LARGE => deltas
                    .u16("receive delta")
                    .map(|delta| delta.cast_signed().into()),
                _ => return Fate::Missing,
            };
            // Their number was checked.
            at = at.wrapping_add_signed(delta.unwrap_or(0) * DELTA_NANOS as i64);
            Fate::Arrived {
                at: Some(Instant::from_nanos(at)),
                ecn: Ecn::NotEct,
            }
        })
    }
}

/// A period later than the wire has it, so that nothing lies before zero.
const fn reference_time(units: u64) -> Instant {
    Instant::from_nanos((REFERENCE_WRAP + units) * REFERENCE_NANOS)
}

/// What chunks say of one packet.
struct Symbol {
    kind: u8,
    /// Where its chunk begins.
    chunk: usize,
}

/// The symbols of chunks, one a packet, as long as there are chunks and packets.
#[derive(Clone)]
struct Symbols<'a> {
    chunks: &'a [u8],
    /// Where the next chunk begins.
    next: usize,
    packets: usize,
    /// What is left of the present chunk: how many symbols, each of so many of the lower bits, or one for
    /// all.
    left: usize,
    width: u32,
    bits: u16,
}

impl<'a> Symbols<'a> {
    const fn new(chunks: &'a [u8], packets: usize) -> Self {
        Self {
            chunks,
            next: 0,
            packets,
            left: 0,
            width: 0,
            bits: 0,
        }
    }
}

impl Iterator for Symbols<'_> {
    type Item = Symbol;

    fn next(&mut self) -> Option<Symbol> {
        if self.packets == 0 {
            return None;
        }
        while self.left == 0 {
            let chunk = self.chunks.get(self.next..)?.first_chunk()?;
            let chunk = u16::from_be_bytes(*chunk);
            self.next += 2;
            (self.left, self.width, self.bits) = match chunk >> 14 {
                0b10 => (14, 1, chunk),
                0b11 => (7, 2, chunk),
                _ => (usize::from(chunk & 0x1fff), 0, chunk >> 13),
            };
        }
        self.left -= 1;
        self.packets -= 1;
        let shift = self.width * self.left as u32;
        let mask = if self.width == 1 { 1 } else { 3 };
        Some(Symbol {
            kind: (self.bits >> shift & mask) as u8,
            chunk: self.next - 2,
        })
    }
}

/// Bytes that a report of so many packets may take.
pub const fn max_packet_len(count: usize) -> usize {
    (20 + count.div_ceil(7) * 2 + count * 2).next_multiple_of(4)
}

/// Writes a report of the packets from `first` on: when each came, if it did. `None` if it does not fit.
/// Arrivals more than eight seconds apart are told as eight.
pub fn emit(
    (sender_ssrc, media_ssrc): (u32, u32),
    first: u16,
    packets: impl ExactSizeIterator<Item = Option<Instant>> + Clone,
    feedback_count: u8,
    buf: &mut [u8],
) -> Option<usize> {
    let count = packets.len();
    if count > MAX_PACKETS.into() {
        return None;
    }
    let earliest = packets.clone().flatten().next();
    let reference = earliest.map_or(0, |at| at.as_nanos() / REFERENCE_NANOS);
    let (head, rest) = buf.split_at_mut_checked(12)?;
    let mut writer = Writer::new(rest);
    writer.u16(first)?;
    writer.u16(count as u16)?;
    writer.u24((reference % REFERENCE_WRAP) as u32)?;
    writer.u8(feedback_count)?;
    let deltas = Deltas {
        packets,
        last: reference * (REFERENCE_NANOS / DELTA_NANOS),
    };
    write_chunks(&mut writer, deltas.clone().map(kind))?;
    for delta in deltas.flatten() {
        match u8::try_from(delta) {
            Ok(small) => writer.u8(small)?,
            Err(_) => writer.u16(delta.cast_unsigned())?,
        }
    }
    writer.pad_to_word()?;
    let body = writer.len();
    let mut writer = Writer::new(head);
    emit_header(&mut writer, FORMAT, TRANSPORT_FEEDBACK, 8 + body)?;
    writer.u32(sender_ssrc)?;
    writer.u32(media_ssrc)?;
    Some(12 + body)
}

const fn kind(delta: Option<i16>) -> u8 {
    match delta {
        None => MISSING,
        Some(0..=255) => SMALL,
        Some(_) => LARGE,
    }
}

/// From each arrival to the one told before it.
#[derive(Clone)]
struct Deltas<I> {
    packets: I,
    last: u64,
}

impl<I: Iterator<Item = Option<Instant>>> Iterator for Deltas<I> {
    type Item = Option<i16>;

    fn next(&mut self) -> Option<Option<i16>> {
        let Some(at) = self.packets.next()? else {
            return Some(None);
        };
        let units = at.as_nanos() / DELTA_NANOS;
        let delta = units.wrapping_sub(self.last).cast_signed();
        let delta = delta.clamp(i16::MIN.into(), i16::MAX.into());
        self.last = self.last.wrapping_add_signed(delta);
        Some(Some(delta as i16))
    }
}

/// Runs where they are long, else one bit a packet, or two where a delta is large (§3.1.3, §3.1.4).
fn write_chunks(writer: &mut Writer<'_>, kinds: impl Iterator<Item = u8> + Clone) -> Option<()> {
    let mut rest = kinds;
    while let Some(kind) = rest.clone().next() {
        let run = rest
            .clone()
            .take(MAX_RUN)
            .take_while(|k| *k == kind)
            .count();
        let has_large = rest.clone().take(14).any(|kind| kind == LARGE);
        let (chunk, told) = if run >= 14 {
            (u16::from(kind) << 13 | run as u16, run)
        } else if has_large {
            (0b11 << 14 | pack(rest.clone(), 7, 2), 7)
        } else {
            (0b10 << 14 | pack(rest.clone(), 14, 1), 14)
        };
        writer.u16(chunk)?;
        rest.by_ref().take(told).for_each(drop);
    }
    Some(())
}

/// The next symbols, those beyond the last packet missing.
fn pack(kinds: impl Iterator<Item = u8>, count: usize, width: u32) -> u16 {
    kinds
        .chain(std::iter::repeat(MISSING))
        .take(count)
        .fold(0, |bits, kind| bits << width | u16::from(kind))
}

#[cfg(test)]
mod tests {
    use super::super::{Feedback, Packet, Packets};
    use super::*;
    use proptest::prelude::*;

    fn read(packet: &[u8]) -> Feedback<'_> {
        match Packets::parse(packet).unwrap().next().unwrap().unwrap() {
            Packet::Feedback(feedback) if feedback.format == FORMAT => feedback,
            other => panic!("{other:?}"),
        }
    }

    fn arrived(units: u64) -> Fate {
        Fate::Arrived {
            at: Some(Instant::from_nanos(units * DELTA_NANOS)),
            ecn: Ecn::NotEct,
        }
    }

    /// A run of two that came, seven symbols of two bits, fourteen of one: of eighteen packets.
    const DRAWN: [u8; 20] = [
        0xff, 0xff, 0, 18, 0, 0, 2, 9, // 128 ms, the tenth
        0x20, 2, 0xd8, 0x00, 0xa0, 0x00, // 1 1; 01 10 0…; 1 0…
        4, 0, 8, 0xff, 0xff, 16,
    ];

    #[test]
    fn a_report_is_read_as_the_draft_draws_it() {
        let twcc = Twcc::parse(&DRAWN).unwrap();
        assert_eq!(
            (twcc.first, twcc.count, twcc.feedback_count),
            (0xffff, 18, 9)
        );
        let start = (REFERENCE_WRAP + 2) * 256;
        let mut expected = vec![Fate::Missing; 18];
        expected[0] = arrived(start + 4);
        expected[1] = arrived(start + 4);
        expected[2] = arrived(start + 12);
        expected[3] = arrived(start + 11);
        expected[9] = arrived(start + 27);
        assert_eq!(twcc.fates().collect::<Vec<_>>(), expected);
        assert_eq!(
            twcc.header().made_at,
            Instant::from_nanos((start + 27) * DELTA_NANOS)
        );
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        for len in 0..DRAWN.len() {
            assert!(Twcc::parse(&DRAWN[..len]).is_err(), "{len}");
        }
        let reserved = [0, 0, 0, 1, 0, 0, 0, 0, 0x60, 1, 0, 0];
        let error = ParseError::Invalid {
            field: "packet status symbol",
            offset: 8,
        };
        assert_eq!(Twcc::parse(&reserved), Err(error));
    }

    #[test]
    fn a_steady_stream_takes_little_more_than_a_byte_a_packet() {
        let packets = (0..200u32).map(|n| (n % 50 != 7).then(|| Instant::from_millis(n.into())));
        let mut buf = [0; 512];
        let len = emit((1, 7), 0, packets, 0, &mut buf).unwrap();
        assert!(len < 250, "{len}");
    }

    proptest! {
        #[test]
        fn what_is_reported_is_read_to_a_unit(
            first: u16,
            start in 0u64..1 << 55,
            packets in proptest::collection::vec(
                proptest::option::weighted(0.8, prop_oneof![4 => 0u64..50, 1 => 0u64..8_000]), 0..300),
        ) {
            let start = Instant::from_nanos(start);
            let told = packets.iter().map(|ms| ms.map(|ms| start + Duration::from_millis(ms)));
            let mut buf = [0; 2_048];
            let len = emit((1, 7), first, told.clone(), 3, &mut buf).unwrap();
            prop_assert!(len <= max_packet_len(packets.len()));
            let feedback = read(&buf[..len]);
            let twcc = Twcc::parse(feedback.fci).unwrap();
            prop_assert_eq!((twcc.first, usize::from(twcc.count), twcc.feedback_count), (first, packets.len(), 3));
            let fates: Vec<_> = twcc.fates().collect();
            prop_assert_eq!(fates.len(), packets.len());
            let wrap = REFERENCE_WRAP * REFERENCE_NANOS;
            for (fate, told) in fates.into_iter().zip(told) {
                let read = match fate { Fate::Arrived { at, .. } => at, Fate::Missing => None };
                prop_assert_eq!(read.is_some(), told.is_some());
                if let (Some(read), Some(told)) = (read, told) {
                    let unit = told.as_nanos() / DELTA_NANOS * DELTA_NANOS;
                    prop_assert_eq!(read.as_nanos() % wrap, unit % wrap);
                }
            }
        }

        #[test]
        fn arbitrary_bytes_are_no_panic(fci: Vec<u8>) {
            if let Ok(twcc) = Twcc::parse(&fci) {
                prop_assert_eq!(twcc.fates().count(), usize::from(twcc.count));
                let _ = twcc.header();
            }
        }
    }
}
