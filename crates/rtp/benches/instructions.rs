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
use evenkeel_rtp::rtcp::Packets;
use evenkeel_rtp::session::MAX_DATAGRAM;
use formats::{Ccfb, Format, Sack, Told, Twcc};
use tfrc::ReceiverConfig;
use tfrc::time::Instant;
use traffic::{IN_ORDER, LIGHT_PATH, SIZE, Traffic};

/// The budgets: little above what was counted. The targets are what a receiver and a sender may take without bytes
/// (`tfrc`, the same).
const CASES: [Case; 12] = [
    receiver(
        "ccfb_receiver",
        "ccfb: packet noted and told twice",
        120.0,
        |steps| {
            receive_all::<Ccfb>(IN_ORDER, steps);
        },
    ),
    receiver("twcc_receiver", "twcc: the same", 128.0, |steps| {
        receive_all::<Twcc>(IN_ORDER, steps);
    }),
    receiver("sack_receiver", "sack: the same", 67.0, |steps| {
        receive_all::<Sack>(IN_ORDER, steps);
    }),
    receiver(
        "ccfb_light_path",
        "ccfb: the same, 1 Mb/s, 100 ms",
        132.0,
        |steps| {
            receive_all::<Ccfb>(LIGHT_PATH, steps);
        },
    ),
    receiver(
        "twcc_light_path",
        "twcc: the same, 1 Mb/s, 100 ms",
        151.0,
        |steps| {
            receive_all::<Twcc>(LIGHT_PATH, steps);
        },
    ),
    receiver(
        "sack_light_path",
        "sack: the same, 1 Mb/s, 100 ms",
        96.0,
        |steps| {
            receive_all::<Sack>(LIGHT_PATH, steps);
        },
    ),
    sender(
        "ccfb_sender",
        "ccfb: packet sent, read of twice",
        138.0,
        |steps| {
            be_told_all::<Ccfb>(IN_ORDER, steps);
        },
    ),
    sender("twcc_sender", "twcc: the same", 281.0, |steps| {
        be_told_all::<Twcc>(IN_ORDER, steps);
    }),
    sender("sack_sender", "sack: the same", 206.0, |steps| {
        be_told_all::<Sack>(IN_ORDER, steps);
    }),
    flood(
        "ccfb_flood",
        "ccfb: byte of what is told again and again",
        3.0,
        |steps| {
            be_flooded::<Ccfb>(steps);
        },
    ),
    flood("twcc_flood", "twcc: the same", 33.0, |steps| {
        be_flooded::<Twcc>(steps);
    }),
    flood("sack_flood", "sack: the same", 380.0, |steps| {
        be_flooded::<Sack>(steps);
    }),
];

const fn receiver(name: &'static str, what: &'static str, budget: f64, run: fn(u64)) -> Case {
    Case {
        name,
        what,
        target: 25.0,
        budget,
        run,
    }
}

const fn sender(name: &'static str, what: &'static str, budget: f64, run: fn(u64)) -> Case {
    Case {
        name,
        what,
        target: 150.0,
        budget,
        run,
    }
}

/// No target: what counts is that it is bounded.
const fn flood(name: &'static str, what: &'static str, budget: f64, run: fn(u64)) -> Case {
    Case {
        name,
        what,
        target: budget,
        budget,
        run,
    }
}

/// What a receiver does from a packet that comes to a report as it leaves.
fn receive_all<F: Format>(traffic: Traffic, steps: u64) {
    let (mut ring, mut buf) = (F::ring(), [0; formats::BUFFER]);
    for arrival in &traffic.arrivals(steps) {
        black_box(counted(&mut *ring, arrival, F::record));
        black_box(counted(&mut *ring, (arrival.at, &mut buf), F::report));
    }
}

/// What a sender does for a packet that it sends, and with a report as it comes.
fn be_told_all<F: Format>(traffic: Traffic, steps: u64) {
    let (mut ring, mut buf) = (F::ring(), [0; formats::BUFFER]);
    let mut told = Box::new(Told::new(0, ReceiverConfig::default()));
    let (start, mut seq) = (Instant::from_secs(1) - traffic.rtt / 2, 0);
    for arrival in &traffic.arrivals(steps) {
        F::record(&mut *ring, arrival);
        let len = F::report(&mut *ring, (arrival.at, &mut buf));
        let now = arrival.at + traffic.rtt / 2;
        while start + traffic.spacing * seq <= now {
            counted(&mut *told, start + traffic.spacing * seq, |told, at| {
                told.handle_sent(at, SIZE, Some(traffic.rtt));
            });
            seq += 1;
        }
        if len > 0 {
            black_box(counted(&mut *told, (now, &buf[..len]), be_told::<F>));
        }
    }
}

/// What a sender does with a byte of datagrams that are as long as they may be, and tell of all packets that are under
/// way, but for the first, what others told before.
fn be_flooded<F: Format>(steps: u64) {
    let mut told = Box::new(Told::new(0, ReceiverConfig::default()));
    for seq in 0..8_192u64 {
        told.handle_sent(Instant::from_micros(13 * seq), SIZE, None);
    }
    let datagram = F::worst(MAX_DATAGRAM);
    let now = Instant::from_secs(1);
    be_told::<F>(&mut told, (now, &datagram));
    for _ in 0..steps / datagram.len() as u64 {
        black_box(counted(
            &mut *told,
            (now, datagram.as_slice()),
            be_told::<F>,
        ));
    }
}

fn be_told<F: Format>(told: &mut Told, (now, datagram): (Instant, &[u8])) -> bool {
    let Ok(packets) = Packets::parse(datagram) else {
        return false;
    };
    for packet in packets.flatten() {
        F::note(told, now, &packet);
    }
    told.conclude(now).is_some()
}

fn main() -> ExitCode {
    budgets::hold(&CASES)
}
