//! Pictures from files: y4m streams, JPEG files, and titles in MPEG-TS.

use std::io::Cursor;
use std::time::Duration;

use evenkeel_codec::mjpeg::{Decoder, jfif};
use evenkeel_codec::sink::{Sink, Y4mFile};
use evenkeel_codec::source::{Source, Y4m};
use evenkeel_vod::{Content, Rendition, TS_LEN, Title};

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
    let Some(mut once) = title(data, 1) else {
        return;
    };
    let rate = once.rates()[0].bits_per_sec();
    assert!(rate.is_finite() && rate > 0.0, "{rate}");
    let mut sent = Vec::new();
    let mut due = Duration::ZERO;
    let is_whole = loop {
        match once.next(0) {
            Ok(Some(datagram)) => {
                assert!(datagram.due >= due, "{:?} after {due:?}", datagram.due);
                due = datagram.due;
                sent.extend(datagram.payload);
                assert!(data.starts_with(&sent), "it is sent as it is");
            }
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    assert!(!is_whole || sent.len() == data.len() / TS_LEN * TS_LEN);
    // Two equal renditions, of which the one not sent is always wanted.
    let mut both = title(data, 2).expect("once it could be opened");
    let mut sent = 0;
    while let Ok(Some(datagram)) = both.next(1 - both.current()) {
        assert!(datagram.payload.len().is_multiple_of(TS_LEN));
        sent += datagram.payload.len();
        assert!(sent <= 2 * data.len(), "a packet is sent twice");
    }
}

/// So many renditions that are all the same.
fn title(data: &[u8], count: usize) -> Option<Title<Cursor<&[u8]>>> {
    let open = |_| Some(("fuzz".into(), Rendition::open(Cursor::new(data)).ok()?));
    let renditions = (0..count).map(open).collect::<Option<_>>()?;
    Some(Title::new(renditions).expect("they begin at one time"))
}
