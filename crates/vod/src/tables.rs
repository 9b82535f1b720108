//! Reads the tables that say which streams a multiplex has: PAT and PMT (ISO/IEC 13818-1 §2.4.4).

use crate::entry::VideoCoding;
use crate::ts::{TS_LEN, TsHeader, pid};

/// The longest section of either table.
const MAX_SECTION: usize = 1_024;
/// The PID of the program association table (PAT).
pub(crate) const ASSOCIATION_PID: u16 = 0;
const ASSOCIATION_ID: u8 = 0;
const MAP_ID: u8 = 2;
/// A program's map has this PID for the clock if it has no clock.
const NO_CLOCK: u16 = 0x1fff;
/// Bytes of a table's section before its content, and of the checksum behind it.
const SECTION_HEADER: usize = 8;
const CHECKSUM: usize = 4;

/// The streams of a program that a server needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TsProgram {
    /// The stream whose packets state the clock.
    pub(crate) clock_pid: u16,
    /// The stream of pictures; of sound in a program without pictures.
    pub(crate) picture_pid: u16,
    /// How the pictures are coded, if in a way that is read here.
    pub(crate) coding: Option<VideoCoding>,
}

/// The tables so far. Each section has a checksum and replaces the one before, whatever its version is.
#[derive(Debug, Default)]
pub(crate) struct ProgramTables {
    association: SectionReader,
    maps: Vec<ProgramMap>,
}

/// One program of the PAT.
#[derive(Debug)]
struct ProgramMap {
    number: u16,
    pid: u16,
    section: SectionReader,
    /// `None` until the map has arrived.
    program: Option<TsProgram>,
}

impl ProgramTables {
    /// Takes a packet of any stream.
    pub(crate) fn read(&mut self, header: TsHeader, packet: &[u8; TS_LEN]) {
        let payload = header.payload(packet);
        if header.pid == ASSOCIATION_PID {
            let maps = &mut self.maps;
            self.association.read(header, payload, |section| {
                if let Some(content) = content(section, ASSOCIATION_ID) {
                    associate(maps, content);
                }
            });
        }
        for map in self.maps.iter_mut().filter(|map| map.pid == header.pid) {
            let (number, program) = (map.number, &mut map.program);
            map.section.read(header, payload, |section| {
                if number_of(section) == number
                    && let Some(read) = content(section, MAP_ID).and_then(parse_map)
                {
                    *program = Some(read);
                }
            });
        }
    }

    /// The first program that has a clock, once the maps of all programs before it are known.
    pub(crate) fn program(&self) -> Option<TsProgram> {
        let mut maps = self.maps.iter();
        let with_clock = |map: &&ProgramMap| {
            map.program
                .is_none_or(|program| program.clock_pid != NO_CLOCK)
        };
        maps.find(with_clock)?.program
    }

    /// True if packets of this stream are of a table, without which a decoder cannot begin.
    pub(crate) fn is_table(&self, pid: u16) -> bool {
        pid == ASSOCIATION_PID || self.maps.iter().any(|map| map.pid == pid)
    }
}

/// Begins anew with these programs, unless they are the same. Those beyond the first section, more than 250, are left
/// out.
fn associate(maps: &mut Vec<ProgramMap>, content: &[u8]) {
    let (entries, _) = content.as_chunks::<4>();
    let programs = entries
        .iter()
        .map(|[a, b, c, d]| (u16::from_be_bytes([*a, *b]), pid([*c, *d])));
    // Number 0 is no program but the network's table.
    let programs: Vec<_> = programs.filter(|(number, _)| *number != 0).collect();
    let present = maps.iter().map(|map| (map.number, map.pid));
    if present.eq(programs.iter().copied()) {
        return;
    }
    let map = |(number, pid)| ProgramMap {
        number,
        pid,
        section: SectionReader::default(),
        program: None,
    };
    *maps = programs.into_iter().map(map).collect();
}

/// The content of the first section of a table that holds now, if it is this table and its checksum is right.
fn content(section: &[u8], table: u8) -> Option<&[u8]> {
    let is_current = section.get(5)? & 1 == 1;
    let is_first = *section.get(6)? == 0;
    let end = section.len().checked_sub(CHECKSUM)?;
    let content = section.get(SECTION_HEADER..end)?;
    (section[0] == table && is_current && is_first && crc(section) == 0).then_some(content)
}

/// The number of the program that a map is for.
fn number_of(section: &[u8]) -> u16 {
    match section {
        [_, _, _, high, low, ..] => u16::from_be_bytes([*high, *low]),
        _ => 0,
    }
}

/// `None` if the lengths of a map do not add up.
fn parse_map(content: &[u8]) -> Option<TsProgram> {
    let pid_at = |at: usize| Some(pid([*content.get(at)?, *content.get(at + 1)?]));
    let length_at = |at: usize| Some(usize::from(pid_at(at)? & 0xfff));
    if content.len() < 4 {
        return None;
    }
    let clock_pid = pid_at(0)?;
    let mut streams = Vec::new();
    let mut at = 4 + length_at(2)?;
    while at + 5 <= content.len() {
        streams.push((content[at], pid_at(at + 1)?));
        at += 5 + length_at(at + 3)?;
    }
    let read = |kind: u8| VideoCoding::of_stream_type(kind);
    let pictures = streams.iter().find(|(kind, _)| read(*kind).is_some());
    let stream = pictures.or_else(|| streams.first());
    Some(TsProgram {
        clock_pid,
        picture_pid: stream.map_or(clock_pid, |(_, pid)| *pid),
        coding: stream.and_then(|(kind, _)| read(*kind)),
    })
}

/// The checksum of ISO/IEC 13818-1 annex A, which is 0 over a whole section.
pub(crate) fn crc(section: &[u8]) -> u32 {
    section.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ (u32::from(*byte) << 24), |crc, _| {
            let carry = crc >> 31;
            (crc << 1) ^ (carry * 0x04c1_1db7)
        })
    })
}

/// Joins the packets of a stream to sections.
#[derive(Debug, Default)]
struct SectionReader {
    /// The section so far; `None` until one begins.
    section: Option<Vec<u8>>,
}

impl SectionReader {
    /// Takes a packet, and hands on each section that ends in it.
    fn read(&mut self, header: TsHeader, payload: &[u8], mut take: impl FnMut(&[u8])) {
        let mut rest = payload;
        if header.starts_unit {
            // So many bytes end the section before.
            let Some((&pointer, after)) = payload.split_first() else {
                return;
            };
            let (end, start) = after.split_at(after.len().min(pointer.into()));
            self.push(end, &mut take);
            self.section = Some(Vec::new());
            rest = start;
        }
        self.push(rest, &mut take);
    }

    fn push(&mut self, bytes: &[u8], take: &mut impl FnMut(&[u8])) {
        let Some(mut section) = self.section.take() else {
            return;
        };
        section.extend_from_slice(bytes);
        while let [table, high, low, ..] = section[..] {
            let len = 3 + usize::from(u16::from_be_bytes([high & 0x0f, low]));
            // 255 is no table: the rest of the packet is filled with it.
            if table == 0xff || len > MAX_SECTION {
                return;
            }
            if section.len() < len {
                break;
            }
            take(&section[..len]);
            section.drain(..len);
        }
        self.section = Some(section);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_stream::{MAP, PICTURES, TestStream, association, program_map};

    const H264: (u8, u16) = (0x1b, PICTURES);

    fn read(tables: &mut ProgramTables, stream: &TestStream) -> Option<TsProgram> {
        for packet in stream.bytes.as_chunks::<TS_LEN>().0 {
            tables.read(TsHeader::parse(packet).unwrap(), packet);
        }
        tables.program()
    }

    #[test]
    fn clock_and_pictures_are_found_in_long_map() {
        let mut stream = TestStream::default();
        stream.section(0, &association(&[(0, 0x10), (1, MAP)]));
        let sound = (0x0f, 0x101);
        stream.section(MAP, &program_map(1, 0x1f00, &[7; 400], &[sound, H264]));
        let program = TsProgram {
            clock_pid: 0x1f00,
            picture_pid: PICTURES,
            coding: Some(VideoCoding::H264),
        };
        let mut tables = ProgramTables::default();
        assert_eq!(read(&mut tables, &stream), Some(program));
        assert!(tables.is_table(0) && tables.is_table(MAP) && !tables.is_table(PICTURES));
        // A map with a wrong bit changes nothing, a new one does.
        let mut later = TestStream::default();
        let mut wrong = program_map(1, 0x123, &[], &[H264]);
        wrong[9] ^= 1;
        later.section(MAP, &wrong);
        assert_eq!(read(&mut tables, &later), Some(program));
        later.section(MAP, &program_map(1, PICTURES, &[], &[H264]));
        let changed = read(&mut tables, &later).unwrap();
        assert_eq!(changed.clock_pid, PICTURES);
    }

    #[test]
    fn first_program_with_clock_is_taken() {
        let mut tables = ProgramTables::default();
        let mut stream = TestStream::default();
        stream.section(0, &association(&[(7, 0x30), (8, 0x31), (9, 0x32)]));
        stream.section(0x32, &program_map(9, 0x109, &[], &[(0x1b, 0x109)]));
        stream.section(0x31, &program_map(8, 0x108, &[], &[(0x02, 0x108)]));
        // Program 7 may have a clock.
        assert_eq!(read(&mut tables, &stream), None);
        stream.section(0x30, &program_map(7, NO_CLOCK, &[], &[]));
        let program = read(&mut tables, &stream).unwrap();
        assert_eq!(
            (program.clock_pid, program.coding),
            (0x108, Some(VideoCoding::Mpeg2))
        );
    }

    #[test]
    fn sound_alone_counts_as_pictures() {
        let (mut tables, mut stream) = (ProgramTables::default(), TestStream::default());
        stream.tables(0x101, &[(0x0f, 0x101)]);
        let program = read(&mut tables, &stream).unwrap();
        assert_eq!((program.picture_pid, program.coding), (0x101, None));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_grow(chunks: Vec<(bool, bool, Vec<u8>)>) {
            let mut tables = ProgramTables::default();
            let mut stream = TestStream::default();
            stream.tables(PICTURES, &[H264]);
            for (is_map, starts, bytes) in chunks {
                stream.packet(if is_map { MAP } else { 0 }, starts, &[], &bytes);
            }
            read(&mut tables, &stream);
            let held = tables.maps.iter().map(|map| &map.section).chain([&tables.association]);
            for reader in held {
                assert!(reader.section.as_ref().is_none_or(|section| section.len() <= MAX_SECTION));
            }
        }
    }
}
