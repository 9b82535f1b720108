//! `evenkeel demo`: a whole call on this machine, through an emulated link.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use evenkeel_codec::Codec;
use evenkeel_codec::source::Format;
use evenkeel_link::{DeliveryTrace, LinkConfig, Loss, QueueLimit};
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::Rules;
use evenkeel_net::{
    Clock, Direction, LinkChange, LinkEvent, Relay, RelayConfig, RelayGone, RelayHandle, Socket,
};
use evenkeel_rtp::session::FeedbackMode;
use tfrc::units::{Rate, duration_from_secs};

use crate::choices::Choices;
use crate::cli::{DemoArgs, PictureArgs};
use crate::emulated_link;
use crate::failure::Failure;
use crate::inputs::{self, Pictures};
use crate::outputs::{self, Outputs};
use crate::page::{Controls, Knobs, Mode, PageInfo};
use crate::run::{CallProcessConfig, CallRun, DatagramFilter, LinkView};
use crate::tcp::TcpFlows;
use crate::wiring::{self, Role};

pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let mut run = CallRun::start(&args.run)?;
    let schedule = args
        .schedule
        .as_deref()
        .map(emulated_link::schedule)
        .transpose()?;
    let trace_link = args.trace_link.as_deref();
    let trace = trace_link.map(|file| {
        let given = format_args!("--trace-link {}", file.display());
        emulated_link::read(given, file)
    });
    let trace = trace.transpose()?;
    let (picture, both) = (&args.picture, args.both);
    if both {
        inputs::for_two(picture)?;
    }
    let source = inputs::source(picture, &args.run, &run.stop)?;
    // The source opens before an end runs: an abandoned end would send no BYE and leave its recording unfinished.
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
    let sink = outputs::sink(
        args.record.as_deref(),
        stream.codec,
        Some(format.frame_rate),
    )?;
    let outputs = Outputs::open(&args.run, args.record.as_deref())?;

    let sockets = [loopback_socket()?, loopback_socket()?];
    let rate = trace.as_ref().map_or(args.rate, DeliveryTrace::mean_rate);
    let (relay, events) = start_relay(args, rate, &run.clock, &sockets)?;
    let traced = trace.map(|trace| emulated_link::follow_trace(&trace, carrying_media(both)));
    let scheduled = schedule.map(|schedule| emulated_link::follow_schedule(schedule, both));
    for changes in traced.into_iter().chain(scheduled) {
        relay.change_all(changes).map_err(Failure::runtime)?;
    }

    let info = page_info(picture, &format, &choices);
    run.controls = Some(controls(Arc::clone(&relay), Arc::clone(&choices), both));
    let policy = wiring::policy(picture, &format);
    let [socket_a, socket_b] = sockets;
    let end = |name, role, socket, peer, source: Option<Pictures>, sink| {
        let (codec, seed) = (stream.codec, picture.seed());
        let mut session = wiring::session(name, role, codec, Some(peer), seed, &run.clock);
        wiring::accept(&mut session, &others);
        if let Some(send) = &mut session.send {
            send.leave_out_sequence_numbers = true;
        }
        wiring::set_options(&mut session, &args.run, picture, choices.fillers())?;
        Ok::<_, Failure>(CallProcessConfig {
            name,
            socket,
            encrypted: None,
            filter: DatagramFilter::default(),
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
    let forward = emulated_link::config(rate, args.rtt / 2, args.queue, args.loss);
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

/// Returns the directions of media, to which a trace applies; without media the way back has the mean rate of the
/// trace.
fn carrying_media(both: bool) -> &'static [Direction] {
    if both {
        &Direction::BOTH
    } else {
        &[Direction::Forward]
    }
}

/// Returns the choices while the call runs. Repair packets need their own source from the start, and room in each
/// media packet, so they are a choice only if there is a page.
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
    // The thesis's rules follow every loss.
    let policies = if args.picture.random_loss {
        vec![Rules::Evenkeel]
    } else {
        Rules::ALL.to_vec()
    };
    Choices::new(choice, codecs.collect(), policies, fillers)
}

fn page_info(picture: &PictureArgs, format: &Format, choices: &Choices) -> PageInfo {
    let codecs = choices.codecs().iter().map(|codec| codec.name());
    let policies = choices.policies().iter().map(|policy| policy.name());
    let fillers = choices.fillers().iter().map(|filler| filler.name());
    PageInfo {
        choices: BTreeMap::from([
            ("codec", codecs.collect()),
            ("policy", policies.collect()),
            ("filler", fillers.collect()),
        ]),
        ..outputs::page_info(Mode::Demo, Some(picture), Some(format))
    }
}

/// Returns the function that applies changes by a viewer of the page.
fn controls(relay: Arc<RelayHandle<TcpFlows>>, choices: Arc<Choices>, both: bool) -> Controls {
    Box::new(move |knobs| {
        choices
            .check(&knobs)
            .map_err(|refused| refused.to_string())?;
        apply_knobs(&relay, &knobs, both).map_err(|gone| gone.to_string())?;
        choices.set(&knobs);
        Ok(())
    })
}

/// Applies knobs to the link. The page's delay is the base round-trip time, as `--rtt` is: half of it each way.
fn apply_knobs(relay: &RelayHandle<TcpFlows>, knobs: &Knobs, both: bool) -> Result<(), RelayGone> {
    if let Some(flows) = knobs.tcp {
        relay.call(move |tcp, now| tcp.set_flows(now, flows))?;
    }
    let time = |ms: f64| duration_from_secs(ms / 1e3);
    let delay = knobs.delay_ms.map(|ms| LinkChange::Delay(time(ms / 2.0)));
    let queue = |ms| LinkChange::Queue(QueueLimit::Time(time(ms)));
    let loss = |percent| LinkChange::Loss(emulated_link::random_loss(percent / 100.0));
    let of_media = [
        knobs
            .rate_bps
            .map(Rate::from_bits_per_sec)
            .map(LinkChange::Rate),
        knobs.queue_ms.map(queue),
        knobs.loss_pct.map(loss),
    ];
    let of = |ways: &'static [Direction], change: LinkChange| {
        ways.iter().map(move |way| (*way, change.clone()))
    };
    let delays = delay.into_iter().flat_map(|it| of(&Direction::BOTH, it));
    let media = of_media.into_iter().flatten();
    let media = media.flat_map(|it| of(carrying_media(both), it));
    relay.change_all(delays.chain(media).collect())
}
