//! `evenkeel recv`: receives the stream of `evenkeel send`.

use evenkeel_codec::Codec;
use evenkeel_codec::source::FrameRate;
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::reassemble::Payload;

use crate::cli::RecvArgs;
use crate::description;
use crate::failure::Failure;
use crate::inputs;
use crate::outputs::{self, Outputs};
use crate::page::Mode;
use crate::run::{CallProcessConfig, CallRun};
use crate::wiring::{self, Role, Stream};

pub(crate) fn run(args: &RecvArgs) -> Result<(), Failure> {
    let run = CallRun::start(&args.run)?;
    run.spare(
        &[("--sdp", args.sdp.as_deref())],
        &[("--record", args.record.as_deref())],
    )?;
    let seed = wiring::network_seed(args.seed);
    let codec = Codec::Mjpeg;
    let mut session = wiring::session("recv", Role::Receives, codec, None, seed, &run.clock);
    let mut frame_rate = None;
    let mut stream = Stream {
        codec,
        payloads: Payload::Jpeg.into(),
    };
    if let Some(path) = &args.sdp {
        let described = description::read(path)?;
        stream = description::follow(&described, &mut session);
        frame_rate = described.description.frame_rate.and_then(inputs::frame_rate);
    }
    wiring::set_feedback(&mut session, args.run.feedback);
    let frame_rate = frame_rate.unwrap_or(inputs::DEFAULT_FRAME_RATE);
    let sink = outputs::sink(args.record.as_deref(), stream.codec, frame_rate)?;
    let outputs = Outputs::open(&args.run)?;
    let end = CallProcessConfig {
        name: "recv",
        socket: wiring::bind(args.bind, "BIND")?,
        session,
        policy: PolicyConfig::new(FrameRate::interval(frame_rate)),
        stream,
        source: None,
        sink: Some(sink),
    };
    let info = outputs::page_info(Mode::Recv, None, None);
    run.watch(outputs, &info, seed, vec![end])
}
