//! What the subcommands share: opening what the command line names, with one clear line when it fails.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use evenkeel_codec::Codec;
use evenkeel_codec::sink::{self, Null, Sink};
#[cfg(all(feature = "v4l2", target_os = "linux"))]
use evenkeel_codec::source::Camera;
use evenkeel_codec::source::{
    DvFile, Ffmpeg, FfmpegOptions, Format, FrameRate, Scene, Source, SourceError, Y4m,
};
use evenkeel_link::Schedule;
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::{PolicyConfig, Rules};
use evenkeel_media::reassemble::{Payload, Payloads};
use evenkeel_media::rtp_codec::RtpCodec as _;
use evenkeel_net::{BindError, Clock, Socket};
use evenkeel_rtp::packet::sdp::{self, Description};
use evenkeel_rtp::session::{self, FeedbackMode, ReceiveConfig, RepairConfig, SendConfig};

use crate::call_process::Stream;
use crate::capture::Feed;
use crate::choices::{Choice, Choices};
use crate::cli::{PictureArgs, RunArgs};
use crate::failure::Failure;
use crate::output_file::OutputFile;
use crate::page::{Knobs, Mode, Page, PageInfo};
use crate::possible_size::possible_size;
use crate::recording::Recording;
use crate::stop::Stop;
use crate::trace::TraceFile;
use crate::units;

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
    pub(crate) json: Option<Option<OutputFile>>,
    /// `--trace`.
    pub(crate) trace: Option<TraceFile>,
}

impl Outputs {
    /// True if the summary goes to standard output.
    pub(crate) fn json_is_said(&self) -> bool {
        matches!(self.json, Some(None))
    }
}

/// Refuses a run whose summary would be of nothing.
pub(crate) fn summarised(run: &RunArgs) -> Result<(), Failure> {
    match run.seconds {
        Some(seconds) if seconds <= run.warmup() => Err(Failure::usage(format!(
            "--warmup {} leaves nothing of --seconds {} to sum up; give more --seconds, or a shorter --warmup",
            run.warmup().as_secs_f64(),
            seconds.as_secs_f64()
        ))),
        _ => Ok(()),
    }
}

/// Binds a port; `option` is what says which.
pub(crate) fn bind(address: SocketAddr, option: &str) -> Result<Socket, Failure> {
    Socket::bind(address).map_err(|error| refused(&error, option))
}

/// What to say where the system refuses a port, and what to do about it.
pub(crate) fn refused(error: &BindError, option: &str) -> Failure {
    let remedy = match error {
        BindError::PortInUse(_) => "end the program that has it, or name another port",
        BindError::NoSuchAddress(address) if address.is_ipv6() => {
            "name one of this machine, or [::] for all"
        }
        BindError::NoSuchAddress(_) => "name one of this machine, or 0.0.0.0 for all",
        BindError::NotPermitted(_) => "name a port from 1024 on",
        BindError::Other(..) => "name another",
    };
    Failure::usage(format!("{option} {error}; {remedy}"))
}

/// Reads `--sdp`.
pub(crate) fn description(path: &Path) -> Result<Description, Failure> {
    let bytes = fs::read(path).map_err(|error| cannot("read", path, &error))?;
    let read = match String::from_utf8(bytes) {
        Err(_) => Err("it is no text".to_owned()),
        Ok(text) if text.trim().is_empty() => Err("it is empty".to_owned()),
        Ok(text) => Description::read(&text, |name| codec_of(name).is_some())
            .map_err(|error| error.to_string()),
    };
    read.map_err(|why| {
        Failure::usage(format!(
            "--sdp {}: {why}; give the session description that evenkeel send --sdp FILE writes, of lines as v=0 and m=video",
            path.display()
        ))
    })
}

/// Opens the files of a run.
pub(crate) fn outputs(run: &RunArgs) -> Result<Outputs, Failure> {
    let json = match run.json.as_deref() {
        None => None,
        Some(path) if is_standard_output(path) => Some(None),
        Some(path) => Some(Some(
            OutputFile::create("--json", path).map_err(|error| cannot("write", path, &error))?,
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

/// Where pictures come from.
pub(crate) type Pictures = Box<dyn Source + Send>;

/// How often it is asked whether anybody still waits for a source.
const LOOK: Duration = Duration::from_millis(20);
/// How long what opens a source may take to end once nobody does.
const GRACE: Duration = Duration::from_secs(1);

/// Opens what `--source` names, if `--codec` can carry its pictures. A pipe may have no writer and a camera may hang:
/// Ctrl-C and the end of the run are waited for beside it.
pub(crate) fn source(
    picture: &PictureArgs,
    run: &RunArgs,
    stop: &Stop,
) -> Result<Pictures, Failure> {
    let given_up = Stop::default();
    let (opened, awaited) = mpsc::channel();
    let (wanted, unwanted) = (picture.clone(), given_up.clone());
    // It is left behind where it hangs, and ends with the program.
    thread::spawn(move || opened.send(open(&wanted, &unwanted)));
    let clock = Clock::start();
    let end = run.seconds.map(|limit| clock.now() + limit);
    let source = loop {
        match awaited.recv_timeout(LOOK) {
            // Ctrl-C at a terminal also reaches the program that a source runs.
            Ok(Err(_)) if stop.is_asked() => {}
            Ok(source) => break source?,
            Err(RecvTimeoutError::Disconnected) if !stop.is_asked() => {
                return Err(Failure::runtime("what opens the source panicked"));
            }
            Err(_) => {}
        }
        let name = quoted(&picture.source);
        let failure = if stop.is_asked() {
            Failure::interrupted(format!("--source {name}: stopped before its first picture"))
        } else if end.is_some_and(|end| clock.now() >= end) {
            Failure::usage(format!(
                "--source {name}: no picture came within --seconds; does anything write to it?"
            ))
        } else {
            continue;
        };
        given_up.ask();
        // A program that it runs does not outlive us.
        let _ = awaited.recv_timeout(GRACE);
        return Err(failure);
    };
    let format = source.format();
    let size = (format.width, format.height);
    let codec = picture.codec();
    let (width, height) = possible_size(codec, size);
    if (width, height) == size {
        return Ok(source);
    }
    let (own_width, own_height) = size;
    let possible = codec.possible_sizes();
    Err(Failure::usage(if picture.size.is_some() {
        format!(
            "--size {own_width}x{own_height} cannot be sent by --codec {codec}: {possible}; choose --size {width}x{height}"
        )
    } else {
        format!(
            "--source {}: pictures of {own_width}x{own_height} cannot be sent by --codec {codec}: {possible}; add --size {width}x{height}",
            quoted(&picture.source)
        )
    }))
}

/// What a name after `--source` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named<'a> {
    Scene,
    StandardInput,
    /// One that is read without ffmpeg.
    Camera(&'a str),
    /// A file, a device, or what else ffmpeg reads.
    Path(&'a Path),
}

fn named(source: &str) -> Named<'_> {
    match source {
        "scene" => Named::Scene,
        "-" => Named::StandardInput,
        name => match name.strip_prefix("v4l2:") {
            Some(device) => Named::Camera(device),
            None => Named::Path(Path::new(name)),
        },
    }
}

fn open(picture: &PictureArgs, unwanted: &Stop) -> Result<Pictures, Failure> {
    let name = picture.source.as_str();
    let wrong = |error| Failure::usage(unreadable(name, &error));
    if picture.codec() == Codec::Dv {
        return raw_dv(picture);
    }
    match named(name) {
        Named::Scene => {
            let format = wanted(picture);
            let scene = Scene::new(format, picture.seed()).map_err(|error| {
                let Format { width, height, .. } = format;
                Failure::usage(format!(
                    "--size {width}x{height}: {error}; pictures of a file or a camera may be larger"
                ))
            })?;
            return Ok(Box::new(scene));
        }
        Named::Camera(device) => return camera(device, picture),
        Named::StandardInput | Named::Path(_) => {}
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
    let unwanted = unwanted.clone();
    let ffmpeg = Ffmpeg::open_unless(name, &options, move || unwanted.is_asked());
    Ok(Box::new(ffmpeg.map_err(wrong)?))
}

/// What is wrong with a source, which the line names once, and what to do.
fn unreadable(name: &str, error: &SourceError) -> String {
    let name = quoted(name);
    match error {
        SourceError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => format!(
            "--source {name}: there is no such file; name a video file, a device, or scene for the built-in one"
        ),
        SourceError::Io { error, .. } => format!("--source {name}: {error}"),
        SourceError::NoFfmpeg(error) => format!(
            "--source {name}: ffmpeg, which is to read it, cannot be run: {error}; install ffmpeg, or name a .y4m file"
        ),
        SourceError::Ffmpeg { message, .. } => {
            format!("--source {name}: ffmpeg cannot read it: {message}")
        }
        SourceError::Invalid { .. } => format!("--source {name}: {error}"),
    }
}

/// DV is what its source has, and nothing makes it of other pictures.
fn raw_dv(picture: &PictureArgs) -> Result<Pictures, Failure> {
    let name = picture.source.as_str();
    if picture.size.is_some() || picture.fps.is_some() {
        let why = "DV is sent as it is; leave out --size and --fps";
        return Err(Failure::usage(format!("--codec dv: {why}")));
    }
    let opened = match named(name) {
        Named::Scene | Named::Camera(_) => {
            let why =
                "only raw DV can be sent; name a file of it by --source, or - for standard input";
            return Err(Failure::usage(format!("--codec dv: {why}")));
        }
        Named::StandardInput => {
            let pipe = DvFile::new(std::io::stdin(), "standard input".into());
            pipe.map(|pipe| Box::new(pipe) as Pictures)
        }
        Named::Path(path) => DvFile::open(path).map(|file| Box::new(file) as _),
    };
    opened.map_err(|error| {
        Failure::usage(format!(
            "{}; `ffmpeg -i INPUT -target pal-dv OUTPUT.dv` makes raw DV",
            unreadable(name, &error)
        ))
    })
}

#[cfg(all(feature = "v4l2", target_os = "linux"))]
fn camera(device: &str, picture: &PictureArgs) -> Result<Pictures, Failure> {
    let wrong = |error| Failure::usage(unreadable(&picture.source, &error));
    let camera = Camera::open(Path::new(device), wanted(picture)).map_err(wrong)?;
    Ok(Box::new(camera))
}

#[cfg(not(all(feature = "v4l2", target_os = "linux")))]
fn camera(device: &str, _picture: &PictureArgs) -> Result<Pictures, Failure> {
    Err(Failure::usage(format!(
        "--source v4l2:{device}: this program was built without the feature v4l2; build with --features v4l2, or read the camera through ffmpeg with --source {device}"
    )))
}

/// What is asked of a source that can choose.
fn wanted(picture: &PictureArgs) -> Format {
    let (width, height) = picture.size.unwrap_or(DEFAULT_SIZE);
    Format {
        width,
        height,
        frame_rate: picture.fps.unwrap_or(DEFAULT_FRAME_RATE),
    }
}

/// The same for the other end of a two-way demo: another scene, or the same file once more.
pub(crate) fn second_source(
    picture: &PictureArgs,
    run: &RunArgs,
    stop: &Stop,
) -> Result<Pictures, Failure> {
    let other = PictureArgs {
        seed: Some(picture.seed() ^ SECOND),
        ..picture.clone()
    };
    source(&other, run, stop)
}

/// Refuses a source for both ends that only one can read: each would get a part of a pipe's bytes.
pub(crate) fn for_two(picture: &PictureArgs) -> Result<(), Failure> {
    let has_one_reader = match named(&picture.source) {
        Named::Scene => false,
        Named::StandardInput | Named::Camera(_) => true,
        Named::Path(path) => path.metadata().is_ok_and(|place| !place.is_file()),
    };
    if has_one_reader {
        return Err(Failure::usage(format!(
            "--both --source {}: a pipe or a camera has one reader, and this is no file; name one, or leave out --both",
            quoted(&picture.source)
        )));
    }
    Ok(())
}

/// An option, and the file that it names.
pub(crate) type NamedFile<'a> = (&'static str, Option<&'a Path>);

/// The file that `--source` names, if it names one.
pub(crate) fn source_file(picture: &PictureArgs) -> NamedFile<'_> {
    let path = match named(&picture.source) {
        Named::Path(path) => Some(path),
        Named::Scene | Named::StandardInput | Named::Camera(_) => None,
    };
    ("--source", path)
}

/// The files that every run may write.
pub(crate) fn run_files(run: &RunArgs) -> [NamedFile<'_>; 2] {
    [
        ("--json", run.json.as_deref()),
        ("--trace", run.trace.as_deref()),
    ]
}

/// Refuses to write over what is read: the file would be emptied first.
pub(crate) fn spare<'a>(
    read: &[NamedFile<'_>],
    written: impl IntoIterator<Item = NamedFile<'a>>,
) -> Result<(), Failure> {
    let place = |path: &Path| path.canonicalize().ok();
    for (option, path) in written {
        let Some((path, written)) = path.and_then(|path| Some((path, place(path)?))) else {
            continue;
        };
        let mut read = read.iter();
        let reader = read.find(|(_, path)| path.and_then(place).as_ref() == Some(&written));
        if let Some((reader, _)) = reader {
            return Err(Failure::usage(format!(
                "{option} {}: {reader} reads it; name another file to write",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Where received pictures go beside the page.
pub(crate) fn sink(
    record: Option<&Path>,
    codec: Codec,
    frame_rate: FrameRate,
) -> Result<Box<dyn Sink + Send>, Failure> {
    let is_dv = |path: &Path| path.extension().is_some_and(|extension| extension == "dv");
    match record {
        None => Ok(no_sink()),
        Some(path) if is_dv(path) && codec != Codec::Dv => Err(Failure::usage(format!(
            "--record {}: pictures of {codec} are recorded as y4m; name it so",
            path.display()
        ))),
        Some(path) if is_dv(path) => match OutputFile::create("--record", path) {
            Ok(file) => Ok(Box::new(sink::DvFile::new(file))),
            Err(error) => Err(cannot("write", path, &error)),
        },
        Some(path) => match Recording::create(path, frame_rate) {
            Ok(recording) => Ok(Box::new(recording)),
            Err(error) => Err(cannot("write", path, &error)),
        },
    }
}

/// The seed of an end that talks over a network: whoever can guess the identifiers that are drawn
/// from it can forge the peer's packets (RFC 3550 §8.1, RFC 7022), and a receiver would take a second
/// run for the first.
pub(crate) fn network_seed(seed: Option<u64>) -> u64 {
    seed.unwrap_or_else(|| RandomState::new().hash_one(()))
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

/// What receivers of a call report unless `--feedback` says otherwise: arrivals, of which the path model is made.
pub(crate) const CALL_FEEDBACK: FeedbackMode = FeedbackMode::Ccfb;

/// One end's session: video under TFRC.
pub(crate) fn session(
    name: &str,
    role: Role,
    codec: Codec,
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
        config.send = Some(SendConfig {
            feedback: CALL_FEEDBACK,
            ..SendConfig::new(codec.payload_type())
        });
    }
    if role != Role::Sends {
        config.receive = Some(ReceiveConfig {
            repair: Some(RepairConfig::PAYLOAD_TYPE),
            feedback: CALL_FEEDBACK,
            ..ReceiveConfig::new(codec.payload_type())
        });
    }
    config
}

/// What receivers report, if `--feedback` says it.
pub(crate) fn set_feedback(session: &mut session::Config, feedback: Option<FeedbackMode>) {
    let Some(feedback) = feedback else {
        return;
    };
    if let Some(send) = &mut session.send {
        send.feedback = feedback;
    }
    if let Some(receive) = &mut session.receive {
        receive.feedback = feedback;
    }
}

/// Refuses `--random-loss` if reports have no arrivals.
pub(crate) fn require_arrivals(
    session: &session::Config,
    picture: &PictureArgs,
) -> Result<(), Failure> {
    let Some(send) = session.send.as_ref().filter(|_| picture.random_loss) else {
        return Ok(());
    };
    let wrong = if send.fixed_rate.is_some() {
        "a rate that --fixed-rate sets follows no loss; leave one of them out".to_owned()
    } else if picture.policy != Rules::Evenkeel {
        format!(
            "frames of --policy {} follow every loss; choose --policy evenkeel",
            picture.policy.name()
        )
    } else if !matches!(send.feedback, FeedbackMode::Ccfb | FeedbackMode::Twcc) {
        format!(
            "--feedback {} reports no arrivals; choose --feedback ccfb or twcc",
            send.feedback.name()
        )
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("--random-loss: {wrong}")))
}

/// Gives the session repair packets to send, if `--filler` asks for any.
pub(crate) fn set_filler(session: &mut session::Config, filler: Filler) -> Result<(), Failure> {
    let Some(send) = &mut session.send else {
        return Ok(());
    };
    if filler == Filler::None {
        return Ok(());
    }
    // Transport-wide numbers count media and repair packets together.
    if send.feedback == FeedbackMode::Ccfb {
        send.feedback = FeedbackMode::Twcc;
    }
    if !send.feedback.counts_two_sources() {
        return Err(Failure::usage(format!(
            "--filler {}: --feedback {} reports on media alone; choose --feedback tfrc or twcc",
            filler.name(),
            send.feedback.name()
        )));
    }
    send.repair = Some(RepairConfig {
        payload_type: RepairConfig::PAYLOAD_TYPE,
        ssrc: None,
    });
    Ok(())
}

/// Decides on the sources of media and repair packets before the session would, for a description to name.
pub(crate) fn name_sources(session: &mut session::Config) {
    let drawn = RandomState::new().hash_one(session.seed);
    if let Some(repair) = session.send.as_mut().and_then(|send| send.repair.as_mut()) {
        session.ssrc = Some(drawn as u32);
        repair.ssrc = Some((drawn >> 32) as u32);
    }
}

/// What `codec` makes of pictures of this format, which it can carry, in a stream that may change to the
/// `others` as it runs.
pub(crate) fn stream(codec: Codec, others: &[Codec], format: &Format) -> Result<Stream, Failure> {
    let payload = |codec: Codec| {
        let payload = codec.payload((format.width, format.height));
        payload.ok_or_else(|| Failure::usage(codec.possible_sizes()))
    };
    let others = others
        .iter()
        .map(|&other| Ok((other.payload_type(), payload(other)?)));
    let others = others.collect::<Result<_, Failure>>()?;
    let payloads = Payloads::new(payload(codec)?, others);
    Ok(Stream { codec, payloads })
}

/// The codecs besides this one that can carry pictures of this format: none beside DV, of which we have
/// no more than a mosaic, and never DV.
pub(crate) fn other_codecs(codec: Codec, format: &Format) -> Vec<Codec> {
    let size = (format.width, format.height);
    let others = Codec::ALL.into_iter().filter(|&other| other != codec);
    others
        .filter(|other| codec.codes_pictures() && other.codes_pictures())
        .filter(|other| other.nearest_size(size) == size)
        .collect()
}

/// Lets the session receive these codecs too.
pub(crate) fn accept(session: &mut session::Config, others: &[Codec]) {
    if let Some(receive) = &mut session.receive {
        receive.alternatives = others.iter().map(|codec| codec.payload_type()).collect();
    }
}

/// What the command line asks a sending end to do.
pub(crate) fn choice(picture: &PictureArgs) -> Choice {
    Choice {
        codec: picture.codec(),
        rules: picture.policy,
        filler: picture.filler,
    }
}

/// What an end sends, and what it does with it for good.
pub(crate) fn fixed_feed(picture: &PictureArgs, source: Pictures) -> Feed {
    feed(picture, source, Arc::new(Choices::fixed(choice(picture))))
}

/// The same, where that may change.
pub(crate) fn feed(picture: &PictureArgs, source: Pictures, choices: Arc<Choices>) -> Feed {
    Feed {
        name: quoted(&picture.source),
        source,
        choices,
    }
}

/// The sending buffer's policy for a source.
pub(crate) fn policy(picture: &PictureArgs, format: &Format) -> PolicyConfig {
    PolicyConfig {
        deadline: picture.deadline,
        rules: picture.policy,
        filler: picture.filler,
        random_loss: picture.random_loss,
        ..PolicyConfig::new(format.frame_rate.interval())
    }
}

/// The description of a stream, for receivers that are not ours too. Repair packets later than `deadline` are of no use.
pub(crate) fn describe(
    session: &session::Config,
    codec: Codec,
    format: &Format,
    peer: SocketAddr,
    deadline: Duration,
) -> Description {
    // The origin only names the session; what host it was written on is nobody's business.
    let origin = if peer.is_ipv4() {
        Ipv4Addr::LOCALHOST.into()
    } else {
        Ipv6Addr::LOCALHOST.into()
    };
    let mut description = Description::new(origin, peer.ip(), peer.port(), codec.payload_type());
    description.encoding = codec.encoding().into();
    description.parameters = codec.parameters((format.width, format.height));
    description.session_id = session.seed;
    description.keyframe_requests = codec == Codec::H264;
    description.extension_id = Some(session.extension_id);
    description.frame_rate = Some(format.frame_rate.per_second());
    description.reduced_size = session.reduced_size;
    if let Some(send) = &session.send {
        description.feedback = vec![send.feedback];
        description.transit_bounds = send.feedback == FeedbackMode::Tfrc;
        let is_counted = send.feedback == FeedbackMode::Twcc || send.repair.is_some();
        description.transport_sequence_id = is_counted.then_some(session.transport_sequence_id);
        description.repair = send.repair.map(|repair| sdp::Repair {
            payload_type: repair.payload_type,
            window: deadline,
            ssrcs: session.ssrc.zip(repair.ssrc).map(<[u32; 2]>::from),
        });
    }
    description
}

/// The codec that a description calls so.
pub(crate) fn codec_of(encoding: &str) -> Option<Codec> {
    let mut codecs = Codec::ALL.into_iter();
    codecs.find(|codec| codec.encoding().eq_ignore_ascii_case(encoding))
}

/// Takes over what a description says of the stream to be received.
pub(crate) fn follow(
    description: &Description,
    session: &mut session::Config,
) -> Result<Stream, Failure> {
    let Some(codec) = codec_of(&description.encoding) else {
        return Err(Failure::usage(format!(
            "--sdp: encoding is {}; there are {}",
            description.encoding,
            Codec::ALL.map(Codec::encoding).join(", ")
        )));
    };
    let parameters = description.parameters.as_deref().unwrap_or_default();
    let payload = Payload::described(codec, parameters)
        .map_err(|error| Failure::usage(format!("--sdp: {error}")))?;
    session.extension_id = description
        .extension_id
        .unwrap_or(session::Config::EXTENSION_ID);
    session.reduced_size = description.reduced_size;
    if let Some(bandwidth) = description.bandwidth {
        session.bandwidth = bandwidth;
    }
    session.transport_sequence_id = description
        .transport_sequence_id
        .unwrap_or(session::Config::TRANSPORT_SEQUENCE_ID);
    let repair = description.repair.as_ref();
    session.receive = Some(ReceiveConfig {
        repair: repair.map(|repair| repair.payload_type),
        transit_bounds: description.transit_bounds,
        ..ReceiveConfig::new(description.payload_type)
    });
    set_feedback(session, description.feedback.first().copied());
    Ok(Stream {
        codec,
        payloads: payload.into(),
    })
}

/// A frame rate as a description states it, in thousandths.
pub(crate) fn frame_rate(per_second: f64) -> Option<FrameRate> {
    FrameRate::new((per_second * 1e3).round() as u32, 1_000)
}

/// `ADDR` or `ADDR:PORT`, names resolved.
pub(crate) fn peer(text: &str) -> Result<SocketAddr, Failure> {
    peer_at(text, DEFAULT_PORT)
}

/// The same, where the port is another unless given.
pub(crate) fn peer_at(text: &str, port: u16) -> Result<SocketAddr, Failure> {
    let wrong = |why: String| {
        Failure::usage(format!(
            "'{text}' is no peer: {why}; write an address or a name, and a port if not {port}"
        ))
    };
    if let Some(port) = units::no_port(text) {
        return Err(Failure::usage(format!(
            "'{text}' is no peer: port `{port}` is no number from 1 to 65535"
        )));
    }
    // An IPv6 address may end like one with a port.
    let has_port = text.parse::<std::net::IpAddr>().is_err()
        && text
            .rsplit_once(':')
            .is_some_and(|(_, last)| last.parse::<u16>().is_ok());
    let resolved = if has_port {
        text.to_socket_addrs()
    } else {
        (text, port).to_socket_addrs()
    };
    let peer = resolved
        .map_err(|error| wrong(error.to_string()))?
        .next()
        .ok_or_else(|| wrong("the name has no address".into()))?;
    if peer.port() == 0 {
        return Err(Failure::usage(format!(
            "'{text}' is no peer at port 0, where nobody answers; give the port where it listens"
        )));
    }
    Ok(peer)
}

/// What the page says of the run.
pub(crate) fn page_info(
    mode: Mode,
    picture: Option<&PictureArgs>,
    format: Option<&Format>,
) -> PageInfo {
    let deadline = picture.map_or(PolicyConfig::DEADLINE, |picture| picture.deadline);
    PageInfo {
        source: match picture.map(|picture| (picture, named(&picture.source))) {
            None => "network".into(),
            Some((_, Named::Scene)) => "built-in scene".into(),
            Some((picture, _)) => picture.source.clone(),
        },
        width: format.map_or(0, |format| format.width as u32),
        height: format.map_or(0, |format| format.height as u32),
        fps: format.map_or(0.0, |format| format.frame_rate.per_second()),
        seed: picture.map_or(0, PictureArgs::seed),
        command: command(picture),
        mode,
        knobs: mode == Mode::Demo,
        choices: BTreeMap::new(),
        deadline_ms: units::millis(deadline),
    }
}

/// The command line that would show the same pictures again.
fn command(picture: Option<&PictureArgs>) -> String {
    let mut line = std::env::args_os()
        .skip(1)
        .fold("evenkeel".into(), |line: String, word| {
            format!("{line} {}", quoted(&word.to_string_lossy()))
        });
    if let Some(picture) = picture.filter(|picture| picture.seed.is_none()) {
        line += &format!(" --seed {}", picture.seed());
    }
    line
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,=+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A free port of the peer's family.
pub(crate) fn any_port_towards(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
    } else {
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))
    }
}

/// Prints a line; an error if nobody reads standard output any more.
pub(crate) fn say(line: impl Display) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{line}")
        .map_err(|error| Failure::runtime(format!("cannot write to standard output: {error}")))
}

/// Says how it goes: on standard error while standard output is for JSON.
pub(crate) fn tell(output_is_json: bool, line: impl Display) -> Result<(), Failure> {
    if output_is_json {
        eprintln!("{line}");
        return Ok(());
    }
    say(line)
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Starts the page unless the run is headless, and says where it is.
pub(crate) fn page(
    run: &RunArgs,
    info: &PageInfo,
    controls: impl Fn(Knobs) -> Result<(), String> + Send + Sync + 'static,
) -> Result<Option<Arc<Page>>, Failure> {
    if run.headless {
        return Ok(None);
    }
    let page = Page::start(run.page, info, controls).map_err(Failure::usage)?;
    let output_is_json = run.json.as_deref().is_some_and(is_standard_output);
    tell(
        output_is_json,
        format_args!("page: http://{}", page.address()),
    )?;
    Ok(Some(Arc::new(page)))
}

/// Where there is no link to turn.
pub(crate) fn no_knobs(_knobs: Knobs) -> Result<(), String> {
    Err("there is no emulated link here".into())
}

/// "cannot write FILE: why".
pub(crate) fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if what == "write" && !folder.is_dir() => Failure::usage(format!(
            "cannot {what} {}: there is no folder {}; make it, or name another",
            path.display(),
            folder.display()
        )),
        _ => Failure::usage(format!("cannot {what} {}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser as _;

    #[test]
    fn words_are_quoted_as_a_shell_takes_them() {
        assert_eq!(quoted("--rate=3M"), "--rate=3M");
        assert_eq!(quoted("my clip.mp4"), "'my clip.mp4'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn page_and_policy_have_the_given_deadline() {
        let words = ["evenkeel", "demo", "--deadline", "300ms"];
        let cli = Cli::try_parse_from(words).expect("well formed");
        let picture = cli.command.picture().expect("it sends");
        let format = wanted(picture);
        let info = page_info(Mode::Demo, Some(picture), Some(&format));
        assert_eq!(info.deadline_ms, 300.0);
        assert_eq!(
            policy(picture, &format).deadline,
            Duration::from_millis(300)
        );
        assert_eq!(page_info(Mode::Recv, None, None).deadline_ms, 150.0);
    }

    #[test]
    fn repair_window_is_the_deadline_of_the_run() {
        let clock = Clock::start();
        let mut sender = session("send", Role::Sends, Codec::Mjpeg, None, 1, &clock);
        assert!(set_filler(&mut sender, Filler::Fec).is_ok());
        let format = Format {
            width: 640,
            height: 480,
            frame_rate: DEFAULT_FRAME_RATE,
        };
        let to = ([192, 0, 2, 7], DEFAULT_PORT).into();
        let deadline = Duration::from_millis(300);
        let described = describe(&sender, Codec::Mjpeg, &format, to, deadline);
        let repair = described.repair.expect("repair packets");
        assert_eq!(repair.window, deadline);
    }

    /// A sender's session that works with this format, and what a receiver makes of its description.
    fn described(feedback: FeedbackMode) -> (session::Config, String, session::Config) {
        let clock = Clock::start();
        let end = |name, role| session(name, role, Codec::Mjpeg, None, 1, &clock);
        let mut sender = end("send", Role::Sends);
        set_feedback(&mut sender, Some(feedback));
        let format = Format {
            width: 640,
            height: 480,
            frame_rate: DEFAULT_FRAME_RATE,
        };
        let to = ([192, 0, 2, 7], DEFAULT_PORT).into();
        let text = describe(&sender, Codec::Mjpeg, &format, to, PolicyConfig::DEADLINE).to_string();
        let mut receiver = end("recv", Role::Receives);
        let followed = follow(&text.parse().unwrap(), &mut receiver);
        assert!(followed.is_ok());
        (sender, text, receiver)
    }

    #[test]
    fn a_receiver_takes_its_format_from_a_senders_description() {
        for feedback in FeedbackMode::ALL {
            let (_, text, receiver) = described(feedback);
            let receive = receiver.receive.unwrap();
            assert_eq!(receive.feedback, feedback, "{text}");
            assert_eq!(
                receive.transit_bounds,
                feedback == FeedbackMode::Tfrc,
                "{text}"
            );
            let line = "draft-holmer-rmcat-transport-wide-cc-extensions";
            let has_number = feedback == FeedbackMode::Twcc;
            assert_eq!(text.contains(line), has_number, "{text}");
        }
    }

    /// RFC 8888 §7: a description with `ccfb` of media that is ECN-capable would have to say so.
    #[test]
    fn media_that_is_described_is_not_ecn_capable_and_no_description_says_that_it_is() {
        let (sender, text, _) = described(FeedbackMode::Ccfb);
        assert!(!sender.ecn && !text.contains("ecn-capable"), "{text}");
    }

    #[test]
    fn identifiers_differ_from_run_to_run_unless_the_seed_is_given() {
        assert_eq!(network_seed(Some(7)), 7);
        assert_ne!(network_seed(None), network_seed(None));
    }
}
