//! Files that a run reads and writes: missing, full, or one and the same.

use super::*;

#[test]
fn missing_file_or_host_is_named() {
    for (words, missing) in [
        ("demo --source no-such.y4m", "no-such.y4m"),
        ("demo --schedule no-such.txt", "no-such.txt"),
        ("demo --json no-such-folder/x.json", "no-such-folder"),
        ("demo --record no-such-folder/x.y4m", "no-such-folder"),
        ("recv 127.0.0.1:0 --plain --sdp no-such.sdp", "no-such.sdp"),
        ("send no/host --plain", "no/host"),
    ] {
        let short = format!("{words} --headless --seconds 1 --warmup 0");
        refuses(&short, &[missing]);
    }
}

#[test]
fn malformed_description_is_named_with_its_fault() {
    let file = Temporary::new("none.sdp");
    let name = &file.path;
    for (bytes, why) in [
        (&b""[..], "no video"),
        (b"\xff\xfe", "no video"),
        (b"hello", "no video"),
    ] {
        file.write(bytes);
        refuses(
            &format!("recv 127.0.0.1:0 --plain --headless --sdp {name}"),
            &["--sdp", name, why, "evenkeel send --sdp"],
        );
    }
}

#[test]
fn written_file_does_not_empty_a_read_one() {
    let file = Temporary::file("own.y4m", grey(2));
    let name = &file.path;
    for option in ["--record", "--json", "--trace"] {
        let demo = format!("demo --headless --source {name} {option} {name}");
        refuses(&demo, &[option, "--source", name]);
    }
    let send = "send 127.0.0.1:9 --plain --headless --seconds 1";
    let own = format!("{send} --source {name} --sdp {name}");
    refuses(&own, &["--sdp", "--source", name]);
    assert_eq!(file.read(), grey(2));

    let schedule = b"0, 1M, 20ms, 0\n";
    file.write(schedule);
    let demo = format!("demo --headless --schedule {name} --json {name}");
    refuses(&demo, &["--json", "--schedule", name]);
    for option in ["--record", "--json", "--trace"] {
        let recv = format!("recv 127.0.0.1:0 --plain --headless --sdp {name} {option} {name}");
        refuses(&recv, &[option, "--sdp", name]);
    }
    let serve = format!("vod serve --to 127.0.0.1:9 --sdp {name}");
    refuses(&format!("{serve} {name}"), &["--sdp", "FILE", name]);
    let trace = format!("{serve} --trace {name}");
    refuses(&trace, &["--sdp", "--trace", name]);
    assert_eq!(file.read(), schedule);
}

/// A run with `--json scene` may have left such a file.
#[test]
fn file_named_as_the_scene_may_be_written() {
    let folder = Temporary::new("scene");
    fs::create_dir_all(&folder.path).expect("a folder");
    let scene = format!("{}/scene", folder.path);
    fs::write(&scene, "the last run").expect("write a file");
    let demo = "demo --headless --seconds 0.5 --warmup 0 --size 160x120 --json scene";
    let output = program(demo).current_dir(&folder.path).output();
    let output = output.expect("run the program");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let summary = fs::read_to_string(scene).expect("the summary");
    assert!(summary.starts_with('{'), "{summary}");
}

/// The second run shows so little that a buffer of the usual size would hold all of it until the end.
#[test]
fn full_disk_ends_the_file_and_not_the_run() {
    if !fs::exists("/dev/full").is_ok_and(|exists| exists) {
        return;
    }
    for (option, more, goes_on) in [
        ("--record", "--size 160x120", "the call goes on"),
        ("--record", "--size 16x16 --fps 8", "the call goes on"),
        ("--trace", "--size 16x16 --fps 8", "the run goes on"),
    ] {
        let demo = "demo --headless --seconds 2 --warmup 0 --json -";
        let output = run(&format!("{demo} {option} /dev/full {more}"));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let why = format!("cannot write {option} /dev/full");
        let lines = said.lines().filter(|line| line.contains(&why));
        assert_eq!(
            lines.count(),
            2,
            "once at once, and once at the end: {said}"
        );
        assert!(said.contains(goes_on), "{said}");
        assert!(json(&output)["frames_shown"].as_u64() > Some(5));
    }
}

/// The signal that comes with the error would end the program.
#[test]
fn limit_of_file_sizes_is_a_full_disk() {
    for (option, status) in [("--record", 1), ("--trace", 1)] {
        let file = Temporary::new(&format!("limit{option}.y4m"));
        let demo = format!(
            "ulimit -f 8; exec {} demo --headless --seconds 2 --warmup 0 --size 160x120 {option} {}",
            env!("CARGO_BIN_EXE_evenkeel"),
            file.path
        );
        let output = Command::new("bash").args(["-c", &demo]).output();
        let output = output.expect("run the program");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{option}: {said}");
        let named = format!("cannot write {option} {}", file.path);
        assert!(said.contains(&named), "{said}");
    }
}

#[test]
fn file_without_end_is_refused() {
    if !fs::exists("/dev/zero").is_ok_and(|exists| exists) {
        return;
    }
    for words in [
        "recv 127.0.0.1:0 --plain --headless --sdp /dev/zero",
        "demo --headless --schedule /dev/zero",
        "demo --headless --trace-link /dev/zero",
        "link relay 127.0.0.1:0 127.0.0.1:9 --schedule /dev/zero",
        "vod serve --to 127.0.0.1:9 --trace /dev/zero",
    ] {
        refuses(words, &["/dev/zero", "MiB"]);
    }
}

#[test]
fn recording_is_refused_where_it_cannot_be() {
    let demo = "demo --headless --seconds 1 --warmup 0";
    refuses(
        &format!("{demo} --record x.webm"),
        &["x.webm", ".mp4, .mkv or .ts"],
    );
    refuses(&format!("{demo} --record x.dv"), &["x.dv", ".y4m"]);
    refuses(
        &format!("{demo} --record - --json -"),
        &["--record -", "--json -"],
    );
}

#[test]
fn recording_on_standard_output_is_nothing_else() {
    let demo = "demo --headless --seconds 2 --warmup 0 --size 16x16 --record -";
    let output = run(demo);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let header = b"YUV4MPEG2 W16 H16 F25:1 ";
    assert!(output.stdout.starts_with(header), "{said}");
    let line = output.stdout.iter().position(|byte| *byte == b'\n');
    let pictures = output.stdout.len() - line.expect("a header") - 1;
    assert_eq!(pictures % (b"FRAME\n".len() + 384), 0, "{pictures} bytes");
    assert!(pictures > 0);
}

#[test]
fn summary_on_a_full_disk_fails_the_run() {
    if !fs::exists("/dev/full").is_ok_and(|exists| exists) {
        return;
    }
    let output = run("demo --headless --seconds 1 --warmup 0 --json /dev/full");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write --json /dev/full"), "{said}");
}

#[test]
fn router_without_interfaces_leaves_the_last_files() {
    let files = ["log", "pcapng"].map(|name| Temporary::file(name, "the last run"));
    let [log, pcap] = files.each_ref().map(|file| &file.path);
    refuses(
        &format!("link router nosuch0 nosuch1 --log {log} --pcap {pcap}"),
        &[],
    );
    assert!(files.iter().all(|file| file.read() == b"the last run"));
}

#[test]
fn player_that_does_not_begin_leaves_its_file() {
    let (_taken, address) = taken_port();
    let title = Temporary::file("play.ts", "the last title");
    let play = format!("vod play {address} --out {}", title.path);
    refuses(&play, &[&address, "in use"]);
    assert_eq!(title.read(), b"the last title");
}
