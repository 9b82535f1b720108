//! What the fuzz targets do with their bytes. It is a library so that the seeds run without a fuzzer
//! too, on the stable compiler (`tests/seeds.rs`).
#![forbid(unsafe_code)]

pub mod dtls;
pub mod dv_payload;
pub mod experiment;
pub mod files;
pub mod flexfec;
pub mod h264_payload;
pub mod jpeg_payload;
pub mod jsep;
pub mod path;
pub mod perf;
pub mod rate_control;
pub mod raw_payload;
pub mod reports;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod session;
pub mod srtp;
pub mod stun;

use std::time::Duration;

use arbitrary::Arbitrary;
use evenkeel_codec::picture::Picture;
use evenkeel_codec::source::Source;
use evenkeel_rtp::session::MediaPacket;
use tfrc::time::Instant;

/// A target by its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets, by the names of their files in `fuzz_targets` and of their folders in `seeds`.
pub const TARGETS: [Target; 19] = [
    ("dtls", dtls::check),
    ("dv_payload", dv_payload::check),
    ("experiment", experiment::check),
    ("files", files::check),
    ("flexfec", flexfec::check),
    ("h264_payload", h264_payload::check),
    ("jpeg_payload", jpeg_payload::check),
    ("jsep", jsep::check),
    ("path", path::check),
    ("perf", perf::check),
    ("rate_control", rate_control::check),
    ("raw_payload", raw_payload::check),
    ("reports", reports::check),
    ("rtcp", rtcp::check),
    ("rtp", rtp::check),
    ("sdp", sdp::check),
    ("session", session::check),
    ("srtp", srtp::check),
    ("stun", stun::check),
];

/// Anything from a nanosecond to 39 hours, short and long equally likely.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Span {
    mantissa: u16,
    exponent: u8,
}

impl Span {
    fn duration(self) -> Duration {
        Duration::from_nanos(u64::from(self.mantissa) << (self.exponent % 32))
    }
}

/// A step of a target whose seeds are written by hand: a byte that says what happens, a wait, and bytes.
struct Record<'a> {
    what: u8,
    wait: Duration,
    bytes: &'a [u8],
}

/// Reads records: what happens, the wait as a power of two in milliseconds, a length of two bytes, and as many bytes.
fn records(mut data: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        let [what, wait, high, low, after @ ..] = data else {
            return None;
        };
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        let bytes;
        (bytes, data) = after.split_at(after.len().min(len));
        Some(Record {
            what: *what,
            wait: Duration::from_millis((1 << (wait % 24)) - 1),
            bytes,
        })
    })
}

/// Gives a packet of media as a session hands it out.
fn media_packet(
    now: Instant,
    sequence: u64,
    (timestamp, marker): (u32, bool),
    payload: &[u8],
) -> MediaPacket<'_> {
    MediaPacket {
        sequence,
        payload_type: 0,
        timestamp,
        marker,
        payload,
        arrival: now,
        send_time: None,
        rtt: None,
    }
}

/// Reads a source to its end. Each picture has the source's size.
fn read_pictures(mut source: impl Source, mut check: impl FnMut(Picture)) {
    let format = source.format();
    while let Ok(Some(picture)) = source.next() {
        let size = (picture.width(), picture.height());
        assert_eq!(size, (format.width, format.height));
        check(picture);
    }
}
