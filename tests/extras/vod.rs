//! Video on demand between two real processes, over the relay, with titles that ffmpeg makes and reads.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::namespaces::{Cable, RIGHT};
use crate::support::{
    Running, Scratch, evenkeel, free_port, number, pause, wait_for_file, wait_for_port,
};

/// Renditions of ten seconds: a picture that depends on no other every second.
fn renditions(scratch: &Scratch, rates: &[&str]) -> Vec<PathBuf> {
    renditions_of(scratch, rates, 10)
}

fn renditions_of(scratch: &Scratch, rates: &[&str], seconds: u32) -> Vec<PathBuf> {
    renditions_with(scratch, rates, seconds, 25)
}

/// The same with a picture that depends on no other every so many.
fn renditions_with(scratch: &Scratch, rates: &[&str], seconds: u32, interval: u32) -> Vec<PathBuf> {
    let interval = interval.to_string();
    let pictures = format!("testsrc2=size=320x240:rate=25:duration={seconds}");
    let make = |rate: &&str| {
        let path = scratch.file(&format!("{rate}.ts"));
        let status = Command::new("ffmpeg")
            .args(["-nostdin", "-v", "error", "-f", "lavfi"])
            .args(["-i", &pictures])
            .args([
                "-c:v",
                "libx264",
                "-preset",
                "ultrafast",
                "-sc_threshold",
                "0",
            ])
            .args(["-g", &interval, "-keyint_min", &interval])
            .args(["-b:v", rate, "-maxrate", rate, "-bufsize", rate])
            .args(["-f", "mpegts"])
            .arg(&path)
            .status();
        assert!(status.is_ok_and(|status| status.success()), "ffmpeg");
        path
    };
    rates.iter().map(make).collect()
}

/// Frames that ffmpeg decodes of a stream.
fn decoded(path: &Path) -> usize {
    let output = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error", "-i"])
        .arg(path)
        .args(["-map", "0:v", "-f", "framecrc", "-"])
        .output()
        .expect("run ffmpeg");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter(|line| !line.starts_with('#')).count()
}

/// What server and player print of a title sent over a relay with these options.
fn run(files: &[PathBuf], link: &[&str], out: &Path, serve: &[&str]) -> (Value, Value) {
    let (there, between) = (free_port(), free_port());
    let (player_at, relay_at) = (format!("127.0.0.1:{there}"), format!("127.0.0.1:{between}"));
    let player = Running::start(
        evenkeel(&[
            "vod",
            "play",
            &player_at,
            "--json",
            "--seconds",
            "60",
            "--out",
        ])
        .arg(out)
        .stdout(std::fs::File::create(out.with_extension("json")).expect("a file")),
    );
    wait_for_port(there);
    let relay = ["link", "relay", &relay_at, &player_at];
    let _relay = Running::start(evenkeel(&relay).args(link).stdout(Stdio::null()));
    wait_for_port(between);
    let server = evenkeel(&["vod", "serve", "--json", "--to", &relay_at])
        .args(serve)
        .args(files)
        .output()
        .expect("run the server");
    let said = String::from_utf8_lossy(&server.stderr).into_owned();
    assert!(server.status.success(), "{said}");
    let mut player = player;
    assert!(player.wait(30).success());
    let read = |text: &[u8]| serde_json::from_slice(text).expect("JSON");
    let played = std::fs::read(out.with_extension("json")).expect("what the player printed");
    (read(&server.stdout), read(&played))
}

/// A player that listens already.
fn player_into(at: &str, out: &Path, stderr: impl Into<Stdio>) -> Running {
    let play = ["vod", "play", at, "--json", "--seconds", "60", "--out"];
    let player = Running::start(
        evenkeel(&play)
            .arg(out)
            .stdout(Stdio::null())
            .stderr(stderr),
    );
    let (_, port) = at.rsplit_once(':').expect("a port");
    wait_for_port(port.parse().expect("a port"));
    player
}

#[test]
fn a_title_that_fits_arrives_whole_and_a_decoder_reads_it() {
    let scratch = Scratch::new("vod-whole");
    let files = renditions(&scratch, &["500k"]);
    let out = scratch.file("out.ts");
    let (server, player) = run(&files, &["--rate", "4M", "--delay", "20ms"], &out, &[]);
    println!("{server} {player}");
    assert_eq!(number(&player, "lost"), 0.0);
    let (sent, came) = (std::fs::read(&files[0]), std::fs::read(&out));
    assert_eq!(
        sent.expect("the title").len(),
        came.expect("what came").len()
    );
    assert_eq!(decoded(&out), 250);
}

#[test]
fn renditions_follow_the_path_and_a_decoder_reads_across_the_changes() {
    let scratch = Scratch::new("vod-ladder");
    let files = renditions(&scratch, &["300k", "600k", "3M"]);
    let out = scratch.file("out.ts");
    let (server, player) = run(&files, &["--rate", "1500k", "--delay", "20ms"], &out, &[]);
    println!("{server} {player}");
    assert!(number(&server, "rendition_changes") >= 1.0);
    let frames = decoded(&out);
    assert!((240..=260).contains(&frames), "{frames} frames of 250");
}

#[test]
fn adaptive_stream_stalls_less_than_fixed_one() {
    let scratch = Scratch::new("vod-down");
    let files = renditions_of(&scratch, &["300k", "1500k"], 14);
    let schedule = scratch.file("schedule.txt");
    std::fs::write(&schedule, "0, 6M, 20ms, 0\n6s, 700k, 20ms, 0\n").expect("a file");
    let schedule = schedule.to_str().expect("a plain path");
    let link = ["--queue", "200ms", "--schedule", schedule];
    let (server, player) = run(&files, &link, &scratch.file("both.ts"), &[]);
    println!("{server} {player}");
    // Up at the beginning, down when the path falls.
    assert!(number(&server, "rendition_changes") >= 2.0);
    // The upper one alone stalls until the path has carried it. How soon the lower one is there is a matter of the
    // machine, too, and in virtual time it never stalls (`crates/vod/tests/title`).
    let (waiting, alone) = run(&files[1..], &link, &scratch.file("alone.ts"), &[]);
    println!("{waiting} {alone}");
    assert!(number(&alone, "stalls") >= 1.0);
    // Of 8 s at 1500 kb/s more than half has to wait.
    assert!(number(&waiting, "wait_max_ms") >= 2e3);
    assert!(number(&player, "stalled_s") <= 0.5 * number(&alone, "stalled_s"));
}

#[test]
fn files_that_are_no_renditions_of_one_title_are_refused_or_warned_of() {
    let scratch = Scratch::new("vod-mismatch");
    let low = renditions(&scratch, &["300k"]);
    let short = renditions_of(&scratch, &["600k"], 6);
    let other = renditions_with(&scratch, &["900k"], 10, 30);
    let serve = |files: &[&PathBuf]| {
        let at = format!("127.0.0.1:{}", free_port());
        let play = ["vod", "play", &at, "--json", "--seconds", "4"];
        let _player = Running::start(evenkeel(&play).stdout(Stdio::null()));
        let server = evenkeel(&["vod", "serve", "--json", "--seconds", "4", "--to", &at])
            .args(files)
            .output()
            .expect("run the server");
        let said = String::from_utf8_lossy(&server.stderr).into_owned();
        (server.status.code(), said)
    };
    let (status, said) = serve(&[&low[0], &short[0]]);
    assert_eq!((status, said.lines().count()), (Some(2), 1), "{said}");
    let expected = ["300k.ts lasts ", "600k.ts ", "no renditions of one title"];
    assert!(expected.iter().all(|words| said.contains(words)), "{said}");

    let (status, said) = serve(&[&low[0], &other[0]]);
    assert_eq!((status, said.lines().count()), (Some(0), 1), "{said}");
    let expected = ["warning: ", "300k.ts has a keyframe at ", "-sc_threshold 0"];
    assert!(expected.iter().all(|words| said.contains(words)), "{said}");

    let same = renditions(&scratch, &["1200k"]);
    let (status, said) = serve(&[&low[0], &same[0]]);
    assert_eq!((status, said.as_str()), (Some(0), ""));
}

#[test]
fn ffmpeg_plays_what_the_description_announces() {
    let scratch = Scratch::new("vod-sdp");
    let files = renditions(&scratch, &["500k"]);
    let (sdp, out) = (scratch.file("title.sdp"), scratch.file("ffmpeg.ts"));
    let port = free_port();
    let to = format!("127.0.0.1:{port}");
    let serve = ["vod", "serve", "--udp", "--to", &to, "--sdp"];
    let describe = evenkeel(&serve)
        .arg(&sdp)
        .args(["--seconds", "0.1"])
        .arg(&files[0])
        .stdout(Stdio::null())
        .status();
    assert!(describe.is_ok_and(|status| status.success()));
    let mut ffmpeg = Running::start(
        Command::new("ffmpeg")
            .args([
                "-nostdin",
                "-v",
                "error",
                "-protocol_whitelist",
                "file,udp,rtp",
                "-i",
            ])
            .arg(&sdp)
            .args(["-c", "copy", "-y"])
            .arg(&out),
    );
    wait_for_port(port);
    let status = evenkeel(&["vod", "serve", "--udp", "--to", &to])
        .arg(&files[0])
        .stdout(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()));
    pause(Duration::from_secs(1));
    ffmpeg.signal("INT");
    ffmpeg.wait(10);
    let frames = decoded(&out);
    assert!(frames >= 230, "{frames} frames of 250");
}

#[test]
fn truncated_title_ends_both_ends_in_one_line() {
    let scratch = Scratch::new("vod-cut");
    let files = renditions(&scratch, &["500k"]);
    let out = scratch.file("out.ts");
    let at = format!("127.0.0.1:{}", free_port());
    let mut player = player_into(&at, &out, Stdio::null());
    let said = scratch.file("said");
    let stderr = std::fs::File::create(&said).expect("a file");
    let serve = ["vod", "serve", "--json", "--to", &at];
    let mut server = Running::start(evenkeel(&serve).args(&files).stderr(stderr));
    wait_for_file(&out);
    let title = std::fs::File::options().write(true).open(&files[0]);
    let title = title.expect("the title");
    let len = title.metadata().expect("its length").len();
    title.set_len(len / 2).expect("cut it");
    assert_eq!(server.wait(20).code(), Some(1));
    let said = std::fs::read_to_string(&said).expect("what it said");
    let expected = format!("it ends at byte {} and had {len}", len / 2);
    assert!(
        said.contains(&expected) && said.lines().count() == 1,
        "{said}"
    );
    // It was told goodbye, and plays what it has.
    assert!(player.wait(20).success());
}

#[test]
fn a_damaged_packet_is_left_out_with_a_warning() {
    let scratch = Scratch::new("vod-damaged");
    let files = renditions_of(&scratch, &["500k"], 3);
    let mut bytes = std::fs::read(&files[0]).expect("the title");
    let middle = bytes.len() / 2 / 188 * 188;
    bytes[middle] = 0;
    std::fs::write(&files[0], &bytes).expect("a file");
    let out = scratch.file("out.ts");
    let at = format!("127.0.0.1:{}", free_port());
    let mut player = player_into(&at, &out, Stdio::null());
    let server = evenkeel(&["vod", "serve", "--json", "--to", &at])
        .args(&files)
        .output()
        .expect("run the server");
    let said = String::from_utf8_lossy(&server.stderr).into_owned();
    let expected = format!("damaged at byte {middle}: 188 bytes");
    assert!(
        server.status.success() && said.contains(&expected) && said.lines().count() == 1,
        "{said}"
    );
    assert!(player.wait(20).success());
    let came = std::fs::read(&out).expect("what came").len();
    assert_eq!(came, bytes.len() - 188);
}

#[test]
fn a_title_arrives_whole_through_an_interface_of_small_packets() {
    let scratch = Scratch::new("vod-mtu");
    let files = renditions_of(&scratch, &["500k"], 3);
    let out = scratch.file("out.ts");
    let cable = Cable::new();
    cable.ip("left", "link set dev left mtu 1000");
    let mut play = evenkeel(&["vod", "play", "--json", "--seconds", "30", "--out"]);
    play.arg(&out);
    let mut player = Running::start(&mut cable.on("right", &play));
    // It listens before it makes the file.
    let listens = |_| {
        pause(Duration::from_millis(20));
        out.exists()
    };
    assert!((0..500).any(listens), "it does not begin");
    let mut serve = evenkeel(&["vod", "serve", "--json", "--to", RIGHT]);
    let server = cable.on("left", serve.args(&files)).output();
    let server = server.expect("run the server");
    let said = String::from_utf8_lossy(&server.stderr).into_owned();
    assert!(server.status.success() && said.is_empty(), "{said}");
    assert!(player.wait(30).success());
    let came = std::fs::read(&out).expect("what came");
    assert!(came == std::fs::read(&files[0]).expect("the title"));
}

#[test]
fn frames_of_given_sizes_are_sent_as_a_title() {
    let scratch = Scratch::new("vod-trace");
    let trace = scratch.file("trace.csv");
    // Two seconds of a frame of 5,000 bytes every 40 ms.
    let frames: String = (0..50)
        .map(|n| format!("{}.{:02},P,5000\n", n / 25, n % 25 * 4))
        .collect();
    std::fs::write(&trace, frames).expect("a file");
    let trace = trace.to_str().expect("a plain path");
    let out = scratch.file("out.ts");
    let (server, player) = run(&[], &["--rate", "4M"], &out, &["--trace", trace]);
    println!("{server} {player}");
    assert_eq!(number(&player, "lost"), 0.0);
    assert_eq!(number(&player, "malformed"), 0.0);
    assert_eq!(number(&player, "datagrams"), number(&server, "datagrams"));
    // Whole TS packets carry the 250,000 bytes, with headers and what fills them up.
    let len = std::fs::read(&out).expect("what came").len();
    assert!(
        len.is_multiple_of(188) && (250_000..300_000).contains(&len),
        "{len}"
    );
}

#[test]
fn a_player_that_ctrl_c_ends_leaves_whole_packets() {
    let scratch = Scratch::new("vod-interrupted");
    let files = renditions(&scratch, &["500k"]);
    let out = scratch.file("out.ts");
    let at = format!("127.0.0.1:{}", free_port());
    let mut player = player_into(&at, &out, Stdio::null());
    let serve = ["vod", "serve", "--json", "--to", &at];
    let _server = Running::start(evenkeel(&serve).args(&files).stdout(Stdio::null()));
    wait_for_file(&out);
    player.signal("INT");
    assert!(player.wait(10).success());
    let (title, came) = (std::fs::read(&files[0]), std::fs::read(&out));
    let (title, came) = (title.expect("the title"), came.expect("what came"));
    println!("{} of {} bytes", came.len(), title.len());
    // It was not all there yet.
    assert!(came.len() < title.len());
    let (packets, rest) = came.as_chunks::<188>();
    assert!(rest.is_empty(), "{} bytes of a packet", rest.len());
    assert!(packets.iter().all(|packet| packet[0] == 0x47));
}

#[test]
fn full_disk_ends_player_and_server_in_one_line() {
    let scratch = Scratch::new("vod-full");
    let files = renditions(&scratch, &["500k"]);
    let at = format!("127.0.0.1:{}", free_port());
    let said = scratch.file("said");
    let stderr = std::fs::File::create(&said).expect("a file");
    let mut player = player_into(&at, Path::new("/dev/full"), stderr);
    let serve = ["vod", "serve", "--json", "--to", &at];
    let mut server = Running::start(evenkeel(&serve).args(&files).stdout(Stdio::null()));
    assert_eq!(player.wait(20).code(), Some(1));
    let said = std::fs::read_to_string(&said).expect("what it said");
    assert!(
        said.starts_with("evenkeel: cannot write --out /dev/full: No space left")
            && said.lines().count() == 1,
        "{said}"
    );
    // It was told goodbye, and does not wait for 30 s in vain.
    assert!(server.wait(5).success());
}
