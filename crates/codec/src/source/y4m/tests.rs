//! Tests of YUV4MPEG2 files: headers, pictures and what is refused.

use super::*;
use proptest::prelude::*;

fn read(stream: &[u8]) -> Result<Vec<Picture>, SourceError> {
    let mut source = Y4m::new(stream, "test".into())?;
    let mut pictures = Vec::new();
    while let Some(picture) = source.next()? {
        pictures.push(picture);
    }
    Ok(pictures)
}

fn message(stream: &[u8]) -> String {
    read(stream).expect_err("must fail").to_string()
}

#[test]
fn pictures_are_read_to_the_end() {
    let stream = b"YUV4MPEG2 W2 H2 F25:1 Ip XYSCSS=420JPEG\nFRAME\n123456FRAME Ip\nabcdef";
    let pictures = read(stream).expect("valid");
    assert_eq!(pictures.len(), 2);
    assert_eq!(pictures[1].data(), b"abcdef");
}

#[test]
fn other_chroma_is_averaged_to_420() {
    let cases: [(&str, &[u8], &[u8]); 3] = [
        (
            "422",
            &[1, 2, 3, 15, 30, 45, 60],
            &[1, 2, 3, 15, 30, 45, 60],
        ),
        (
            "444",
            &[1, 2, 3, 10, 20, 30, 41, 51, 61],
            &[1, 2, 3, 15, 30, 46, 61],
        ),
        ("mono", &[1, 2, 3], &[1, 2, 3, 128, 128, 128, 128]),
    ];
    for (name, samples, expected) in cases {
        let mut stream = format!("YUV4MPEG2 W3 H1 F1:1 C{name}\nFRAME\n").into_bytes();
        stream.extend(samples);
        assert_eq!(read(&stream).expect(name)[0].data(), expected, "{name}");
    }
}

#[test]
fn two_rows_of_422_become_one() {
    let mut stream = b"YUV4MPEG2 W2 H2 F1:1 C422\nFRAME\n".to_vec();
    stream.extend([1, 2, 3, 4, 10, 20, 30, 41]);
    assert_eq!(
        read(&stream).expect("valid")[0].data(),
        [1, 2, 3, 4, 15, 36]
    );
}

#[test]
fn full_range_becomes_that_of_video() {
    let mut stream = b"YUV4MPEG2 W3 H1 F1:1 C420jpeg XCOLORRANGE=FULL\nFRAME\n".to_vec();
    stream.extend([0, 128, 255, 0, 128, 255, 1]);
    let expected = [16, 126, 235, 16, 128, 240, 16];
    assert_eq!(read(&stream).expect("valid")[0].data(), expected);
}

#[test]
fn pixel_aspect_is_read() {
    for (word, expected) in [
        ("", true),
        (" A1:1", true),
        (" A0:0", true),
        (" A64:45", false),
    ] {
        let stream = format!("YUV4MPEG2 W3 H1 F1:1{word}\n");
        let source = Y4m::new(stream.as_bytes(), "test".into()).expect(word);
        assert_eq!(source.has_square_pixels(), expected, "{word}");
    }
}

#[test]
fn errors_name_the_field_and_its_value() {
    let begins = "y4m begins with YUV4MPEG2; give a file of another kind its own ending, and ffmpeg reads it";
    let frames = "each picture begins with FRAME; where files were joined or damaged, let ffmpeg make one of them";
    for (stream, expected) in [
        ("", &format!("signature is missing: {begins}")[..]),
        ("RIFF\n", &format!("signature is RIFF: {begins}")),
        ("\0\0\0 ftyp", &format!("signature is no text: {begins}")),
        ("YUV4MPEG\n", &format!("signature is YUV4MPEG: {begins}")),
        ("YUV4MPEG2 W0 H2 F1:1\n", "width is 0"),
        ("YUV4MPEG2 W2 H99999 F1:1\n", "height is 99999"),
        ("YUV4MPEG2 W2 H2 F25:0\n", "frame rate is 25:0"),
        ("YUV4MPEG2 W2 H2\n", "frame rate is missing"),
        ("YUV4MPEG2 W2 H2 F1:1 C420p10\n", "colour space is 420p10"),
        (
            "YUV4MPEG2 W2 H2 F1:1\nFRAMES\n",
            &format!("frame header is FRAMES: {frames}"),
        ),
    ] {
        assert_eq!(
            message(stream.as_bytes()),
            format!("video stream: {expected}")
        );
    }
}

#[test]
fn a_stream_cut_in_a_picture_is_broken() {
    let stream = b"YUV4MPEG2 W2 H2 F25:1\nFRAME\n12345";
    assert!(message(stream).contains("end of file"));
    assert!(read(&[b'x'; 4096]).is_err());
}

proptest! {
    #[test]
    fn no_stream_panics(stream in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = b"YUV4MPEG2 W3 H3 F25:1\n".to_vec();
        bytes.extend(&stream);
        let _ = read(&bytes);
        let _ = read(&stream);
    }
}
