//! What the subcommands share: opening what the command line names, with one clear line when it fails.

use std::fs::{self, File};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;

use evenkeel_link::Schedule;
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::sink::{Null, Sink};
#[cfg(feature = "v4l2")]
use evenkeel_media::source::V4l2;
use evenkeel_media::source::{
    Ffmpeg, FfmpegOptions, Format, FrameRate, Scene, Source, SourceError, Y4m,
};
use evenkeel_net::Clock;
use evenkeel_rtp::sdp::Description;
use evenkeel_rtp::session::{self, ReceiveConfig, SendConfig};

use crate::cli::{PictureArgs, RunArgs};
use crate::failure::Failure;
use crate::page::{Knobs, Mode, Page, PageInfo};
use crate::recording::Recording;
use crate::trace::TraceFile;

/// The static payload type of JPEG (RFC 3551 §6).
pub(crate) const JPEG: u8 = 26;
/// RTP's registered port (RFC 3551 §8), where a peer's is not given.
const DEFAULT_PORT: u16 = 5_004;
/// Decorrelates the second scene of a two-way demo from the first.
const SECOND: u64 = 0x5ec0_4d00;

/// The scene's size where none is asked for.
const DEFAULT_SIZE: (usize, usize) = (640, 480);
/// The scene's pictures a second, and those of a stream whose description does not say.
pub(crate) const DEFAULT_FRAME_RATE: FrameRate = match FrameRate::new(25, 1) {
    Some(rate) => rate,
    None => unreachable!(),
};

/// Which way media goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Sends,
    Receives,
    Both,
}

/// Files that a run writes, opened before it starts so that a wrong path is known at once.
pub(crate) struct Outputs {
    /// `--json`; `None` in the inner place is standard output.
    pub(crate) json: Option<Option<File>>,
    /// `--trace`.
    pub(crate) trace: Option<TraceFile>,
}

/// Opens the files of a run.
pub(crate) fn outputs(run: &RunArgs) -> Result<Outputs, Failure> {
    let json = match run.json.as_deref() {
        None => None,
        Some(path) if path == Path::new("-") => Some(None),
        Some(path) => Some(Some(
            File::create(path).map_err(|error| cannot("write", path, &error))?,
        )),
    };
    let trace = run
        .trace
        .as_deref()
        .map(|path| TraceFile::create(path).map_err(|error| cannot("write", path, &error)));
    Ok(Outputs {
        json,
        trace: trace.transpose()?,
    })
}

/// Opens what `--source` names.
pub(crate) fn source(picture: &PictureArgs) -> Result<Box<dyn Source + Send>, Failure> {
    let name = picture.source.as_str();
    let wrong = |error: SourceError| Failure::usage(format!("--source {name}: {error}"));
    if name == "scene" {
        let (width, height) = picture.size.unwrap_or(DEFAULT_SIZE);
        let format = Format {
            width,
            height,
            frame_rate: picture.fps.unwrap_or(DEFAULT_FRAME_RATE),
        };
        return Ok(Box::new(Scene::new(format, picture.seed).map_err(wrong)?));
    }
    if let Some(device) = name.strip_prefix("v4l2:") {
        return camera(device, picture);
    }
    let as_it_is = picture.size.is_none() && picture.fps.is_none();
    if as_it_is
        && Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "y4m")
    {
        return Ok(Box::new(Y4m::open(Path::new(name)).map_err(wrong)?));
    }
    let options = FfmpegOptions {
        input_format: name.starts_with("/dev/video").then(|| "v4l2".to_owned()),
        frame_rate: picture.fps,
        size: picture.size,
        repeat: !name.starts_with("/dev/"),
    };
    Ok(Box::new(Ffmpeg::open(name, &options).map_err(wrong)?))
}

#[cfg(feature = "v4l2")]
fn camera(device: &str, picture: &PictureArgs) -> Result<Box<dyn Source + Send>, Failure> {
    let wrong = |error: SourceError| Failure::usage(format!("--source v4l2:{device}: {error}"));
    let size = picture.size.unwrap_or(DEFAULT_SIZE);
    let camera =
        V4l2::open(device, size, picture.fps.unwrap_or(DEFAULT_FRAME_RATE)).map_err(wrong)?;
    Ok(Box::new(camera))
}

#[cfg(not(feature = "v4l2"))]
fn camera(device: &str, _picture: &PictureArgs) -> Result<Box<dyn Source + Send>, Failure> {
    Err(Failure::usage(format!(
        "--source v4l2:{device}: this program was built without the feature v4l2; build with --features v4l2, or read the camera through ffmpeg with --source {device}"
    )))
}

/// The same for the other end of a two-way demo: another scene, or the same file once more.
pub(crate) fn second_source(picture: &PictureArgs) -> Result<Box<dyn Source + Send>, Failure> {
    source(&PictureArgs {
        seed: picture.seed ^ SECOND,
        ..picture.clone()
    })
}

/// Where received pictures go beside the page.
pub(crate) fn sink(
    record: Option<&Path>,
    frame_rate: FrameRate,
) -> Result<Box<dyn Sink + Send>, Failure> {
    match record {
        None => Ok(no_sink()),
        Some(path) => match Recording::create(path, frame_rate) {
            Ok(recording) => Ok(Box::new(recording)),
            Err(error) => Err(cannot("write", path, &error)),
        },
    }
}

/// Nowhere.
pub(crate) fn no_sink() -> Box<dyn Sink + Send> {
    Box::new(Null)
}

/// Reads `--schedule`.
pub(crate) fn schedule(path: &Path) -> Result<Schedule, Failure> {
    let text = fs::read_to_string(path).map_err(|error| cannot("read", path, &error))?;
    Schedule::parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// One end's session: M-JPEG under TFRC.
pub(crate) fn session(
    name: &str,
    role: Role,
    peer: Option<SocketAddr>,
    seed: u64,
    clock: &Clock,
) -> session::Config {
    // Each end has random numbers of its own, whatever the other draws.
    let own = name.bytes().fold(seed, |seed, byte| {
        seed.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    let mut config = session::Config::new(format!("{name}@evenkeel"), own);
    config.peer = peer;
    config.wallclock = clock.ntp_of_zero();
    if role != Role::Receives {
        config.send = Some(SendConfig::new(JPEG));
    }
    if role != Role::Sends {
        config.receive = Some(ReceiveConfig::new(JPEG));
    }
    config
}

/// The deadline policy for a source.
pub(crate) fn policy(format: &Format) -> PolicyConfig {
    PolicyConfig::new(format.frame_rate.interval())
}

/// The description of a stream, for receivers that are not ours too.
pub(crate) fn describe(
    session: &session::Config,
    format: &Format,
    peer: SocketAddr,
) -> Description {
    // The origin only names the session; what host it was written on is nobody's business.
    let origin = if peer.is_ipv4() {
        Ipv4Addr::LOCALHOST.into()
    } else {
        Ipv6Addr::LOCALHOST.into()
    };
    let mut description = Description::new(origin, peer.ip(), peer.port(), JPEG);
    description.session_id = session.seed;
    description.extension_id = Some(session.extension_id);
    description.frame_rate = Some(format.frame_rate.per_second());
    description
}

/// Takes over what a description says of the stream to be received.
pub(crate) fn follow(
    description: &Description,
    session: &mut session::Config,
) -> Result<(), Failure> {
    if !description.encoding.eq_ignore_ascii_case("JPEG") {
        return Err(Failure::usage(format!(
            "--sdp: encoding is {}; only JPEG can be received",
            description.encoding
        )));
    }
    session.extension_id = description
        .extension_id
        .unwrap_or(session::Config::EXTENSION_ID);
    session.receive = Some(ReceiveConfig::new(description.payload_type));
    Ok(())
}

/// A frame rate as a description states it, in thousandths.
pub(crate) fn frame_rate(per_second: f64) -> Option<FrameRate> {
    FrameRate::new((per_second * 1e3).round() as u32, 1_000)
}

/// `ADDR` or `ADDR:PORT`, names resolved.
pub(crate) fn peer(text: &str) -> Result<SocketAddr, Failure> {
    let wrong = |why: String| {
        Failure::usage(format!(
            "'{text}' is no peer: {why}; write an address or a name, and a port if not {DEFAULT_PORT}"
        ))
    };
    let resolved = match text.parse::<std::net::IpAddr>() {
        Ok(address) => return Ok(SocketAddr::new(address, DEFAULT_PORT)),
        Err(_)
            if text
                .rsplit_once(':')
                .is_some_and(|(_, port)| port.parse::<u16>().is_ok()) =>
        {
            text.to_socket_addrs()
        }
        Err(_) => (text, DEFAULT_PORT).to_socket_addrs(),
    };
    resolved
        .map_err(|error| wrong(error.to_string()))?
        .next()
        .ok_or_else(|| wrong("the name has no address".into()))
}

/// What the page says of the run.
pub(crate) fn page_info(
    mode: Mode,
    picture: Option<&PictureArgs>,
    format: Option<&Format>,
) -> PageInfo {
    PageInfo {
        source: picture.map_or_else(|| "network".into(), |picture| picture.source.clone()),
        width: format.map_or(0, |format| format.width as u32),
        height: format.map_or(0, |format| format.height as u32),
        fps: format.map_or(0.0, |format| format.frame_rate.per_second()),
        seed: picture.map_or(0, |picture| picture.seed),
        command: std::env::args()
            .skip(1)
            .fold("evenkeel".into(), |line, word| format!("{line} {word}")),
        mode,
        knobs: mode == Mode::Demo,
        deadline_ms: PolicyConfig::DEADLINE.as_secs_f64() * 1e3,
    }
}

/// Starts the page, and says where it is.
pub(crate) fn page(
    run: &RunArgs,
    info: &PageInfo,
    controls: impl Fn(Knobs) -> Result<(), String> + Send + Sync + 'static,
) -> Result<Arc<Page>, Failure> {
    let page = Page::start(run.page, info, controls).map_err(Failure::usage)?;
    println!("page: http://{}", page.address());
    Ok(Arc::new(page))
}

/// Where there is no link to turn.
pub(crate) fn no_knobs(_knobs: Knobs) -> Result<(), String> {
    Err("there is no emulated link here".into())
}

/// "cannot write FILE: why".
pub(crate) fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot {what} {}: {error}", path.display()))
}
