//! What loss costs: packets pass a receiver, some are lost, and the equation tells how fast one may send.
//! Losses within a round trip are *one* loss event, so a burst costs no more than a single packet.
//!
//! `cargo run -p tfrc --example 01_loss_to_rate`

use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::Bytes;
use tfrc::{Arrival, Ecn, Receiver, ReceiverConfig, equation};

const SIZE: Bytes = Bytes::new(1_460);
const RTT: Duration = Duration::from_millis(50);
/// Between two packets: 11.7 Mb/s, fifty packets a round trip.
const SPACING: Duration = Duration::from_millis(1);

fn main() {
    println!("100,000 packets of {SIZE}, a round trip of {RTT:?}\n");
    println!("lost                      packets  loss events         p   allowed rate");
    show("1 in 10,000", |n| n % 10_000 == 9_999);
    show("1 in 1,000", |n| n % 1_000 == 999);
    show("1 in 100", |n| n % 100 == 99);
    show("4 in a row in 400", |n| n % 400 >= 396);
    show("40 in a row in 4,000", |n| n % 4_000 >= 3_960);
    show("1 in 10", |n| n % 10 == 9);
}

/// Sends the packets past `is_lost` to a receiver, and prints what it makes of them.
fn show(name: &str, is_lost: impl Fn(u64) -> bool) {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    for seq in (0..100_000).filter(|&seq| !is_lost(seq)) {
        let at = Instant::ZERO + SPACING * seq as u32;
        receiver.handle_data(&Arrival {
            seq,
            at,
            timestamp: at.as_micros() as u32,
            rtt: Some(RTT),
            size: SIZE,
            ecn: Ecn::NotEct,
        });
        // What it reports goes to the sender; here its counters are enough.
        receiver.poll_report(at);
    }
    let (lost, events) = (receiver.counters().lost, receiver.counters().loss_events);
    let p = receiver.loss_event_rate();
    let rate = equation::rate(SIZE, RTT, p);
    println!("{name:24} {lost:8} {events:12}  {:8.5}   {rate}", p.get());
}
