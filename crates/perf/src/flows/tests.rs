//! A flow of short round trips keeps its rate beside a flow of long ones.

use std::net::SocketAddr;

use evenkeel_link::{Link, LinkConfig, QueueLimit};
use evenkeel_rtp::ntp::NtpTime;
use tfrc::Ecn;
use tfrc::units::{Bytes, Rate};

use super::*;
use crate::terms::tests::terms;
use crate::terms::{Direction, Mode};

#[derive(Clone)]
struct Packet(Vec<u8>);

impl evenkeel_link::Packet for Packet {
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
}

fn party(peer: SocketAddr) -> Party {
    Party {
        peer,
        seed: 3,
        wallclock: NtpTime::default(),
    }
}

fn address(name: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], name))
}

/// Lets `from` act, and what it has for `peer` leave over `link`. What others get is lost.
fn act(now: Instant, from: &mut Flows, peer: SocketAddr, link: &mut Link<Packet>) {
    let mut buf = [0; 2_000];
    from.handle_timeout(now);
    while let Some(transmit) = from.poll_transmit(now, &mut buf) {
        if transmit.destination == peer {
            let packet = Packet(buf[..transmit.len].to_vec());
            link.handle_packet(now, packet, Bytes::from(transmit.len));
        }
    }
}

fn deliver(now: Instant, link: &mut Link<Packet>, source: SocketAddr, to: &mut Flows) {
    while let Some(packet) = link.poll_output(now) {
        let datagram = Datagram {
            source,
            arrival: now,
            ecn: Ecn::NotEct,
            payload: &packet.0,
        };
        to.handle_datagram(now, datagram);
    }
}

/// What was not sent within a round trip is forfeited (RFC 5348 §4.6): 3 % of the rate, if a flow waits out the
/// 5 ms after a burst that it had no part in.
#[test]
fn a_short_round_trip_costs_no_rate_beside_a_long_one() {
    let (near, far, server) = (address(1), address(2), address(3));
    let tfrc = Terms {
        direction: Direction::Reverse,
        rate: None,
        burst: Duration::from_millis(10),
        ..terms()
    };
    let steady = Terms {
        mode: Mode::Fixed,
        rate: Some(Rate::from_bits_per_sec(10e6)),
        ..tfrc.clone()
    };
    let mut sender = Flows::new(false);
    sender.set_gather(tfrc.gather());
    sender.begin(Instant::ZERO, (1, End::Server), &tfrc, party(near));
    sender.begin(Instant::ZERO, (2, End::Server), &steady, party(far));
    let mut receiver = Flows::new(false);
    receiver.begin(Instant::ZERO, (1, End::Client), &tfrc, party(server));
    let link = LinkConfig {
        rate: Rate::from_bits_per_sec(100e6),
        delay: Duration::from_micros(20),
        queue: QueueLimit::Time(Duration::from_micros(500)),
        ..LinkConfig::default()
    };
    let mut links = [Link::new(link, 5), Link::new(link, 6)];
    let (mut now, end) = (Instant::ZERO, Instant::ZERO + Duration::from_millis(500));
    while now < end {
        let [there, back] = &mut links;
        deliver(now, there, server, &mut receiver);
        deliver(now, back, near, &mut sender);
        act(now, &mut sender, near, there);
        act(now, &mut receiver, server, back);
        let timers = [sender.poll_timeout(), receiver.poll_timeout()];
        let timers = timers.into_iter().flatten().map(|(at, _)| at);
        let next = timers.chain(links.iter().filter_map(Link::poll_timeout));
        now = next.min().map_or(end, |at| at.max(now));
    }
    let state = receiver.state(FlowName { test: 1, flow: 0 });
    let bytes = state.map_or(0, |state| state.count.bytes_received);
    let rate = bytes as f64 * 8.0 / 0.5;
    assert!(rate > 98e6, "{rate}");
}
