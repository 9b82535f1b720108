//! A title: renditions of the same pictures, in datagrams.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use tfrc::time::Duration;
use tfrc::units::Rate;

use crate::rendition::{Rendition, RenditionError, Timed};
use crate::rendition_cursor::RenditionCursor;
use crate::ts::{TS_LEN, counter, set_counter};
use crate::{PAYLOAD_LEN, TS_PER_DATAGRAM};

/// Renditions that begin farther apart than this, or of which one lasts longer by more, were not made from one title.
const MAX_APART: Duration = Duration::from_secs(1);

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

    /// The first place where renditions did not match.
    fn mismatch(&self) -> Option<&Mismatch> {
        None
    }
}

/// A place where a rendition has an entry and another has none: there is no change between them there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The names: of the one that has it, of the other.
    names: [String; 2],
    at: Duration,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [has, lacks] = &self.names;
        write!(
            f,
            "{has} has a keyframe at {:.1} s and {lacks} has none there, so that the rate may change late or never; \
             make all of them with ffmpeg's -g N -keyint_min N -sc_threshold 0, or equal -force_key_frames",
            self.at.as_secs_f64()
        )
    }
}

/// What keeps renditions from being sent as one title, or at all.
#[derive(Debug, thiserror::Error)]
pub enum TitleError {
    /// There is none.
    #[error("a title needs a rendition")]
    Nothing,
    /// The clock of this one begins more than a second from that of the first.
    #[error(
        "{name} begins at another time than the first; make all of them from one file with equal options but for the rate"
    )]
    Apart {
        /// Its name.
        name: String,
    },
    /// One lasts more than a second longer than another.
    #[error(
        "{first} lasts {long:.1} s and {other} {other_long:.1} s, so they are no renditions of one title; \
         make all of them from one file, or serve them one by one",
        first = names[0], long = last[0].as_secs_f64(), other = names[1], other_long = last[1].as_secs_f64()
    )]
    Lengths {
        /// The names of the first and of the one that differs from it.
        names: [String; 2],
        /// How long they last.
        last: [Duration; 2],
    },
    /// One cannot be read.
    #[error("{name}: {error}")]
    Rendition {
        /// Its name.
        name: String,
        /// Why.
        error: RenditionError,
    },
}

fn unreadable(name: &str, error: RenditionError) -> TitleError {
    TitleError::Rendition {
        name: name.to_owned(),
        error,
    }
}

/// Renditions of the same pictures, of which one is sent at a time.
///
/// A change is made where the present one has a picture that depends on no other, to the picture that the
/// other has at that time: renditions made with equal intervals of such pictures match.
#[derive(Debug)]
pub struct Title<R> {
    cursors: Vec<RenditionCursor<R>>,
    rates: Vec<Rate>,
    current: usize,
    counters: Counters,
    /// The tables before the entry that was changed to, from the end.
    ahead: Vec<Timed>,
    mismatch: Option<Mismatch>,
}

impl<R: Read> Title<R> {
    /// A title of these renditions, which errors call so, and which begins with the lowest rate.
    ///
    /// # Errors
    /// If there is none, or they do not belong together.
    pub fn new(renditions: Vec<(String, Rendition<R>)>) -> Result<Self, TitleError> {
        let (first_name, first) = renditions.first().ok_or(TitleError::Nothing)?;
        let mut later = Vec::new();
        for (name, rendition) in &renditions {
            let after = rendition.begins_after(first).map(|after| (after, false));
            let before = || first.begins_after(rendition).map(|before| (before, true));
            let apart = after
                .or_else(before)
                .filter(|(apart, _)| *apart <= MAX_APART);
            let (apart, is_before) =
                apart.ok_or_else(|| TitleError::Apart { name: name.clone() })?;
            let last = [first.lasts(), rendition.lasts()];
            if last[0].abs_diff(last[1]) > MAX_APART {
                let names = [first_name.clone(), name.clone()];
                return Err(TitleError::Lengths { names, last });
            }
            // One second before the first is the earliest.
            later.push(if is_before {
                MAX_APART - apart
            } else {
                MAX_APART + apart
            });
        }
        let earliest = later.iter().min().copied().unwrap_or_default();
        let mut cursors: Vec<RenditionCursor<R>> = renditions
            .into_iter()
            .zip(later)
            .map(|((name, rendition), later)| RenditionCursor {
                name,
                rendition,
                later: later - earliest,
                tables: Vec::new(),
                broken: None,
            })
            .collect();
        let rate = |cursor: &RenditionCursor<R>| cursor.rendition.mean_rate();
        cursors.sort_by(|a, b| rate(a).bytes_per_sec().total_cmp(&rate(b).bytes_per_sec()));
        Ok(Self {
            rates: cursors.iter().map(rate).collect(),
            cursors,
            current: 0,
            counters: Counters::default(),
            ahead: Vec::new(),
            mismatch: None,
        })
    }

    /// Goes to the entry that another rendition has at this time. It stays with the present one if the other
    /// has none there.
    fn change(&mut self, wanted: usize, at: Duration) -> Result<(), TitleError> {
        let cursor = &mut self.cursors[wanted];
        let reached = cursor.broken.take().map_or_else(|| cursor.reach(at), Err);
        if !reached.map_err(|error| unreadable(&cursor.name, error))? {
            return Ok(());
        }
        self.ahead = cursor.take_tables();
        // They are handed out from the end.
        self.ahead.reverse();
        self.current = wanted;
        self.counters.restart();
        Ok(())
    }

    /// When the next packet is due, if a decoder can begin with it.
    fn next_entry(&mut self) -> Result<Option<Duration>, TitleError> {
        let cursor = &mut self.cursors[self.current];
        let next = cursor
            .peek()
            .map_err(|error| unreadable(&cursor.name, error))?;
        Ok(next.filter(|(_, is_entry)| *is_entry).map(|(at, _)| at))
    }

    fn take(&mut self) -> Result<Option<Timed>, TitleError> {
        if let Some(timed) = self.ahead.pop() {
            return Ok(Some(timed));
        }
        let cursor = &mut self.cursors[self.current];
        cursor
            .take()
            .map_err(|error| unreadable(&cursor.name, error))
    }

    /// Takes the renditions that are not sent along, so that a change has little to read.
    fn follow(&mut self, at: Duration) {
        for (number, cursor) in self.cursors.iter_mut().enumerate() {
            if number != self.current && cursor.broken.is_none() {
                cursor.broken = cursor.reach(at).err();
            }
        }
    }

    /// Holds the others to the entry that the present one has at this time.
    fn compare(&mut self, at: Duration) {
        let has = self.cursors[self.current].name.clone();
        for (number, cursor) in self.cursors.iter_mut().enumerate() {
            if number == self.current || cursor.broken.is_some() {
                continue;
            }
            match cursor.lacks(at) {
                Ok(true) => {
                    let names = [has.clone(), cursor.name.clone()];
                    self.mismatch.get_or_insert(Mismatch { names, at });
                }
                Ok(false) => {}
                Err(error) => cursor.broken = Some(error),
            }
        }
    }
}

impl<R: Read + Send> Content for Title<R> {
    fn rates(&self) -> &[Rate] {
        &self.rates
    }

    fn next(&mut self, wanted: usize) -> Result<Option<Datagram>, TitleError> {
        let wanted = wanted.min(self.cursors.len() - 1);
        let mut payload = Vec::new();
        let mut due = None;
        while payload.len() < PAYLOAD_LEN {
            if self.ahead.is_empty()
                && let Some(at) = self.next_entry()?
            {
                self.compare(at);
                if wanted != self.current {
                    self.change(wanted, at)?;
                }
            }
            let Some(mut timed) = self.take()? else { break };
            self.counters.count(&mut timed);
            payload.reserve_exact(TS_PER_DATAGRAM * TS_LEN);
            payload.extend_from_slice(&timed.packet);
            due.get_or_insert(timed.at);
        }
        if let Some(due) = due {
            self.follow(due);
        }
        Ok(due.map(|due| Datagram { due, payload }))
    }

    fn current(&self) -> usize {
        self.current
    }

    fn mismatch(&self) -> Option<&Mismatch> {
        self.mismatch.as_ref()
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
    use crate::rendition::tests::{PICTURES, stream, with_entries};
    use crate::ts::TsHeader;
    use std::io::{self, Cursor, Seek, SeekFrom};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

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

    fn has_clock(packet: &[u8; TS_LEN]) -> bool {
        TsHeader::parse(packet).unwrap().clock.is_some()
    }

    fn clocks(packets: &[[u8; TS_LEN]]) -> usize {
        packets.iter().filter(|packet| has_clock(packet)).count()
    }

    /// How many packets each tenth has tells of which rendition it is: 3 or 11, and tables.
    fn tenths_of_eleven(packets: &[[u8; TS_LEN]]) -> Vec<usize> {
        let starts: Vec<usize> = (0..packets.len())
            .filter(|n| has_clock(&packets[*n]))
            .collect();
        let lens = starts.windows(2).map(|pair| pair[1] - pair[0]);
        let long = lens.enumerate().filter(|(_, len)| *len > 5);
        long.map(|(tenth, _)| tenth).collect()
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
        assert_eq!(clocks(&packets), 61);
        assert_eq!(title.mismatch(), None);
        let long = tenths_of_eleven(&packets);
        // It is known within the second that another is wanted, and made at the next.
        assert_eq!(long, (20..40).collect::<Vec<_>>());
    }

    #[test]
    fn clocks_that_begin_a_little_apart_are_lined_up_and_others_are_refused() {
        let mut apart = title(vec![with_entries(5, 700, 4, 3), stream(1_200, 4, 11)]).unwrap();
        let last = std::iter::from_fn(|| apart.next(1).unwrap())
            .last()
            .unwrap();
        assert!(last.due > Duration::from_millis(4_400), "{:?}", last.due);
        let wrong = title(vec![stream(700, 1, 3), stream(1_701, 1, 3)]);
        assert!(matches!(wrong, Err(TitleError::Apart { name }) if name == "1.ts"));
        assert!(matches!(title(Vec::new()), Err(TitleError::Nothing)));
    }

    #[test]
    fn a_rendition_that_is_a_little_shorter_is_not_changed_to_at_its_end() {
        let mut title = title(vec![stream(700, 3, 11), stream(700, 2, 3)]).unwrap();
        let packets = packets(&mut title, &[1, 1, 0, 0]);
        assert_counted(&packets);
        assert_eq!(clocks(&packets), 31);
        // The last entry is beyond the end of the other, which says nothing of where it has its own.
        assert_eq!(title.mismatch(), None);
    }

    #[test]
    fn renditions_that_do_not_last_equally_long_are_refused_with_how_long_they_last() {
        let wrong = title(vec![stream(700, 5, 3), stream(700, 3, 11)]).unwrap_err();
        let told = wrong.to_string();
        let expected = "0.ts lasts 5.0 s and 1.ts 3.0 s, ";
        assert!(told.starts_with(expected), "{told}");
    }

    #[test]
    fn an_entry_that_another_rendition_has_not_is_told_with_its_place_and_the_remedy() {
        let mut title = title(vec![stream(700, 6, 3), with_entries(15, 700, 6, 11)]).unwrap();
        while title.mismatch().is_none() {
            title
                .next(0)
                .unwrap()
                .expect("an entry that does not match");
        }
        let told = title.mismatch().unwrap().to_string();
        // Both begin with one.
        let expected = "0.ts has a keyframe at 1.0 s and 1.ts has none there, ";
        assert!(told.starts_with(expected), "{told}");
        assert!(told.contains("-sc_threshold 0"), "{told}");
    }

    #[test]
    fn where_another_rendition_has_its_entries_at_other_times_nothing_of_the_title_is_left_out() {
        let (low, high) = (stream(700, 6, 3), with_entries(15, 700, 6, 11));
        let packets = packets(&mut title(vec![low, high]).unwrap(), &[0, 1]);
        assert_counted(&packets);
        assert_eq!(clocks(&packets), 61);
        // Both have one at three seconds, neither at the other's second or at one and a half.
        assert_eq!(tenths_of_eleven(&packets), (30..60).collect::<Vec<_>>());
    }

    /// A file that counts what is read of it.
    struct Counting(Cursor<Vec<u8>>, Arc<AtomicU64>);

    impl Read for Counting {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let len = self.0.read(buf)?;
            self.1.fetch_add(len as u64, Ordering::Relaxed);
            Ok(len)
        }
    }

    impl Seek for Counting {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn a_change_reads_little_however_far_into_the_title_it_is_made() {
        let read = Arc::new(AtomicU64::new(0));
        let open = |(number, bytes)| {
            let file = Counting(Cursor::new(bytes), Arc::clone(&read));
            (format!("{number}.ts"), Rendition::open(file).unwrap())
        };
        let streams = [stream(700, 60, 3), stream(700, 60, 11)];
        let mut title = Title::new(streams.into_iter().enumerate().map(open).collect()).unwrap();
        let (mut due, mut most) = (Duration::ZERO, 0);
        loop {
            let before = read.load(Ordering::Relaxed);
            let Some(datagram) = title.next(usize::from(due.as_secs() >= 50)).unwrap() else {
                break;
            };
            due = datagram.due;
            most = most.max(read.load(Ordering::Relaxed) - before);
        }
        assert_eq!(title.current(), 1);
        // Half a second of the larger.
        assert!(most <= 5 * 11 * TS_LEN as u64, "{most} bytes");
    }

    #[test]
    fn a_rendition_that_cannot_be_read_on_is_an_error_when_it_is_wanted_and_not_before() {
        let mut broken = stream(700, 20, 11);
        broken[200 * TS_LEN] = 0;
        let streams = || vec![stream(700, 20, 3), broken.clone()];
        let whole = packets(&mut title(streams()).unwrap(), &[0]);
        assert_eq!(whole.concat(), stream(700, 20, 3));
        let error_of = |mut title: Title<_>| loop {
            match title.next(1) {
                Ok(datagram) => assert!(datagram.is_some(), "it ended well"),
                Err(error) => break error.to_string(),
            }
        };
        let at_once = error_of(title(streams()).unwrap());
        assert!(at_once.starts_with("1.ts: "), "{at_once}");
        let mut late = title(streams()).unwrap();
        while late.next(0).unwrap().expect("it goes on").due < Duration::from_secs(4) {}
        let late = error_of(late);
        assert!(late.starts_with("1.ts: "), "{late}");
    }
}
