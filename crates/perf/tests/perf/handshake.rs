//! Who is believed, what is refused, and what is lost on the way.

use std::time::Duration;

use evenkeel_link::{LinkConfig, Loss};
use evenkeel_perf::control::{CLIENT_LEN, ClientMessage, MAGIC, ServerMessage, Tagged};
use evenkeel_perf::{
    ClientError, Direction, Limits, Phase, Refusal, Server, ServerConfig, ServerEventKind, Terms,
};
use evenkeel_rtp::endpoint::Endpoint;
use proptest::prelude::*;
use tfrc::time::Instant;
use tfrc::units::Rate;

use crate::questions::{another, answer, hand, request};
use crate::world::{World, client_address, limits, server_address, server_config, terms};

fn refusal(terms: Terms) -> Refusal {
    let mut world = World::new(terms, limits(), LinkConfig::default());
    let Phase::Failed(ClientError::Refused(refusal)) = world.run_to_end() else {
        panic!("not refused");
    };
    let said = world
        .events
        .iter()
        .any(|event| event.kind == ServerEventKind::Refused(refusal));
    assert!(said, "the server's log does not tell of it");
    assert_eq!(world.server.tests().count(), 0);
    refusal
}

#[test]
fn too_many_flows_are_refused() {
    assert_eq!(
        refusal(Terms {
            flows: 5,
            ..terms()
        }),
        Refusal::Flows(4)
    );
}

#[test]
fn a_flow_that_is_too_fast_or_has_no_limit_is_refused() {
    for rate in [Some(Rate::from_bits_per_sec(3e6)), None] {
        let refused = refusal(Terms { rate, ..terms() });
        assert_eq!(refused, Refusal::Rate(Rate::from_bits_per_sec(2e6)));
    }
}

#[test]
fn a_test_that_is_too_long_is_refused() {
    let duration = Duration::from_secs(21);
    let refused = refusal(Terms {
        duration,
        ..terms()
    });
    assert_eq!(refused, Refusal::Duration(Duration::from_secs(20)));
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let link = LinkConfig {
        loss: Loss::Bernoulli(1.0),
        ..LinkConfig::default()
    };
    let mut world = World::new(terms(), limits(), link);
    let silent = ClientError::Silent(server_address());
    assert_eq!(world.run_to_end(), Phase::Failed(silent));
    assert_eq!(world.client.began(), None);
}

#[test]
fn what_is_lost_of_the_handshake_is_said_again() {
    let link = LinkConfig {
        loss: Loss::Bernoulli(0.3),
        ..LinkConfig::default()
    };
    let terms = Terms {
        flows: 40,
        duration: Duration::from_secs(1),
        ..terms()
    };
    let mut world = World::new(terms, Limits::default(), link);
    assert_eq!(world.run_to_end(), Phase::Done);
    // Who looks only now knows that there was a test, and when.
    let began = world.client.began().expect("a beginning");
    let ran = world.now - began;
    assert!(
        ran >= Duration::from_secs(1) && ran < Duration::from_secs(60),
        "{ran:?}"
    );
    assert_eq!(world.client.results().len(), 40);
    let began = world
        .events
        .iter()
        .filter(|e| matches!(e.kind, ServerEventKind::Began { .. }));
    assert_eq!(began.count(), 1);
}

/// What the server answers to one datagram, and for the next hour.
fn answers(server: &mut Server, payload: &[u8]) -> Vec<Vec<u8>> {
    hand(server, Instant::from_secs(1), client_address(), payload);
    let mut sent = Vec::new();
    let mut buf = [0; 9_000];
    for second in 1..3_600 {
        let now = Instant::from_secs(second);
        server.handle_timeout(now);
        while let Some(transmit) = server.poll_transmit(now, &mut buf) {
            assert_eq!(transmit.destination, client_address());
            sent.push(buf[..transmit.len].to_vec());
        }
    }
    sent
}

fn said(message: ClientMessage) -> Vec<u8> {
    let mut buf = vec![0; CLIENT_LEN];
    Tagged { nonce: 9, message }
        .emit(&mut buf)
        .expect("the buffer is as long as the message");
    buf
}

#[test]
fn an_address_that_returned_no_token_gets_no_traffic() {
    let reverse = Terms {
        direction: Direction::Reverse,
        ..terms()
    };
    let guessed = ClientMessage::Request {
        token: 123,
        terms: reverse,
    };
    let mut server = Server::new(server_config(Limits::default()));
    let sent = answers(&mut server, &said(guessed));
    let [refused] = &sent[..] else {
        panic!("{} datagrams", sent.len());
    };
    let message = Tagged::<ServerMessage>::parse(refused).unwrap().message;
    assert_eq!(message, ServerMessage::Refuse(Refusal::Token));
    assert_eq!(server.tests().count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No amplification: whatever an address says first, it gets less back than it sent.
    #[test]
    fn a_stranger_gets_no_more_bytes_than_it_sent(kind in 0u8..140, body in prop::collection::vec(any::<u8>(), 0..100), ours: bool) {
        let mut payload = body;
        if ours {
            payload.splice(..0, MAGIC.into_iter().chain([kind]));
        }
        let mut server = Server::new(server_config(Limits::default()));
        let sent: usize = answers(&mut server, &payload).iter().map(Vec::len).sum();
        prop_assert!(sent <= payload.len(), "{sent} bytes for {}", payload.len());
    }
}

#[test]
fn a_message_that_cannot_be_read_is_logged_and_changes_nothing() {
    let mut world = World::with(terms());
    world.run_for(Duration::from_secs(1));
    let mut wrong = said(ClientMessage::Finish { test: 1, flow: 0 });
    wrong[MAGIC.len()] = 99;
    hand(&mut world.server, world.now, client_address(), &wrong);
    assert_eq!(world.run_to_end(), Phase::Done);
    let logged = |event: &&_| matches!(event, ServerEventKind::Malformed(_));
    assert_eq!(
        world
            .events
            .iter()
            .map(|event| &event.kind)
            .filter(logged)
            .count(),
        1
    );
}

#[test]
fn another_address_cannot_end_a_test() {
    let mut world = World::with(terms());
    world.run_for(Duration::from_secs(1));
    for message in [
        ClientMessage::Finish { test: 1, flow: 0 },
        ClientMessage::Goodbye { test: 1 },
    ] {
        let now = world.now;
        let reply = answer(&mut world.server, now, (another(), 77), message);
        assert_eq!(reply, None);
    }
    assert_eq!(world.server.tests().count(), 1);
}

#[test]
fn a_client_that_vanishes_is_sent_nothing_after_ten_seconds() {
    let terms = Terms {
        direction: Direction::Reverse,
        mode: evenkeel_perf::Mode::Fixed,
        duration: Duration::from_secs(3_600),
        ..terms()
    };
    let mut world = World::with(terms);
    world.run_for(Duration::from_secs(5));
    assert!(
        world.run_server_alone(Duration::from_secs(9)) > 0,
        "it never sent"
    );
    world.run_server_alone(Duration::from_secs(3));
    assert_eq!(world.run_server_alone(Duration::from_secs(60)), 0);
    let ended =
        |event: &&ServerEventKind| matches!(event, ServerEventKind::Ended { agreed: false, .. });
    assert_eq!(
        world
            .events
            .iter()
            .map(|event| &event.kind)
            .filter(ended)
            .count(),
        1
    );
}

#[test]
fn a_flood_of_bad_messages_makes_a_line_a_second_and_is_counted() {
    let mut server = Server::new(server_config(Limits::default()));
    let mut wrong = said(ClientMessage::Hello);
    wrong[MAGIC.len()] = 99;
    for millisecond in 0..2_500 {
        let now = Instant::from_millis(millisecond);
        hand(&mut server, now, client_address(), &wrong);
    }
    let reply: Vec<u64> = std::iter::from_fn(|| server.poll_event())
        .map(|event| match event.kind {
            ServerEventKind::LeftOut(count) => count,
            ServerEventKind::Malformed(_) => 0,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(reply, [0, 999, 0, 999, 0]);
    assert_eq!(server.left_out(), 499);
}

#[test]
fn a_server_of_one_test_refuses_a_second_client_while_it_lasts_and_afterwards() {
    let config = ServerConfig {
        one_off: true,
        ..server_config(Limits::default())
    };
    let mut world = World::with(terms());
    world.server = Server::new(config);
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.server.tests().count(), 1);
    let ask = |world: &mut World, nonce| {
        let who = (another(), nonce);
        request(&mut world.server, world.now, who, &terms())
    };
    let refused = ServerMessage::Refuse(Refusal::OneOff);
    assert_eq!(ask(&mut world, 71), refused);
    assert_eq!(world.run_to_end(), Phase::Done);
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.server.tests().count(), 0);
    assert_eq!(ask(&mut world, 72), refused);
}
