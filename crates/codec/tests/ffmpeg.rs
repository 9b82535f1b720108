//! `ffmpeg` as a source, and as what knows DV. It runs where `EVENKEEL_MEDIA_DIR` is set, as it is where `ffmpeg` must be.

use std::process::Command;

use evenkeel_codec::source::{DvFile, Ffmpeg, FfmpegOptions, FrameRate, Source};

fn wanted() -> bool {
    let wanted = std::env::var_os("EVENKEEL_MEDIA_DIR").is_some();
    if !wanted {
        println!("EVENKEEL_MEDIA_DIR is not set: ffmpeg is not tried");
    }
    wanted
}

#[test]
fn ffmpeg_gives_pictures_of_requested_size_and_rate() {
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
fn unreadable_input_gives_the_message_of_ffmpeg() {
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

/// The mean of so many columns and eight rows from there on.
fn mean(plane: &[u8], width: usize, columns: usize, (x, y): (usize, usize)) -> i32 {
    let rows = plane.chunks_exact(width).skip(y).take(8);
    let samples = rows.flat_map(|row| &row[x..x + columns]);
    samples.map(|&sample| i32::from(sample)).sum::<i32>() / (8 * columns as i32)
}

#[test]
fn dv_mosaic_equals_means_by_ffmpeg() {
    if !wanted() {
        return;
    }
    for target in ["ntsc-dv", "pal-dv"] {
        let name = format!("evenkeel-{}-{target}.dv", std::process::id());
        let file = std::env::temp_dir().join(name);
        let made = Command::new("ffmpeg")
            .args(["-nostdin", "-v", "error", "-f", "lavfi"])
            .args(["-i", "testsrc=duration=0.1", "-target", target, "-y"])
            .arg(&file)
            .status();
        assert!(made.expect("ffmpeg runs").success());
        let mut raw = DvFile::open(&file).expect("raw DV");
        let decoded = Ffmpeg::open(file.to_str().expect("UTF-8"), &FfmpegOptions::default());
        let mut decoded = decoded.expect("ffmpeg reads it");
        assert_eq!(raw.format(), decoded.format(), "{target}");
        let format = raw.format();
        let shown = raw.next().expect("unbroken").expect("a frame");
        let whole = decoded.next().expect("unbroken").expect("a frame");
        std::fs::remove_file(&file).expect("just written");
        // Chroma of 525 lines has its means over 32x8 samples of luma, 16x4 of its own here.
        for (plane, scale, columns) in [(0, 1, 8), (1, 2, 16), (2, 2, 16)] {
            let (width, height) = (format.width / scale, format.height / scale);
            let [shown, whole] = [&shown, &whole].map(|picture| picture.planes()[plane]);
            let mut far = Vec::new();
            for y in (0..height - 7).step_by(8) {
                for x in (0..width - columns + 1).step_by(columns) {
                    let [shown, whole] =
                        [shown, whole].map(|plane| mean(plane, width, columns, (x, y)));
                    far.push((shown - whole).abs());
                }
            }
            far.sort_unstable();
            let most = far[far.len() * 9 / 10];
            println!("{target}, plane {plane}: nine of ten means are within {most}");
            assert!(most <= 3, "{target}, plane {plane}: {most}");
        }
    }
}
