//! `evenkeel recv`: what `evenkeel send` sends.

use evenkeel_codec::Codec;
use evenkeel_codec::source::FrameRate;
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::reassemble::Payload;
use evenkeel_net::Clock;

use crate::call_process::{CallProcess, CallProcessConfig, Stream};
use crate::cli::RecvArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::monitor::{Monitor, Watch};
use crate::outputs;
use crate::page::Mode;
use crate::reference::References;
use crate::stop::Stop;
use crate::wiring::{self, Role};

pub(crate) fn run(args: &RecvArgs) -> Result<(), Failure> {
    let stop = Stop::on_interrupt().map_err(Failure::runtime)?;
    outputs::summarised(&args.run)?;
    outputs::spare(
        &[("--sdp", args.sdp.as_deref())],
        outputs::run_files(&args.run)
            .into_iter()
            .chain([("--record", args.record.as_deref())]),
    )?;
    let clock = Clock::start();
    let seed = wiring::network_seed(args.seed);
    let mut session = wiring::session("recv", Role::Receives, Codec::Mjpeg, None, seed, &clock);
    let mut frame_rate = None;
    let mut stream = Stream {
        codec: Codec::Mjpeg,
        payloads: Payload::Jpeg.into(),
    };
    if let Some(path) = &args.sdp {
        let description = wiring::description(path)?;
        stream = wiring::follow(&description, &mut session)?;
        frame_rate = description.frame_rate.and_then(inputs::frame_rate);
    }
    wiring::set_feedback(&mut session, args.run.feedback);
    let frame_rate = frame_rate.unwrap_or(inputs::DEFAULT_FRAME_RATE);
    let sink = outputs::sink(args.record.as_deref(), stream.codec, frame_rate)?;
    let outputs = outputs::outputs(&args.run)?;
    let socket = wiring::bind(args.bind, "BIND")?;
    let policy = PolicyConfig::new(FrameRate::interval(frame_rate));
    let info = outputs::page_info(Mode::Recv, None, None);
    let page = outputs::page(&args.run, &info, outputs::no_knobs)?;
    let process = CallProcess::start(CallProcessConfig {
        clock,
        stop: stop.clone(),
        session,
        socket,
        policy,
        stream,
        source: None,
        sink: Some(sink),
        captured: References::default(),
        originals: References::default(),
        sent_page: None,
        received_page: page.clone(),
    })?;
    let watch = Watch {
        clock,
        stop,
        page,
        outputs,
        run: &args.run,
        seed,
        deadline: policy.deadline,
        receiver: None,
    };
    Monitor::new(watch, vec![("recv", process)], None).run()
}
