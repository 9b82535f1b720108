//! `evenkeel send`: one way, to `evenkeel recv` or to any RTP receiver.

use crate::cli::SendArgs;
use crate::description;
use crate::failure::Failure;
use crate::inputs;
use crate::outputs::{self, Outputs};
use crate::page::Mode;
use crate::run::{AwaitedReceiver, CallProcessConfig, CallRun};
use crate::wiring::{self, Role};

pub(crate) fn run(args: &SendArgs) -> Result<(), Failure> {
    let mut run = CallRun::start(&args.run)?;
    let peer = wiring::peer(&args.dest)?;
    let video = run.video(&args.picture, &[("--sdp", args.sdp.as_deref())])?;
    let outputs = Outputs::open(&args.run, None)?;
    let bind = args.bind.unwrap_or_else(|| wiring::any_port_towards(peer));
    let socket = wiring::bind(bind, "--bind")?;
    let seed = wiring::network_seed(args.picture.seed);
    let codec = video.stream.codec;
    let mut session = wiring::session("send", Role::Sends, codec, Some(peer), seed, &run.clock);
    if let Some(send) = &mut session.send {
        send.fixed_rate = args.fixed_rate;
        send.give_up = args.give_up;
        send.fallback = true;
    }
    let fillers = [args.picture.filler];
    wiring::set_options(&mut session, &args.run, &args.picture, &fillers)?;
    if let Some(path) = &args.sdp {
        wiring::name_sources(&mut session);
        let deadline = video.policy.deadline;
        let description = description::describe(&session, codec, &video.format, peer, deadline);
        description::write(path, &description)?;
    }
    run.receiver = Some(AwaitedReceiver {
        address: peer,
        give_up: args.give_up,
    });
    let info = outputs::page_info(Mode::Send, Some(&args.picture), Some(&video.format));
    let end = CallProcessConfig {
        name: "send",
        socket,
        session,
        policy: video.policy,
        stream: video.stream,
        source: Some(inputs::fixed_feed(&args.picture, video.source)),
        sink: None,
    };
    run.watch(outputs, &info, args.picture.seed(), vec![end])
}
