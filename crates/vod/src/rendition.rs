//! A transport stream from a file: each packet with the time at which it is due.
//!
//! A multiplexer states its clock every tenth of a second at most (ISO/IEC 13818-1 §2.7.2) and sends evenly in
//! between. So packets are read up to the next reference and spread over the time to it.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};

use tfrc::time::Duration;
use tfrc::units::{Bytes, Rate};

use crate::ts::{SystemClock, TS_LEN, TsHeader};

/// At most so many packets are between two clock references: a tenth of a second at 800 Mb/s.
const MAX_BETWEEN: usize = 1 << 16;
/// As much of the end is looked through for the last clock reference: a tenth of a second at 80 Mb/s.
const MAX_END: u64 = 1_000 * TS_LEN as u64;
/// A clock that goes on by more than this between two references has jumped: the stream was cut together.
const MAX_STEP: Duration = Duration::from_secs(1);

/// What keeps a stream from being sent.
#[derive(Debug, thiserror::Error)]
pub enum RenditionError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// No TS packet is where one should begin, at this byte.
    #[error(
        "no MPEG-TS packet begins at byte {at}; make one with ffmpeg -i FILE -c copy -f mpegts OUT.ts"
    )]
    NoPacket {
        /// The place in the file.
        at: u64,
    },
    /// From this byte on nothing says how late it is for 65,536 packets, or in the whole file.
    #[error(
        "no clock reference (PCR) follows byte {at}; make one with ffmpeg -i FILE -c copy -f mpegts OUT.ts"
    )]
    NoClock {
        /// The place in the file.
        at: u64,
    },
    /// It was longer when it was opened.
    #[error(
        "it ends at byte {at} and had {len} when it was opened; do not change a file while it is sent"
    )]
    Shrunk {
        /// Where it ends now.
        at: u64,
        /// Where it ended.
        len: u64,
    },
}

/// A TS packet, and when it is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) packet: [u8; TS_LEN],
    pub(crate) header: TsHeader,
    /// From the stream's first clock reference.
    pub(crate) at: Duration,
    /// A decoder can begin with it.
    pub(crate) is_entry: bool,
}

/// One stream, read from its beginning to its end.
#[derive(Debug)]
pub struct Rendition<R> {
    input: R,
    /// Bytes of whole packets.
    len: u64,
    lasts: Duration,
    origin: SystemClock,
    /// Which packets state the clock.
    clock_pid: u16,
    /// Packets of the stretch to the next reference.
    ready: VecDeque<Timed>,
    /// The first packet after them, which states the clock.
    next: Option<[u8; TS_LEN]>,
    /// The clock at it, and its time.
    clock: SystemClock,
    at: Duration,
    /// How long a packet took in the last stretch, in seconds.
    spacing: f64,
    /// Bytes read.
    offset: u64,
}

impl<R: Read + Seek> Rendition<R> {
    /// Opens a stream: looks for its first clock reference, and for the last one to know its rate.
    ///
    /// # Errors
    /// If the stream is no MPEG-TS or states no time.
    pub fn open(mut input: R) -> Result<Self, RenditionError> {
        let (len, last) = last_clock(&mut input)?;
        input.seek(SeekFrom::Start(0))?;
        let mut rendition = Self {
            input,
            len,
            lasts: Duration::ZERO,
            origin: last.1,
            clock_pid: last.0,
            ready: VecDeque::new(),
            next: None,
            clock: last.1,
            at: Duration::ZERO,
            spacing: 0.0,
            offset: 0,
        };
        // What comes before the first reference is due with it.
        let first = rendition.stretch()?;
        let first = first.ok_or(RenditionError::NoClock { at: 0 })?;
        (rendition.origin, rendition.clock) = (first, first);
        rendition.lasts = last.1.since(first).unwrap_or_default();
        if rendition.lasts.is_zero() {
            return Err(RenditionError::NoClock { at: 0 });
        }
        Ok(rendition)
    }
}

impl<R: Read> Rendition<R> {
    /// The mean rate of the whole stream, TS headers included.
    pub fn mean_rate(&self) -> Rate {
        Bytes::new(self.len) / self.lasts
    }

    /// From the first clock reference to the last.
    pub(crate) fn lasts(&self) -> Duration {
        self.lasts
    }

    /// How much later this stream's first clock reference is than another's.
    pub(crate) fn begins_after(&self, other: &Self) -> Option<Duration> {
        self.origin.since(other.origin)
    }

    /// The next packet, which stays the next.
    pub(crate) fn peek(&mut self) -> Result<Option<&Timed>, RenditionError> {
        while self.ready.is_empty() {
            let Some(first) = self.next else {
                return Ok(None);
            };
            self.next = None;
            let (from, start) = (self.clock, self.at);
            self.push(first);
            let clock = self.stretch()?;
            let count = self.ready.len() as f64;
            let step = clock.and_then(|clock| clock.since(from));
            // Across a cut, and up to the end, as fast as before.
            if let Some(step) = step.filter(|step| *step <= MAX_STEP) {
                self.spacing = step.as_secs_f64() / count;
            }
            let spacing = self.spacing;
            for (number, timed) in self.ready.iter_mut().enumerate() {
                timed.at = start + Duration::from_secs_f64(spacing * number as f64);
            }
            self.at = start + Duration::from_secs_f64(spacing * count);
            self.clock = clock.unwrap_or(from);
        }
        Ok(self.ready.front())
    }

    /// Takes the next packet.
    pub(crate) fn next(&mut self) -> Result<Option<Timed>, RenditionError> {
        self.peek()?;
        Ok(self.ready.pop_front())
    }

    /// Reads up to the next clock reference, which it gives, or to the end.
    fn stretch(&mut self) -> Result<Option<SystemClock>, RenditionError> {
        let began = self.offset;
        while self.ready.len() < MAX_BETWEEN {
            let Some(packet) = self.read()? else {
                return Ok(None);
            };
            let header = self.header(&packet)?;
            if let Some(clock) = header.clock.filter(|_| header.pid == self.clock_pid) {
                self.next = Some(packet);
                return Ok(Some(clock));
            }
            self.push(packet);
        }
        Err(RenditionError::NoClock { at: began })
    }

    fn push(&mut self, packet: [u8; TS_LEN]) {
        if let Some(header) = TsHeader::parse(&packet) {
            self.ready.push_back(Timed {
                packet,
                header,
                at: self.at,
                is_entry: header.is_random_access && header.pid == self.clock_pid,
            });
        }
    }

    fn header(&self, packet: &[u8; TS_LEN]) -> Result<TsHeader, RenditionError> {
        TsHeader::parse(packet).ok_or(RenditionError::NoPacket {
            at: self.offset - TS_LEN as u64,
        })
    }

    /// A packet; a last one that is cut off counts as the end.
    fn read(&mut self) -> Result<Option<[u8; TS_LEN]>, RenditionError> {
        let mut packet = [0; TS_LEN];
        match self.input.read_exact(&mut packet) {
            Ok(()) => {
                self.offset += TS_LEN as u64;
                Ok(Some(packet))
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let (at, len) = (self.offset, self.len);
                if at < len {
                    return Err(RenditionError::Shrunk { at, len });
                }
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Gives the length of a stream, and its last clock reference with the reference's PID.
fn last_clock<R: Read + Seek>(input: &mut R) -> Result<(u64, (u16, SystemClock)), RenditionError> {
    let ts_len = TS_LEN as u64;
    let len = input.seek(SeekFrom::End(0))? / ts_len * ts_len;
    let from = len.saturating_sub(MAX_END);
    input.seek(SeekFrom::Start(from))?;
    let mut last = None;
    let mut packet = [0; TS_LEN];
    for at in (from..len).step_by(TS_LEN) {
        input.read_exact(&mut packet)?;
        let header = TsHeader::parse(&packet).ok_or(RenditionError::NoPacket { at })?;
        last = header.clock.map(|clock| (header.pid, clock)).or(last);
    }
    let last = last.ok_or(RenditionError::NoClock { at: from })?;
    Ok((len, last))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::ts::tests::packet;
    use std::io::Cursor;

    /// The stream of pictures. The tables' is 0.
    pub(crate) const PICTURES: u16 = 0x100;

    /// A stream: a reference every 100 ms from `start_ms` on, so many packets in between, and every second a
    /// table and a picture that depends on no other.
    pub(crate) fn stream(start_ms: u64, seconds: u64, per_reference: u64) -> Vec<u8> {
        with_entries(10, start_ms, seconds, per_reference)
    }

    /// The same with such a table and picture every so many tenths of a second.
    pub(crate) fn with_entries(
        every: u64,
        start_ms: u64,
        seconds: u64,
        per_reference: u64,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (mut counter, mut tables) = (0, 0);
        for tenth in 0..=10 * seconds {
            let is_entry = tenth % every == 0;
            if is_entry {
                bytes.extend(packet(0, tables, None, false));
                tables = (tables + 1) % 16;
            }
            for number in 0..per_reference - u64::from(is_entry) {
                let clock = (number == 0).then_some(start_ms + 100 * tenth);
                bytes.extend(packet(PICTURES, counter, clock, is_entry && number == 0));
                counter = (counter + 1) % 16;
            }
        }
        bytes
    }

    fn times(bytes: Vec<u8>) -> Vec<u128> {
        let mut rendition = Rendition::open(Cursor::new(bytes)).unwrap();
        std::iter::from_fn(|| rendition.next().unwrap())
            .map(|timed| timed.at.as_millis())
            .collect()
    }

    #[test]
    fn packets_are_spread_evenly_between_clock_references() {
        let times = times(stream(700, 1, 5));
        assert_eq!(times.len(), 55);
        // The table before the first reference, the packets of the first tenth, 20 or 25 ms apart.
        assert_eq!(times[..6], [0, 0, 25, 50, 75, 100]);
        assert_eq!(times[6..9], [120, 140, 160]);
        // After the last one they go on as before, when a table was among them.
        assert_eq!(times[54], 1_000 + 50);
    }

    #[test]
    fn stream_has_mean_rate_and_entries() {
        let bytes = stream(700, 2, 5);
        let len = bytes.len() as f64;
        let mut rendition = Rendition::open(Cursor::new(bytes)).unwrap();
        assert!((rendition.mean_rate().bytes_per_sec() - len / 2.0).abs() < 1.0);
        let timed = std::iter::from_fn(|| rendition.next().unwrap());
        let entries = timed.filter(|timed| timed.is_entry);
        let entries: Vec<_> = entries.map(|timed| timed.at.as_millis()).collect();
        assert_eq!(entries, [0, 1_000, 2_000]);
    }

    #[test]
    fn a_jump_of_the_clock_costs_no_time() {
        let cut = [stream(700, 1, 5), stream(90_000, 1, 5)].concat();
        let times = times(cut);
        assert_eq!(times.len(), 110);
        assert!(
            times.windows(2).all(|pair| pair[1] - pair[0] <= 25),
            "{times:?}"
        );
        let back = [
            stream(90_000, 1, 5),
            stream(700, 1, 5),
            stream(90_900, 1, 5),
        ]
        .concat();
        let times = self::times(back);
        assert!(
            times.windows(2).all(|pair| pair[1] - pair[0] <= 25),
            "{times:?}"
        );
    }

    #[test]
    fn invalid_stream_is_refused_with_the_place() {
        let open = |bytes: Vec<u8>| Rendition::open(Cursor::new(bytes)).map(drop);
        let mut broken = stream(700, 1, 5);
        broken[188 * 10] = 0;
        assert!(matches!(
            open(broken),
            Err(RenditionError::NoPacket { at: 1_880 })
        ));
        assert!(matches!(
            open(Vec::new()),
            Err(RenditionError::NoClock { at: 0 })
        ));
        let silent = packet(PICTURES, 0, None, false).repeat(20);
        assert!(matches!(
            open(silent),
            Err(RenditionError::NoClock { at: 0 })
        ));
        let once = packet(PICTURES, 0, Some(1), false).to_vec();
        assert!(matches!(open(once), Err(RenditionError::NoClock { at: 0 })));
    }

    #[test]
    fn file_cut_while_read_is_an_error() {
        let path = std::env::temp_dir().join(format!("evenkeel-cut-{}.ts", std::process::id()));
        std::fs::write(&path, stream(700, 2, 5)).unwrap();
        let file = std::fs::File::options().read(true).write(true).open(&path);
        let file = file.unwrap();
        let mut rendition = Rendition::open(&file).unwrap();
        file.set_len(60 * 188).unwrap();
        let cut = loop {
            match rendition.next() {
                Ok(timed) => assert!(timed.is_some(), "it ended well"),
                Err(error) => break error,
            }
        };
        std::fs::remove_file(&path).unwrap();
        let (at, len) = (60 * 188, 21 * 5 * 188);
        assert!(
            matches!(cut, RenditionError::Shrunk { at: from, len: of } if (from, of) == (at, len)),
            "{cut}"
        );
    }

    #[test]
    fn stream_without_clock_ends_in_an_error() {
        let silent = packet(PICTURES, 0, None, false).repeat(MAX_BETWEEN + 1);
        let bytes = [stream(700, 1, 5), silent, stream(2_000, 1, 5)].concat();
        let mut rendition = Rendition::open(Cursor::new(bytes)).unwrap();
        let error = loop {
            match rendition.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("it ends"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, RenditionError::NoClock { .. }), "{error}");
    }
}
