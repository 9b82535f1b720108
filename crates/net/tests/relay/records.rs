//! A relay records each datagram that enters it or leaves it.

use super::{PATIENCE, bind, config, send};
use evenkeel_link::{DropReason, LinkConfig, Loss};
use evenkeel_net::{
    Clock, Direction, HEADERS, PacketEvent, PacketRecord, Relay, RelayConfig, Watch,
};
use std::net::SocketAddr;
use tfrc::Ecn;
use tfrc::units::Bytes;

#[test]
fn each_datagram_is_told_of_where_it_enters_and_where_it_leaves() {
    let clock = Clock::start();
    let (sender, receiver) = (bind(), bind());
    let config = RelayConfig {
        forward: LinkConfig {
            loss: Loss::Periodic(2),
            ..LinkConfig::default()
        },
        ..config(&receiver)
    };
    let (records, queue) = std::sync::mpsc::sync_channel(64);
    let watch = Watch {
        records,
        captures: true,
    };
    let relay = Relay::spawn_watched(clock, config, watch).unwrap();
    let (a, b) = (relay.address_a(), relay.address_b());
    for payload in [&b"first"[..], b"lost", b"third"] {
        send(&sender, a, Ecn::Ect0, payload);
    }
    let mut records: Vec<PacketRecord> = Vec::new();
    while records.len() < 6 {
        records.push(queue.recv_timeout(PATIENCE).unwrap());
    }
    assert!(records.iter().all(|it| it.direction == Direction::Forward));
    let of = |number: u64| records.iter().filter(move |it| it.number == number);
    let source = sender.local_address();
    for (number, payload) in [(0, &b"first"[..]), (1, b"lost"), (2, b"third")] {
        let [entered, left] = of(number).collect::<Vec<_>>()[..] else {
            panic!("{records:?}");
        };
        let PacketEvent::Arrived { flow, size, frame } = &entered.event else {
            panic!("{entered:?}");
        };
        assert_eq!(flow.to_string(), format!("udp {source} {a}"));
        assert_eq!(*size, Bytes::from(payload.len()) + HEADERS);
        let frame = frame.as_deref().unwrap();
        // IPv4 with ECT(0), and UDP.
        assert_eq!((&frame[..2], &frame[28..]), (&[0x45, 2][..], payload));
        match &left.event {
            PacketEvent::Dropped { reason } => {
                assert_eq!((number, *reason), (1, DropReason::Loss));
            }
            PacketEvent::Departed { due, frame } => {
                assert!(*due <= left.at && number != 1);
                let frame = frame.as_deref().unwrap();
                assert_eq!(&frame[28..], payload);
                let ports = [b, receiver.local_address()].map(|end| end.port().to_be_bytes());
                assert_eq!(&frame[20..24], ports.concat());
            }
            PacketEvent::Arrived { .. } | PacketEvent::Refused => panic!("{left:?}"),
        }
    }
    assert_eq!(relay.snapshot().unwrap().records_lost, 0);
}

#[test]
fn what_the_system_refuses_or_has_no_way_to_go_is_not_told_as_departed() {
    let clock = Clock::start();
    let (sender, receiver) = (bind(), bind());
    // No socket of this program may send to a broadcast address.
    let everyone = SocketAddr::from(([255, 255, 255, 255], 9));
    for (to, speaks, direction) in [
        (everyone, &sender, Direction::Forward),
        // It speaks before anyone knows where the sender is.
        (receiver.local_address(), &receiver, Direction::Reverse),
    ] {
        let config = RelayConfig {
            receiver: to,
            ..config(&receiver)
        };
        let (records, queue) = std::sync::mpsc::sync_channel(64);
        let captures = false;
        let relay = Relay::spawn_watched(clock, config, Watch { records, captures }).unwrap();
        let ends = [relay.address_a(), relay.address_b()];
        send(speaks, ends[direction as usize], Ecn::NotEct, b"word");
        let next = || queue.recv_timeout(PATIENCE).unwrap();
        let (entered, left) = (next(), next());
        assert!(matches!(entered.event, PacketEvent::Arrived { .. }));
        assert_eq!(
            (left.direction, left.event),
            (direction, PacketEvent::Refused)
        );
        let snapshot = relay.snapshot().unwrap();
        assert_eq!(snapshot.send_errors, 1);
        assert_eq!(snapshot.departures.count(), 0);
    }
}
