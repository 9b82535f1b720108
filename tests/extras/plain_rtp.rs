//! RTP of other people's senders and receivers, as they send it unasked.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{
    Running, Scratch, evenkeel, free_port, number, pause, record, summary, version, wait_for_port,
};

/// How long `recv` and `send` run.
const SECONDS: &str = "8";

/// Runs `recv` on `port` until its time is over, beside a sender that `start` starts once the port is open.
fn receive(
    name: &str,
    port: u16,
    more: &[&str],
    start: impl FnOnce() -> Running,
) -> serde_json::Value {
    let scratch = Scratch::new(name);
    let json = scratch.file("recv.json");
    let mut recv = Running::start(
        evenkeel(&[
            "recv",
            &format!("127.0.0.1:{port}"),
            "--plain",
            "--headless",
        ])
        .args(["--seconds", SECONDS, "--warmup", "0"])
        .args(more)
        .arg("--json")
        .arg(&json)
        .stdout(Stdio::null()),
    );
    wait_for_port(port);
    let _sender = start();
    // The status is 1 if no picture was shown.
    recv.wait(20);
    summary(&json)
}

/// A sender of GStreamer's test pictures, coded and packed by these elements.
fn gstreamer(port: u16, coded: &[&str]) -> Running {
    let mut command = Command::new("gst-launch-1.0");
    command
        .args(["-q", "videotestsrc", "is-live=true", "!"])
        .args([
            "video/x-raw,format=I420,width=320,height=240,framerate=25/1",
            "!",
        ])
        .args(coded)
        .args(["!", "udpsink", "host=127.0.0.1", &format!("port={port}")]);
    Running::start(&mut command)
}

fn warns(received: &serde_json::Value, words: &[&str]) -> bool {
    let warnings = received["warnings"].as_array().expect("warnings");
    let mut texts = warnings.iter().filter_map(serde_json::Value::as_str);
    texts.any(|text| words.iter().all(|word| text.contains(word)))
}

fn record_receipt(peer: &str, codec: &str, shown: f64) {
    let figures = format!("{shown} pictures shown in {SECONDS} s");
    let direction = "from the peer, in the clear";
    record([peer, "library", direction, codec, "none", &figures]);
}

#[test]
fn jpeg_of_gstreamer_is_shown_by_its_payload_type() {
    let port = free_port();
    let received = receive("gst-jpeg", port, &[], || {
        gstreamer(port, &["jpegenc", "!", "rtpjpegpay"])
    });
    let shown = number(&received, "frames_shown");
    assert!(shown >= 80.0, "{shown} frames: {received}");
    let name = version("gst-launch-1.0", "--version");
    record_receipt(&name, "M-JPEG", shown);
}

#[test]
fn h264_of_ffmpeg_is_shown_by_its_description() {
    let scratch = Scratch::new("ffmpeg-h264");
    let sdp = scratch.file("ffmpeg.sdp");
    let port = free_port();
    let to = format!("rtp://127.0.0.1:{port}");
    let ffmpeg = |seconds: &str| {
        let mut command = Command::new("ffmpeg");
        command
            .args(["-v", "error", "-nostdin", "-re", "-f", "lavfi", "-i"])
            .args([
                "testsrc=size=320x240:rate=25",
                "-t",
                seconds,
                "-c:v",
                "libx264",
            ])
            .args([
                "-pix_fmt",
                "yuv420p",
                "-profile:v",
                "baseline",
                "-tune",
                "zerolatency",
                "-g",
                "25",
            ])
            .args(["-b:v", "500k", "-f", "rtp", "-sdp_file"])
            .arg(&sdp)
            .arg(&to)
            .stdout(Stdio::null());
        Running::start(&mut command)
    };
    // The description is there before anyone listens, as where it is handed over.
    ffmpeg("1").wait(10);
    let file = sdp.to_str().expect("a plain path");
    let received = receive("ffmpeg-h264", port, &["--sdp", file], || ffmpeg("30"));
    let shown = number(&received, "frames_shown");
    assert!(shown >= 80.0, "{shown} frames: {received}");
    record_receipt(&version("ffmpeg", "-version"), "H.264", shown);
}

#[test]
fn streams_that_cannot_be_received_are_named() {
    let port = free_port();
    let received = receive("gst-vp8", port, &[], || {
        gstreamer(port, &["vp8enc", "deadline=1", "!", "rtpvp8pay"])
    });
    let words = ["payload type 96", "cannot be received", "JPEG or H.264"];
    assert!(warns(&received, &words), "{received}");
    let port = free_port();
    let received = receive("gst-ts", port, &[], || {
        let coded = [
            "openh264enc",
            "!",
            "h264parse",
            "!",
            "mpegtsmux",
            "!",
            "rtpmp2tpay",
        ];
        gstreamer(port, &coded)
    });
    assert!(
        warns(&received, &["payload type 33 (MP2T/90000)"]),
        "{received}"
    );
    let scratch = Scratch::new("vp8-sdp");
    let sdp = scratch.file("vp8.sdp");
    let text = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\n\
        m=video 5004 RTP/AVP 96\na=rtpmap:96 VP8/90000\n";
    fs::write(&sdp, text).expect("a description");
    let refused = evenkeel(&["recv", "127.0.0.1:0", "--plain", "--headless", "--sdp"])
        .arg(&sdp)
        .output()
        .expect("run the program");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    for words in [
        "line 7: encoding \"VP8\" cannot be received",
        "JPEG",
        "H264",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

/// Its profile has neither feedback nor our extensions; it reports from the port of its media, or from one of its own.
#[test]
fn reception_reports_of_gstreamer_pace_what_is_sent() {
    for own_port in [false, true] {
        let scratch = Scratch::new("gst-rr");
        let [json, log] = ["send.json", "gst.txt"].map(|name| scratch.file(name));
        let (near, port) = (free_port(), free_port());
        let mut command = Command::new("gst-launch-1.0");
        command
            .args(["-q", "rtpbin", "name=r"])
            .args(["udpsrc", "address=127.0.0.1", &format!("port={port}")])
            .args([
                "caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG,payload=26",
            ])
            .args([
                "!",
                "r.recv_rtp_sink_0",
                "r.",
                "!",
                "rtpjpegdepay",
                "!",
                "fakesink",
            ])
            .args(["r.send_rtcp_src_0", "!", "udpsink", "host=127.0.0.1"])
            .args([&format!("port={near}"), "bind-address=0.0.0.0"])
            .args(["sync=false", "async=false"])
            .stdout(fs::File::create(&log).expect("a file for the log"));
        if !own_port {
            command.arg(format!("bind-port={port}"));
        }
        let mut gst = Running::start(&mut command);
        wait_for_port(port);
        pause(Duration::from_secs(1));
        let status = evenkeel(&[
            "send",
            &format!("127.0.0.1:{port}"),
            "--plain",
            "--headless",
        ])
        .args(["--bind", &format!("127.0.0.1:{near}")])
        .args(["--seconds", "15", "--warmup", "0", "--json"])
        .arg(&json)
        .stdout(Stdio::null())
        .status()
        .expect("run the program");
        assert!(status.success());
        gst.signal("INT");
        gst.wait(10);
        let sent = summary(&json);
        assert_eq!(sent["rate_from"], "reception_reports", "{own_port}: {sent}");
        let figures = format!("{:.0} kb/s", number(&sent, "throughput_bps") / 1e3);
        let name = version("gst-launch-1.0", "--version");
        let (direction, feedback) = ("to the peer, in the clear", "reception reports");
        record([&name, "library", direction, "M-JPEG", feedback, &figures]);
        assert!(warns(&sent, &["reception reports"]), "{own_port}: {sent}");
    }
}
