//! Reads a transport stream's packets, and what its tables and pictures say of each.

use std::collections::VecDeque;
use std::io::{Read, Seek};

use crate::entry::EntryFinder;
use crate::packet_reader::{Damage, PacketReader};
use crate::rendition::RenditionError;
use crate::tables::{ASSOCIATION_PID, ProgramTables, TsProgram};
use crate::ts::{SystemClock, TS_LEN, TsHeader};

/// The tables are within so many packets of the beginning: a second of 100 Mb/s.
const MAX_PROBE: usize = 1 << 16;
/// The first picture of a PES packet begins within so many packets, of which most may be of other streams.
const MAX_HEADERS: usize = 256;

/// A packet, and its part in the multiplex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TsPacket {
    pub(crate) bytes: [u8; TS_LEN],
    pub(crate) header: TsHeader,
    /// It is of a table that says which streams there are.
    pub(crate) is_table: bool,
    /// A decoder can begin with it.
    pub(crate) is_entry: bool,
    /// The clock of the title at this packet.
    pub(crate) clock: Option<SystemClock>,
}

impl TsPacket {
    /// True if it begins the table of programs, which a decoder reads first.
    pub(crate) fn begins_tables(&self) -> bool {
        self.header.pid == ASSOCIATION_PID && self.header.starts_unit
    }
}

/// Reads packets from the beginning to the end.
#[derive(Debug)]
pub(crate) struct Demultiplexer<R> {
    packets: PacketReader<R>,
    tables: ProgramTables,
    program: TsProgram,
    /// Packets that wait for the first picture of the PES packet at the front.
    queue: VecDeque<TsPacket>,
    /// The PES packet that is read, and the place of its first packet in the queue.
    pictures: Option<(EntryFinder, usize)>,
}

impl<R: Read + Seek> Demultiplexer<R> {
    /// Looks for the tables, and begins at the beginning.
    pub(crate) fn open(input: R) -> Result<Self, RenditionError> {
        let mut packets = PacketReader::open(input)?;
        packets.check_length()?;
        let (mut tables, mut clock_pid) = (ProgramTables::default(), None);
        for number in 0..MAX_PROBE {
            let Some((packet, header)) = packets.next()? else {
                if number == 0 {
                    return Err(RenditionError::NoPacket { at: 0 });
                }
                break;
            };
            tables.read(header, &packet);
            clock_pid = clock_pid.or(header.clock.map(|_| header.pid));
            if tables.program().is_some() {
                break;
            }
        }
        // Without tables the first clock is the pictures' clock, as with most multiplexers.
        let program = tables.program().or(clock_pid.map(|pid| TsProgram {
            clock_pid: pid,
            picture_pid: pid,
            coding: None,
        }));
        Ok(Self {
            packets: PacketReader::open(packets.into_input())?,
            tables,
            program: program.ok_or(RenditionError::NoClock { at: 0 })?,
            queue: VecDeque::new(),
            pictures: None,
        })
    }

    /// Begins at the beginning again.
    pub(crate) fn rewind(self) -> Result<Self, RenditionError> {
        Self::open(self.packets.into_input())
    }
}

impl<R> Demultiplexer<R> {
    /// What was left out so far.
    pub(crate) fn damage(&self) -> Option<Damage> {
        self.packets.damage()
    }

    /// How far the file has been read.
    pub(crate) fn offset(&self) -> u64 {
        self.packets.offset()
    }
}

impl<R: Read> Demultiplexer<R> {
    /// The next packet.
    pub(crate) fn next(&mut self) -> Result<Option<TsPacket>, RenditionError> {
        let undecided = |pictures: &Option<(_, usize)>| matches!(pictures, Some((_, 0)));
        while self.queue.is_empty() || undecided(&self.pictures) && self.queue.len() < MAX_HEADERS {
            let Some((bytes, header)) = self.packets.next()? else {
                break;
            };
            self.read(bytes, header);
        }
        self.pictures = self
            .pictures
            .take()
            .and_then(|(finder, first)| Some((finder, first.checked_sub(1)?)));
        Ok(self.queue.pop_front())
    }

    fn read(&mut self, bytes: [u8; TS_LEN], header: TsHeader) {
        self.tables.read(header, &bytes);
        self.program = self.tables.program().unwrap_or(self.program);
        let is_picture = header.pid == self.program.picture_pid;
        self.queue.push_back(TsPacket {
            bytes,
            header,
            is_table: self.tables.is_table(header.pid),
            is_entry: is_picture && header.is_random_access,
            clock: header
                .clock
                .filter(|_| header.pid == self.program.clock_pid),
        });
        if !is_picture {
            return;
        }
        let payload = header.payload(&bytes);
        if header.starts_unit {
            let coding = self.program.coding.filter(|_| !header.is_random_access);
            let finder = coding.and_then(|coding| EntryFinder::new(coding, payload));
            self.pictures = finder.map(|finder| (finder, self.queue.len() - 1));
        }
        if let Some((finder, first)) = &mut self.pictures
            && let Some(is_entry) = finder.read(payload)
        {
            self.queue[*first].is_entry |= is_entry;
            self.pictures = None;
        }
    }
}
