//! Cuts a file into TS packets, and finds the next one after damage.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

use crate::rendition::RenditionError;
use crate::ts::{SYNC, TS_LEN, TsHeader};

/// Bytes that are read at once.
pub(crate) const READ_LEN: usize = 1 << 16;
/// Sync bytes a packet apart that show where packets begin (ETSI TR 101 290 §5.2.1).
const SYNC_WITNESSES: usize = 5;
/// As many are enough where a packet is due.
const SYNC_WITNESSES_IN_STEP: usize = 2;
/// Damage ends within this many bytes: a disk's bad blocks or a pulled aerial. A longer stretch is another format.
const MAX_DAMAGE: u64 = 1 << 20;
/// Lengths of packets in other containers, and where their sync byte is: M2TS has a time before each packet, and
/// broadcast recordings may have a Reed-Solomon code behind.
const FOREIGN_PACKETS: [(usize, usize); 2] = [(192, 4), (204, 0)];

/// Counts the bytes of a file that belong to no TS packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Places: neighbouring packets count as one.
    places: u64,
    bytes: u64,
    /// Where the first and the last place begin and end.
    first: u64,
    end: u64,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            places,
            bytes,
            first,
            ..
        } = self;
        match places {
            1 => write!(
                f,
                "damaged at byte {first}: {bytes} bytes are no MPEG-TS packet and are left out"
            ),
            _ => write!(
                f,
                "damaged in {places} places, the first at byte {first}: {bytes} bytes are no MPEG-TS packets and are left out"
            ),
        }
    }
}

/// Reads packets from the beginning of a file to the end that it has now.
#[derive(Debug)]
pub(crate) struct PacketReader<R> {
    input: R,
    /// Bytes of the file when it was opened.
    len: u64,
    /// The place of the first byte of `buffer[start..end]`, which is not handed out yet.
    offset: u64,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    damage: Damage,
}

impl<R: Read + Seek> PacketReader<R> {
    /// Begins at the beginning.
    pub(crate) fn open(mut input: R) -> Result<Self, RenditionError> {
        let len = input.seek(SeekFrom::End(0))?;
        input.seek(SeekFrom::Start(0))?;
        Ok(Self {
            input,
            len,
            offset: 0,
            buffer: vec![0; READ_LEN].into(),
            start: 0,
            end: 0,
            damage: Damage::default(),
        })
    }
}

impl<R> PacketReader<R> {
    /// What was left out so far.
    pub(crate) fn damage(&self) -> Option<Damage> {
        Some(self.damage).filter(|damage| damage.places > 0)
    }

    /// The place of the next packet, or of damage before it.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The file, to be read anew.
    pub(crate) fn into_input(self) -> R {
        self.input
    }

    fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    fn leave_out(&mut self, count: usize) {
        if self.damage.places == 0 {
            self.damage.first = self.offset;
        }
        if self.damage.places == 0 || self.damage.end != self.offset {
            self.damage.places += 1;
        }
        self.damage.bytes += count as u64;
        self.consume(count);
        self.damage.end = self.offset;
    }
}

impl<R: Read> PacketReader<R> {
    /// Refuses packets of another length at the beginning.
    pub(crate) fn check_length(&mut self) -> Result<(), RenditionError> {
        self.fill(READ_LEN)?;
        let head = self.unread();
        if is_synced(head, TS_LEN, SYNC_WITNESSES) {
            return Ok(());
        }
        let is_foreign = |&(length, at): &(usize, usize)| {
            let packets = head.get(at..).unwrap_or_default();
            packets.len() > length && is_synced(packets, length, SYNC_WITNESSES)
        };
        let foreign = FOREIGN_PACKETS.into_iter().find(is_foreign);
        foreign.map_or(Ok(()), |(length, _)| {
            Err(RenditionError::PacketLength { length })
        })
    }

    /// The next packet that is not damaged; one that the end of the file cuts off counts as the end.
    pub(crate) fn next(&mut self) -> Result<Option<([u8; TS_LEN], TsHeader)>, RenditionError> {
        loop {
            self.fill(TS_LEN)?;
            let Some(&packet) = self.unread().first_chunk::<TS_LEN>() else {
                return Ok(None);
            };
            if let Some(header) = TsHeader::parse(&packet) {
                self.consume(TS_LEN);
                return Ok(Some((packet, header)));
            }
            if packet[0] == SYNC {
                self.leave_out(TS_LEN);
            } else {
                self.synchronise()?;
            }
        }
    }

    /// Leaves out what precedes the next packet, or the rest of the file.
    fn synchronise(&mut self) -> Result<(), RenditionError> {
        let from = self.offset;
        while self.offset - from <= MAX_DAMAGE {
            self.fill(READ_LEN)?;
            let rest = self.unread();
            let ends_here = self.offset + rest.len() as u64 == self.len;
            // Witnesses of a later place are not in view yet, unless the file ends before them.
            let beyond = if ends_here {
                TS_LEN - 1
            } else {
                SYNC_WITNESSES * TS_LEN
            };
            let places = rest.len().saturating_sub(beyond);
            let found = (0..places).find(|&place| {
                let distance = self.offset + place as u64 - from;
                let witnesses = if distance.is_multiple_of(TS_LEN as u64) {
                    SYNC_WITNESSES_IN_STEP
                } else {
                    SYNC_WITNESSES
                };
                is_synced(&rest[place..], TS_LEN, witnesses)
            });
            let left_out = found.unwrap_or(if ends_here { rest.len() } else { places });
            self.leave_out(left_out);
            if found.is_some() || ends_here {
                return Ok(());
            }
        }
        Err(RenditionError::NoPacket { at: from })
    }

    /// Reads until `count` bytes are unread, or all that the file had when it was opened.
    fn fill(&mut self, count: usize) -> Result<(), RenditionError> {
        if self.end - self.start >= count {
            return Ok(());
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < count {
            let at = self.offset + self.end as u64;
            let left = usize::try_from(self.len - at).unwrap_or(usize::MAX);
            let room = left.min(self.buffer.len() - self.end);
            if room == 0 {
                break;
            }
            match self.input.read(&mut self.buffer[self.end..][..room]) {
                Ok(0) => return Err(RenditionError::Shrunk { at, len: self.len }),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// True if the first of these packets begins with a sync byte, and so do as many as `witnesses` in all, or those there
/// are.
fn is_synced(packets: &[u8], length: usize, witnesses: usize) -> bool {
    let mut starts = packets.iter().step_by(length).take(witnesses);
    !packets.is_empty() && starts.all(|first| *first == SYNC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::tests::packet;
    use std::io::Cursor;

    /// The counters of 15 packets are their numbers.
    fn file() -> Vec<u8> {
        (0..15).flat_map(|n| packet(1, n, None, false)).collect()
    }

    /// The numbers of the packets read, and what is said of the damage.
    fn read(bytes: Vec<u8>) -> (Vec<u8>, String) {
        let mut reader = PacketReader::open(Cursor::new(bytes)).unwrap();
        let numbers = std::iter::from_fn(|| reader.next().unwrap()).map(|(p, _)| p[3] & 15);
        let numbers = numbers.collect();
        let damage = reader.damage();
        (
            numbers,
            damage.map_or_else(String::new, |damage| damage.to_string()),
        )
    }

    fn all_but(left_out: &[u8]) -> Vec<u8> {
        (0..15).filter(|n| !left_out.contains(n)).collect()
    }

    #[test]
    fn damaged_packet_is_left_out() {
        assert_eq!(read(file()), (all_but(&[]), String::new()));
        let said = "damaged at byte 940: 188 bytes are no MPEG-TS packet and are left out";
        // No sync byte, a field that leaves the packet, an error that the demodulator found.
        let changes: [fn(&mut [u8]); 3] = [|p| p[0] = 0, |p| p[3..5].fill(0xff), |p| p[1] |= 0x80];
        for change in changes {
            let mut bytes = file();
            change(&mut bytes[5 * TS_LEN..]);
            assert_eq!(read(bytes), (all_but(&[5]), said.to_owned()));
        }
        let mut bytes = file();
        for place in [0, 3, 4, 14] {
            bytes[place * TS_LEN] = 0;
        }
        let (numbers, said) = read(bytes);
        assert_eq!(numbers, all_but(&[0, 3, 4, 14]));
        assert!(
            said.contains("3 places, the first at byte 0: 752 bytes"),
            "{said}"
        );
    }

    #[test]
    fn packets_are_found_after_lost_or_foreign_bytes() {
        let mut short = file();
        short.drain(1_000..1_040);
        // The packet that misses bytes has its header.
        assert_eq!(read(short).0, all_but(&[6]));
        let mut late = vec![0; 100];
        late.extend(file());
        assert_eq!(read(late).0, all_but(&[]));
        let mut cut = file();
        cut.truncate(14 * TS_LEN + 100);
        assert_eq!(read(cut), (all_but(&[14]), String::new()));
    }

    #[test]
    fn long_stretch_without_packets_is_refused() {
        let mut bytes = file();
        bytes.extend(vec![0; 2 * MAX_DAMAGE as usize]);
        let mut reader = PacketReader::open(Cursor::new(bytes)).unwrap();
        let error = loop {
            match reader.next() {
                Ok(packet) => assert!(packet.is_some(), "it ended well"),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(error, RenditionError::NoPacket { at: 2_820 }),
            "{error}"
        );
    }

    #[test]
    fn packets_of_other_containers_are_refused() {
        for (length, before, behind) in [(192, 4, 0), (204, 0, 16)] {
            let packets = file();
            let longer = packets
                .chunks(TS_LEN)
                .flat_map(|packet| [&vec![0; before], packet, &vec![0; behind]].concat());
            let mut reader = PacketReader::open(Cursor::new(longer.collect::<Vec<_>>())).unwrap();
            let error = reader.check_length().unwrap_err().to_string();
            assert!(
                error.contains(&format!("{length} bytes, not the 188")),
                "{error}"
            );
        }
        let mut reader = PacketReader::open(Cursor::new(file())).unwrap();
        assert!(reader.check_length().is_ok());
        assert!(
            PacketReader::open(Cursor::new(Vec::new()))
                .unwrap()
                .check_length()
                .is_ok()
        );
    }
}
