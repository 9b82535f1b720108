//! The relay between real sockets on the loopback interface. Waits are bounded; nothing asserts that
//! anything takes less time than it may.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod records;

use evenkeel_link::{DropReason, Event, LinkConfig, Loss, QueueLimit, Schedule};
use evenkeel_net::{
    Clock, CrossTraffic, Direction, HEADERS, LinkChange, LinkEvent, Outgoing, ReceiveBatch, Relay,
    RelayConfig, RelayError, RelayHandle, Socket,
};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// How long a test waits for what must happen before it fails.
const PATIENCE: Duration = Duration::from_secs(10);

struct Rig<C = ()> {
    clock: Clock,
    sender: Socket,
    receiver: Socket,
    relay: RelayHandle<C>,
    events: Receiver<LinkEvent>,
}

fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn bind() -> Socket {
    Socket::bind(any_port()).unwrap()
}

fn config(receiver: &Socket) -> RelayConfig {
    RelayConfig {
        bind_a: any_port(),
        bind_b: any_port(),
        sender: None,
        receiver: receiver.local_address(),
        forward: LinkConfig::default(),
        reverse: LinkConfig::default(),
        seed: 1,
    }
}

fn rig(forward: LinkConfig) -> Rig {
    let clock = Clock::start();
    let (sender, receiver) = (bind(), bind());
    let config = RelayConfig {
        forward,
        ..config(&receiver)
    };
    let (relay, events) = Relay::spawn(clock, config).unwrap();
    Rig {
        clock,
        sender,
        receiver,
        relay,
        events,
    }
}

fn send(from: &Socket, to: SocketAddr, ecn: Ecn, payload: &[u8]) {
    let outgoing = Outgoing {
        destination: to,
        ecn,
        contents: payload,
        segment: payload.len(),
    };
    from.send(&outgoing).unwrap();
}

impl<C> Rig<C> {
    /// Receives `count` datagrams, which must come from `source`.
    fn receive(&self, at: &Socket, source: SocketAddr, count: usize) -> Vec<(Ecn, Vec<u8>)> {
        let mut batch = ReceiveBatch::new();
        let mut received = Vec::new();
        self.wait_until(|| {
            at.receive(&self.clock, &mut batch).unwrap();
            for datagram in batch.datagrams() {
                assert_eq!(datagram.source, source);
                received.push((datagram.ecn, datagram.payload.to_vec()));
            }
            received.len() >= count
        });
        received
    }

    fn wait_until(&self, mut condition: impl FnMut() -> bool) {
        let deadline = self.clock.now() + PATIENCE;
        while !condition() {
            assert!(self.clock.now() < deadline, "it never happened");
            self.clock
                .sleep_until(self.clock.now() + Duration::from_millis(1));
        }
    }
}

#[test]
fn datagrams_cross_both_ways_in_order_and_with_their_marks() {
    let rig = rig(LinkConfig {
        rate: Rate::from_bits_per_sec(50e6),
        delay: Duration::from_millis(5),
        ..LinkConfig::default()
    });
    let (a, b) = (rig.relay.address_a(), rig.relay.address_b());
    let sent: Vec<(Ecn, Vec<u8>)> = (0..40u8)
        .map(|i| {
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(i) % 4];
            (ecn, vec![i; 1 + usize::from(i) * 30])
        })
        .collect();
    for (ecn, payload) in &sent {
        send(&rig.sender, a, *ecn, payload);
    }
    assert_eq!(rig.receive(&rig.receiver, b, 40), sent);
    for (ecn, payload) in &sent {
        send(&rig.receiver, b, *ecn, payload);
    }
    assert_eq!(rig.receive(&rig.sender, a, 40), sent);

    let snapshot = rig.relay.snapshot().unwrap();
    let payloads: usize = sent.iter().map(|(_, payload)| payload.len()).sum();
    let delivered = snapshot.forward.counters.delivered;
    assert_eq!(delivered.packets, 40);
    assert_eq!(
        delivered.bytes,
        Bytes::new(payloads as u64 + 40 * HEADERS.get())
    );
    assert_eq!(snapshot.sender, Some(rig.sender.local_address()));
    assert_eq!(snapshot.departures.count(), 80);
}

#[test]
fn merged_datagrams_cross_one_by_one() {
    let rig = rig(LinkConfig::default());
    let contents: Vec<u8> = (0..10_000).map(|i| (i / 1_000) as u8).collect();
    let outgoing = Outgoing {
        destination: rig.relay.address_a(),
        ecn: Ecn::Ect0,
        contents: &contents[..1_000 * rig.sender.max_segments().min(10)],
        segment: 1_000,
    };
    rig.sender.send(&outgoing).unwrap();
    let count = outgoing.contents.len() / 1_000;
    let received = rig.receive(&rig.receiver, rig.relay.address_b(), count);
    let expected: Vec<_> = contents
        .chunks(1_000)
        .take(count)
        .map(|payload| (Ecn::Ect0, payload.to_vec()))
        .collect();
    assert_eq!(received, expected);
}

#[test]
fn strangers_are_ignored_on_both_sides() {
    let rig = rig(LinkConfig::default());
    let (a, b) = (rig.relay.address_a(), rig.relay.address_b());
    send(&rig.sender, a, Ecn::NotEct, b"first");
    rig.receive(&rig.receiver, b, 1);
    let stranger = bind();
    send(&stranger, a, Ecn::NotEct, b"intruder");
    send(&stranger, b, Ecn::NotEct, b"intruder");
    rig.wait_until(|| rig.relay.snapshot().unwrap().strangers == 2);
    send(&rig.sender, a, Ecn::NotEct, b"second");
    send(&rig.receiver, b, Ecn::NotEct, b"answer");
    let second = (Ecn::NotEct, b"second".to_vec());
    assert_eq!(rig.receive(&rig.receiver, b, 1), [second]);
    let answer = (Ecn::NotEct, b"answer".to_vec());
    assert_eq!(rig.receive(&rig.sender, a, 1), [answer]);
}

#[test]
fn a_configured_sender_is_reached_before_it_speaks() {
    let clock = Clock::start();
    let (sender, receiver) = (bind(), bind());
    let config = RelayConfig {
        sender: Some(sender.local_address()),
        ..config(&receiver)
    };
    let (relay, events) = Relay::spawn(clock, config).unwrap();
    let (a, b) = (relay.address_a(), relay.address_b());
    let rig = Rig {
        clock,
        sender,
        receiver,
        relay,
        events,
    };
    send(&rig.receiver, b, Ecn::NotEct, b"hello");
    let hello = (Ecn::NotEct, b"hello".to_vec());
    assert_eq!(rig.receive(&rig.sender, a, 1), [hello]);
}

/// Sends a packet forward at a given time, and what comes out of the forward link back through the other.
#[derive(Default)]
struct Echo {
    next: Option<Instant>,
    turn: Option<u64>,
    returned: Vec<u64>,
}

impl CrossTraffic for Echo {
    type Packet = u64;

    fn handle_packet(&mut self, _now: Instant, direction: Direction, packet: u64) {
        match direction {
            Direction::Forward => self.turn = Some(packet),
            Direction::Reverse => self.returned.push(packet),
        }
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<(Direction, u64, Bytes)> {
        if let Some(packet) = self.turn.take() {
            return Some((Direction::Reverse, packet, Bytes::new(40)));
        }
        self.next.take_if(|at| *at <= now)?;
        Some((Direction::Forward, 7, Bytes::new(1_000)))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }
}

#[test]
fn cross_traffic_goes_through_both_links_and_to_no_socket() {
    let clock = Clock::start();
    let (sender, receiver) = (bind(), bind());
    let (relay, events) = Relay::spawn_beside(Echo::default(), clock, config(&receiver)).unwrap();
    let wait = Duration::from_millis(5);
    relay
        .call(move |echo, now| echo.next = Some(now + wait))
        .unwrap();
    let rig = Rig {
        clock,
        sender,
        receiver,
        relay,
        events,
    };
    let returned = || rig.relay.call(|echo, _| echo.returned.clone()).unwrap();
    rig.wait_until(|| !returned().is_empty());
    assert_eq!(returned(), [7]);
    let snapshot = rig.relay.snapshot().unwrap();
    assert_eq!(snapshot.forward.counters.delivered.bytes, Bytes::new(1_000));
    assert_eq!(snapshot.reverse.counters.delivered.bytes, Bytes::new(40));
    // The first datagram at the receiver is the sender's.
    send(&rig.sender, rig.relay.address_a(), Ecn::NotEct, b"media");
    let received = rig.receive(&rig.receiver, rig.relay.address_b(), 1);
    assert_eq!(received[0].1, b"media");
}

#[test]
fn knobs_act_on_the_running_link() {
    let rig = rig(LinkConfig::default());
    let (a, b) = (rig.relay.address_a(), rig.relay.address_b());
    let forward = Direction::Forward;
    rig.relay
        .change(forward, LinkChange::Loss(Loss::Bernoulli(1.0)))
        .unwrap();
    // The snapshot comes behind the change.
    assert_eq!(
        rig.relay.snapshot().unwrap().forward.loss,
        Loss::Bernoulli(1.0)
    );
    send(&rig.sender, a, Ecn::NotEct, b"lost");
    rig.wait_until(|| rig.relay.snapshot().unwrap().forward.counters.lost.packets == 1);
    rig.relay
        .change(forward, LinkChange::Loss(Loss::None))
        .unwrap();

    rig.relay
        .change(forward, LinkChange::Rate(Rate::ZERO))
        .unwrap();
    rig.relay
        .change(forward, LinkChange::Queue(QueueLimit::Packets(1)))
        .unwrap();
    rig.relay.snapshot().unwrap();
    for payload in [b"wire", b"wait", b"full"] {
        send(&rig.sender, a, Ecn::NotEct, payload);
    }
    rig.wait_until(|| {
        rig.relay
            .snapshot()
            .unwrap()
            .forward
            .counters
            .dropped
            .packets
            == 1
    });
    assert_eq!(
        rig.relay.snapshot().unwrap().forward.queue_bytes,
        Bytes::new(4) + HEADERS
    );
    let schedule = Schedule::parse("0, , 1ms\n0.01, 10M, , 0").unwrap();
    rig.relay
        .change(forward, LinkChange::Schedule(schedule))
        .unwrap();
    let received = rig.receive(&rig.receiver, b, 2);
    assert_eq!(received[0].1, b"wire");
    assert_eq!(received[1].1, b"wait");
    let snapshot = rig.relay.snapshot().unwrap().forward;
    assert_eq!(snapshot.rate, Rate::from_bits_per_sec(10e6));
    assert_eq!(snapshot.delay, Duration::from_millis(1));

    let reasons: Vec<DropReason> = rig
        .events
        .try_iter()
        .filter_map(|report| match report.event {
            Event::Dropped { reason, .. } => Some(reason),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, [DropReason::Loss, DropReason::QueueFull]);
}

/// Ends a thread whose end the test waits for, even where the test fails before.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn changes_that_come_together_are_never_seen_apart() {
    let rig = rig(LinkConfig::default());
    let relay = &rig.relay;
    let is_done = AtomicBool::new(false);
    let halves = std::thread::scope(|scope| {
        let _done = Done(&is_done);
        scope.spawn(|| {
            for ms in (1..1_000).cycle() {
                let delay = LinkChange::Delay(Duration::from_millis(ms));
                let changes = Direction::BOTH.map(|way| (way, delay.clone()));
                relay.change_all(changes.into()).unwrap();
                if is_done.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        let looks = (0..2_000).map(|_| relay.snapshot().unwrap());
        let halves = looks.filter(|now| now.forward.delay != now.reverse.delay);
        halves.count()
    });
    assert_eq!(halves, 0);
}

#[test]
fn a_busy_port_is_an_error() {
    let taken = bind();
    let config = RelayConfig {
        bind_a: taken.local_address(),
        ..config(&taken)
    };
    let error = Relay::spawn(Clock::start(), config).expect_err("the port is taken");
    assert!(matches!(error, RelayError::Bind(_)), "{error}");
}

#[test]
fn a_stopped_relay_frees_its_ports() {
    let rig = rig(LinkConfig::default());
    let a = rig.relay.address_a();
    rig.relay.stop();
    Socket::bind(a).expect("the port is free again");
}
