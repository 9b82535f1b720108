//! `evenkeel send`: one way, to `evenkeel recv` or to any RTP receiver.

use std::fs;

use evenkeel_net::Clock;

use crate::call_process::{CallProcess, CallProcessConfig};
use crate::cli::SendArgs;
use crate::failure::Failure;
use crate::monitor::{Monitor, Watch};
use crate::page::Mode;
use crate::reference::References;
use crate::setup::{self, Role};
use crate::stop::Stop;
use crate::warning::Receiver;

pub(crate) fn run(args: &SendArgs) -> Result<(), Failure> {
    let stop = Stop::on_interrupt().map_err(Failure::runtime)?;
    setup::summarised(&args.run)?;
    let clock = Clock::start();
    let peer = setup::peer(&args.dest)?;
    let source = setup::source(&args.picture, &args.run, &stop)?;
    setup::spare(
        &[setup::source_file(&args.picture)],
        setup::run_files(&args.run)
            .into_iter()
            .chain([("--sdp", args.sdp.as_deref())]),
    )?;
    let format = source.format();
    let stream = setup::stream(args.picture.codec(), &[], &format)?;
    let outputs = setup::outputs(&args.run)?;
    let bind = args.bind.unwrap_or_else(|| setup::any_port_towards(peer));
    let socket = setup::bind(bind, "--bind")?;

    let seed = setup::network_seed(args.picture.seed);
    let mut session = setup::session("send", Role::Sends, stream.codec, Some(peer), seed, &clock);
    setup::set_feedback(&mut session, args.run.feedback);
    setup::set_filler(&mut session, args.picture.filler)?;
    if let Some(send) = &mut session.send {
        send.fixed_rate = args.fixed_rate;
        send.give_up = args.give_up;
        send.fallback = true;
    }
    setup::require_arrivals(&session, &args.picture)?;
    let policy = setup::policy(&args.picture, &format);
    if let Some(path) = &args.sdp {
        setup::name_sources(&mut session);
        let description = setup::describe(&session, stream.codec, &format, peer, policy.deadline);
        fs::write(path, description.to_string())
            .map_err(|error| setup::cannot("write", path, &error))?;
    }
    let info = setup::page_info(Mode::Send, Some(&args.picture), Some(&format));
    let page = setup::page(&args.run, &info, setup::no_knobs)?;
    let process = CallProcess::start(CallProcessConfig {
        clock,
        stop: stop.clone(),
        session,
        socket,
        policy,
        stream,
        source: Some(setup::fixed_feed(&args.picture, source)),
        sink: None,
        captured: References::default(),
        originals: References::default(),
        sent_page: page.clone(),
        received_page: None,
    })?;
    let watch = Watch {
        clock,
        stop,
        page,
        outputs,
        run: &args.run,
        seed: args.picture.seed(),
        deadline: policy.deadline,
        receiver: Some(Receiver {
            address: peer,
            give_up: args.give_up,
        }),
    };
    Monitor::new(watch, vec![("send", process)], None).run()
}
