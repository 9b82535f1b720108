//! Recordings that ffmpeg writes, and what it finds in them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Running, Scratch, evenkeel, free_port, pause, summary, wait_for_port};

/// The codec, the pictures and the seconds of a file, once all of it has been decoded.
fn probe(file: &Path) -> (String, usize, f64) {
    let fields = "stream=codec_name,nb_read_frames:format=duration";
    let output = Command::new("ffprobe")
        .args([
            "-v",
            "error",
            "-count_frames",
            "-of",
            "default=noprint_wrappers=1",
        ])
        .args(["-show_entries", fields])
        .arg(file)
        .output()
        .expect("ffprobe runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said, "", "{}", file.display());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = |name: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once('='));
        let value = pairs.find_map(|(key, value)| (key == name).then_some(value));
        value
            .unwrap_or_else(|| panic!("{name} in {text}"))
            .to_owned()
    };
    let count = value("nb_read_frames").parse().expect("a count");
    (
        value("codec_name"),
        count,
        value("duration").parse().expect("a time"),
    )
}

#[test]
fn each_container_has_the_pictures_and_their_times() {
    let scratch = Scratch::new("containers");
    for (codec, name, kept) in [
        ("h264", "a.mp4", "h264"),
        ("h264", "a.mkv", "h264"),
        ("h264", "a.ts", "h264"),
        ("mjpeg", "b.mp4", "mjpeg"),
        ("mjpeg", "b.mkv", "mjpeg"),
        ("mjpeg", "b.ts", "h264"),
        ("raw", "-c.mkv", "mjpeg"),
    ] {
        let (file, json) = (scratch.file(name), scratch.file("demo.json"));
        let options = [
            "--size",
            "160x120",
            "--seconds",
            "5",
            "--warmup",
            "0",
            "--rate",
            "20M",
        ];
        let status = evenkeel(&["demo", "--headless", "--codec", codec])
            .args(options)
            .arg("--json")
            .arg(&json)
            .arg("--record")
            .arg(&file)
            .stdout(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "{name}");
        let shown = summary(&json)["frames_shown"].as_u64().expect("a count") as usize;
        let (found, pictures, seconds) = probe(&file);
        println!("{codec} in {name}: {found}, {pictures} of {shown} pictures, {seconds} s");
        assert_eq!(found, kept, "{name}");
        assert!(
            pictures + 3 >= shown && pictures <= shown + 3,
            "{name}: {pictures} of {shown}"
        );
        assert!((3.5..5.5).contains(&seconds), "{name}: {seconds} s");
    }
}

#[test]
fn each_end_of_a_call_records_what_it_receives_until_interrupted() {
    let scratch = Scratch::new("call-record");
    let ports = [free_port(), free_port()];
    let end = |own: u16, peer: u16, fps: &str, record: &Path| {
        let mut call = evenkeel(&[
            "call",
            &format!("127.0.0.1:{peer}"),
            "--plain",
            "--headless",
        ]);
        call.args(["--bind", &format!("127.0.0.1:{own}"), "--fps", fps]);
        call.args(["--size", "160x120", "--record"]).arg(record);
        let running = Running::start(call.stdout(Stdio::null()));
        wait_for_port(own);
        running
    };
    let (first, second) = (scratch.file("first.mp4"), scratch.file("second.y4m"));
    let mut ends = [
        end(ports[0], ports[1], "15", &first),
        end(ports[1], ports[0], "30", &second),
    ];
    pause(Duration::from_secs(6));
    for end in &mut ends {
        end.signal("INT");
        assert!(end.wait(10).success());
    }
    assert_eq!(probe(&first).0, "mjpeg");
    let recorded = std::fs::read(&second).expect("a recording");
    let line = String::from_utf8_lossy(&recorded[..40]).into_owned();
    assert!(line.contains(" F15:1 "), "the peer's rate: {line}");
}

#[test]
fn file_of_limited_size_ends_the_recording_and_not_the_call() {
    let scratch = Scratch::new("limited");
    let file = scratch.file("limited.mp4");
    let demo = format!(
        "ulimit -f 40; exec {} demo --headless --seconds 6 --warmup 0 --rate 5M --record {}",
        env!("CARGO_BIN_EXE_evenkeel"),
        file.display()
    );
    let output = Command::new("bash")
        .args(["-c", &demo])
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write --record"), "{said}");
    assert!(said.contains("File too large"), "{said}");
}

#[test]
fn standard_input_is_a_source_for_every_codec() {
    for codec in ["mjpeg", "h264", "raw"] {
        let mut pictures = Command::new("ffmpeg")
            .args([
                "-nostdin",
                "-v",
                "error",
                "-f",
                "lavfi",
                "-i",
                "testsrc2=s=160x120:d=2",
            ])
            .args(["-f", "matroska", "-"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("ffmpeg runs");
        let mut demo = evenkeel(&["demo", "--headless", "--codec", codec, "--source", "-"]);
        demo.args(["--rate", "20M", "--warmup", "0", "--json", "-"]);
        demo.stdin(pictures.stdout.take().expect("a pipe"));
        let output = demo.output().expect("run the program");
        pictures.wait().expect("its end");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{codec}: {said}");
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(
            summary["frames_shown"].as_u64() > Some(20),
            "{codec}: {summary}"
        );
    }
}
