//! Writes small transport streams for tests, with tables, clock references and pictures.

use std::collections::BTreeMap;

use crate::tables::crc;
use crate::ts::{SYNC, TS_LEN};

/// The stream of pictures.
pub(crate) const PICTURES: u16 = 0x100;
/// The table of the program.
pub(crate) const MAP: u16 = 0x1000;
/// The stream of the clock, where the pictures have none.
pub(crate) const CLOCK: u16 = 0x1f00;

/// H.264 units of a picture: parameters and IDR, or one that depends on others.
pub(crate) const IDR: &[u8] = &[
    0, 0, 1, 9, 0xf0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 1, 0, 0, 1, 0x65, 1,
];
pub(crate) const INTER: &[u8] = &[0, 0, 1, 9, 0xf0, 0, 0, 1, 0x41, 1];

/// A stream that grows.
#[derive(Default)]
pub(crate) struct TestStream {
    pub(crate) bytes: Vec<u8>,
    counters: BTreeMap<u16, u8>,
}

impl TestStream {
    /// Adds a packet with this adaptation field, of which the length is written here, and as much of the payload as
    /// fits; returns the rest.
    pub(crate) fn packet<'a>(
        &mut self,
        pid: u16,
        starts_unit: bool,
        field: &[u8],
        payload: &'a [u8],
    ) -> &'a [u8] {
        let mut field = field.to_vec();
        let room = TS_LEN - 4 - field.len() - usize::from(!field.is_empty());
        let (payload, rest) = payload.split_at(payload.len().min(room));
        let mut stuffing = room - payload.len();
        let has_field = !field.is_empty() || stuffing > 0;
        if field.is_empty() && stuffing > 0 {
            // The field's length is the first byte of the stuffing, its flags are the second.
            stuffing -= 1;
            field.extend([0].iter().take(stuffing));
            stuffing = stuffing.saturating_sub(1);
        }
        field.resize(field.len() + stuffing, 0xff);
        let counter = self.counters.entry(pid).or_insert(0);
        let [high, low] = pid.to_be_bytes();
        let flags = u8::from(has_field) << 5 | u8::from(!payload.is_empty()) << 4;
        let start = u8::from(starts_unit) << 6;
        self.bytes
            .extend([SYNC, start | high, low, flags | *counter]);
        *counter = (*counter + u8::from(!payload.is_empty())) % 16;
        if has_field {
            self.bytes.push(field.len() as u8);
            self.bytes.extend(field);
        }
        self.bytes.extend(payload);
        assert!(self.bytes.len().is_multiple_of(TS_LEN));
        rest
    }

    /// Adds a section, in as many packets as it needs.
    pub(crate) fn section(&mut self, pid: u16, section: &[u8]) {
        let whole = [&[0], section].concat();
        let mut rest = whole.as_slice();
        let mut starts = true;
        while !rest.is_empty() {
            rest = self.packet(pid, starts, &[], rest);
            starts = false;
        }
    }

    /// Adds tables of one program, whose clock and streams (type, PID) are these.
    pub(crate) fn tables(&mut self, clock_pid: u16, streams: &[(u8, u16)]) {
        self.section(0, &association(&[(1, MAP)]));
        self.section(MAP, &program_map(1, clock_pid, &[], streams));
    }

    /// Adds a packet that only states the clock.
    pub(crate) fn clock(&mut self, pid: u16, ms: u64) {
        self.packet(pid, false, &clock_field(ms, 0), &[]);
    }

    /// Adds a picture as a PES packet, with this adaptation field in its first packet.
    pub(crate) fn picture(&mut self, pid: u16, field: &[u8], units: &[u8]) {
        let whole = [&[0, 0, 1, 0xe0, 0, 0, 0x80, 0, 0], units].concat();
        let mut rest = self.packet(pid, true, field, &whole);
        while !rest.is_empty() {
            rest = self.packet(pid, false, &[], rest);
        }
    }

    /// Adds packets that only fill a constant rate.
    pub(crate) fn stuffing(&mut self, count: usize) {
        for _ in 0..count {
            self.packet(0x1fff, false, &[], &[0xff; TS_LEN]);
        }
    }
}

/// An adaptation field with these flags and a clock reference.
pub(crate) fn clock_field(ms: u64, flags: u8) -> Vec<u8> {
    let clock = (ms * 90 % (1 << 33)) << 15;
    [&[0x10 | flags], &clock.to_be_bytes()[2..]].concat()
}

/// A PAT of these programs, each with the PID of its map.
pub(crate) fn association(programs: &[(u16, u16)]) -> Vec<u8> {
    let entry = |(number, pid): &(u16, u16)| [number.to_be_bytes(), (0xe000 | pid).to_be_bytes()];
    let content = programs.iter().map(entry).collect::<Vec<_>>();
    table(0, 1, content.as_flattened().as_flattened())
}

/// A PMT with this descriptor.
pub(crate) fn program_map(
    number: u16,
    clock_pid: u16,
    descriptor: &[u8],
    streams: &[(u8, u16)],
) -> Vec<u8> {
    let mut content = (0xe000 | clock_pid).to_be_bytes().to_vec();
    content.extend((0xf000 | descriptor.len() as u16).to_be_bytes());
    content.extend(descriptor);
    for (kind, pid) in streams {
        let [high, low] = pid.to_be_bytes();
        content.extend([*kind, 0xe0 | high, low, 0xf0, 0]);
    }
    table(2, number, &content)
}

fn table(id: u8, number: u16, content: &[u8]) -> Vec<u8> {
    let [high, low] = (0xb000 | (content.len() as u16 + 9)).to_be_bytes();
    let [a, b] = number.to_be_bytes();
    let mut section = [&[id, high, low, a, b, 0xc1, 0, 0], content].concat();
    let checksum = crc(&section);
    section.extend(checksum.to_be_bytes());
    section
}
