//! Other people's receivers and analysers read what we send.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::decoders::{Stream, describe, ffmpeg, pictures};
use crate::support::{
    Running, Scratch, evenkeel, free_port, number, pause, record, summary, version, wait_for_port,
};

/// It sends no RTCP: the rate is low whatever the path could carry, and the one who runs it is told.
#[test]
fn ffmpeg_is_served_at_a_low_rate_unless_one_is_given() {
    let scratch = Scratch::new("ffmpeg-blind");
    let [sdp, frames, log, json] =
        ["s.sdp", "decoded", "log", "s.json"].map(|name| scratch.file(name));
    let port = free_port();
    describe(port, &Stream::MJPEG, &sdp);
    let mut ffmpeg = ffmpeg(&sdp, &frames, &log);
    wait_for_port(port);
    let dest = format!("127.0.0.1:{port}");
    let output = evenkeel(&["send", &dest, "--plain", "--seconds", "14", "--warmup", "8"])
        .args(["--size", "320x240", "--headless", "--json"])
        .arg(&json)
        .output()
        .expect("run the program");
    assert!(output.status.success());
    pause(Duration::from_secs(1));
    ffmpeg.signal("INT");
    ffmpeg.wait(10);
    let sent = summary(&json);
    let decoded = pictures(&frames).len();
    let throughput = number(&sent, "throughput_bps");
    println!("ffmpeg without a rate: {throughput:.0} b/s, {decoded} frames");
    let figures = format!("{:.0} kb/s, {decoded} pictures in 14 s", throughput / 1e3);
    let (name, direction) = (version("ffmpeg", "-version"), "to the peer, in the clear");
    record([&name, "library", direction, "M-JPEG", "none", &figures]);
    assert!(throughput <= 140e3, "{throughput} b/s");
    assert!(decoded >= 5, "{decoded} frames");
    assert_eq!(sent["rate_from"], "nothing");
    assert!(
        sent["warnings"][0]
            .as_str()
            .is_some_and(|text| text.contains("no RTCP"))
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("warning: the receiver sends no RTCP"),
        "{said}"
    );
}

#[test]
fn tshark_names_every_packet_of_a_session() {
    names_every_packet("tfrc", "rtcp.rtpfb.fmt == 2");
}

/// It reads every field of transport-wide feedback; of RFC 8888 it knows no more than the number.
#[test]
fn tshark_names_reports_of_arrivals() {
    names_every_packet("twcc", "rtcp.rtpfb.transportcc.baseseq");
    names_every_packet("ccfb", "rtcp.rtpfb.fmt == 11");
    names_every_packet("sack", "rtcp.app.name == \"SACK\"");
}

/// `report` is the filter that the receiver's reports pass.
fn names_every_packet(feedback: &str, report: &str) {
    let scratch = Scratch::new("tshark");
    let capture = scratch.file("session.pcapng");
    let port = free_port();
    let dest = format!("127.0.0.1:{port}");
    let mut tshark = Running::start(
        Command::new("tshark")
            .args(["-q", "-i", "lo", "-f", &format!("udp port {port}"), "-w"])
            .arg(&capture)
            .stderr(Stdio::null()),
    );
    for _ in 0..200 {
        if fs::metadata(&capture).is_ok_and(|m| m.len() > 0) {
            break;
        }
        pause(Duration::from_millis(50));
    }
    let feedback = ["--headless", "--feedback", feedback];
    let receiver = ["recv", &dest, "--plain", "--seconds", "8"];
    let mut receiver = Running::start(evenkeel(&receiver).args(feedback).stdout(Stdio::null()));
    wait_for_port(port);
    let status = evenkeel(&["send", &dest, "--plain", "--seconds", "6"])
        .args(feedback)
        .stdout(Stdio::null())
        .status();
    assert!(status.is_ok_and(|s| s.success()));
    assert!(receiver.wait(10).success());
    pause(Duration::from_millis(500));
    tshark.signal("INT");
    tshark.wait(10);

    let read = |arguments: &[&str]| {
        let output = Command::new("tshark")
            .arg("-r")
            .arg(&capture)
            .args(["-d", &format!("udp.port=={port},rtp")])
            .args(arguments)
            .output()
            .expect("run tshark");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let protocols = read(&["-T", "fields", "-e", "frame.protocols"]);
    let (mut rtp, mut rtcp) = (0, 0);
    for line in protocols.lines() {
        match line {
            line if line.contains(":rtcp") => rtcp += 1,
            line if line.contains(":rtp") => rtp += 1,
            line => panic!("a packet that tshark does not name: {line}"),
        }
    }
    println!("tshark: {rtp} RTP and {rtcp} RTCP packets");
    assert!(rtp > 500 && rtcp > 20, "{rtp} RTP and {rtcp} RTCP packets");
    let reports = read(&["-Y", report]).lines().count();
    assert!(reports > 20, "{reports} reports pass {report}");
    let malformed = read(&["-Y", "_ws.malformed || _ws.expert.severity == error"]);
    assert!(malformed.is_empty(), "malformed:\n{malformed}");
}
