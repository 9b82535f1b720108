//! The yardstick of `tests/bench/perf.py`: how much this machine moves from one socket to another in full
//! system calls, with no protocol at all. `cargo run --release -p evenkeel-net --example blast -- 1400 5`
//! sends packets of 1,400 bytes for five seconds over the loopback interface.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use evenkeel_net::{Clock, Outgoing, ReceiveBatch, Socket};
use tfrc::Ecn;
use tfrc::time::Duration;

/// The most that one call sends.
const MOST: usize = 65_507;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse());
    let (size, seconds): (usize, usize) = (number(1_400)?, number(5)?);
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let (sender, receiver) = (Socket::bind(any_port)?, Socket::bind(any_port)?);
    let clock = Clock::start();
    let over = AtomicBool::new(false);
    let (sent, received) = thread::scope(|scope| {
        let counting = scope.spawn(|| count(&receiver, &clock, &over));
        let sent = blast(
            &sender,
            &receiver,
            &clock,
            size,
            Duration::from_secs(seconds as u64),
        );
        over.store(true, Ordering::Relaxed);
        (sent, counting.join().unwrap_or_default())
    });
    println!(
        "{{\"sent_bits_per_second\": {:.0}, \"received_bits_per_second\": {:.0}}}",
        sent as f64 * 8.0 / seconds as f64,
        received as f64 * 8.0 / seconds as f64
    );
    Ok(())
}

/// Bytes sent.
fn blast(from: &Socket, to: &Socket, clock: &Clock, size: usize, time: Duration) -> u64 {
    let packets = (MOST / size).clamp(1, from.max_segments());
    let contents = vec![0; packets * size];
    let outgoing = Outgoing {
        destination: to.local_address(),
        ecn: Ecn::NotEct,
        contents: &contents,
        segment: size,
    };
    let (end, mut sent) = (clock.now() + time, 0);
    while clock.now() < end {
        if from.send(&outgoing).is_ok() {
            sent += contents.len() as u64;
        }
    }
    sent
}

/// Bytes received until it is over.
fn count(socket: &Socket, clock: &Clock, over: &AtomicBool) -> u64 {
    let (mut batch, mut received) = (ReceiveBatch::new(), 0);
    while !over.load(Ordering::Relaxed) {
        match socket.receive(clock, &mut batch) {
            Ok(1..) => {
                received += batch
                    .datagrams()
                    .map(|datagram| datagram.payload.len() as u64)
                    .sum::<u64>();
            }
            _ => thread::yield_now(),
        }
    }
    received
}
