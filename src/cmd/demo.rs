//! `evenkeel demo`: a whole call on this machine, through an emulated link.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use evenkeel_codec::Codec;
use evenkeel_link::{DeliveryTrace, LinkConfig, Loss, QueueLimit, Schedule};
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::Rules;
use evenkeel_net::Clock;
use evenkeel_net::Socket;
use evenkeel_net::{Direction, LinkChange, Relay, RelayConfig, RelayGone, RelayHandle};
use evenkeel_rtp::session::FeedbackMode;
use tfrc::time::Duration;
use tfrc::units::{Rate, duration_from_secs};

use crate::call_process::{CallProcess, CallProcessConfig};
use crate::choices::Choices;
use crate::cli::DemoArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::link_rate;
use crate::monitor::{LinkView, Monitor, Watch};
use crate::outputs;
use crate::page::{Knobs, Mode, Page};
use crate::reference::References;
use crate::stop::Stop;
use crate::tcp::TcpFlows;
use crate::wiring::{self, Role};

pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let stop = Stop::on_interrupt().map_err(Failure::runtime)?;
    outputs::summarised(&args.run)?;
    let clock = Clock::start();
    let schedule = args.schedule.as_deref().map(wiring::schedule).transpose()?;
    let trace_link = args.trace_link.as_deref();
    let trace = trace_link.map(|file| {
        let given = format_args!("--trace-link {}", file.display());
        link_rate::read(given, file)
    });
    let trace = trace.transpose()?;
    if args.both {
        inputs::for_two(&args.picture)?;
    }
    let source = inputs::source(&args.picture, &args.run, &stop)?;
    // Before an end runs: one that is left behind would say no goodbye and finish no recording.
    let second = args
        .both
        .then(|| inputs::second_source(&args.picture, &args.run, &stop));
    let second = second.transpose()?;
    let format = source.format();
    let others = wiring::other_codecs(args.picture.codec(), &format);
    let stream = wiring::stream(args.picture.codec(), &others, &format)?;
    let choices = Arc::new(choices(args, &others));
    outputs::spare(
        &[
            inputs::source_file(&args.picture),
            ("--schedule", args.schedule.as_deref()),
            ("--trace-link", trace_link),
        ],
        outputs::run_files(&args.run)
            .into_iter()
            .chain([("--record", args.record.as_deref())]),
    )?;
    let sink = outputs::sink(args.record.as_deref(), stream.codec, format.frame_rate)?;
    let outputs = outputs::outputs(&args.run)?;

    let (socket_a, socket_b) = (loopback_socket()?, loopback_socket()?);
    let link = LinkConfig {
        rate: trace.as_ref().map_or(args.rate, DeliveryTrace::mean_rate),
        delay: args.rtt / 2,
        queue: args.queue.limit,
        discipline: args.queue.discipline,
        loss: bernoulli(args.loss),
        ..LinkConfig::default()
    };
    let reverse = LinkConfig {
        loss: if args.both { link.loss } else { Loss::None },
        ..link
    };
    let mut tcp = TcpFlows::new().map_err(Failure::runtime)?;
    tcp.set_flows(clock.now(), args.tcp);
    let (relay, events) = Relay::spawn_beside(
        tcp,
        clock,
        RelayConfig {
            bind_a: loopback(),
            bind_b: loopback(),
            sender: Some(socket_a.local_address()),
            receiver: socket_b.local_address(),
            forward: link,
            reverse,
            seed: args.picture.seed(),
        },
    )
    .map_err(Failure::runtime)?;
    let relay = Arc::new(relay);
    if let Some(trace) = trace {
        follow_trace(&relay, &trace, args.both).map_err(Failure::runtime)?;
    }
    if let Some(schedule) = schedule {
        start_schedule(&relay, &schedule, args.both).map_err(Failure::runtime)?;
    }

    let page = start_page(args, &format, Arc::clone(&relay), Arc::clone(&choices))?;
    let (from_a, from_b) = (References::default(), References::default());
    let both = args.both;
    let (role_a, role_b) = if both {
        (Role::Both, Role::Both)
    } else {
        (Role::Sends, Role::Receives)
    };
    let session = |name: &str, role, peer| {
        let mut session = wiring::session(
            name,
            role,
            stream.codec,
            Some(peer),
            args.picture.seed(),
            &clock,
        );
        wiring::accept(&mut session, &others);
        wiring::set_feedback(&mut session, args.run.feedback);
        for &filler in choices.fillers() {
            wiring::set_filler(&mut session, filler)?;
        }
        wiring::require_arrivals(&session, &args.picture)?;
        Ok::<_, Failure>(session)
    };
    let policy = wiring::policy(&args.picture, &format);
    let feed = |source| inputs::feed(&args.picture, source, Arc::clone(&choices));
    let a = CallProcess::start(CallProcessConfig {
        clock,
        stop: stop.clone(),
        session: session("a", role_a, relay.address_a())?,
        socket: socket_a,
        policy,
        stream: stream.clone(),
        source: Some(feed(source)),
        sink: both.then(outputs::no_sink),
        captured: from_a.clone(),
        originals: from_b.clone(),
        sent_page: page.clone(),
        received_page: None,
    })?;
    let b = CallProcess::start(CallProcessConfig {
        clock,
        stop: stop.clone(),
        session: session("b", role_b, relay.address_b())?,
        socket: socket_b,
        policy,
        stream,
        source: second.map(feed),
        sink: Some(sink),
        captured: from_b,
        originals: from_a,
        sent_page: None,
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
    Monitor::new(
        watch,
        vec![("a", a), ("b", b)],
        Some(LinkView {
            relay,
            events,
            choices,
        }),
    )
    .run()
}

fn loopback() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

fn loopback_socket() -> Result<Socket, Failure> {
    Socket::bind(loopback()).map_err(Failure::runtime)
}

fn bernoulli(share: f64) -> Loss {
    if share > 0.0 {
        Loss::Bernoulli(share)
    } else {
        Loss::None
    }
}

/// The delay of a schedule is one way, and holds for both directions; rate and loss are the media's,
/// so of both directions only if both carry media.
fn start_schedule(
    relay: &RelayHandle<TcpFlows>,
    schedule: &Schedule,
    both: bool,
) -> Result<(), RelayGone> {
    let back = if both {
        schedule.clone()
    } else {
        schedule.delays_only()
    };
    relay.change(Direction::Forward, LinkChange::Schedule(schedule.clone()))?;
    relay.change(Direction::Reverse, LinkChange::Schedule(back))
}

/// A trace is of the media's directions; where these are one, reports come back at its mean rate.
fn follow_trace(
    relay: &RelayHandle<TcpFlows>,
    trace: &DeliveryTrace,
    both: bool,
) -> Result<(), RelayGone> {
    let mut media = carrying_media(both).iter();
    media.try_for_each(|direction| relay.change(*direction, LinkChange::Trace(trace.clone())))
}

fn carrying_media(both: bool) -> &'static [Direction] {
    if both {
        &Direction::BOTH
    } else {
        &[Direction::Forward]
    }
}

/// What can be chosen while the call runs. Repair packets need their own source from the start, and room that
/// media leave them in each packet: only where there is a page to choose them on.
fn choices(args: &DemoArgs, others: &[Codec]) -> Choices {
    let choice = inputs::choice(&args.picture);
    let feedback = args.run.feedback.unwrap_or(wiring::CALL_FEEDBACK);
    let is_counted = feedback == FeedbackMode::Ccfb || feedback.counts_two_sources();
    let fillers = if !args.run.headless && is_counted {
        Filler::ALL.to_vec()
    } else {
        vec![choice.filler]
    };
    let codecs = Codec::ALL.into_iter();
    let codecs = codecs.filter(|codec| *codec == choice.codec || others.contains(codec));
    Choices::new(choice, codecs.collect(), fillers)
}

fn start_page(
    args: &DemoArgs,
    format: &evenkeel_codec::source::Format,
    relay: Arc<RelayHandle<TcpFlows>>,
    choices: Arc<Choices>,
) -> Result<Option<Arc<Page>>, Failure> {
    let mut info = outputs::page_info(Mode::Demo, Some(&args.picture), Some(format));
    info.choices = BTreeMap::from([
        (
            "codec",
            choices.codecs().iter().map(|codec| codec.name()).collect(),
        ),
        ("policy", Rules::ALL.map(Rules::name).to_vec()),
        (
            "filler",
            choices
                .fillers()
                .iter()
                .map(|filler| filler.name())
                .collect(),
        ),
    ]);
    let both = args.both;
    let controls = move |knobs: Knobs| {
        choices
            .check(&knobs)
            .map_err(|refused| refused.to_string())?;
        turn(&relay, &knobs, both).map_err(|gone| gone.to_string())?;
        choices.set(&knobs);
        Ok(())
    };
    outputs::page(&args.run, &info, controls)
}

/// The page's delay is the base round-trip time, as `--rtt` is: half of it each way.
fn turn(relay: &RelayHandle<TcpFlows>, knobs: &Knobs, both: bool) -> Result<(), RelayGone> {
    if let Some(delay) = knobs.delay_ms {
        let one_way = duration_from_secs(delay / 2e3);
        relay.change(Direction::Forward, LinkChange::Delay(one_way))?;
        relay.change(Direction::Reverse, LinkChange::Delay(one_way))?;
    }
    if let Some(flows) = knobs.tcp {
        relay.call(move |tcp, now| tcp.set_flows(now, flows))?;
    }
    for direction in carrying_media(both) {
        if let Some(rate) = knobs.rate_bps {
            relay.change(*direction, LinkChange::Rate(Rate::from_bits_per_sec(rate)))?;
        }
        if let Some(queue) = knobs.queue_ms {
            let time: Duration = duration_from_secs(queue / 1e3);
            relay.change(*direction, LinkChange::Queue(QueueLimit::Time(time)))?;
        }
        if let Some(loss) = knobs.loss_pct {
            relay.change(*direction, LinkChange::Loss(bernoulli(loss / 100.0)))?;
        }
    }
    Ok(())
}
