//! Pictures from files: y4m streams and JPEG files.

use evenkeel_media::codec::mjpeg::{Decoder, jfif};
use evenkeel_media::sink::{Sink, Y4mFile};
use evenkeel_media::source::{Source, Y4m};

/// Larger images are read, but not decoded: an execution should take microseconds.
const MOST_MCUS: usize = 256;

/// Reads the bytes as both; what reads well must survive being written and read.
pub fn check(data: &[u8]) {
    check_y4m(data);
    check_jpeg(data);
}

fn check_y4m(data: &[u8]) {
    let Ok(mut source) = Y4m::new(data, "fuzz".into()) else {
        return;
    };
    let format = source.format();
    while let Ok(Some(picture)) = source.next() {
        assert_eq!(
            (picture.width(), picture.height()),
            (format.width, format.height)
        );
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
    }
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
