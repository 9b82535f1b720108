//! `ffmpeg` as a source. It runs where `EVENKEEL_MEDIA_DIR` is set, as it is where `ffmpeg` must be.

use evenkeel_media::source::{Ffmpeg, FfmpegOptions, FrameRate, Source};

fn wanted() -> bool {
    let wanted = std::env::var_os("EVENKEEL_MEDIA_DIR").is_some();
    if !wanted {
        println!("EVENKEEL_MEDIA_DIR is not set: ffmpeg is not tried");
    }
    wanted
}

#[test]
fn pictures_come_at_the_size_and_rate_asked_for_until_it_is_dropped() {
    if !wanted() {
        return;
    }
    let options = FfmpegOptions {
        input_format: Some("lavfi".into()),
        frame_rate: FrameRate::new(30_000, 1001),
        size: Some((49, 35)),
        repeat: false,
    };
    // Without an end: only being killed stops this one.
    let mut source = Ffmpeg::open("testsrc2", &options).expect("ffmpeg draws it");
    let format = source.format();
    assert_eq!((format.width, format.height), (49, 35));
    assert_eq!(Some(format.frame_rate), options.frame_rate);
    let first = source.next().expect("unbroken");
    let second = source.next().expect("unbroken");
    assert!(first.is_some() && second.is_some() && first != second);
}

#[test]
fn what_ffmpeg_cannot_read_is_an_error_in_its_words() {
    if !wanted() {
        return;
    }
    let file = std::env::temp_dir().join(format!("evenkeel-{}.mp4", std::process::id()));
    std::fs::write(&file, "this is no film").expect("writable folder");
    let path = file.to_str().expect("a path that ffmpeg can be told");
    let message = Ffmpeg::open(path, &FfmpegOptions::default())
        .err()
        .map(|e| e.to_string());
    std::fs::remove_file(&file).expect("just written");
    let message = message.expect("no film");
    assert!(message.starts_with("ffmpeg cannot read"), "{message}");
    assert!(message.contains("Invalid data"), "{message}");
}
