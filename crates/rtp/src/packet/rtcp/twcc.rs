//! Transport-wide congestion control feedback: which packets arrived and when, as WebRTC endpoints report it.
//!
//! The format is draft-holmer-rmcat-transport-wide-cc-extensions-01. It has no ECN.

use std::iter;
use std::time::Duration;

use tfrc::Ecn;
use tfrc::sent_packets::{PacketStatus, ReportHeader, StatusRun};
use tfrc::time::Instant;

use super::header::{TRANSPORT_FEEDBACK, emit_header};
use crate::packet::wire::{ParseError, Reader, Writer};

/// The FMT of the message.
pub const FORMAT: u8 = 15;
/// The unit of arrival times.
pub const RESOLUTION: Duration = Duration::from_micros(250);

/// The most packets that are read from a report: a quarter of all numbers, as in RFC 8888 §3.1.
const MAX_PACKETS: u16 = 16_384;
/// The nanoseconds in a unit of the reference time, then in a unit of deltas.
const REFERENCE_NANOS: u64 = 64_000_000;
const DELTA_NANOS: u64 = 250_000;
/// The number of units, some twelve days, after which the reference time wraps.
const REFERENCE_WRAP: u64 = 1 << 24;
/// The longest run in a chunk.
const MAX_RUN: u32 = 8_191;

/// The symbols of a packet (§3.1.1): missing, or arrived with a delta of one or two bytes.
const MISSING: u8 = 0;
const SMALL_DELTA: u8 = 1;
const LARGE_DELTA: u8 = 2;

/// A report that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twcc<'a> {
    /// The transport-wide number of the first packet, modulo 2^16.
    pub first: u16,
    /// The number of reported packets.
    pub count: u16,
    /// The number of the report, modulo 2^8.
    pub feedback_count: u8,
    reference: Instant,
    chunks: &'a [u8],
    deltas: &'a [u8],
    /// True if all deltas have one byte, so that none goes back in time.
    is_in_order: bool,
}

impl<'a> Twcc<'a> {
    /// Reads the control information of a message.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
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
            let chunk = Chunk::new(chunk, left);
            let [small, large] = chunk.arrivals().ok_or(ParseError::Invalid {
                field: "packet status symbol",
                offset: 8 + next,
            })?;
            bytes += usize::from(small) + 2 * usize::from(large);
            is_in_order &= large == 0;
            left -= chunk.count;
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

    /// Returns the header of the report. The report has no date, so it counts as made at the last arrival. Its
    /// clock counts from some multiple of twelve days.
    pub fn header(&self) -> ReportHeader {
        let made_at = if self.is_in_order {
            // The sum of 256 deltas still fits.
            let some = self.deltas.chunks(256);
            let sums = some.map(|deltas| deltas.iter().map(|delta| u16::from(*delta)).sum::<u16>());
            let units: u32 = sums.map(u32::from).sum();
            Instant::from_nanos(self.reference.as_nanos() + u64::from(units) * DELTA_NANOS)
        } else {
            let latest = self.status_runs().filter_map(|run| match run {
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

    /// Returns the status of the packets as runs, at most as many as the report has bits.
    pub fn status_runs(&self) -> impl Iterator<Item = StatusRun> + Clone + use<'a> {
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
            // The parser has checked the number of deltas.
            let mut byte = || deltas.next().unwrap_or(0);
            let delta = match chunk.next_kind() {
                SMALL_DELTA => byte().into(),
                LARGE_DELTA => i64::from(i16::from_be_bytes([byte(), byte()])),
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

    /// Returns the status of each packet.
    pub fn statuses(&self) -> impl Iterator<Item = PacketStatus> + Clone + use<'a> {
        self.status_runs().flat_map(StatusRun::statuses)
    }
}

/// Returns a reference time, one period later than on the wire, so that no arrival becomes negative.
const fn reference_time(units: u64) -> Instant {
    Instant::from_nanos((REFERENCE_WRAP + units) * REFERENCE_NANOS)
}

/// The rest of a chunk.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// The number of packets in the rest.
    count: u16,
    /// The symbols of two bits, the first in the highest bits; a run has one symbol for all packets.
    symbols: u32,
    /// The bits from one symbol to the next; zero for a run.
    step: u32,
}

impl Chunk {
    /// Reads a chunk, of which at most the first `packets` packets count.
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

    /// Returns how many arrivals have a delta of one byte, and of two; `None` if a symbol is invalid.
    const fn arrivals(self) -> Option<[u16; 2]> {
        const LOWER: u32 = 0x5555_5555;
        let Self { count, step, .. } = self;
        if count == 0 {
            return Some([0, 0]);
        }
        // Symbols beyond the last packet are ignored.
        let stored = if step == 0 { 1 } else { count as u32 };
        let symbols = self.symbols >> (32 - 2 * stored);
        let [small, large] = [symbols & LOWER, symbols >> 1 & LOWER];
        match step {
            _ if small & large != 0 => None,
            0 => Some([small as u16 * count, large as u16 * count]),
            _ => Some([small.count_ones() as u16, large.count_ones() as u16]),
        }
    }

    /// Returns the symbol of the next packet, which must exist.
    #[inline]
    const fn next_kind(&mut self) -> u8 {
        let kind = (self.symbols >> 30) as u8;
        self.symbols <<= self.step;
        self.count -= 1;
        kind
    }

    /// Skips the rest of a run, and returns the number of skipped packets; other chunks remain unchanged.
    const fn rest_of_run(&mut self) -> u16 {
        let rest = if self.step == 0 { self.count } else { 0 };
        self.count -= rest;
        rest
    }
}

/// Inserts a zero before each of fourteen bits.
const fn two_bits_each(bits: u32) -> u32 {
    let bits = (bits | bits << 8) & 0x00ff_00ff;
    let bits = (bits | bits << 4) & 0x0f0f_0f0f;
    let bits = (bits | bits << 2) & 0x3333_3333;
    (bits | bits << 1) & 0x5555_5555
}

/// Returns the greatest length of a report of `count` packets.
pub const fn max_packet_len(count: usize) -> usize {
    (20 + most_chunks(count) + count * 2).next_multiple_of(4)
}

/// Returns the greatest length of the chunks, each of which covers at least seven packets.
const fn most_chunks(count: usize) -> usize {
    count.div_ceil(7) * 2
}

/// Writes a report of the packets from `first` on, with the time of each arrival. Returns `None` if the report does
/// not fit, which never happens with [`max_packet_len`] bytes. A difference of arrivals is limited to eight
/// seconds.
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
    // Deltas are written behind the room for chunks, so that each packet is visited only once.
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
            Ok(small) => (SMALL_DELTA, deltas.u8(small)),
            Err(_) => (LARGE_DELTA, deltas.u16(delta.cast_unsigned())),
        };
        fits &= written.is_some();
        kind
    });
    write_chunks(&mut writer, kinds)?;
    if !fits {
        return None;
    }
    let (delta_bytes, chunks) = (deltas.len(), writer.len());
    let behind = 8 + most_chunks(count);
    rest.copy_within(behind..behind + delta_bytes, chunks);
    let body = (chunks + delta_bytes).next_multiple_of(4);
    rest.get_mut(chunks + delta_bytes..body)?.fill(0);
    let mut writer = Writer::new(head);
    emit_header(&mut writer, FORMAT, TRANSPORT_FEEDBACK, 8 + body)?;
    writer.u32(sender_ssrc)?;
    writer.u32(media_ssrc)?;
    Some(12 + body)
}

/// Returns the time from the last reported arrival to the one at `at`, in units, and replaces the last one.
fn delta(last: &mut u64, at: Instant) -> i16 {
    let units = at.as_nanos() / DELTA_NANOS;
    let delta = units.wrapping_sub(*last).cast_signed();
    let delta = delta.clamp(i16::MIN.into(), i16::MAX.into());
    *last = last.wrapping_add_signed(delta);
    delta as i16
}

/// Writes long runs as such, and else one bit a packet, or two bits where a delta is large (§3.1.3, §3.1.4).
fn write_chunks(writer: &mut Writer<'_>, kinds: impl Iterator<Item = u8>) -> Option<()> {
    /// The lower bits, then the upper bits, of 14 symbols of two bits each.
    const LOWER: u32 = 0x555_5555;
    const UPPER: u32 = LOWER << 1;
    let mut kinds = kinds.map(u32::from).peekable();
    // The symbols that are not written yet, the last in the lowest two bits.
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
        // Symbols beyond the last packet mean missing packets.
        let all = symbols << (2 * (14 - held));
        let written = if symbols & UPPER == 0 { 14 } else { 7 };
        let chunk = if written == 7 {
            0b11 << 14 | all >> 14
        } else {
            0b10 << 14 | (0..14).fold(0, |bits, n| bits | all >> n & 1 << n)
        };
        writer.u16(chunk as u16)?;
        held -= written.min(held);
        symbols &= (1 << (2 * held)) - 1;
    }
}

#[cfg(test)]
mod tests;
