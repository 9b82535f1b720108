//! Sources of pictures that break off, stall, or cannot be sent.

use std::io::Write as _;

use super::*;

#[test]
fn file_without_video_is_refused() {
    let file = Temporary::file("text.y4m", "this is no video");
    let name = &file.path;
    refuses(
        &format!("demo --source {name} --headless --seconds 1"),
        &[name],
    );
}

#[test]
fn impossible_picture_size_is_refused_with_a_possible_one() {
    let short = "--headless --seconds 1";
    refuses(
        &format!("demo --size 850x479 {short}"),
        &["850x479", "--size 848x480"],
    );
    refuses(
        &format!("demo --size 2041x480 {short}"),
        &["--size 2041x480", "width is 2041", "2040"],
    );
    // A size of the same shape.
    let file = Temporary::new("size.y4m");
    let name = &file.path;
    for (codec, sides, [own, possible]) in [
        ("mjpeg", "W2560 H1440", ["2560x1440", "--size 1920x1080"]),
        ("raw", "W4000 H3000", ["4000x3000", "--size 2880x2160"]),
        ("h264", "W4000 H3000", ["4000x3000", "--size 2880x2160"]),
    ] {
        file.write(format!("YUV4MPEG2 {sides} F25:1\n"));
        for command in ["demo", "send 127.0.0.1:9 --plain"] {
            let words = format!("{command} --codec {codec} --source {name} {short}");
            refuses(&words, &[name, own, possible]);
        }
    }
}

#[test]
fn broken_source_ends_the_run() {
    let cut = [&grey(1)[..], b"FRAME\nno picture"].concat();
    let file = Temporary::file("cut.y4m", cut);
    let name = &file.path;
    for directions in ["", "--both"] {
        let output = run(&format!("demo --headless --source {name} {directions}"));
        ends(1, &output, &[name]);
    }
}

#[test]
fn source_without_a_picture_ends_the_run() {
    let file = Temporary::file("none.y4m", grey(0));
    let name = &file.path;
    let output = run(&format!("demo --headless --source {name}"));
    ends(1, &output, &["--source", name]);
}

#[test]
fn source_that_changes_size_leaves_a_whole_recording() {
    let grows = [&grey(25)[..], b"YUV4MPEG2 W32 H16 F25:1\n"].concat();
    let source = Temporary::file("grows.y4m", grows);
    let record = Temporary::new("record.y4m");
    let (from, to) = (&source.path, &record.path);
    let output = run(&format!("demo --headless --source {from} --record {to}"));
    ends(1, &output, &["--source", "W32"]);
    let recorded = record.read();
    let header = recorded.iter().position(|byte| *byte == b'\n');
    let pictures = recorded.len() - header.expect("a header") - 1;
    assert_eq!(pictures % (b"FRAME\n".len() + 384), 0, "{pictures} bytes");
    assert!(pictures > 0);
}

fn pipe(name: &str) -> Temporary {
    let pipe = Temporary::new(name);
    let made = Command::new("mkfifo").arg(&pipe.path).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    pipe
}

/// Opening a pipe waits for its writer.
#[test]
fn pipe_without_a_writer_delays_no_end() {
    let pipe = pipe("mute.y4m");
    let name = &pipe.path;
    let demo = format!("demo --headless --source {name}");
    refuses(&format!("{demo} --seconds 0.5"), &[name, "--seconds"]);
    refuses(&format!("{demo} --both"), &[name, "--both"]);
    let waiting = program(&demo)
        .stderr(Stdio::piped())
        .spawn()
        .expect("run the program");
    let id = waiting.id().to_string();
    let sent = Command::new("bash").args(["-c", INTERRUPT, &id]).status();
    let interrupted = waiting.wait_with_output().expect("its end");
    assert!(sent.is_ok_and(|status| status.success()), "it did not end");
    ends(130, &interrupted, &[name]);
}

/// Interrupts a process once it catches the signal and waits for its end, twenty seconds each, for a slow machine.
const INTERRUPT: &str = r#"
until_it() { for _ in $(seq 400); do "$@" && return; sleep 0.05; done; kill -s KILL "$id"; exit 1; }
catches() { (( 0x$(sed -n 's/^SigCgt:\t//p' "/proc/$id/status") & 1 << 1 )); }
has_ended() { grep -q '^State:.Z' "/proc/$id/status"; }
id=$0; until_it catches; kill -s INT "$id"; until_it has_ended
"#;

/// A camera may hang, and the writer of a pipe may.
#[test]
fn silent_source_delays_no_end() {
    let pipe = pipe("stalls.y4m");
    let demo = format!(
        "demo --headless --source {} --seconds 2 --warmup 0 --json -",
        pipe.path
    );
    // Ten times what the run takes: a program that waits for the 26th picture does so for ever.
    let demo = Command::new("timeout")
        .args(["20", env!("CARGO_BIN_EXE_evenkeel")])
        .args(demo.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("run the program");
    // With a reader of its own the pipe opens whatever becomes of the program.
    let mut writer = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&pipe.path)
        .expect("the other end of the pipe");
    writer.write_all(&grey(25)).expect("write to the pipe");
    let output = demo.wait_with_output().expect("wait for the program");
    drop(writer);
    assert_eq!(output.status.code(), Some(0), "124 comes from timeout");
    let summary = json(&output);
    assert!(summary["frames_shown"].as_u64() > Some(10), "{summary}");
    assert_eq!(summary["frames_frozen"], 0, "{summary}");
}

/// Neither is there on a machine that builds this.
#[test]
fn missing_camera_or_screen_is_one_line() {
    let short = "--headless --seconds 1";
    refuses(
        &format!("demo --source camera:99 {short}"),
        &["--source camera:99", "camera"],
    );
    let output = program(&format!("demo --source screen {short}"))
        .env_remove("DISPLAY")
        .output();
    let output = output.expect("run the program");
    ends(2, &output, &["--source screen", "screen"]);
}
