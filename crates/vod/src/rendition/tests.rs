//! Tests of the times of packets, and of what is no stream.

use super::*;
use crate::test_stream::{CLOCK, IDR, TestStream, clock_field};
use crate::ts::tests::packet;
use std::io::Cursor;

pub(crate) use crate::test_stream::PICTURES;

/// A stream: a reference every 100 ms from `start_ms` on, so many packets in between, and every second a
/// table and a picture that depends on no other.
pub(crate) fn stream(start_ms: u64, seconds: u64, per_reference: u64) -> Vec<u8> {
    with_entries(10, start_ms, seconds, per_reference)
}

/// The same with such a table and picture every so many tenths of a second.
pub(crate) fn with_entries(every: u64, start_ms: u64, seconds: u64, per_reference: u64) -> Vec<u8> {
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
    // The last four packets take as long as the six before the last reference.
    let lasts = 2.0 + 0.1 * 4.0 / 6.0;
    assert!((rendition.mean_rate().bytes_per_sec() - len / lasts).abs() < 1.0);
    let timed = std::iter::from_fn(|| rendition.next().unwrap());
    let entries = timed.filter(|timed| timed.packet.is_entry);
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
    broken.extend(vec![0; 2 << 20]);
    assert!(matches!(
        open(broken),
        Err(RenditionError::NoPacket { at: 10_340 })
    ));
    assert!(matches!(
        open(Vec::new()),
        Err(RenditionError::NoPacket { at: 0 })
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
    std::fs::write(&path, stream(700, 2, 50)).unwrap();
    let file = std::fs::File::options().read(true).write(true).open(&path);
    let file = file.unwrap();
    let mut rendition = Rendition::open(&file).unwrap();
    file.set_len(600 * 188).unwrap();
    let cut = loop {
        match rendition.next() {
            Ok(timed) => assert!(timed.is_some(), "it ended well"),
            Err(error) => break error,
        }
    };
    std::fs::remove_file(&path).unwrap();
    let (at, len) = (600 * 188, 21 * 50 * 188);
    assert!(
        matches!(cut, RenditionError::Shrunk { at: from, len: of } if (from, of) == (at, len)),
        "{cut}"
    );
}

#[test]
fn stream_without_clock_ends_in_an_error() {
    let silent = packet(PICTURES, 0, None, false).repeat(MAX_BETWEEN + 1);
    let bytes = [stream(700, 1, 5), silent, stream(2_000, 1, 5)].concat();
    let error = Rendition::open(Cursor::new(bytes)).unwrap_err();
    assert!(matches!(error, RenditionError::NoClock { .. }), "{error}");
}

/// A stream of these clock references with three packets each; `flags` are set in the one of this number.
fn with_clocks(clocks_ms: &[u64], announced: Option<usize>) -> Vec<u8> {
    let mut stream = TestStream::default();
    for (number, ms) in clocks_ms.iter().enumerate() {
        let flags = if announced == Some(number) { 0x80 } else { 0 };
        stream.packet(PICTURES, false, &clock_field(*ms, flags), &[0xff; 176]);
        for _ in 0..2 {
            stream.packet(PICTURES, false, &[], &[0xff; 184]);
        }
    }
    stream.bytes
}

/// 51 references 80 ms apart, which with the packets of the last last so long.
const LASTS_MS: u128 = 51 * 80;

fn steady(start_ms: u64) -> Vec<u64> {
    (0..51).map(|n| start_ms + 80 * n).collect()
}

#[test]
fn clock_is_the_sum_of_its_steps() {
    struct Row {
        name: &'static str,
        clocks: Vec<u64>,
        announced: Option<usize>,
        lasts_ms: u128,
    }
    let row = |name, clocks, lasts_ms| Row {
        name,
        clocks,
        announced: None,
        lasts_ms,
    };
    let halves = |first: u64, second: u64| [&steady(first)[..25], &steady(second)[25..]].concat();
    let wrong = |number: usize, ms: u64| {
        let mut clocks = steady(10_000);
        clocks[number] = ms;
        clocks
    };
    let wraps_ms = (1_u64 << 33) / 90;
    let rows = [
        row("plain", steady(700), LASTS_MS),
        row("starts again", halves(3_600_700, 0), LASTS_MS),
        row("goes back a little", halves(3_000, 0), LASTS_MS),
        row("jumps ahead", halves(700, 36_000_700), LASTS_MS),
        row(
            "same twice",
            [&steady(0)[..26], &steady(0)[..25]].concat(),
            LASTS_MS,
        ),
        // The standard's 100 ms stand in for the first step.
        row("first wrong", wrong(0, 94_000_000), LASTS_MS + 20),
        row("last wrong", wrong(50, 5), LASTS_MS),
        row("one far ahead", wrong(20, 90_000_000), LASTS_MS),
        row("one far behind", wrong(20, 5), LASTS_MS),
        row("one ahead", wrong(20, 12_100), LASTS_MS),
        row("one behind", wrong(20, 11_100), LASTS_MS),
        row("wraps", steady(wraps_ms - 2_000), LASTS_MS),
        row("few pictures", (0..9).map(|n| 500 * n).collect(), 4_500),
        row(
            "stands still",
            [vec![0; 25], steady(0)[..26].to_vec()].concat(),
            LASTS_MS + 400,
        ),
        Row {
            announced: Some(25),
            ..row("announced jump", halves(0, 600), LASTS_MS)
        },
    ];
    for row in rows {
        let bytes = with_clocks(&row.clocks, row.announced);
        let len = bytes.len() as f64;
        let rendition = Rendition::open(Cursor::new(bytes)).unwrap();
        let lasts = rendition.lasts().as_millis();
        assert!(
            lasts.abs_diff(row.lasts_ms) <= 1,
            "{}: {lasts} ms",
            row.name
        );
        let rate = len * 1e3 / row.lasts_ms as f64;
        let mean_rate = rendition.mean_rate().bytes_per_sec();
        assert!(
            (mean_rate / rate - 1.0).abs() < 0.001,
            "{}: {mean_rate}",
            row.name
        );
    }
}

#[test]
fn beginning_is_known_although_first_reference_is_wrong() {
    let mut clocks = steady(10_000);
    let open = |clocks: &[u64]| Rendition::open(Cursor::new(with_clocks(clocks, None))).unwrap();
    let right = open(&clocks);
    clocks[0] = 94_000_000;
    let apart = right.begins_after(&open(&clocks)).unwrap();
    assert_eq!(apart.as_millis(), 20);
}

#[test]
fn stuffing_at_the_end_is_left_out() {
    let mut stream = TestStream::default();
    stream.bytes = with_clocks(&steady(0), None);
    let len = stream.bytes.len() / TS_LEN;
    stream.stuffing(MAX_BETWEEN + 10);
    let mut rendition = Rendition::open(Cursor::new(stream.bytes)).unwrap();
    assert_eq!(rendition.lasts().as_millis(), LASTS_MS);
    let packets = std::iter::from_fn(|| rendition.next().unwrap()).count();
    assert_eq!(packets, len);
    let mut nothing = TestStream::default();
    nothing.stuffing(20);
    assert!(Rendition::open(Cursor::new(nothing.bytes)).is_err());
}

#[test]
fn appended_packets_are_not_sent() {
    let path = std::env::temp_dir().join(format!("evenkeel-grows-{}.ts", std::process::id()));
    std::fs::write(&path, stream(700, 2, 50)).unwrap();
    let mut rendition = Rendition::open(std::fs::File::open(&path).unwrap()).unwrap();
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, &stream(2_800, 2, 50)).unwrap();
    let packets = std::iter::from_fn(|| rendition.next().unwrap()).count();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(packets, 21 * 50);
}

proptest::proptest! {
    #[test]
    fn damage_anywhere_keeps_times_in_order(
        changes in proptest::collection::vec((0..20_000_usize, proptest::num::u8::ANY), 0..20),
        cut in 0..20_000_usize,
        cut_len in 0..400_usize,
    ) {
        let mut stream = TestStream::default();
        for number in 0..30 {
            stream.tables(CLOCK, &[(0x1b, PICTURES)]);
            stream.clock(CLOCK, 40 * number);
            stream.picture(PICTURES, &[], IDR);
        }
        let mut bytes = stream.bytes;
        for (place, byte) in changes {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        let cut = cut % bytes.len();
        bytes.drain(cut..(cut + cut_len).min(bytes.len()));
        if let Ok(mut rendition) = Rendition::open(Cursor::new(&bytes)) {
            let mut last = Duration::ZERO;
            let mut packets = 0;
            while let Some(timed) = rendition.next().unwrap() {
                proptest::prop_assert!(timed.at >= last);
                (last, packets) = (timed.at, packets + 1);
            }
            proptest::prop_assert!(packets * TS_LEN <= bytes.len() && last <= rendition.lasts());
        }
    }
}
