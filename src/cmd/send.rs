//! `evenkeel send`: one way, to `evenkeel recv` or to any RTP receiver.

use std::fs;

use evenkeel_net::Clock;

use crate::call_process::{CallProcess, CallProcessConfig};
use crate::cli::SendArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::monitor::{Monitor, Watch};
use crate::outputs;
use crate::page::Mode;
use crate::reference::References;
use crate::stop::Stop;
use crate::warning::Receiver;
use crate::wiring::{self, Role};

pub(crate) fn run(args: &SendArgs) -> Result<(), Failure> {
    let stop = Stop::on_interrupt().map_err(Failure::runtime)?;
    outputs::summarised(&args.run)?;
    let clock = Clock::start();
    let peer = wiring::peer(&args.dest)?;
    let source = inputs::source(&args.picture, &args.run, &stop)?;
    outputs::spare(
        &[inputs::source_file(&args.picture)],
        outputs::run_files(&args.run)
            .into_iter()
            .chain([("--sdp", args.sdp.as_deref())]),
    )?;
    let format = source.format();
    let stream = wiring::stream(args.picture.codec(), &[], &format)?;
    let outputs = outputs::outputs(&args.run)?;
    let bind = args.bind.unwrap_or_else(|| wiring::any_port_towards(peer));
    let socket = wiring::bind(bind, "--bind")?;

    let seed = wiring::network_seed(args.picture.seed);
    let mut session = wiring::session("send", Role::Sends, stream.codec, Some(peer), seed, &clock);
    wiring::set_feedback(&mut session, args.run.feedback);
    wiring::set_filler(&mut session, args.picture.filler)?;
    if let Some(send) = &mut session.send {
        send.fixed_rate = args.fixed_rate;
        send.give_up = args.give_up;
        send.fallback = true;
    }
    wiring::require_arrivals(&session, &args.picture)?;
    let policy = wiring::policy(&args.picture, &format);
    if let Some(path) = &args.sdp {
        wiring::name_sources(&mut session);
        let description = wiring::describe(&session, stream.codec, &format, peer, policy.deadline);
        fs::write(path, description.to_string())
            .map_err(|error| outputs::cannot("write", path, &error))?;
    }
    let info = outputs::page_info(Mode::Send, Some(&args.picture), Some(&format));
    let page = outputs::page(&args.run, &info, outputs::no_knobs)?;
    let process = CallProcess::start(CallProcessConfig {
        clock,
        stop: stop.clone(),
        session,
        socket,
        policy,
        stream,
        source: Some(inputs::fixed_feed(&args.picture, source)),
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
