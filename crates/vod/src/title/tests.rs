//! Tests of a title: changes between renditions, and what is no title.

use super::*;
use crate::packet_reader::READ_LEN;
use crate::rendition::tests::{PICTURES, stream, with_entries};
use crate::test_stream::{CLOCK, IDR, INTER, MAP, TestStream};
use crate::ts::TsHeader;
use std::io::{self, Cursor, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
    while let Some(datagram) = title.next(wanted[second.min(wanted.len() - 1)], 7).unwrap() {
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
    let first = |title: &mut Title<_>| title.next(0, 7).unwrap();
    assert_eq!(first(&mut title), None);
}

#[test]
fn datagrams_are_due_with_their_first_packet() {
    let mut title = title(vec![stream(700, 3, 14)]).unwrap();
    let mut due = std::iter::from_fn(|| title.next(0, 7).unwrap()).map(|datagram| datagram.due);
    // A table, then 13 packets in the first tenth, 14 in the others.
    assert_eq!(due.next(), Some(Duration::ZERO));
    let second = due.next().unwrap().as_secs_f64();
    assert!((second - 0.1 * 6.0 / 13.0).abs() < 1e-9, "{second}");
    assert_eq!(due.next(), Some(Duration::from_millis(100)));
}

#[test]
fn change_is_made_at_entry_and_counters_continue() {
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
fn clocks_are_aligned_unless_far_apart() {
    let mut apart = title(vec![with_entries(5, 700, 4, 3), stream(1_200, 4, 11)]).unwrap();
    let last = std::iter::from_fn(|| apart.next(1, 7).unwrap())
        .last()
        .unwrap();
    assert!(last.due > Duration::from_millis(4_400), "{:?}", last.due);
    let wrong = title(vec![stream(700, 1, 3), stream(1_701, 1, 3)]);
    assert!(matches!(wrong, Err(TitleError::Apart { name }) if name == "1.ts"));
    assert!(matches!(title(Vec::new()), Err(TitleError::Nothing)));
}

#[test]
fn slightly_shorter_rendition_is_avoided_at_its_end() {
    let mut long = stream(700, 3, 11);
    long.truncate(long.len() - 9 * TS_LEN);
    let mut title = title(vec![long, stream(700, 2, 3)]).unwrap();
    let packets = packets(&mut title, &[1, 1, 0, 0]);
    assert_counted(&packets);
    assert_eq!(clocks(&packets), 31);
    // The last entry is beyond the end of the other, which says nothing of where it has its own.
    assert_eq!(title.mismatch(), None);
}

#[test]
fn renditions_of_unequal_lengths_are_refused() {
    let wrong = title(vec![stream(700, 5, 3), stream(700, 3, 11)]).unwrap_err();
    let message = wrong.to_string();
    let expected = "0.ts lasts 5.0 s and 1.ts 3.1 s, ";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn missing_entry_is_reported_with_place_and_remedy() {
    let mut title = title(vec![stream(700, 6, 3), with_entries(15, 700, 6, 11)]).unwrap();
    while title.mismatch().is_none() {
        title
            .next(0, 7)
            .unwrap()
            .expect("an entry that does not match");
    }
    let message = title.mismatch().unwrap().to_string();
    // Both begin with one.
    let expected = "0.ts has a keyframe at 1.0 s and 1.ts has none there, ";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.contains("-sc_threshold 0"), "{message}");
}

#[test]
fn title_stays_whole_when_entries_differ() {
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
fn change_reads_little_however_late() {
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
        let Some(datagram) = title.next(usize::from(due.as_secs() >= 50), 7).unwrap() else {
            break;
        };
        due = datagram.due;
        most = most.max(read.load(Ordering::Relaxed) - before);
    }
    assert_eq!(title.current(), 1);
    // A read of each, of 1.2 MB of the larger.
    assert!(most <= 2 * READ_LEN as u64, "{most} bytes");
}

/// A file that cannot be read from this byte on, once the flag is set.
struct Failing(Cursor<Vec<u8>>, u64, Arc<AtomicBool>);

impl Read for Failing {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.2.load(Ordering::Relaxed) && self.0.position() >= self.1 {
            return Err(io::ErrorKind::Other.into());
        }
        self.0.read(buf)
    }
}

impl Seek for Failing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn unreadable_rendition_is_an_error_once_wanted() {
    let (low, high) = (stream(700, 20, 3), stream(700, 20, 110));
    let fails = Arc::new(AtomicBool::default());
    let open = |()| {
        fails.store(false, Ordering::Relaxed);
        let files = [(&low, u64::MAX), (&high, 6 * READ_LEN as u64)];
        let renditions = files
            .into_iter()
            .enumerate()
            .map(|(number, (bytes, from))| {
                let file = Failing(Cursor::new(bytes.clone()), from, Arc::clone(&fails));
                (format!("{number}.ts"), Rendition::open(file).unwrap())
            });
        let title = Title::new(renditions.collect()).unwrap();
        fails.store(true, Ordering::Relaxed);
        title
    };
    let mut alone = open(());
    let mut sent = 0;
    while let Some(datagram) = alone.next(0, 7).unwrap() {
        sent += datagram.payload.len();
    }
    assert_eq!(sent, low.len());
    let error_of = |mut title: Title<_>| loop {
        match title.next(1, 7) {
            Ok(datagram) => assert!(datagram.is_some(), "it ended well"),
            Err(error) => break error.to_string(),
        }
    };
    let at_once = error_of(open(()));
    assert!(at_once.starts_with("1.ts: "), "{at_once}");
    let mut late = open(());
    while late.next(0, 7).unwrap().expect("it goes on").due < Duration::from_secs(4) {}
    let late = error_of(late);
    assert!(late.starts_with("1.ts: "), "{late}");
}

/// Four seconds with a picture every 40 ms, of so many packets, and an IDR every second; the clock has a stream of its
/// own, and nothing but the pictures says where one can begin.
fn without_marks(packets: usize) -> Vec<u8> {
    let mut stream = TestStream::default();
    for number in 0..100 {
        if number % 2 == 0 {
            stream.tables(CLOCK, &[(0x1b, PICTURES)]);
            stream.clock(CLOCK, 700 + 40 * number);
        }
        let units = if number % 25 == 0 { IDR } else { INTER };
        let slice = vec![0xff; 184 * (packets - 1)];
        stream.picture(PICTURES, &[], &[units, &slice].concat());
    }
    stream.bytes
}

#[test]
fn change_is_made_at_idr_without_marks() {
    let streams = || vec![without_marks(2), without_marks(9)];
    let mut changed = title(streams()).unwrap();
    assert!(changed.cursors.iter().all(|c| c.rendition.has_entries()));
    let packets = packets(&mut changed, &[0, 1]);
    assert_eq!((changed.current(), changed.mismatch()), (1, None));
    assert_counted(&packets);
    let pids: Vec<u16> = packets
        .iter()
        .map(|packet| TsHeader::parse(packet).unwrap().pid)
        .collect();
    // The last tables of one rendition, the tables of the second one, and its nine packets of an IDR at two seconds.
    let change = [&[0, MAP, CLOCK, 0, MAP], &[PICTURES; 9][..]].concat();
    let at = pids
        .windows(change.len())
        .position(|pids| pids == change)
        .expect("the change");
    // 50 pictures of two packets, and tables and clock with 25 of them.
    assert_eq!(at, 50 * 2 + 25 * 3);
    let mut plain = stream(700, 4, 3);
    for packet in plain.chunks_mut(TS_LEN) {
        if packet[3] & 0x20 != 0 {
            packet[5] &= !0x40;
        }
    }
    let plain = Rendition::open(Cursor::new(plain)).unwrap();
    assert!(!plain.has_entries());
}
