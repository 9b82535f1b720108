//! `evenkeel call`: two people, each end sends and receives.

use evenkeel_net::Clock;

use crate::call_process::{CallProcess, CallProcessConfig};
use crate::cli::CallArgs;
use crate::failure::Failure;
use crate::monitor::{Monitor, Watch};
use crate::page::Mode;
use crate::reference::References;
use crate::setup::{self, Role};
use crate::stop::Stop;

pub(crate) fn run(args: &CallArgs) -> Result<(), Failure> {
    let stop = Stop::on_interrupt().map_err(Failure::runtime)?;
    setup::summarised(&args.run)?;
    let clock = Clock::start();
    let peer = setup::peer(&args.peer)?;
    let source = setup::source(&args.picture, &args.run, &stop)?;
    setup::spare(
        &[setup::source_file(&args.picture)],
        setup::run_files(&args.run),
    )?;
    let format = source.format();
    let stream = setup::stream(args.picture.codec(), &[], &format)?;
    let outputs = setup::outputs(&args.run)?;
    let socket = setup::bind(args.bind, "--bind")?;
    // Both ends may be bound to 0.0.0.0:5004 and be given one seed: whom they call tells them apart,
    // or they would draw one SSRC and take each other for an echo (RFC 3550 §8.2).
    let name = format!("{}-{peer}", socket.local_address());
    let seed = setup::network_seed(args.picture.seed);
    let mut session = setup::session(&name, Role::Both, stream.codec, Some(peer), seed, &clock);
    setup::set_feedback(&mut session, args.run.feedback);
    setup::set_filler(&mut session, args.picture.filler)?;
    setup::require_arrivals(&session, &args.picture)?;
    if let Some(send) = &mut session.send {
        send.give_up = args.give_up;
    }
    let policy = setup::policy(&args.picture, &format);
    let info = setup::page_info(Mode::Call, Some(&args.picture), Some(&format));
    let page = setup::page(&args.run, &info, setup::no_knobs)?;
    let process = CallProcess::start(CallProcessConfig {
        clock,
        stop: stop.clone(),
        session,
        socket,
        policy,
        stream,
        source: Some(setup::fixed_feed(&args.picture, source)),
        sink: Some(setup::no_sink()),
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
