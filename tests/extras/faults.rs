//! What goes wrong in a network and on a host, done to the program on purpose.

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{
    Running, Scratch, evenkeel, free_port, number, pause, summary, wait_for_port,
};

/// Datagrams a second at a running call, and for how long.
const FLOOD_RATE: u32 = 50_000;
const FLOOD_SECONDS: u32 = 3;

/// Events of one kind in a trace file: when, and the whole line.
fn events(trace: &Path, kind: &str) -> Vec<(f64, serde_json::Value)> {
    let text = fs::read_to_string(trace).expect("the trace");
    text.lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|event| event["event"] == kind)
        .map(|event| (event["t"].as_f64().expect("a time"), event))
        .collect()
}

fn resident_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process's status");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("its resident size");
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse().ok())
        .expect("a number")
}

/// Every kind of bad datagram in turn: noise, cut short, oversized, forged media, forged feedback.
fn bad_datagrams() -> Vec<Vec<u8>> {
    let mut noise = 0x9e37_79b9_u32;
    let mut random = |len: usize| -> Vec<u8> {
        (0..len)
            .map(|_| {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (noise >> 24) as u8
            })
            .collect()
    };
    // A well-formed media packet with its rtt-sendts element, and a well-formed TFRC report.
    let header = [
        0x90, 26, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4, 0xbe, 0xde, 0, 2, 0x16, 0, 0, 1, 0, 0, 0, 1,
    ];
    let media = [&header[..], &random(1_000)].concat();
    let feedback = [&[0x82, 205, 0, 6][..], &random(24)].concat();
    vec![
        random(64),
        random(1_200),
        Vec::new(),
        vec![0x80],
        media[..20].to_vec(),
        random(9_500),
        media,
        feedback,
        [&[0x90, 26][..], &random(300)].concat(),
        [&[0x80, 200, 0xff, 0xff][..], &random(60)].concat(),
    ]
}

/// Sends each bad datagram to each target in turn, at the flood's rate.
fn flood(targets: &[u16]) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let datagrams = bad_datagrams();
    let mut sent = 0;
    for _ in 0..FLOOD_SECONDS * 1_000 {
        for _ in 0..FLOOD_RATE / 1_000 {
            let (target, datagram) = (
                targets[sent % targets.len()],
                &datagrams[sent / targets.len() % datagrams.len()],
            );
            let _ = socket.send_to(datagram, ("127.0.0.1", target));
            sent += 1;
        }
        pause(Duration::from_micros(900));
    }
}

#[test]
fn a_flood_of_bad_datagrams_does_not_end_a_call_nor_fill_memory() {
    let scratch = Scratch::new("flood");
    let (sent, received) = (scratch.file("send.json"), scratch.file("recv.json"));
    let (there, here) = (free_port(), free_port());
    let (dest, bind) = (format!("127.0.0.1:{there}"), format!("127.0.0.1:{here}"));
    let common = ["--warmup", "2", "--headless", "--seconds"];
    let mut receiver = Running::start(
        evenkeel(&["recv", &dest, "--plain"])
            .args(common)
            .arg("20")
            .arg("--json")
            .arg(&received)
            .stdout(Stdio::null()),
    );
    wait_for_port(there);
    let mut sender = Running::start(
        evenkeel(&["send", &dest, "--plain", "--bind", &bind])
            .args(common)
            .arg("18")
            .arg("--json")
            .arg(&sent)
            .stdout(Stdio::null()),
    );
    // After four seconds the sender has all the buffers that it ever has.
    pause(Duration::from_secs(6));
    let before = resident_kib(receiver.id()) + resident_kib(sender.id());
    flood(&[there, here]);
    let after = resident_kib(receiver.id()) + resident_kib(sender.id());
    assert!(sender.wait(30).success());
    assert!(receiver.wait(30).success());

    let (sent, received) = (summary(&sent), summary(&received));
    let (frames_sent, frames_shown) = (
        number(&sent, "frames_sent"),
        number(&received, "frames_shown"),
    );
    let ignored = received["ignored"]
        .as_object()
        .expect("what was ignored, by kind");
    println!(
        "flood: {frames_sent} frames sent, {frames_shown} shown, {before} to {after} KiB, ignored {ignored:?}"
    );
    assert!(
        frames_shown >= 0.9 * frames_sent,
        "{frames_shown} of {frames_sent} frames"
    );
    assert!(ignored.len() >= 5, "{ignored:?}");
    assert!(
        after < before + 16 * 1_024,
        "memory grew from {before} to {after} KiB"
    );
}

#[test]
fn a_sender_whose_receiver_is_killed_backs_off_gives_up_and_resumes() {
    let scratch = Scratch::new("killed");
    let trace = scratch.file("send.trace");
    let port = free_port();
    let dest = format!("127.0.0.1:{port}");
    let receive = || {
        Running::start(evenkeel(&["recv", &dest, "--plain", "--headless"]).stdout(Stdio::null()))
    };
    let receiver = receive();
    wait_for_port(port);
    let mut sender = Running::start(
        evenkeel(&[
            "send",
            &dest,
            "--plain",
            "--headless",
            "--seconds",
            "60",
            "--give-up",
            "20s",
            "--trace",
        ])
        .arg(&trace)
        .stdout(Stdio::null()),
    );
    pause(Duration::from_secs(4));
    drop(receiver);
    pause(Duration::from_secs(12));
    let receiver = receive();
    pause(Duration::from_secs(16));
    drop(receiver);
    assert_eq!(sender.wait(60).code(), Some(1), "nobody answers any more");

    let feedback = events(&trace, "feedback");
    let times: Vec<f64> = feedback.iter().map(|(at, _)| *at).collect();
    let silence = times
        .windows(2)
        .find(|pair| pair[1] - pair[0] > 8.0)
        .expect("a silence, and its end");
    let (killed, returned) = (silence[0], silence[1]);
    let packet_bps = 1_200.0 * 8.0;
    let slow = events(&trace, "nofeedback")
        .into_iter()
        .find(|(at, event)| *at > killed && event["x_bps"].as_f64().is_some_and(|x| x < packet_bps))
        .map(|(at, _)| at - killed)
        .expect("a rate below one packet a second");
    let gave_up = events(&trace, "gave_up")
        .first()
        .map(|(at, _)| *at)
        .expect("the end of patience");
    let last_feedback = *times.last().expect("feedback");
    println!(
        "killed: below 1 packet/s after {slow:.1} s, resumed after {:.1} s, gave up {:.1} s after the last report",
        returned - killed,
        gave_up - last_feedback
    );
    assert!(slow <= 8.0, "{slow} s");
    assert!((19.0..=22.0).contains(&(gave_up - last_feedback)));
}

/// As a camera that hangs; then the sender is killed.
#[test]
fn stalled_pictures_are_reported_once_at_both_ends() {
    let scratch = Scratch::new("stalled");
    let clip = scratch.file("clip.y4m");
    let pipe = scratch.file("pipe.y4m");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    let pictures = "testsrc2=size=320x240:rate=25:duration=20";
    let status = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error", "-f", "lavfi", "-i", pictures])
        .arg(&clip)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "ffmpeg");
    let port = free_port();
    let dest = format!("127.0.0.1:{port}");
    let said = ["recv", "send"].map(|end| scratch.file(end));
    let to = |path: &PathBuf| fs::File::create(path).expect("a file");
    let mut receiver = Running::start(
        evenkeel(&["recv", &dest, "--plain", "--headless", "--seconds", "16"])
            .stdout(Stdio::null())
            .stderr(to(&said[0])),
    );
    wait_for_port(port);
    let sender = Running::start(
        evenkeel(&["send", &dest, "--plain", "--headless", "--source"])
            .arg(&pipe)
            .stdout(Stdio::null())
            .stderr(to(&said[1])),
    );
    let mut writer = Command::new("cp");
    let writer = Running::start(writer.arg(&clip).arg(&pipe));
    pause(Duration::from_secs(3));
    writer.signal("STOP");
    pause(Duration::from_secs(4));
    writer.signal("CONT");
    pause(Duration::from_secs(3));
    drop(sender);
    assert!(receiver.wait(20).success());
    let [receiver, sender] = said.map(|path| fs::read_to_string(path).expect("what was said"));
    println!("{receiver}{sender}");
    let count = |said: &str, words: &str| said.matches(words).count();
    assert_eq!(count(&sender, "no pictures from --source"), 1, "{sender}");
    assert_eq!(count(&sender, "resumed after"), 1, "{sender}");
    let silent = "no pictures from 127.0.0.1:";
    assert_eq!(count(&receiver, silent), 2, "{receiver}");
    assert_eq!(count(&receiver, "resumed after"), 1, "{receiver}");
}

#[test]
fn an_endpoint_that_was_stopped_for_two_seconds_recovers_within_three() {
    for stopped in ["recv", "send"] {
        let scratch = Scratch::new(&format!("stopped-{stopped}"));
        let trace = scratch.file("recv.trace");
        let port = free_port();
        let dest = format!("127.0.0.1:{port}");
        let mut receiver = Running::start(
            evenkeel(&[
                "recv",
                &dest,
                "--plain",
                "--headless",
                "--seconds",
                "16",
                "--trace",
            ])
            .arg(&trace)
            .stdout(Stdio::null()),
        );
        wait_for_port(port);
        let mut sender = Running::start(
            evenkeel(&["send", &dest, "--plain", "--headless", "--seconds", "14"])
                .stdout(Stdio::null()),
        );
        pause(Duration::from_secs(5));
        let victim = if stopped == "recv" {
            &receiver
        } else {
            &sender
        };
        victim.signal("STOP");
        pause(Duration::from_secs(2));
        victim.signal("CONT");
        assert!(sender.wait(30).success());
        assert!(receiver.wait(30).success());

        let shown: Vec<f64> = events(&trace, "shown")
            .into_iter()
            .map(|(at, _)| at)
            .collect();
        let gap = shown
            .windows(2)
            .max_by(|a, b| (a[1] - a[0]).total_cmp(&(b[1] - b[0])))
            .expect("frames");
        let resumed = gap[0] + 2.0;
        let second_after = |from: f64| {
            shown
                .iter()
                .filter(|at| (from..from + 1.0).contains(*at))
                .count()
        };
        let frames = second_after(resumed + 3.0);
        println!(
            "{stopped} stopped: a gap of {:.2} s, then {frames} frames in the fourth second",
            gap[1] - gap[0]
        );
        assert!(
            gap[1] - gap[0] < 5.0,
            "{stopped}: a gap of {} s",
            gap[1] - gap[0]
        );
        assert!(
            frames >= 20,
            "{stopped}: {frames} frames in the fourth second after"
        );
    }
}

/// How many pictures of 320x240 a recording has, all of them whole.
pub(crate) fn pictures(record: &Path) -> usize {
    let file = fs::read(record).expect("the recording");
    let header = file.iter().position(|byte| *byte == b'\n');
    let pictures = file.len() - header.expect("a header") - 1;
    let picture = "FRAME\n".len() + 320 * 240 * 3 / 2;
    assert_eq!(pictures % picture, 0, "the last picture is cut off");
    pictures / picture
}

#[test]
fn an_interrupt_closes_every_file_whole() {
    let scratch = Scratch::new("interrupt");
    let (json, record) = (scratch.file("demo.json"), scratch.file("demo.y4m"));
    let mut demo = Running::start(
        evenkeel(&[
            "demo",
            "--headless",
            "--size",
            "320x240",
            "--warmup",
            "1",
            "--json",
        ])
        .arg(&json)
        .arg("--record")
        .arg(&record)
        .stdout(Stdio::null()),
    );
    pause(Duration::from_secs(4));
    demo.signal("INT");
    assert!(demo.wait(5).success());
    assert!(number(&summary(&json), "frames_shown") > 20.0);
    assert!(pictures(&record) > 40);
}
