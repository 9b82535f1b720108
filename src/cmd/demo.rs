//! `evenkeel demo`: a whole call on this machine, through an emulated link.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use evenkeel_codec::Codec;
use evenkeel_codec::source::Format;
use evenkeel_link::{DeliveryTrace, LinkConfig, Loss, QueueLimit, Schedule};
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::Rules;
use evenkeel_net::{
    Clock, Direction, LinkChange, LinkEvent, Relay, RelayConfig, RelayGone, RelayHandle, Socket,
};
use evenkeel_rtp::session::FeedbackMode;
use tfrc::time::Duration;
use tfrc::units::{Rate, duration_from_secs};

use crate::choices::Choices;
use crate::cli::{DemoArgs, PictureArgs};
use crate::failure::Failure;
use crate::inputs::{self, Pictures};
use crate::link_rate;
use crate::outputs::{self, Outputs};
use crate::page::{Controls, Knobs, Mode, PageInfo};
use crate::run::{CallProcessConfig, LinkView, Run};
use crate::tcp::TcpFlows;
use crate::wiring::{self, Role};

pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let mut run = Run::start(&args.run)?;
    let schedule = args.schedule.as_deref().map(wiring::schedule).transpose()?;
    let trace_link = args.trace_link.as_deref();
    let trace = trace_link.map(|file| {
        let given = format_args!("--trace-link {}", file.display());
        link_rate::read(given, file)
    });
    let trace = trace.transpose()?;
    let (picture, both) = (&args.picture, args.both);
    if both {
        inputs::for_two(picture)?;
    }
    let source = inputs::source(picture, &args.run, &run.stop)?;
    // Before an end runs: one that is left behind would say no goodbye and finish no recording.
    let second = both.then(|| inputs::second_source(picture, &args.run, &run.stop));
    let second = second.transpose()?;
    let format = source.format();
    let others = wiring::other_codecs(picture.codec(), &format);
    let stream = wiring::stream(picture.codec(), &others, &format)?;
    let choices = Arc::new(choices(args, &others));
    run.spare(
        &[
            inputs::source_file(picture),
            ("--schedule", args.schedule.as_deref()),
            ("--trace-link", trace_link),
        ],
        &[("--record", args.record.as_deref())],
    )?;
    let sink = outputs::sink(args.record.as_deref(), stream.codec, format.frame_rate)?;
    let outputs = Outputs::open(&args.run)?;

    let sockets = [loopback_socket()?, loopback_socket()?];
    let rate = trace.as_ref().map_or(args.rate, DeliveryTrace::mean_rate);
    let (relay, events) = start_relay(args, rate, &run.clock, &sockets)?;
    if let Some(trace) = trace {
        follow_trace(&relay, &trace, both).map_err(Failure::runtime)?;
    }
    if let Some(schedule) = schedule {
        start_schedule(&relay, &schedule, both).map_err(Failure::runtime)?;
    }

    let info = page_info(picture, &format, &choices);
    run.controls = Some(controls(Arc::clone(&relay), Arc::clone(&choices), both));
    let policy = wiring::policy(picture, &format);
    let [socket_a, socket_b] = sockets;
    let end = |name, role, socket, peer, source: Option<Pictures>, sink| {
        let (codec, seed) = (stream.codec, picture.seed());
        let mut session = wiring::session(name, role, codec, Some(peer), seed, &run.clock);
        wiring::accept(&mut session, &others);
        wiring::set_options(&mut session, &args.run, picture, choices.fillers())?;
        Ok::<_, Failure>(CallProcessConfig {
            name,
            socket,
            session,
            policy,
            stream: stream.clone(),
            source: source.map(|source| inputs::feed(picture, source, Arc::clone(&choices))),
            sink,
        })
    };
    let (sends, receives) = match both {
        true => (Role::Both, Role::Both),
        false => (Role::Sends, Role::Receives),
    };
    let back = both.then(outputs::no_sink);
    let ends = vec![
        end("a", sends, socket_a, relay.address_a(), Some(source), back)?,
        end(
            "b",
            receives,
            socket_b,
            relay.address_b(),
            second,
            Some(sink),
        )?,
    ];
    run.link = Some(LinkView {
        relay,
        events,
        choices,
    });
    run.watch(outputs, &info, picture.seed(), ends)
}

/// Starts the emulated link between two sockets, with TCP flows beside the call.
fn start_relay(
    args: &DemoArgs,
    rate: Rate,
    clock: &Clock,
    [a, b]: &[Socket; 2],
) -> Result<(Arc<RelayHandle<TcpFlows>>, Receiver<LinkEvent>), Failure> {
    let forward = LinkConfig {
        rate,
        delay: args.rtt / 2,
        queue: args.queue.limit,
        discipline: args.queue.discipline,
        loss: bernoulli(args.loss),
        ..LinkConfig::default()
    };
    let reverse = LinkConfig {
        loss: if args.both { forward.loss } else { Loss::None },
        ..forward
    };
    let mut tcp = TcpFlows::new().map_err(Failure::runtime)?;
    tcp.set_flows(clock.now(), args.tcp);
    let config = RelayConfig {
        bind_a: loopback(),
        bind_b: loopback(),
        sender: Some(a.local_address()),
        receiver: b.local_address(),
        forward,
        reverse,
        seed: args.picture.seed(),
    };
    let (relay, events) = Relay::spawn_beside(tcp, *clock, config).map_err(Failure::runtime)?;
    Ok((Arc::new(relay), events))
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

fn page_info(picture: &PictureArgs, format: &Format, choices: &Choices) -> PageInfo {
    let codecs = choices.codecs().iter().map(|codec| codec.name());
    let fillers = choices.fillers().iter().map(|filler| filler.name());
    PageInfo {
        choices: BTreeMap::from([
            ("codec", codecs.collect()),
            ("policy", Rules::ALL.map(Rules::name).to_vec()),
            ("filler", fillers.collect()),
        ]),
        ..outputs::page_info(Mode::Demo, Some(picture), Some(format))
    }
}

/// Applies what a viewer of the page changes.
fn controls(relay: Arc<RelayHandle<TcpFlows>>, choices: Arc<Choices>, both: bool) -> Controls {
    Box::new(move |knobs| {
        choices
            .check(&knobs)
            .map_err(|refused| refused.to_string())?;
        turn(&relay, &knobs, both).map_err(|gone| gone.to_string())?;
        choices.set(&knobs);
        Ok(())
    })
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
