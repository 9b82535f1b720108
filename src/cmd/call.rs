//! `evenkeel call`: two people, each end sends and receives.

use evenkeel_net::Clock;

use crate::call_process::{CallProcess, CallProcessConfig};
use crate::cli::CallArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::monitor::{Monitor, Watch};
use crate::outputs;
use crate::page::Mode;
use crate::reference::References;
use crate::stop::Stop;
use crate::wiring::{self, Role};

pub(crate) fn run(args: &CallArgs) -> Result<(), Failure> {
    let stop = Stop::on_interrupt().map_err(Failure::runtime)?;
    outputs::summarised(&args.run)?;
    let clock = Clock::start();
    let peer = wiring::peer(&args.peer)?;
    let source = inputs::source(&args.picture, &args.run, &stop)?;
    outputs::spare(
        &[inputs::source_file(&args.picture)],
        outputs::run_files(&args.run),
    )?;
    let format = source.format();
    let stream = wiring::stream(args.picture.codec(), &[], &format)?;
    let outputs = outputs::outputs(&args.run)?;
    let socket = wiring::bind(args.bind, "--bind")?;
    // Both ends may be bound to 0.0.0.0:5004 and be given one seed: whom they call tells them apart,
    // or they would draw one SSRC and take each other for an echo (RFC 3550 §8.2).
    let name = format!("{}-{peer}", socket.local_address());
    let seed = wiring::network_seed(args.picture.seed);
    let mut session = wiring::session(&name, Role::Both, stream.codec, Some(peer), seed, &clock);
    wiring::set_feedback(&mut session, args.run.feedback);
    wiring::set_filler(&mut session, args.picture.filler)?;
    wiring::require_arrivals(&session, &args.picture)?;
    if let Some(send) = &mut session.send {
        send.give_up = args.give_up;
    }
    let policy = wiring::policy(&args.picture, &format);
    let info = outputs::page_info(Mode::Call, Some(&args.picture), Some(&format));
    let page = outputs::page(&args.run, &info, outputs::no_knobs)?;
    let process = CallProcess::start(CallProcessConfig {
        clock,
        stop: stop.clone(),
        session,
        socket,
        policy,
        stream,
        source: Some(inputs::fixed_feed(&args.picture, source)),
        sink: Some(outputs::no_sink()),
        captured: References::default(),
        originals: References::default(),
        sent_page: page.clone(),
        received_page: page.clone(),
    })?;
    let watch = Watch {
        clock,
        stop,
        page,
        outputs,
        run: &args.run,
        seed: args.picture.seed(),
        deadline: policy.deadline,
        receiver: None,
    };
    Monitor::new(watch, vec![("call", process)], None).run()
}
