//! The fields of messages: the terms of a test, and counts.

use evenkeel_rtp::packet::wire::ParseError;
use evenkeel_rtp::packet::wire::{Reader, Writer};
use evenkeel_rtp::session::FeedbackMode;
use tfrc::time::Duration;
use tfrc::units::Rate;

use crate::count::Count;
use crate::terms::{Direction, Mode, ReportTiming, Terms};

pub(super) fn read_terms(reader: &mut Reader<'_>) -> Result<Terms, ParseError> {
    let direction = match one_of(reader, "direction", 2)? {
        0 => Direction::Forward,
        1 => Direction::Reverse,
        _ => Direction::Both,
    };
    let mode = match one_of(reader, "mode", 3)? {
        0 => Mode::Rfc5348,
        1 => Mode::Rfc3448,
        2 => Mode::SmallPackets,
        _ => Mode::Fixed,
    };
    let feedback = match one_of(reader, "feedback", 4)? {
        0 => FeedbackMode::Tfrc,
        1 => FeedbackMode::Ccfb,
        2 => FeedbackMode::Twcc,
        3 => FeedbackMode::Sack,
        _ => FeedbackMode::App,
    };
    let ecn = one_of(reader, "ecn", 1)? == 1;
    let flows = within(reader, "flows", 1, Terms::MAX_FLOWS)?;
    let length = within(reader, "length", Terms::MIN_LENGTH, Terms::MAX_LENGTH)?;
    let segment_size = within(reader, "segment size", 1, Terms::MAX_LENGTH)?;
    let offset = reader.offset();
    let rate = match reader.u64("rate")? {
        0 if mode == Mode::Fixed => return Err(invalid("rate", offset)),
        0 => None,
        bits => Some(Rate::from_bits_per_sec(bits as f64)),
    };
    let duration = Duration::from_millis(reader.u32("duration")?.into());
    Ok(Terms {
        direction,
        flows,
        rate,
        duration,
        length,
        segment_size,
        mode,
        feedback,
        ecn,
        burst: micros(reader, "burst", Terms::MAX_BURST)?,
        min_nofeedback: micros(reader, "nofeedback floor", Terms::MAX_NOFEEDBACK)?,
        reports: ReportTiming {
            quarters: within(reader, "report quarters", 1, ReportTiming::MAX_QUARTERS)?,
            session_bandwidth: match reader.u64("session bandwidth")? {
                0 => None,
                bits => Some(Rate::from_bits_per_sec(bits as f64)),
            },
            piggy_backed: one_of(reader, "piggy-backed", 1)? == 1,
        },
    })
}

pub(super) fn write_terms(writer: &mut Writer<'_>, terms: &Terms) -> Option<()> {
    writer.u8(match terms.direction {
        Direction::Forward => 0,
        Direction::Reverse => 1,
        Direction::Both => 2,
    })?;
    writer.u8(match terms.mode {
        Mode::Rfc5348 => 0,
        Mode::Rfc3448 => 1,
        Mode::SmallPackets => 2,
        Mode::Fixed => 3,
    })?;
    writer.u8(match terms.feedback {
        FeedbackMode::Tfrc => 0,
        FeedbackMode::Ccfb => 1,
        FeedbackMode::Twcc => 2,
        FeedbackMode::Sack => 3,
        FeedbackMode::App => 4,
    })?;
    writer.u8(terms.ecn.into())?;
    writer.u16(terms.flows)?;
    writer.u16(terms.length)?;
    writer.u16(terms.segment_size)?;
    writer.u64(terms.rate.map_or(0, |rate| rate.bits_per_sec() as u64))?;
    writer.u32(u32::try_from(millis(terms.duration)).unwrap_or(u32::MAX))?;
    for time in [terms.burst, terms.min_nofeedback] {
        writer.u32(u32::try_from(time.as_micros()).unwrap_or(u32::MAX))?;
    }
    let reports = &terms.reports;
    writer.u16(reports.quarters)?;
    let bandwidth = reports.session_bandwidth;
    writer.u64(bandwidth.map_or(0, |rate| rate.bits_per_sec() as u64))?;
    writer.u8(reports.piggy_backed.into())
}

pub(super) fn read_count(reader: &mut Reader<'_>) -> Result<Count, ParseError> {
    Ok(Count {
        packets_sent: reader.u64("packets sent")?,
        bytes_sent: reader.u64("bytes sent")?,
        packets_received: reader.u64("packets received")?,
        bytes_received: reader.u64("bytes received")?,
        packets_lost: reader.u64("packets lost")?,
        out_of_order: reader.u64("packets out of order")?,
        packets_marked: reader.u64("packets marked")?,
        jitter: Duration::from_micros(reader.u32("jitter")?.into()),
        received_over: Duration::from_micros(reader.u64("time of reception")?),
    })
}

pub(super) fn write_count(writer: &mut Writer<'_>, count: &Count) -> Option<()> {
    for value in [
        count.packets_sent,
        count.bytes_sent,
        count.packets_received,
        count.bytes_received,
        count.packets_lost,
        count.out_of_order,
        count.packets_marked,
    ] {
        writer.u64(value)?;
    }
    writer.u32(u32::try_from(count.jitter.as_micros()).unwrap_or(u32::MAX))?;
    writer.u64(u64::try_from(count.received_over.as_micros()).unwrap_or(u64::MAX))
}

fn one_of(reader: &mut Reader<'_>, field: &'static str, last: u8) -> Result<u8, ParseError> {
    let offset = reader.offset();
    let value = reader.u8(field)?;
    if value > last {
        return Err(invalid(field, offset));
    }
    Ok(value)
}

fn within(
    reader: &mut Reader<'_>,
    field: &'static str,
    least: u16,
    most: u16,
) -> Result<u16, ParseError> {
    let offset = reader.offset();
    let value = reader.u16(field)?;
    if !(least..=most).contains(&value) {
        return Err(invalid(field, offset));
    }
    Ok(value)
}

fn micros(
    reader: &mut Reader<'_>,
    field: &'static str,
    most: Duration,
) -> Result<Duration, ParseError> {
    let offset = reader.offset();
    let time = Duration::from_micros(reader.u32(field)?.into());
    if time > most {
        return Err(invalid(field, offset));
    }
    Ok(time)
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(super) const fn invalid(field: &'static str, offset: usize) -> ParseError {
    ParseError::Invalid { field, offset }
}
