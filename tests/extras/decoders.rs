//! Other people's decoders show what our descriptions announce.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{
    Running, Scratch, evenkeel, free_port, number, pause, summary, wait_for_port,
};

/// Of the pictures that were sent so many are decoded; a decoder that is stopped keeps the last ones.
const DECODED_SHARE: f64 = 0.95;

/// Decoded pictures are scaled to so many pixels, of three bytes each: what coding changes is gone then.
const SMALL: (usize, usize) = (16, 9);

/// First to so many, of which every decoder's scaler makes much the same.
const BETWEEN: (usize, usize) = (160, 120);

/// The mean of what their bytes may differ by from the picture sent, which is 0.5 to 1.5. Of these bars chroma taken for that
/// of the other range would make it 4 to 6 (computed); the other matrix made it 6, all samples taken so 11, swapped colours or
/// sides make it 40 and more.
const APART: f64 = 3.0;

/// A white square that moves over colour bars begins anew after so many pictures, of 25 a second.
const PERIOD: usize = 65;

/// Ten seconds of them, with noise for the coder to have work.
fn bars() -> String {
    let width = 8 * PERIOD;
    format!(
        "smptebars=size=640x480:rate=25:duration=10[bars];\
        color=white:size=120x120:rate=25:duration=10[square];\
        [bars][square]overlay=x=8*n-{width}*floor(n/{PERIOD}):y=180,noise=alls=12:allf=t:all_seed=1"
    )
}

/// A stream as `send` is asked for it, and the elements by which GStreamer decodes it.
#[derive(Clone, Copy)]
pub(crate) struct Stream<'a> {
    name: &'static str,
    /// What is sent; the scene unless given.
    source: Option<&'a Path>,
    picture: &'static [&'static str],
    rate: &'static str,
    pipeline: &'static [&'static str],
}

impl Stream<'static> {
    pub(crate) const MJPEG: Self = Self {
        name: "mjpeg",
        source: None,
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
        source: None,
        picture: &["--codec", "h264", "--size", "352x288"],
        rate: "2M",
        pipeline: &["rtph264depay", "!", "h264parse", "!", "openh264dec"],
    };
    /// Every picture goes: 25 of 160x120 are 7.7 Mb/s.
    const RAW: Self = Self {
        name: "raw",
        source: None,
        picture: &["--codec", "raw", "--size", "160x120"],
        rate: "12M",
        pipeline: &["rtpvrawdepay"],
    };
    /// 28.8 Mb/s and headers.
    const DV: Self = Self {
        name: "dv",
        source: None,
        picture: &["--codec", "dv"],
        rate: "40M",
        pipeline: &[
            "rtpdvdepay",
            "!",
            "dvdemux",
            "!",
            "dvdec",
            "!",
            "deinterlace",
            "fields=top",
        ],
    };
}

impl<'a> Stream<'a> {
    const fn of(self, source: &'a Path) -> Self {
        Self {
            source: Some(source),
            ..self
        }
    }
}

/// Sends a stream to `port` at its rate, with what else `send` is told.
fn send(port: u16, stream: &Stream<'_>, seconds: &str, more: &[&str], file: &Path) {
    let dest = format!("127.0.0.1:{port}");
    let status = evenkeel(&["send", &dest, "--plain", "--headless", "--seconds", seconds])
        .args(["--fixed-rate", stream.rate])
        .args(stream.picture)
        .args(
            stream
                .source
                .iter()
                .flat_map(|source| [Path::new("--source"), source]),
        )
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

/// The pictures that a decoder left, scaled to [`SMALL`].
pub(crate) fn pictures(file: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(file).expect("decoded pictures");
    let whole = bytes.chunks_exact(3 * SMALL.0 * SMALL.1);
    whole.map(<[u8]>::to_vec).collect()
}

/// The mean of what their bytes differ by.
fn apart(picture: &[u8], other: &[u8]) -> f64 {
    let differences = picture.iter().zip(other).map(|(a, b)| a.abs_diff(*b));
    differences.map(f64::from).sum::<f64>() / picture.len() as f64
}

/// Enough pictures were decoded that show one that was sent.
fn assert_shown(who: &str, file: &Path, sent: f64, originals: &[Vec<u8>]) {
    let decoded = pictures(file);
    let nearest = decoded.iter().map(|picture| {
        let apart = originals.iter().map(|original| apart(picture, original));
        let nearest = apart.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
        nearest.expect("originals")
    });
    let (which, mut apart): (BTreeSet<usize>, Vec<f64>) = nearest.unzip();
    apart.sort_by(f64::total_cmp);
    let worst = apart.last().copied().unwrap_or(f64::INFINITY);
    let near = apart.iter().filter(|apart| **apart <= APART).count();
    let summary = format!(
        "{who}: {} of {sent} pictures, {worst:.1} apart at most, {near} near an original, {} different ones",
        decoded.len(),
        which.len()
    );
    println!("{summary}");
    // Of a busy machine some may be damaged.
    assert!(near as f64 >= DECODED_SHARE * sent, "{summary}");
    // A few of them would say nothing.
    assert!(sent >= 40.0, "{summary}");
    assert!(which.len() >= PERIOD / 2, "{summary}");
}

/// What makes ffmpeg write pictures as [`pictures`] reads them. They come down in two steps, as scaling chroma to a few samples
/// moves it.
fn small() -> [String; 7] {
    let (between, (width, height)) = (BETWEEN, SMALL);
    let scale = format!(
        "scale={}:{},format=rgb24,scale={width}:{height}:flags=area",
        between.0, between.1
    );
    ["-vf", &scale, "-pix_fmt", "rgb24", "-f", "rawvideo", "-y"].map(String::from)
}

/// Makes `pictures` of what ffmpeg reads by these options.
fn scale(input: &[&str], file: &Path, pictures: &Path) {
    let scaled = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error"])
        .args(input)
        .arg("-i")
        .arg(file)
        .args(small())
        .arg(pictures)
        .status();
    assert!(scaled.is_ok_and(|status| status.success()), "ffmpeg");
}

/// Has ffmpeg write each picture of what a description announces, and note what it makes of the stream.
pub(crate) fn ffmpeg(sdp: &Path, pictures: &Path, log: &Path) -> Running {
    Running::start(
        Command::new("ffmpeg")
            .args(["-nostdin", "-nostats", "-v", "verbose"])
            .args(["-protocol_whitelist", "file,udp,rtp", "-i"])
            .arg(sdp)
            .args(["-an", "-vsync", "passthrough"])
            .args(small())
            .arg(pictures)
            .stderr(fs::File::create(log).expect("a file for the log")),
    )
}

/// Has GStreamer write them, of the size [`BETWEEN`], and note what it makes of the stream.
fn gstreamer(sdp: &Path, stream: &Stream<'_>, between: &Path, log: &Path) -> Running {
    let (width, height) = BETWEEN;
    Running::start(
        Command::new("gst-launch-1.0")
            .args(["-e", "-v", "filesrc"])
            .arg(format!("location={}", sdp.display()))
            .args(["!", "sdpdemux", "!"])
            .args(stream.pipeline)
            .args(["!", "videoconvert", "!", "videoscale", "!"])
            .arg(format!(
                "video/x-raw,format=RGB,width={width},height={height}"
            ))
            .args(["!", "filesink", "sync=false"])
            .arg(format!("location={}", between.display()))
            .stdout(fs::File::create(log).expect("a file for the log")),
    )
}

#[derive(Clone, Copy, Debug)]
enum Decoder {
    Ffmpeg,
    Gstreamer,
}

/// The decoder shows what is sent; what it noted.
fn decodes(decoder: Decoder, stream: &Stream<'_>) -> String {
    let name = format!("{decoder:?}, {}", stream.name);
    let scratch = Scratch::new(&format!("{decoder:?}-{}", stream.name));
    let [source, originals, sdp, between, decoded, log, json] = [
        "source.mkv",
        "originals",
        "s.sdp",
        "between",
        "decoded",
        "log",
        "s.json",
    ]
    .map(|name| scratch.file(name));
    let is_dv = stream.name == Stream::DV.name;
    let coding: &[&str] = if is_dv {
        &AS_DV
    } else {
        &["-c:v", "ffv1", "-f", "matroska"]
    };
    draw(&bars(), coding, &source);
    let first = (PERIOD as f64 / 25.0).to_string();
    scale(&["-t", &first], &source, &originals);
    let port = free_port();
    // A file is opened by ffmpeg, which takes its time; the scene has the same size.
    let described = if is_dv { stream.of(&source) } else { *stream };
    describe(port, &described, &sdp);
    let mut peer = match decoder {
        Decoder::Ffmpeg => ffmpeg(&sdp, &decoded, &log),
        Decoder::Gstreamer => gstreamer(&sdp, stream, &between, &log),
    };
    let sent = serve(&mut peer, port, &stream.of(&source), &json);
    if let Decoder::Gstreamer = decoder {
        let size = format!("{}x{}", BETWEEN.0, BETWEEN.1);
        let raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", &size];
        scale(&raw, &between, &decoded);
    }
    assert_shown(&name, &decoded, sent, &pictures(&originals));
    fs::read_to_string(log).expect("the log")
}

/// As a camera's tape has it.
const AS_DV: [&str; 2] = ["-target", "pal-dv"];

/// Writes what ffmpeg draws.
fn draw(drawn: &str, coding: &[&str], file: &Path) {
    let made = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error", "-f", "lavfi", "-i", drawn])
        .args(coding)
        .arg("-y")
        .arg(file)
        .status();
    assert!(made.is_ok_and(|status| status.success()), "ffmpeg");
}

/// Ten seconds of DV, no picture of which is like another.
pub(crate) fn tape(scratch: &Scratch) -> PathBuf {
    let tape = scratch.file("tape.dv");
    draw("testsrc2=duration=10", &AS_DV, &tape);
    tape
}

#[test]
fn ffmpeg_decodes_motion_jpeg() {
    decodes(Decoder::Ffmpeg, &Stream::MJPEG);
}

#[test]
fn ffmpeg_follows_motion_jpeg_to_half_of_its_sides() {
    let noted = decodes(Decoder::Ffmpeg, &Stream::MJPEG_OF_FEW_BYTES);
    assert!(noted.contains("w:176 h:144"), "{noted}");
}

#[test]
fn gstreamer_follows_motion_jpeg_to_half_of_its_sides() {
    let noted = decodes(Decoder::Gstreamer, &Stream::MJPEG_OF_FEW_BYTES);
    assert!(noted.contains("width=(int)176"), "{noted}");
}

#[test]
fn ffmpeg_decodes_h264() {
    decodes(Decoder::Ffmpeg, &Stream::H264);
}

#[test]
fn ffmpeg_reads_uncompressed_pictures() {
    decodes(Decoder::Ffmpeg, &Stream::RAW);
}

#[test]
fn ffmpeg_decodes_dv() {
    decodes(Decoder::Ffmpeg, &Stream::DV);
}

#[test]
fn gstreamer_decodes_motion_jpeg() {
    decodes(Decoder::Gstreamer, &Stream::MJPEG);
}

#[test]
fn gstreamer_decodes_h264() {
    decodes(Decoder::Gstreamer, &Stream::H264);
}

#[test]
fn gstreamer_reads_uncompressed_pictures() {
    decodes(Decoder::Gstreamer, &Stream::RAW);
}

#[test]
fn gstreamer_decodes_dv() {
    decodes(Decoder::Gstreamer, &Stream::DV);
}
