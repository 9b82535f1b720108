//! A title: renditions of the same pictures, in datagrams.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use tfrc::time::Duration;
use tfrc::units::Rate;

use crate::rendition::{Rendition, RenditionError, Timed};
use crate::ts::{TS_LEN, counter, set_counter};
use crate::{PAYLOAD_LEN, TS_PER_DATAGRAM};

/// Renditions whose clocks begin farther apart than this were not made from one title.
const MAX_APART: Duration = Duration::from_secs(1);
/// The entry of another rendition may be so much before ours, for the multiplexers' rounding.
const ENTRIES_APART: Duration = Duration::from_millis(100);
/// A table is at most so many packets before the entry that it is for.
const MAX_TABLES: usize = 64;

/// What a server sends next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// When it is due, from the beginning.
    pub due: Duration,
    /// Whole TS packets.
    pub payload: Vec<u8>,
}

/// What a server can send.
pub trait Content: Send {
    /// The mean rates of the renditions there are, TS headers included; the lowest first.
    fn rates(&self) -> &[Rate];

    /// The next datagram: of the rendition `wanted`, by its place in [`rates`](Self::rates), as soon as the
    /// change can be made. `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read.
    fn next(&mut self, wanted: usize) -> Result<Option<Datagram>, TitleError>;

    /// The rendition that the last datagram was of.
    fn current(&self) -> usize;
}

/// What keeps renditions from being sent as one title, or at all.
#[derive(Debug)]
pub enum TitleError {
    /// There is none.
    Nothing,
    /// The clock of this one begins more than a second from that of the first.
    Apart {
        /// Its name.
        name: String,
    },
    /// One cannot be read.
    Rendition {
        /// Its name.
        name: String,
        /// Why.
        error: RenditionError,
    },
}

impl fmt::Display for TitleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("a title needs a rendition"),
            Self::Apart { name } => write!(
                f,
                "{name} begins at another time than the first; make all of them from one file with equal options but for the rate"
            ),
            Self::Rendition { name, error } => write!(f, "{name}: {error}"),
        }
    }
}

impl std::error::Error for TitleError {}

fn unreadable(name: &str, error: RenditionError) -> TitleError {
    TitleError::Rendition {
        name: name.to_owned(),
        error,
    }
}

/// A rendition, and by how much its times lie after those of the earliest.
#[derive(Debug)]
struct Part<R> {
    /// What errors call it.
    name: String,
    rendition: Rendition<R>,
    later: Duration,
}

/// Renditions of the same pictures, of which one is sent at a time.
///
/// A change is made where the present one has a picture that depends on no other, to the picture that the
/// other has at that time: renditions made with equal intervals of such pictures match.
#[derive(Debug)]
pub struct Title<R> {
    parts: Vec<Part<R>>,
    rates: Vec<Rate>,
    current: usize,
    counters: Counters,
    /// Read already: the tables before an entry.
    ahead: Vec<Timed>,
}

impl<R: Read> Title<R> {
    /// A title of these renditions, which errors call so, and which begins with the lowest rate.
    ///
    /// # Errors
    /// If there is none, or they do not belong together.
    pub fn new(renditions: Vec<(String, Rendition<R>)>) -> Result<Self, TitleError> {
        let (_, first) = renditions.first().ok_or(TitleError::Nothing)?;
        let mut later = Vec::new();
        for (name, rendition) in &renditions {
            let after = rendition.begins_after(first).map(|after| (after, false));
            let before = || first.begins_after(rendition).map(|before| (before, true));
            let apart = after
                .or_else(before)
                .filter(|(apart, _)| *apart <= MAX_APART);
            let (apart, is_before) =
                apart.ok_or_else(|| TitleError::Apart { name: name.clone() })?;
            // One second before the first is the earliest.
            later.push(if is_before {
                MAX_APART - apart
            } else {
                MAX_APART + apart
            });
        }
        let earliest = later.iter().min().copied().unwrap_or_default();
        let mut parts: Vec<Part<R>> = renditions
            .into_iter()
            .zip(later)
            .map(|((name, rendition), later)| Part {
                name,
                rendition,
                later: later - earliest,
            })
            .collect();
        let rate = |part: &Part<R>| part.rendition.mean_rate();
        parts.sort_by(|a, b| rate(a).bytes_per_sec().total_cmp(&rate(b).bytes_per_sec()));
        Ok(Self {
            rates: parts.iter().map(rate).collect(),
            parts,
            current: 0,
            counters: Counters::default(),
            ahead: Vec::new(),
        })
    }

    /// The next packet of a rendition and its time in the title.
    fn peek(&mut self, rendition: usize) -> Result<Option<(&Timed, Duration)>, TitleError> {
        let Part {
            name,
            rendition: part,
            later,
        } = &mut self.parts[rendition];
        let next = part.peek().map_err(|error| unreadable(name, error))?;
        Ok(next.map(|timed| (timed, timed.at + *later)))
    }

    fn take(&mut self, rendition: usize) -> Result<Option<Timed>, TitleError> {
        let Part {
            name,
            rendition: part,
            later,
        } = &mut self.parts[rendition];
        let next = part.next().map_err(|error| unreadable(name, error))?;
        Ok(next.map(|timed| Timed {
            at: timed.at + *later,
            ..timed
        }))
    }

    /// Goes to the entry that another rendition has at this time. It stays with the present one if the other
    /// has none there.
    fn change(&mut self, wanted: usize, at: Duration) -> Result<(), TitleError> {
        let mut tables = Vec::new();
        loop {
            let Some((timed, time)) = self.peek(wanted)? else {
                return Ok(());
            };
            if timed.is_entry && time + ENTRIES_APART >= at {
                break;
            }
            if timed.header.is_table() || tables.len() == MAX_TABLES {
                tables.clear();
            }
            tables.extend(self.take(wanted)?);
        }
        let starts_with_table = tables
            .first()
            .is_some_and(|timed: &Timed| timed.header.is_table());
        if !starts_with_table {
            tables.clear();
        }
        // The packets ahead are handed out from the end.
        tables.reverse();
        self.ahead = tables;
        self.current = wanted;
        self.counters.restart();
        Ok(())
    }
}

impl<R: Read + Send> Content for Title<R> {
    fn rates(&self) -> &[Rate] {
        &self.rates
    }

    fn next(&mut self, wanted: usize) -> Result<Option<Datagram>, TitleError> {
        let wanted = wanted.min(self.parts.len() - 1);
        let mut payload = Vec::new();
        let mut due = None;
        while payload.len() < PAYLOAD_LEN {
            if wanted != self.current && self.ahead.is_empty() {
                let entry = self.peek(self.current)?;
                if let Some(at) = entry.filter(|(timed, _)| timed.is_entry).map(|(_, at)| at) {
                    self.change(wanted, at)?;
                }
            }
            let next = match self.ahead.pop() {
                Some(timed) => Some(timed),
                None => self.take(self.current)?,
            };
            let Some(mut timed) = next else { break };
            self.counters.count(&mut timed);
            payload.reserve_exact(TS_PER_DATAGRAM * TS_LEN);
            payload.extend_from_slice(&timed.packet);
            due.get_or_insert(timed.at);
        }
        Ok(due.map(|due| Datagram { due, payload }))
    }

    fn current(&self) -> usize {
        self.current
    }
}

/// The counters of all streams of a multiplex, which go on where one rendition follows another.
#[derive(Debug, Default)]
struct Counters(BTreeMap<u16, Counter>);

/// Of the last packet sent, and how much is added to those read; `None` before the first of a rendition.
#[derive(Clone, Copy, Debug)]
struct Counter {
    sent: u8,
    added: Option<u8>,
}

impl Counters {
    /// Another rendition follows.
    fn restart(&mut self) {
        self.0.values_mut().for_each(|counter| counter.added = None);
    }

    fn count(&mut self, timed: &mut Timed) {
        let read = counter(&timed.packet);
        let entry = self.0.entry(timed.header.pid).or_insert(Counter {
            sent: read,
            added: Some(0),
        });
        let expected = entry.sent.wrapping_add(timed.header.counts().into());
        let added = *entry
            .added
            .get_or_insert(expected.wrapping_sub(read) & 0x0f);
        entry.sent = read.wrapping_add(added) & 0x0f;
        set_counter(&mut timed.packet, entry.sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rendition::tests::{PICTURES, stream};
    use crate::ts::TsHeader;
    use std::io::Cursor;

    fn title(streams: Vec<Vec<u8>>) -> Result<Title<Cursor<Vec<u8>>>, TitleError> {
        let open = |bytes| Rendition::open(Cursor::new(bytes)).unwrap();
        let renditions = streams.into_iter().map(open).enumerate();
        Title::new(
            renditions
                .map(|(number, rendition)| (format!("{number}.ts"), rendition))
                .collect(),
        )
    }

    /// All TS packets, with the rendition wanted from each second on.
    fn packets(title: &mut Title<Cursor<Vec<u8>>>, wanted: &[usize]) -> Vec<[u8; TS_LEN]> {
        let (mut all, mut second) = (Vec::new(), 0);
        while let Some(datagram) = title.next(wanted[second.min(wanted.len() - 1)]).unwrap() {
            second = datagram.due.as_secs() as usize;
            all.extend(
                datagram
                    .payload
                    .chunks(TS_LEN)
                    .map(|packet| <[u8; TS_LEN]>::try_from(packet).unwrap()),
            );
        }
        all
    }

    fn assert_counted(packets: &[[u8; TS_LEN]]) {
        for pid in [0, PICTURES] {
            let of = packets
                .iter()
                .filter(|packet| TsHeader::parse(packet).unwrap().pid == pid);
            let counters: Vec<u8> = of.map(counter).collect();
            assert!(!counters.is_empty());
            assert!(
                counters
                    .windows(2)
                    .all(|pair| (pair[0] + 1) % 16 == pair[1]),
                "{pid}: {counters:?}"
            );
        }
    }

    #[test]
    fn one_rendition_is_sent_as_it_is() {
        let bytes = stream(700, 3, 9);
        let mut title = title(vec![bytes.clone()]).unwrap();
        assert_eq!(packets(&mut title, &[0]).concat(), bytes);
        let first = |title: &mut Title<_>| title.next(0).unwrap();
        assert_eq!(first(&mut title), None);
    }

    #[test]
    fn datagrams_are_due_with_their_first_packet() {
        let mut title = title(vec![stream(700, 3, 14)]).unwrap();
        let mut due = std::iter::from_fn(|| title.next(0).unwrap()).map(|datagram| datagram.due);
        // A table, then 13 packets in the first tenth, 14 in the others.
        assert_eq!(due.next(), Some(Duration::ZERO));
        let second = due.next().unwrap().as_secs_f64();
        assert!((second - 0.1 * 6.0 / 13.0).abs() < 1e-9, "{second}");
        assert_eq!(due.next(), Some(Duration::from_millis(100)));
    }

    #[test]
    fn a_change_is_made_at_an_entry_and_the_counters_go_on() {
        let (low, high) = (stream(700, 6, 3), stream(700, 6, 11));
        let mut title = title(vec![high, low]).unwrap();
        assert!(title.rates()[0].bytes_per_sec() < title.rates()[1].bytes_per_sec());
        let packets = packets(&mut title, &[0, 1, 1, 0, 0]);
        assert_counted(&packets);
        // How many packets each tenth has tells of which rendition it is: 3 or 11, and tables.
        let is_clock = |packet: &&[u8; TS_LEN]| TsHeader::parse(packet).unwrap().clock.is_some();
        assert_eq!(packets.iter().filter(is_clock).count(), 61);
        let starts: Vec<usize> = (0..packets.len())
            .filter(|n| is_clock(&&packets[*n]))
            .collect();
        let lens: Vec<usize> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let long: Vec<usize> = (0..60).filter(|tenth| lens[*tenth] > 5).collect();
        // It is known within the second that another is wanted, and made at the next.
        assert_eq!(long, (20..40).collect::<Vec<_>>());
    }

    #[test]
    fn clocks_that_begin_a_little_apart_are_lined_up_and_others_are_refused() {
        let mut apart = title(vec![stream(700, 4, 3), stream(1_200, 4, 11)]).unwrap();
        let last = std::iter::from_fn(|| apart.next(1).unwrap())
            .last()
            .unwrap();
        assert!(last.due > Duration::from_millis(4_400), "{:?}", last.due);
        let wrong = title(vec![stream(700, 1, 3), stream(1_701, 1, 3)]);
        assert!(matches!(wrong, Err(TitleError::Apart { name }) if name == "1.ts"));
        assert!(matches!(title(Vec::new()), Err(TitleError::Nothing)));
    }

    #[test]
    fn a_rendition_that_is_shorter_is_not_changed_to() {
        let mut title = title(vec![stream(700, 3, 11), stream(700, 1, 3)]).unwrap();
        let packets = packets(&mut title, &[1, 1, 0, 0]);
        assert_counted(&packets);
        let clocks = packets
            .iter()
            .filter(|packet| TsHeader::parse(packet).unwrap().clock.is_some());
        assert_eq!(clocks.count(), 31);
    }
}
