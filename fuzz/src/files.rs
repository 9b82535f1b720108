//! Pictures from files: y4m streams, JPEG files, and titles in MPEG-TS.

use std::io::Cursor;
use std::time::Duration;

use evenkeel_codec::mjpeg::{Decoder, jfif};
use evenkeel_codec::sink::{Sink, Y4mFile};
use evenkeel_codec::source::{Source, Y4m};
use evenkeel_vod::{Content, Rendition, TS_LEN, TS_PER_DATAGRAM, Title};

use crate::read_pictures;

/// Larger images are read, but not decoded: an execution should take microseconds.
const MOST_MCUS: usize = 256;

/// Reads the bytes as each; pictures that read well must survive being written and read, and a title is sent as it is.
pub fn check(data: &[u8]) {
    check_y4m(data);
    check_jpeg(data);
    check_ts(data);
}

fn check_y4m(data: &[u8]) {
    let Ok(source) = Y4m::new(data, "fuzz".into()) else {
        return;
    };
    let format = source.format();
    read_pictures(source, |picture| {
        let mut file = Vec::new();
        let mut sink = Y4mFile::new(&mut file, format).expect("memory takes every byte");
        sink.show(&picture)
            .expect("the picture has the stream's size");
        sink.finish().expect("memory takes every byte");
        drop(sink);
        let mut again =
            Y4m::new(file.as_slice(), "written".into()).expect("what we write, we read");
        assert_eq!(again.format(), format);
        assert_eq!(again.next().expect("what we write, we read"), Some(picture));
    });
}

fn check_jpeg(data: &[u8]) {
    let Ok(image) = jfif::parse(data) else {
        return;
    };
    if image.mcus() <= MOST_MCUS {
        let _ = Decoder::new().decode(&image);
    }
    let again = jfif::parse(&jfif::write(&image)).expect("what we write, we read");
    assert_eq!(again, image);
}

fn check_ts(data: &[u8]) {
    let Ok(rendition) = Rendition::open(Cursor::new(data)) else {
        return;
    };
    let is_damaged = rendition.damage().is_some();
    let mut once = title(data, 1);
    let rate = once.rates()[0].bits_per_sec();
    assert!(rate.is_finite() && rate > 0.0, "{rate}");
    let mut sent = Vec::new();
    let mut due = Duration::ZERO;
    // It was read once, so it can be read again.
    while let Some(datagram) = once.next(0, TS_PER_DATAGRAM).expect("it is in memory") {
        assert!(datagram.due >= due, "{:?} after {due:?}", datagram.due);
        due = datagram.due;
        sent.extend(datagram.payload);
    }
    assert!(sent.len() <= data.len());
    if !is_damaged {
        assert!(data.starts_with(&sent), "it is sent as it is");
        // But for stuffing at the end, and for a packet that is cut off.
        let rest = data[sent.len()..].chunks_exact(TS_LEN);
        for packet in rest {
            assert_eq!(
                [packet[1] & 0x1f, packet[2]],
                [0x1f, 0xff],
                "it is left out"
            );
        }
    }
    // Two equal renditions, of which the one not sent is always wanted.
    let mut both = title(data, 2);
    let mut sent = 0;
    while let Ok(Some(datagram)) = both.next(1 - both.current(), 3) {
        assert!(datagram.payload.len().is_multiple_of(TS_LEN));
        sent += datagram.payload.len();
        assert!(sent <= 2 * data.len(), "a packet is sent twice");
    }
}

/// So many renditions that are all the same.
fn title(data: &[u8], count: usize) -> Title<Cursor<&[u8]>> {
    let open = |_| {
        let rendition = Rendition::open(Cursor::new(data)).expect("it could be opened");
        ("fuzz".into(), rendition)
    };
    Title::new((0..count).map(open).collect()).expect("they begin at one time")
}
