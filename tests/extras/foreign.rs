//! Other people's receivers, unmodified, set the rate.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use evenkeel_lab::metrics::{cov, mean};
use tfrc::equation;
use tfrc::units::{Bytes, LossEventRate};

use crate::support::{
    Running, Scratch, evenkeel, free_port, number, pause, summary, wait_for_port,
};

/// The bottleneck.
const RATE_BPS: f64 = 2e6;
/// That one packet in a hundred is lost is certain, and keeps the rate below the rate of the link.
const LINKS: &str = r#"
    [forward]
    rate = "2Mb/s"
    delay = "20ms"
    queue = { time = "100ms" }
    loss = { every = 100 }
    [reverse]
    delay = "20ms""#;
/// How long the sender sends, and when its rate has settled: a packet that is lost early ends slow start far below.
const SECONDS: usize = 33;
const SETTLED: usize = 20;

/// What TFRC takes a packet for, however long it is.
const PACKET: Bytes = Bytes::new(1_200);
/// How far the rates of settled seconds may be apart.
const COV: f64 = 0.15;

/// The name of the transport-wide sequence number.
const TRANSPORT_WIDE: &str =
    "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";

/// A receiver of JPEG that answers from the port it listens on, since RTCP shares it: its two sockets do.
fn gstreamer(port: u16, relay: u16, log: &Path) -> Running {
    let caps = format!(
        "caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG,payload=26,\
         extmap-2={TRANSPORT_WIDE},rtcp-fb-transport-cc=(boolean)true"
    );
    let mut command = Command::new("gst-launch-1.0");
    command
        .args(["-e", "-v", "rtpbin", "name=r", "rtp-profile=avpf"])
        .args(["udpsrc", "address=127.0.0.1", &format!("port={port}")])
        .args([&caps, "!", "r.recv_rtp_sink_0", "r.", "!", "rtpjpegdepay"])
        .args([
            "!",
            "jpegdec",
            "!",
            "fakesink",
            "silent=false",
            "sync=false",
        ])
        .args(["r.send_rtcp_src_0", "!", "udpsink", "host=127.0.0.1"])
        .args([&format!("port={relay}"), "bind-address=0.0.0.0"])
        .args([&format!("bind-port={port}"), "sync=false", "async=false"])
        .stdout(fs::File::create(log).expect("a file for the log"));
    Running::start(&mut command)
}

/// The loss events that the link made, drops within `rtt` of the first being one, and the packets that it was given.
fn loss_events(log: &Path, rtt: f64) -> (usize, usize) {
    let text = fs::read_to_string(log).expect("the relay's log");
    let (mut events, mut packets, mut last) = (0, 0, f64::NEG_INFINITY);
    for line in text.lines() {
        let mut columns = line.split(',');
        let time = columns.next().unwrap_or_default();
        match (columns.next(), columns.next()) {
            (Some("forward"), Some("enqueue")) => packets += 1,
            (Some("forward"), Some("drop")) => {
                let time = time.parse().expect("a time in seconds");
                if time > last + rtt {
                    events += 1;
                    last = time;
                }
            }
            _ => {}
        }
    }
    (events, packets)
}

/// The mean round trip by which the sender computes its rate once it has settled, in seconds.
fn mean_rtt(trace: &Path) -> f64 {
    let text = fs::read_to_string(trace).expect("the trace");
    let rtts: Vec<f64> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .filter(|event: &serde_json::Value| event["event"] == "feedback")
        .filter(|event| number(event, "t") >= SETTLED as f64)
        .map(|event| number(&event, "rtt_ms") / 1e3)
        .collect();
    mean(&rtts)
}

/// What left in each whole second from then on, in bits: frames by the trace's events.
fn sent_each_second(trace: &Path) -> Vec<f64> {
    let text = fs::read_to_string(trace).expect("the trace");
    let mut sizes = HashMap::new();
    let mut sent = vec![0.0; SECONDS];
    for line in text.lines() {
        let event: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let frame = event["frame"].as_u64();
        match event["event"].as_str() {
            Some("queued") => {
                sizes.insert(frame, number(&event, "size"));
            }
            Some("sent") => {
                if let Some(bits) = sent.get_mut(number(&event, "t") as usize) {
                    *bits += 8.0 * sizes.get(&frame).copied().unwrap_or_default();
                }
            }
            _ => {}
        }
    }
    sent.split_off(SETTLED)
}

#[test]
fn gstreamers_transport_wide_feedback_sets_the_rate() {
    let scratch = Scratch::new("gstreamer-twcc");
    let [links, log, json, trace, drops] = [
        "links.toml",
        "gst.txt",
        "send.json",
        "send.trace",
        "drops.csv",
    ]
    .map(|name| scratch.file(name));
    fs::write(&links, LINKS).expect("a file of links");
    let (near, far, port) = (free_port(), free_port(), free_port());
    let address = |port: u16| format!("127.0.0.1:{port}");
    let mut relay = Running::start(
        evenkeel(&["link", "relay", &address(near), &address(port)])
            .args(["--from", &address(far), "--config"])
            .arg(&links)
            .arg("--log")
            .arg(&drops)
            .stdout(Stdio::null()),
    );
    let mut gst = gstreamer(port, far, &log);
    wait_for_port(near);
    wait_for_port(port);
    pause(Duration::from_secs(1));
    let status = evenkeel(&[
        "send",
        &address(near),
        "--plain",
        "--feedback",
        "twcc",
        "--headless",
    ])
    .args(["--seconds", &SECONDS.to_string(), "--warmup", "0"])
    .arg("--json")
    .arg(&json)
    .arg("--trace")
    .arg(&trace)
    .stdout(Stdio::null())
    .status()
    .expect("run the program");
    assert!(status.success());
    pause(Duration::from_secs(1));
    for child in [&mut gst, &mut relay] {
        child.signal("INT");
        child.wait(10);
    }

    let sent = summary(&json);
    let utilisation = number(&sent, "throughput_bps") / RATE_BPS;
    let decoded = fs::read_to_string(&log)
        .expect("GStreamer's log")
        .lines()
        .filter(|line| line.contains("last-message = chain"))
        .count() as f64;
    let frames = number(&sent, "frames_sent");
    let each_second = sent_each_second(&trace);
    let (settled, cov) = (mean(&each_second), cov(&each_second));
    let rtt = mean_rtt(&trace);
    let (events, packets) = loss_events(&drops, rtt);
    let allowed = equation::rate(
        PACKET,
        Duration::from_secs_f64(rtt),
        LossEventRate::new(events as f64 / packets as f64),
    )
    .bits_per_sec();
    println!(
        "GStreamer, transport-wide feedback: {:.0} % of the link, {:.0} % settled with a CoV of {cov:.2}, \
         {events} loss events of {packets} packets and {:.0} ms allow {:.2} of what was sent, {decoded} of {frames} frames",
        utilisation * 100.0,
        settled / RATE_BPS * 100.0,
        rtt * 1e3,
        allowed / settled,
    );
    assert!(utilisation <= 1.0, "{utilisation} of the link");
    // A rate that nothing but RTCP's reception reports set, or nothing at all, would be a tenth of the link's; one whose R
    // had in it what reports were saved up for, in datagrams of their own, was between a third and nine tenths.
    assert!(settled >= 0.6 * RATE_BPS, "settled at {settled} b/s");
    assert!(cov <= COV, "not settled, CoV {cov}: {each_second:?}");
    // Late reports, on a busy machine above all, change the round trip and with it what the equation allows; sent is what it
    // allows then. X was 1.00 of this by itself, and frames take a little less.
    assert!(events >= 10, "{events} loss events of {packets} packets");
    assert!(
        (0.8..=1.3).contains(&(allowed / settled)),
        "{events} loss events of {packets} packets and {rtt} s allow {allowed} b/s of {settled}"
    );
    assert!(frames > 20.0 * SECONDS as f64, "{frames} frames sent");
    // JPEG without concealment loses a frame with any packet.
    assert!(decoded >= 0.8 * frames, "{decoded} of {frames} frames");
}
