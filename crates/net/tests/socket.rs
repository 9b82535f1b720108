//! Real datagrams over the loopback interface. Nothing here asserts how long anything takes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_net::{BindError, Clock, Outgoing, ReceiveBatch, Socket};
use std::net::SocketAddr;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};

/// How long a test waits for a datagram that is on its way before it fails.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq)]
struct Datagram {
    source: SocketAddr,
    arrival: Instant,
    ecn: Ecn,
    payload: Vec<u8>,
}

fn bind(address: &str) -> Socket {
    Socket::bind(address.parse().unwrap()).unwrap()
}

fn receive(clock: &Clock, socket: &Socket, count: usize) -> Vec<Datagram> {
    let mut batch = ReceiveBatch::new();
    let mut received = Vec::new();
    let deadline = clock.now() + PATIENCE;
    while received.len() < count {
        assert!(clock.now() < deadline, "only {} came", received.len());
        socket.receive(clock, &mut batch).unwrap();
        received.extend(batch.datagrams().map(|datagram| Datagram {
            source: datagram.source,
            arrival: datagram.arrival,
            ecn: datagram.ecn,
            payload: datagram.payload.to_vec(),
        }));
        clock.sleep_until(clock.now() + Duration::from_millis(1));
    }
    received
}

fn hello(destination: SocketAddr) -> Outgoing<'static> {
    Outgoing {
        destination,
        ecn: Ecn::NotEct,
        contents: b"hello",
        segment: 5,
    }
}

fn every_mark_survives(sender: &Socket, receiver: &Socket, destination: SocketAddr) {
    let clock = Clock::start();
    let marks = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    for ecn in marks {
        for segments in [1, 3] {
            // The last segment is shorter.
            let contents: Vec<u8> = (0..segments * 1_000 - 1)
                .map(|i| (i / 1_000) as u8)
                .collect();
            let outgoing = Outgoing {
                destination,
                ecn,
                contents: &contents,
                segment: 1_000,
            };
            sender.send(&outgoing).unwrap();
            let received = receive(&clock, receiver, segments);
            let payloads: Vec<&[u8]> = received.iter().map(|d| d.payload.as_slice()).collect();
            assert_eq!(payloads, contents.chunks(1_000).collect::<Vec<_>>());
            for datagram in received {
                assert_eq!(datagram.ecn, ecn, "of {segments} segments");
                assert_eq!(datagram.source.port(), sender.local_address().port());
                assert_eq!(datagram.source.is_ipv4(), destination.is_ipv4());
                assert!(datagram.arrival <= clock.now());
            }
        }
    }
}

#[test]
fn ecn_and_segments_survive_over_ipv4() {
    let (sender, receiver) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    every_mark_survives(&sender, &receiver, receiver.local_address());
}

#[test]
fn ecn_and_segments_survive_over_ipv6() {
    let Ok(sender) = Socket::bind("[::1]:0".parse().unwrap()) else {
        return; // This machine has no IPv6.
    };
    let receiver = bind("[::1]:0");
    every_mark_survives(&sender, &receiver, receiver.local_address());
}

#[test]
fn an_unspecified_ipv6_address_speaks_ipv4_too() {
    // Without IPv6 in this machine it speaks IPv4 alone.
    let dual = bind("[::]:0");
    let four = bind("127.0.0.1:0");
    let dual_port = dual.local_address().port();
    every_mark_survives(&four, &dual, SocketAddr::from(([127, 0, 0, 1], dual_port)));
    every_mark_survives(&dual, &four, four.local_address());
}

#[test]
fn both_receivers_of_a_group_hear_it() {
    let Ok(first) = Socket::bind("239.255.76.67:0".parse().unwrap()) else {
        return; // No interface of this machine leads to groups.
    };
    let address = first.local_address();
    let second = Socket::bind(address).unwrap();
    let sender = bind("0.0.0.0:0");
    sender.set_multicast(address, 0).unwrap();
    let clock = Clock::start();
    sender.send(&hello(address)).unwrap();
    for receiver in [&first, &second] {
        let heard = receive(&clock, receiver, 1);
        assert_eq!(heard[0].payload, b"hello");
        assert_eq!(heard[0].source.port(), sender.local_address().port());
    }
}

#[test]
fn group_of_one_source_is_silent_for_others() {
    let group = SocketAddr::from(([232, 255, 76, 67], 0));
    let Ok(any) = Socket::bind(group) else {
        return; // No interface of this machine leads to groups.
    };
    let address = any.local_address();
    let sender = bind("0.0.0.0:0");
    sender.set_multicast(address, 0).unwrap();
    let clock = Clock::start();
    sender.send(&hello(address)).unwrap();
    let source = receive(&clock, &any, 1)[0].source.ip();
    let join = |source| Socket::bind_from(address, &[source]).unwrap();
    let (its, other) = (join(source), join([192, 0, 2, 7].into()));
    sender.send(&hello(address)).unwrap();
    assert_eq!(receive(&clock, &its, 1)[0].source.ip(), source);
    let mut batch = ReceiveBatch::new();
    assert_eq!(other.receive(&clock, &mut batch).unwrap(), 0);
}

#[test]
fn group_of_a_source_of_ipv6_is_refused() {
    let source = "2001:db8::7".parse().unwrap();
    for group in ["232.255.76.67:0", "[ff35::8000:1]:0"] {
        let Err(error) = Socket::bind_from(group.parse().unwrap(), &[source]) else {
            panic!("{group} was joined");
        };
        // A machine without IPv6 refuses the second by its family.
        let is_without =
            group.starts_with('[') && Socket::bind("[::1]:0".parse().unwrap()).is_err();
        assert!(
            is_without || matches!(error, BindError::NotJoined(..)),
            "{error}"
        );
    }
}

#[test]
fn route_is_found_only_within_a_family() {
    let four = bind("127.0.0.1:0");
    assert!(four.find_route(four.local_address()).is_ok());
    assert!(four.find_route("[::1]:9".parse().unwrap()).is_err());
    let Ok(six) = Socket::bind("[::1]:0".parse().unwrap()) else {
        return; // This machine has no IPv6.
    };
    assert!(six.find_route(six.local_address()).is_ok());
    assert!(six.find_route(four.local_address()).is_err());
    let dual = bind("[::]:0");
    for destination in [four.local_address(), six.local_address()] {
        assert!(dual.find_route(destination).is_ok(), "{destination}");
    }
}

#[test]
fn a_destination_that_cannot_be_costs_later_datagrams_nothing() {
    let (sender, receiver) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let to_port_0 = Outgoing {
        destination: "127.0.0.1:0".parse().unwrap(),
        ecn: Ecn::Ect0,
        contents: b"nowhere",
        segment: 7,
    };
    assert!(sender.send(&to_port_0).is_err());
    every_mark_survives(&sender, &receiver, receiver.local_address());
}

#[test]
fn a_busy_port_is_named() {
    let first = bind("127.0.0.1:0");
    let error = Socket::bind(first.local_address()).expect_err("the port is taken");
    assert!(matches!(error, BindError::PortInUse(address) if address == first.local_address()));
    let address = first.local_address();
    assert_eq!(
        error.to_string(),
        format!("{address}: UDP port {} is in use", address.port())
    );
}

#[test]
fn a_foreign_address_is_named() {
    // TEST-NET-1 (RFC 5737) belongs to no machine.
    let error = Socket::bind("192.0.2.1:0".parse().unwrap()).expect_err("not ours");
    assert!(matches!(error, BindError::NoSuchAddress(_)), "{error}");
}

#[test]
fn an_arrival_is_when_the_datagram_came_and_not_when_it_was_read() {
    if !cfg!(target_os = "linux") {
        return; // Only Linux stamps datagrams.
    }
    let clock = Clock::start();
    let (sender, receiver) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let outgoing = Outgoing {
        destination: receiver.local_address(),
        ecn: Ecn::NotEct,
        contents: b"early",
        segment: 5,
    };
    // The kernel begins to stamp a little after the first socket asked for it.
    sender.send(&outgoing).unwrap();
    receive(&clock, &receiver, 1);
    sender.send(&outgoing).unwrap();
    clock.sleep_until(clock.now() + Duration::from_millis(50));
    let reading = clock.now();
    let arrival = receive(&clock, &receiver, 1)[0].arrival;
    assert!(arrival < reading, "{arrival} is not before {reading}");
}
