//! Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01): which
//! packets came and when, as WebRTC endpoints report it. It knows no ECN.

use std::iter;
use std::time::Duration;

use tfrc::Ecn;
use tfrc::sent_packets::{PacketStatus, ReportHeader, StatusRun};
use tfrc::time::Instant;

use super::header::{TRANSPORT_FEEDBACK, emit_header};
use crate::packet::wire::{ParseError, Reader, Writer};

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
const MAX_RUN: u32 = 8_191;

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
    /// All deltas have one byte, so none goes back in time.
    is_in_order: bool,
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
        let truncated = |field, offset| ParseError::Truncated { field, offset };
        let (mut left, mut next, mut bytes, mut is_in_order) = (count, 0, 0, true);
        while left > 0 {
            let chunk = rest[next..].first_chunk();
            let chunk = u16::from_be_bytes(*chunk.ok_or(truncated("packet chunk", 8 + next))?);
            let told = Chunk::new(chunk, left);
            let [small, large] = told.arrivals().ok_or(ParseError::Invalid {
                field: "packet status symbol",
                offset: 8 + next,
            })?;
            bytes += usize::from(small) + 2 * usize::from(large);
            is_in_order &= large == 0;
            left -= told.count;
            next += 2;
        }
        let (chunks, deltas) = rest.split_at(next);
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
            is_in_order,
        })
    }

    /// What the report says of itself. It does not tell when it was made: at the last arrival, then. Its
    /// clock counts from some multiple of twelve days.
    pub fn header(&self) -> ReportHeader {
        let made_at = if self.is_in_order {
            // So many that the sum of them fits.
            let some = self.deltas.chunks(256);
            let sums = some.map(|deltas| deltas.iter().map(|delta| u16::from(*delta)).sum::<u16>());
            let units: u32 = sums.map(u32::from).sum();
            Instant::from_nanos(self.reference.as_nanos() + u64::from(units) * DELTA_NANOS)
        } else {
            let latest = self.told().filter_map(|told| match told {
                StatusRun::Arrived { at, .. } => at,
                StatusRun::Missing { .. } => None,
            });
            latest.max().unwrap_or(self.reference)
        };
        ReportHeader {
            first: self.first,
            made_at,
            resolution: RESOLUTION,
        }
    }

    /// What it says of the packets, in no more steps than it has bits.
    pub fn told(&self) -> impl Iterator<Item = StatusRun> + Clone + use<'a> {
        let (mut chunks, _) = self.chunks.as_chunks::<2>();
        let mut packets = self.count;
        let mut chunk = Chunk::new(0, 0);
        let mut deltas = self.deltas.iter().copied();
        let mut at = self.reference.as_nanos();
        iter::from_fn(move || {
            while chunk.count == 0 {
                let (next, others) = chunks.split_first()?;
                chunk = Chunk::new(u16::from_be_bytes(*next), packets);
                packets -= chunk.count;
                chunks = others;
            }
            // The number of deltas was checked.
            let mut byte = || deltas.next().unwrap_or(0);
            let delta = match chunk.next_kind() {
                SMALL => byte().into(),
                LARGE => i64::from(i16::from_be_bytes([byte(), byte()])),
                _ => {
                    let count = 1 + chunk.rest_of_run();
                    return Some(StatusRun::Missing { count });
                }
            };
            at = at.wrapping_add_signed(delta * DELTA_NANOS as i64);
            Some(StatusRun::Arrived {
                at: Some(Instant::from_nanos(at)),
                ecn: Ecn::NotEct,
            })
        })
    }

    /// What it says of each packet.
    pub fn fates(&self) -> impl Iterator<Item = PacketStatus> + Clone + use<'a> {
        self.told().flat_map(StatusRun::statuses)
    }
}

/// A period later than the wire has it, so that nothing lies before zero.
const fn reference_time(units: u64) -> Instant {
    Instant::from_nanos((REFERENCE_WRAP + units) * REFERENCE_NANOS)
}

/// What is left of a chunk.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// Packets that it speaks of.
    count: u16,
    /// Their symbols of two bits, the first in the highest; or one for all.
    symbols: u32,
    /// Bits from a symbol to the next: none if one is for all.
    step: u32,
}

impl Chunk {
    /// A chunk of which so many packets are spoken of at most.
    const fn new(chunk: u16, packets: u16) -> Self {
        let bits = chunk as u32;
        let (count, symbols, step) = match chunk >> 14 {
            0b10 => (14, two_bits_each(bits & 0x3fff) << 4, 2),
            0b11 => (7, bits << 18, 2),
            _ => (chunk & 0x1fff, bits << 17, 0),
        };
        Self {
            count: if count < packets { count } else { packets },
            symbols,
            step,
        }
    }

    /// How many arrivals it tells with a delta of one byte, and of two; `None` if it tells anything that has no meaning.
    const fn arrivals(self) -> Option<[u16; 2]> {
        const LOWER: u32 = 0x5555_5555;
        let Self { count, step, .. } = self;
        if count == 0 {
            return Some([0, 0]);
        }
        // Those beyond the last packet say nothing.
        let told = if step == 0 { 1 } else { count as u32 };
        let symbols = self.symbols >> (32 - 2 * told);
        let [small, large] = [symbols & LOWER, symbols >> 1 & LOWER];
        match step {
            _ if small & large != 0 => None,
            0 => Some([small as u16 * count, large as u16 * count]),
            _ => Some([small.count_ones() as u16, large.count_ones() as u16]),
        }
    }

    /// What it says of the next packet, of which there is one.
    #[inline]
    const fn next_kind(&mut self) -> u8 {
        let kind = (self.symbols >> 30) as u8;
        self.symbols <<= self.step;
        self.count -= 1;
        kind
    }

    /// Steps over the packets of which it says what it said of the one before, if it says it of all at once; how many
    /// they are.
    const fn rest_of_run(&mut self) -> u16 {
        let rest = if self.step == 0 { self.count } else { 0 };
        self.count -= rest;
        rest
    }
}

/// Fourteen bits, a zero before each.
const fn two_bits_each(bits: u32) -> u32 {
    let bits = (bits | bits << 8) & 0x00ff_00ff;
    let bits = (bits | bits << 4) & 0x0f0f_0f0f;
    let bits = (bits | bits << 2) & 0x3333_3333;
    (bits | bits << 1) & 0x5555_5555
}

/// Bytes that a report of so many packets may take.
pub const fn max_packet_len(count: usize) -> usize {
    (20 + most_chunks(count) + count * 2).next_multiple_of(4)
}

/// Bytes that chunks may take: each speaks of seven packets at least.
const fn most_chunks(count: usize) -> usize {
    count.div_ceil(7) * 2
}

/// Writes a report of the packets from `first` on: when each came, if it did. `None` if it does not fit, which no
/// report does not that has [`max_packet_len`]. Arrivals more than eight seconds apart are told as eight.
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
    // Deltas are written behind the room that chunks may take, to look at each packet once.
    let (fields, deltas) = rest.split_at_mut_checked(8 + most_chunks(count))?;
    let mut writer = Writer::new(fields);
    writer.u16(first)?;
    writer.u16(count as u16)?;
    writer.u24((reference % REFERENCE_WRAP) as u32)?;
    writer.u8(feedback_count)?;
    let mut last = reference * (REFERENCE_NANOS / DELTA_NANOS);
    let mut deltas = Writer::new(deltas);
    let mut fits = true;
    let kinds = packets.map(|packet| {
        let Some(at) = packet else {
            return MISSING;
        };
        let delta = delta(&mut last, at);
        let (kind, written) = match u8::try_from(delta) {
            Ok(small) => (SMALL, deltas.u8(small)),
            Err(_) => (LARGE, deltas.u16(delta.cast_unsigned())),
        };
        fits &= written.is_some();
        kind
    });
    write_chunks(&mut writer, kinds)?;
    if !fits {
        return None;
    }
    let (told, chunks) = (deltas.len(), writer.len());
    let behind = 8 + most_chunks(count);
    rest.copy_within(behind..behind + told, chunks);
    let body = (chunks + told).next_multiple_of(4);
    rest.get_mut(chunks + told..body)?.fill(0);
    let mut writer = Writer::new(head);
    emit_header(&mut writer, FORMAT, TRANSPORT_FEEDBACK, 8 + body)?;
    writer.u32(sender_ssrc)?;
    writer.u32(media_ssrc)?;
    Some(12 + body)
}

/// From the arrival that was told last, in units, to the one at `at`, which is then the last.
fn delta(last: &mut u64, at: Instant) -> i16 {
    let units = at.as_nanos() / DELTA_NANOS;
    let delta = units.wrapping_sub(*last).cast_signed();
    let delta = delta.clamp(i16::MIN.into(), i16::MAX.into());
    *last = last.wrapping_add_signed(delta);
    delta as i16
}

/// Runs where they are long, else one bit a packet, or two where a delta is large (§3.1.3, §3.1.4).
fn write_chunks(writer: &mut Writer<'_>, kinds: impl Iterator<Item = u8>) -> Option<()> {
    /// 14 symbols of two bits each: the lower bits of all, and the upper.
    const LOWER: u32 = 0x555_5555;
    const UPPER: u32 = LOWER << 1;
    let mut kinds = kinds.map(u32::from).peekable();
    // What is not written yet, the last in the lowest two bits.
    let (mut symbols, mut held) = (0, 0);
    loop {
        while held < 14
            && let Some(kind) = kinds.next()
        {
            symbols = symbols << 2 | kind;
            held += 1;
        }
        if held == 0 {
            return Some(());
        }
        let last = symbols & 3;
        if held == 14 && symbols == last * LOWER {
            let mut run = 14;
            while run < MAX_RUN && kinds.next_if_eq(&last).is_some() {
                run += 1;
            }
            writer.u16((last << 13 | run) as u16)?;
            (symbols, held) = (0, 0);
            continue;
        }
        // Those beyond the last packet are missing.
        let all = symbols << (2 * (14 - held));
        let told = if symbols & UPPER == 0 { 14 } else { 7 };
        let chunk = if told == 7 {
            0b11 << 14 | all >> 14
        } else {
            0b10 << 14 | (0..14).fold(0, |bits, n| bits | all >> n & 1 << n)
        };
        writer.u16(chunk as u16)?;
        held -= told.min(held);
        symbols &= (1 << (2 * held)) - 1;
    }
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

    fn arrived(units: u64) -> PacketStatus {
        PacketStatus::Arrived {
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
        let mut expected = vec![PacketStatus::Missing; 18];
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

    /// Three chunks speak of a quarter of all numbers.
    #[test]
    fn what_is_said_of_many_packets_at_once_is_read_at_once() {
        let fci = [0, 0, 0x40, 0, 0, 0, 0, 1, 0x1f, 0xff, 0x1f, 0xff, 0, 2];
        let twcc = Twcc::parse(&fci).unwrap();
        let missing = [8_191, 8_191, 2].map(|count| StatusRun::Missing { count });
        assert_eq!(twcc.told().collect::<Vec<_>>(), missing);
        assert_eq!(twcc.fates().count(), 16_384);
        // As many that came, whose times are not there.
        let fci = fci.map(|byte| if byte == 0x1f { 0x3f } else { byte });
        assert!(Twcc::parse(&fci).is_err());
    }

    #[test]
    fn a_steady_stream_takes_little_more_than_a_byte_a_packet() {
        let packets = (0..200u32).map(|n| (n % 50 != 7).then(|| Instant::from_millis(n.into())));
        let mut buf = [0; 512];
        let len = emit((1, 7), 0, packets, 0, &mut buf).unwrap();
        assert!(len < 250, "{len}");
    }

    /// Symbol by symbol, as §3.1.3 and §3.1.4 draw chunks: what is told of each packet, if it has a meaning.
    fn read_singly(fci: &[u8]) -> Option<Vec<PacketStatus>> {
        let count = u16::from_be_bytes([fci[2], fci[3]]).into();
        let mut symbols = Vec::new();
        let mut rest = &fci[8..];
        while symbols.len() < count {
            let (chunk, others) = rest.split_first_chunk()?;
            let chunk = u16::from_be_bytes(*chunk);
            match chunk >> 14 {
                0b10 => symbols.extend((0..14).rev().map(|bit| chunk >> bit & 1)),
                0b11 => symbols.extend((0..7).rev().map(|symbol| chunk >> (2 * symbol) & 3)),
                _ => symbols.extend(iter::repeat_n(chunk >> 13, (chunk & 0x1fff).into())),
            }
            rest = others;
        }
        symbols.truncate(count);
        let reference = u32::from_be_bytes([0, fci[4], fci[5], fci[6]]);
        let mut units = (REFERENCE_WRAP + u64::from(reference)) * 256;
        symbols
            .into_iter()
            .map(|symbol| {
                let (delta, others) = rest.split_at_checked(symbol.into())?;
                rest = others;
                let delta = match *delta {
                    [] => return Some(PacketStatus::Missing),
                    [small] => small.into(),
                    [high, low] => i16::from_be_bytes([high, low]),
                    _ => return None,
                };
                units = units.wrapping_add_signed(delta.into());
                Some(arrived(units))
            })
            .collect()
    }

    /// Chunks of any kind, most of those that are drawn with a meaning.
    fn chunk() -> impl Strategy<Value = u16> {
        let run = (0u16..4, 0u16..40).prop_map(|(symbol, count)| symbol << 13 | count);
        let small = (0u16..1 << 14).prop_map(|bits| 0b10 << 14 | bits);
        let large = prop::collection::vec(0u16..3, 7).prop_map(|symbols| {
            symbols
                .into_iter()
                .fold(0b11, |chunk, symbol| chunk << 2 | symbol)
        });
        prop_oneof![1 => run, 2 => small, 2 => large, 1 => any::<u16>()]
    }

    proptest! {
        #[test]
        fn chunks_are_read_as_one_reads_them_symbol_by_symbol(
            count in 0u16..100,
            reference in 0u32..1 << 24,
            chunks in prop::collection::vec(chunk(), 0..8),
            deltas: Vec<u8>,
        ) {
            let mut fci = vec![0, 7];
            fci.extend(count.to_be_bytes());
            fci.extend((reference << 8).to_be_bytes());
            fci.extend(chunks.iter().flat_map(|chunk| chunk.to_be_bytes()));
            fci.extend(deltas);
            let told = read_singly(&fci);
            let read = Twcc::parse(&fci).ok();
            prop_assert_eq!(&read.map(|twcc| twcc.fates().collect::<Vec<_>>()), &told);
            if let (Some(read), Some(told)) = (read, told) {
                let times = told.iter().filter_map(|fate| match fate {
                    PacketStatus::Arrived { at, .. } => *at,
                    PacketStatus::Missing => None,
                });
                let reference = Instant::from_nanos((REFERENCE_WRAP + u64::from(reference)) * REFERENCE_NANOS);
                prop_assert_eq!(read.header().made_at, times.max().unwrap_or(reference));
            }
        }

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
                let read = match fate { PacketStatus::Arrived { at, .. } => at, PacketStatus::Missing => None };
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
                // A bit a symbol is the least that a chunk which is no run takes.
                prop_assert!(twcc.told().count() <= 8 * fci.len());
            }
        }
    }
}
