//! Other people's decoders show what our descriptions announce.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{
    Running, Scratch, evenkeel, free_port, number, pause, summary, wait_for_port,
};

/// What issue and README promise of a clean path.
const DECODED_SHARE: f64 = 0.95;

/// A stream as `send` is asked for it, and the elements by which GStreamer decodes it.
pub(crate) struct Stream<'a> {
    name: &'static str,
    picture: &'a [&'a str],
    rate: &'static str,
    pipeline: &'static [&'static str],
}

impl Stream<'static> {
    pub(crate) const MJPEG: Self = Self {
        name: "mjpeg",
        picture: &[],
        rate: "3M",
        pipeline: &["rtpjpegdepay", "!", "jpegdec"],
    };
    /// The first picture is whole, and for the others the rate leaves half or a quarter of their sides.
    const MJPEG_OF_FEW_BYTES: Self = Self {
        name: "mjpeg-of-few-bytes",
        picture: &["--size", "352x288"],
        rate: "350k",
        ..Self::MJPEG
    };
    const H264: Self = Self {
        name: "h264",
        picture: &["--codec", "h264", "--size", "352x288"],
        rate: "2M",
        pipeline: &["rtph264depay", "!", "h264parse", "!", "openh264dec"],
    };
    /// Every picture goes: 25 of 160x120 are 7.7 Mb/s.
    const RAW: Self = Self {
        name: "raw",
        picture: &["--codec", "raw", "--size", "160x120"],
        rate: "12M",
        pipeline: &["rtpvrawdepay"],
    };
}

/// Sends a stream to `port` at its rate, with what else `send` is told.
fn send(port: u16, stream: &Stream<'_>, seconds: &str, more: &[&str], file: &Path) {
    let dest = format!("127.0.0.1:{port}");
    let status = evenkeel(&["send", &dest, "--headless", "--seconds", seconds])
        .args(["--fixed-rate", stream.rate])
        .args(stream.picture)
        .args(more)
        .arg(file)
        .stdout(Stdio::null())
        .status()
        .expect("run the program");
    assert!(status.success());
}

/// Writes the session description of a stream to `port` without sending for longer than it takes.
pub(crate) fn describe(port: u16, stream: &Stream<'_>, sdp: &Path) {
    send(port, stream, "0.1", &["--sdp"], sdp);
}

/// Sends eight seconds to the receiver, ends it, and gives the number of frames sent.
fn serve(receiver: &mut Running, port: u16, stream: &Stream<'_>, json: &Path) -> f64 {
    wait_for_port(port);
    send(port, stream, "8", &["--warmup", "0", "--json"], json);
    pause(Duration::from_secs(1));
    receiver.signal("INT");
    receiver.wait(10);
    number(&summary(json), "frames_sent")
}

fn enough(who: &str, stream: &Stream<'_>, decoded: usize, sent: f64) {
    let told = format!("{who}: {decoded} of {sent} frames of {}", stream.name);
    println!("{told}");
    assert!(decoded as f64 >= DECODED_SHARE * sent, "{told}");
    // A few of them would say nothing.
    assert!(sent >= 40.0, "{told}");
}

/// Has ffmpeg write a line for each frame of what a description announces.
pub(crate) fn ffmpeg(sdp: &Path, frames: &Path) -> Running {
    Running::start(
        Command::new("ffmpeg")
            .args(["-nostdin", "-v", "error"])
            .args(["-protocol_whitelist", "file,udp,rtp", "-i"])
            .arg(sdp)
            .args(["-an", "-vsync", "passthrough", "-f", "framecrc", "-y"])
            .arg(frames),
    )
}

/// How many frames it listed.
pub(crate) fn listed(frames: &Path) -> usize {
    let text = fs::read_to_string(frames).expect("ffmpeg's list of frames");
    text.lines().filter(|line| !line.starts_with('#')).count()
}

fn ffmpeg_decodes(stream: &Stream<'_>) {
    let scratch = Scratch::new(&format!("ffmpeg-{}", stream.name));
    let (sdp, frames) = (scratch.file("s.sdp"), scratch.file("frames.txt"));
    let port = free_port();
    describe(port, stream, &sdp);
    let mut ffmpeg = ffmpeg(&sdp, &frames);
    let sent = serve(&mut ffmpeg, port, stream, &scratch.file("s.json"));
    let decoded = listed(&frames);
    enough("ffmpeg", stream, decoded, sent);
}

fn gstreamer_decodes(stream: &Stream<'_>) {
    let scratch = Scratch::new(&format!("gstreamer-{}", stream.name));
    let (sdp, log) = (scratch.file("s.sdp"), scratch.file("gst.txt"));
    let port = free_port();
    describe(port, stream, &sdp);
    let output = fs::File::create(&log).expect("a file for the log");
    let mut gst = Running::start(
        Command::new("gst-launch-1.0")
            .args(["-e", "-v", "filesrc"])
            .arg(format!("location={}", sdp.display()))
            .args(["!", "sdpdemux", "!"])
            .args(stream.pipeline)
            .args(["!", "fakesink", "silent=false", "sync=false"])
            .stdout(output),
    );
    let sent = serve(&mut gst, port, stream, &scratch.file("s.json"));
    let text = fs::read_to_string(&log).expect("GStreamer's log");
    let is_frame = |line: &&str| line.contains("last-message = chain");
    let decoded = text.lines().filter(is_frame).count();
    enough("GStreamer", stream, decoded, sent);
}

#[test]
fn ffmpeg_decodes_motion_jpeg() {
    ffmpeg_decodes(&Stream::MJPEG);
}

#[test]
fn ffmpeg_follows_motion_jpeg_to_half_of_its_sides() {
    ffmpeg_decodes(&Stream::MJPEG_OF_FEW_BYTES);
}

#[test]
fn gstreamer_follows_motion_jpeg_to_half_of_its_sides() {
    gstreamer_decodes(&Stream::MJPEG_OF_FEW_BYTES);
}

#[test]
fn ffmpeg_decodes_h264() {
    ffmpeg_decodes(&Stream::H264);
}

#[test]
fn ffmpeg_reads_uncompressed_pictures() {
    ffmpeg_decodes(&Stream::RAW);
}

#[test]
fn gstreamer_decodes_motion_jpeg() {
    gstreamer_decodes(&Stream::MJPEG);
}

#[test]
fn gstreamer_decodes_h264() {
    gstreamer_decodes(&Stream::H264);
}

#[test]
fn gstreamer_reads_uncompressed_pictures() {
    gstreamer_decodes(&Stream::RAW);
}

/// Ten seconds of DV, as a camera's tape has them.
pub(crate) fn tape(scratch: &Scratch) -> PathBuf {
    let tape = scratch.file("tape.dv");
    let made = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error", "-f", "lavfi"])
        .args(["-i", "testsrc2=duration=10", "-target", "pal-dv", "-y"])
        .arg(&tape)
        .status();
    assert!(made.is_ok_and(|status| status.success()), "ffmpeg");
    tape
}

fn of_dv(name: &str, decodes: fn(&Stream<'_>)) {
    let scratch = Scratch::new(name);
    let tape = tape(&scratch);
    decodes(&Stream {
        name: "dv",
        picture: &["--codec", "dv", "--source", &tape.to_string_lossy()],
        // 28.8 Mb/s and headers.
        rate: "40M",
        pipeline: &["rtpdvdepay", "!", "dvdemux", "!", "dvdec"],
    });
}

#[test]
fn ffmpeg_decodes_dv() {
    of_dv("dv-to-ffmpeg", ffmpeg_decodes);
}

#[test]
fn gstreamer_decodes_dv() {
    of_dv("dv-to-gstreamer", gstreamer_decodes);
}
