//! The yardstick of a paced sender in `tests/bench/perf.py`: what a wait and a send cost on this machine, and
//! how late they are, with no protocol at all. `cargo run --release -p evenkeel-net --example metronome --
//! 280 5` sends a packet of 1,400 bytes every 280 µs for five seconds over the loopback interface, to a socket
//! that nobody reads; with `spin` behind that it keeps the processor before each, with `wait` it sends nothing.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};

use evenkeel_net::{Clock, Driver, Lateness, Socket, processor_time};
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};

const SIZE: usize = 1_400;

/// A packet to one address, again and again.
struct Metronome {
    destination: SocketAddr,
    interval: Duration,
    next: Instant,
    sends: bool,
}

impl Endpoint for Metronome {
    fn handle_datagram(&mut self, _: Instant, _: Datagram<'_>) {}

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        if self.next > now {
            return None;
        }
        self.next += self.interval;
        if !self.sends {
            return None;
        }
        buf.get_mut(..SIZE)?.fill(0);
        Some(Transmit {
            destination: self.destination,
            len: SIZE,
            ecn: Ecn::NotEct,
        })
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        Some((self.next, Reason::Departure))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default| {
        arguments
            .get(index)
            .map_or(Ok(default), |text| text.parse())
    };
    let (interval, seconds) = (number(0, 280)?, number(1, 5)?);
    let is_asked = |what| arguments.iter().any(|word| word == what);
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let (sender, sink) = (Socket::bind(any_port)?, Socket::bind(any_port)?);
    let clock = Clock::start();
    let metronome = Metronome {
        destination: sink.local_address(),
        interval: Duration::from_micros(interval),
        next: clock.now(),
        sends: !is_asked("wait"),
    };
    let used = processor_time();
    let running = if is_asked("spin") {
        Driver::spawn_spinning(clock, sender, metronome)?
    } else {
        Driver::spawn(clock, sender, metronome)?
    };
    clock.sleep_until(clock.now() + Duration::from_secs(seconds));
    let share = processor_time().saturating_sub(used).as_secs_f64() / seconds as f64;
    let stats = running.stats()?;
    let micros = |times: &Lateness, q| times.quantile(q).as_nanos() as f64 / 1e3;
    println!(
        "{{\"packets\": {}, \"processor_percent\": {:.1}, \"late_p50_us\": {:.1}, \"late_p99_us\": {:.1}, \
         \"send_p50_us\": {:.1}, \"send_p99_us\": {:.1}}}",
        stats.sent.datagrams,
        share * 100.0,
        micros(&stats.departures, 0.5),
        micros(&stats.departures, 0.99),
        micros(&stats.send_times, 0.5),
        micros(&stats.send_times, 0.99)
    );
    Ok(())
}
