//! Instructions that reports of arrivals take, bytes and all, counted by callgrind; fails over budget.
//!
//! `cargo bench -p evenkeel-rtp --bench instructions`; needs valgrind.

#[path = "../../tfrc/benches/cases/budgets.rs"]
mod budgets;
#[path = "../../tfrc/benches/cases/callgrind.rs"]
mod callgrind;
mod formats;
#[path = "../../tfrc/benches/cases/traffic.rs"]
mod traffic;

use std::hint::black_box;
use std::process::ExitCode;

use budgets::{Case, counted};
use evenkeel_rtp::endpoint::MAX_DATAGRAM;
use evenkeel_rtp::packet::rtcp::Packets;
use formats::{Ccfb, Format, Ring, Sack, Tracker, Twcc};
use tfrc::ReceiverConfig;
use tfrc::time::Instant;
use traffic::{IN_ORDER, LIGHT_PATH, SIZE, Traffic};

/// The budgets: little above what was counted. The targets are what a receiver and a sender may take without bytes
/// (`tfrc`, the same).
const CASES: [Case; 12] = [
    case(
        ("ccfb_receiver", "ccfb: packet noted and told twice"),
        RECEIVER,
        120.0,
        |steps| {
            receive_all::<Ccfb>(IN_ORDER, steps);
        },
    ),
    case(
        ("twcc_receiver", "twcc: the same"),
        RECEIVER,
        128.0,
        |steps| {
            receive_all::<Twcc>(IN_ORDER, steps);
        },
    ),
    case(
        ("sack_receiver", "sack: packet noted, told five times"),
        RECEIVER,
        53.0,
        |steps| {
            receive_all::<Sack>(IN_ORDER, steps);
        },
    ),
    case(
        ("ccfb_light_path", "ccfb: the same, 1 Mb/s, 100 ms"),
        RECEIVER,
        132.0,
        |steps| {
            receive_all::<Ccfb>(LIGHT_PATH, steps);
        },
    ),
    case(
        ("twcc_light_path", "twcc: the same, 1 Mb/s, 100 ms"),
        RECEIVER,
        151.0,
        |steps| {
            receive_all::<Twcc>(LIGHT_PATH, steps);
        },
    ),
    case(
        ("sack_light_path", "sack: the same, 1 Mb/s, 100 ms"),
        RECEIVER,
        86.0,
        |steps| {
            receive_all::<Sack>(LIGHT_PATH, steps);
        },
    ),
    case(
        ("ccfb_sender", "ccfb: packet sent, read of twice"),
        SENDER,
        137.0,
        |steps| {
            handle_reports_all::<Ccfb>(IN_ORDER, steps);
        },
    ),
    case(("twcc_sender", "twcc: the same"), SENDER, 150.0, |steps| {
        handle_reports_all::<Twcc>(IN_ORDER, steps);
    }),
    case(
        ("sack_sender", "sack: read of five times"),
        SENDER,
        140.0,
        |steps| {
            handle_reports_all::<Sack>(IN_ORDER, steps);
        },
    ),
    case(
        ("ccfb_flood", "ccfb: byte of what is told again and again"),
        NO_TARGET,
        3.0,
        |steps| {
            be_flooded::<Ccfb>(steps);
        },
    ),
    case(("twcc_flood", "twcc: the same"), NO_TARGET, 30.0, |steps| {
        be_flooded::<Twcc>(steps);
    }),
    case(
        ("sack_flood", "sack: the same"),
        NO_TARGET,
        303.0,
        |steps| {
            be_flooded::<Sack>(steps);
        },
    ),
];

/// What a packet may take at a receiver, and at a sender.
const RECEIVER: f64 = 25.0;
const SENDER: f64 = 150.0;
/// Of a flood what counts is that it is bounded.
const NO_TARGET: f64 = f64::INFINITY;

const fn case(
    (name, what): (&'static str, &'static str),
    target: f64,
    budget: f64,
    run: fn(u64),
) -> Case {
    Case {
        name,
        what,
        target,
        budget,
        run,
    }
}

fn ring<F: Format>() -> Box<F::Ring> {
    Box::new(F::Ring::of(F::LIMIT))
}

/// What a receiver does from a packet that comes to a report as it leaves.
fn receive_all<F: Format>(traffic: Traffic, steps: u64) {
    let (mut ring, mut buf) = (ring::<F>(), [0; formats::BUFFER]);
    for arrival in &traffic.arrivals(steps) {
        black_box(counted(&mut *ring, arrival, F::Ring::record));
        black_box(counted(&mut *ring, (arrival.at, &mut buf), F::report));
    }
}

/// What a sender does for a packet that it sends, and with a report as it comes.
fn handle_reports_all<F: Format>(traffic: Traffic, steps: u64) {
    let (mut ring, mut buf) = (ring::<F>(), [0; formats::BUFFER]);
    let mut tracker = Box::new(Tracker::new(0, ReceiverConfig::default()));
    let (start, mut seq) = (Instant::from_secs(1) - traffic.rtt / 2, 0);
    for arrival in &traffic.arrivals(steps) {
        ring.record(arrival);
        let len = F::report(&mut *ring, (arrival.at, &mut buf));
        let now = arrival.at + traffic.rtt / 2;
        while start + traffic.spacing * seq <= now {
            counted(
                &mut *tracker,
                start + traffic.spacing * seq,
                |tracker, at| {
                    tracker.handle_sent(at, SIZE, Some(traffic.rtt));
                },
            );
            seq += 1;
        }
        if len > 0 {
            black_box(counted(
                &mut *tracker,
                (now, &buf[..len]),
                ingest_datagram::<F>,
            ));
        }
    }
}

/// What a sender does with a byte of datagrams that are as long as they may be, and tell of all packets that are under
/// way, but for the first, what others told before.
fn be_flooded<F: Format>(steps: u64) {
    let mut tracker = Box::new(Tracker::new(0, ReceiverConfig::default()));
    for seq in 0..8_192u64 {
        tracker.handle_sent(Instant::from_micros(13 * seq), SIZE, None);
    }
    let datagram = F::worst(MAX_DATAGRAM);
    let now = Instant::from_secs(1);
    ingest_datagram::<F>(&mut tracker, (now, &datagram));
    for _ in 0..steps / datagram.len() as u64 {
        black_box(counted(
            &mut *tracker,
            (now, datagram.as_slice()),
            ingest_datagram::<F>,
        ));
    }
}

fn ingest_datagram<F: Format>(tracker: &mut Tracker, (now, datagram): (Instant, &[u8])) -> bool {
    let Ok(packets) = Packets::parse(datagram) else {
        return false;
    };
    for packet in packets.flatten() {
        F::ingest(tracker, now, &packet);
    }
    tracker.settle(now).is_some()
}

fn main() -> ExitCode {
    budgets::hold(&CASES)
}
