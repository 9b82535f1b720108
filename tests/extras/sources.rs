//! Files that are not as they should be, sent: cut off, or put together from others.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Running, Scratch, evenkeel, free_port, number, summary};

fn ffmpeg(arguments: &[&str], out: &Path) {
    let status = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error"])
        .args(arguments)
        .arg(out)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "ffmpeg");
}

/// A second of 25 pictures.
fn clip(out: &Path, size: &str, options: &[&str]) {
    let pictures = format!("testsrc2=size={size}:rate=25:duration=1");
    ffmpeg(&[&["-f", "lavfi", "-i", &pictures], options].concat(), out);
}

/// Leaves the first 60 %.
fn cut(path: &Path) {
    let mut bytes = fs::read(path).expect("a clip");
    bytes.truncate(bytes.len() * 6 / 10);
    fs::write(path, bytes).expect("a file");
}

/// Sends the file for three seconds, to nobody.
fn sender(file: &Path, codec: &str, json: &Path) -> Command {
    let at = format!("127.0.0.1:{}", free_port());
    let mut sender = evenkeel(&["send", &at, "--plain", "--headless", "--seconds", "3"]);
    sender
        .args(["--warmup", "0", "--fixed-rate", "1M", "--codec", codec])
        .arg("--source")
        .arg(file)
        .arg("--json")
        .arg(json)
        .stdout(Stdio::null());
    sender
}

/// Each file is sent again and again, up to the end of the run.
fn assert_goes_on(scratch: &Scratch, files: &[&str]) {
    let start = |file: &str, codec: &str| {
        let json = scratch.file(&format!("{file}.{codec}.json"));
        let sender = Running::start(&mut sender(&scratch.file(file), codec, &json));
        (format!("{file} as {codec}"), json, sender)
    };
    let started = files
        .iter()
        .flat_map(|file| ["h264", "mjpeg"].map(|codec| start(file, codec)));
    for (name, json, mut sender) in started.collect::<Vec<_>>() {
        assert!(sender.wait(20).success(), "{name}");
        let sent = number(&summary(&json), "frames_sent");
        println!("{name}: {sent} pictures sent");
        // All would be 75. Once through the longest is 50.
        assert!(sent > 55.0, "{name}: {sent} pictures sent");
    }
}

#[test]
fn a_file_that_is_cut_off_is_sent_as_far_as_it_goes() {
    let scratch = Scratch::new("cut");
    let fragmented = ["-g", "5", "-movflags", "frag_keyframe+empty_moov"];
    clip(&scratch.file("cut.mkv"), "320x240", &[]);
    clip(&scratch.file("pieces.mp4"), "320x240", &fragmented);
    let files = ["cut.mkv", "pieces.mp4"];
    for file in files {
        cut(&scratch.file(file));
    }
    assert_goes_on(&scratch, &files);
}

/// What tells where its pictures are is at the end of an MP4 file.
#[test]
fn a_file_whose_index_is_cut_off_is_refused_with_what_ffmpeg_says() {
    let scratch = Scratch::new("cut-index");
    let file = scratch.file("cut.mp4");
    clip(&file, "320x240", &[]);
    cut(&file);
    let sender = sender(&file, "h264", &scratch.file("send.json")).output();
    let sender = sender.expect("run the sender");
    let said = String::from_utf8_lossy(&sender.stderr).into_owned();
    assert_eq!(sender.status.code(), Some(2), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    for words in [
        "--source",
        "cut.mp4",
        "ffmpeg cannot read it",
        "Invalid data",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

/// ffmpeg scales what comes later to the size of the first.
#[test]
fn a_file_whose_pictures_change_their_size_is_sent_to_its_end() {
    let scratch = Scratch::new("sizes");
    let sizes = ["320x240", "176x144"];
    let joined = |end: &str, codec: &str| {
        let parts = sizes.map(|size| {
            let part = scratch.file(&format!("{size}.{end}"));
            clip(&part, size, &["-c:v", codec]);
            fs::read(part).expect("a clip")
        });
        let file = scratch.file(&format!("both.{end}"));
        fs::write(&file, parts.concat()).expect("a file");
        file
    };
    joined("ts", "libx264");
    let stream = joined("mjpeg", "mjpeg");
    let stream = stream.to_str().expect("a plain path");
    let copy = ["-framerate", "25", "-i", stream, "-c", "copy"];
    ffmpeg(&copy, &scratch.file("both.mkv"));
    assert_goes_on(&scratch, &["both.ts", "both.mkv"]);
}
