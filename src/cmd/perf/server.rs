//! `evenkeel perf server`.

use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;

use evenkeel_net::{Clock, processor_time};
use evenkeel_perf::{Limits, Server, ServerConfig, ServerEvent, ServerEventKind};
use tfrc::time::{Duration, Instant};

use super::intervals::Intervals;
use super::output::Output;
use super::spawn;
use crate::cli::PerfServerArgs;
use crate::failure::Failure;
use crate::setup;
use crate::stop::Stop;

/// How often events are looked for.
const POLL: Duration = Duration::from_millis(100);

pub(super) fn run(args: &PerfServerArgs) -> Result<(), Failure> {
    let stop = Stop::on_interrupt().map_err(Failure::runtime)?;
    let mut output = Output::open(args.output.logfile.as_deref())?;
    let clock = Clock::start();
    let address = SocketAddr::new(args.bind, args.output.port);
    // The system's entropy: the tokens are worth no more than this key.
    let drawn = RandomState::new();
    let server = Server::new(ServerConfig {
        limits: Limits {
            flows: args.max_flows,
            rate: args.max_rate,
            duration: args.max_time,
        },
        one_off: args.one_off,
        key: [drawn.hash_one(0), drawn.hash_one(1)],
        seed: setup::network_seed(None),
        wallclock: clock.ntp_of_zero(),
    });
    let handle = spawn::spawn(clock, address, server, &args.output)?;
    output.say(format_args!(
        "evenkeel perf server listening on {}",
        handle.local_address()
    ))?;
    let mut served = false;
    let (mut used, mut began) = (processor_time(), clock.now());
    let mut intervals = Intervals::new(args.output.interval);
    while !stop.is_asked() && (!served || !args.one_off) {
        clock.sleep_until(clock.now() + POLL);
        let is_due = intervals.is_due(clock.now());
        let (now, events, tests): (_, Vec<ServerEvent>, Option<Vec<_>>) = handle
            .call(move |server, now| {
                let server = &mut server.endpoint;
                let tests = is_due.then(|| {
                    let tests = server.tests();
                    let tests = tests.map(|(test, terms, count)| (test, terms.direction, count));
                    tests.collect()
                });
                let events = std::iter::from_fn(|| server.poll_event()).collect();
                (now, events, tests)
            })
            .map_err(Failure::runtime)?;
        for event in &events {
            if let ServerEventKind::Began { test, .. } = event.kind {
                intervals.begin(test, event.at);
            }
        }
        for line in tests.iter().flat_map(|tests| intervals.lines(now, tests)) {
            output.say(line)?;
        }
        for event in events {
            output.say(describe(&event))?;
            match event.kind {
                ServerEventKind::Began { .. } => (used, began) = (processor_time(), clock.now()),
                ServerEventKind::Ended { .. } => {
                    served = true;
                    let share = processor_time().saturating_sub(used).as_secs_f64()
                        / clock.now().saturating_since(began).as_secs_f64();
                    output.say(format_args!(
                        "          processor: {:.1} % of a core",
                        share * 100.0
                    ))?;
                }
                ServerEventKind::Refused(_)
                | ServerEventKind::Malformed(_)
                | ServerEventKind::LeftOut(_) => {}
            }
        }
    }
    let (server, captured) = spawn::stop(handle)?;
    match server.left_out() {
        0 => {}
        count => output.say(left_out(count))?,
    }
    captured
}

fn left_out(count: u64) -> String {
    format!("{count} more messages were refused or could not be read")
}

fn describe(event: &ServerEvent) -> String {
    let ServerEvent { at, client, kind } = event;
    let what = match kind {
        ServerEventKind::LeftOut(count) => {
            return format!("          {}", left_out(*count));
        }
        ServerEventKind::Began { test, terms } => format!(
            "test {test}: {} flows, {:?}, {:?}, {} s",
            terms.flows,
            terms.direction,
            terms.mode,
            terms.duration.as_secs_f64()
        ),
        ServerEventKind::Refused(refusal) => format!("refused: {refusal}"),
        ServerEventKind::Malformed(error) => format!("a message that cannot be read: {error}"),
        ServerEventKind::Ended {
            test,
            count,
            agreed,
        } => format!(
            "test {test}: {}; sent {} packets, received {}, lost {}",
            if *agreed {
                "done"
            } else {
                "the client has gone"
            },
            count.packets_sent,
            count.packets_received,
            count.packets_lost
        ),
    };
    format!(
        "{:9.3} {client} {what}",
        at.saturating_since(Instant::ZERO).as_secs_f64()
    )
}
