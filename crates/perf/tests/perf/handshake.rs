//! Who is believed, what is refused, and what is lost on the way.

use std::time::Duration;

use evenkeel_link::{LinkConfig, Loss};
use evenkeel_perf::control::{CLIENT_LEN, ClientMessage, MAGIC, ServerMessage, Tagged};
use evenkeel_perf::{
    ClientError, Direction, Limits, Phase, Refusal, Server, ServerConfig, ServerEventKind, Terms,
};
use evenkeel_rtp::endpoint::{Datagram, Endpoint};
use proptest::prelude::*;
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::Rate;

use crate::world::{World, client_address, server_address, server_config, terms};

fn limits() -> Limits {
    Limits {
        flows: 4,
        rate: Some(Rate::from_bits_per_sec(2e6)),
        duration: Duration::from_secs(20),
    }
}

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
    let datagram = Datagram {
        source: client_address(),
        arrival: Instant::from_secs(1),
        ecn: Ecn::NotEct,
        payload,
    };
    server.handle_datagram(Instant::from_secs(1), datagram);
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
    let datagram = Datagram {
        source: client_address(),
        arrival: world.now,
        ecn: Ecn::NotEct,
        payload: &wrong,
    };
    world.server.handle_datagram(world.now, datagram);
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
        let mut bytes = [0; CLIENT_LEN];
        Tagged { nonce: 77, message }.emit(&mut bytes).unwrap();
        let datagram = Datagram {
            source: "192.0.2.3:40000".parse().unwrap(),
            arrival: world.now,
            ecn: Ecn::NotEct,
            payload: &bytes,
        };
        world.server.handle_datagram(world.now, datagram);
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
        let datagram = Datagram {
            source: client_address(),
            arrival: now,
            ecn: Ecn::NotEct,
            payload: &wrong,
        };
        server.handle_datagram(now, datagram);
    }
    let told: Vec<u64> = std::iter::from_fn(|| server.poll_event())
        .map(|event| match event.kind {
            ServerEventKind::LeftOut(count) => count,
            ServerEventKind::Malformed(_) => 0,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, [0, 999, 0, 999, 0]);
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
    // The second has the first one's address, and a question of its own.
    let ask = |world: &mut World, nonce| {
        let mut refusals = Vec::new();
        let mut token = None;
        for _ in 0..2 {
            let message = match token {
                None => ClientMessage::Hello,
                Some(token) => ClientMessage::Request {
                    token,
                    terms: terms(),
                },
            };
            let mut bytes = [0; CLIENT_LEN];
            Tagged { nonce, message }.emit(&mut bytes).unwrap();
            let source = "192.0.2.3:40000".parse().unwrap();
            let datagram = Datagram {
                source,
                arrival: world.now,
                ecn: Ecn::NotEct,
                payload: &bytes,
            };
            world.server.handle_datagram(world.now, datagram);
            let mut buf = [0; 9_000];
            while let Some(transmit) = world.server.poll_transmit(world.now, &mut buf) {
                if transmit.destination != source {
                    continue;
                }
                match Tagged::<ServerMessage>::parse(&buf[..transmit.len])
                    .unwrap()
                    .message
                {
                    ServerMessage::Token { token: told } => token = Some(told),
                    ServerMessage::Refuse(refusal) => refusals.push(refusal),
                    other => panic!("{other:?}"),
                }
            }
        }
        refusals
    };
    assert_eq!(ask(&mut world, 71), [Refusal::OneOff]);
    assert_eq!(world.run_to_end(), Phase::Done);
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.server.tests().count(), 0);
    assert_eq!(ask(&mut world, 72), [Refusal::OneOff]);
}

/// What the server answers to a message with that nonce, at once.
fn answer(
    server: &mut Server,
    now: Instant,
    nonce: u64,
    message: ClientMessage,
) -> Option<ServerMessage> {
    let mut bytes = [0; CLIENT_LEN];
    Tagged { nonce, message }.emit(&mut bytes)?;
    let datagram = Datagram {
        source: client_address(),
        arrival: now,
        ecn: Ecn::NotEct,
        payload: &bytes,
    };
    server.handle_datagram(now, datagram);
    let mut buf = [0; 9_000];
    let mut answer = None;
    while let Some(transmit) = server.poll_transmit(now, &mut buf) {
        let told = Tagged::<ServerMessage>::parse(&buf[..transmit.len]);
        answer = answer.or(told.ok().map(|told| told.message));
    }
    answer
}

/// What it answers to a client that asks for a token, and with it for a test on these terms.
fn request(server: &mut Server, now: Instant, nonce: u64, terms: &Terms) -> ServerMessage {
    let Some(ServerMessage::Token { token }) = answer(server, now, nonce, ClientMessage::Hello)
    else {
        panic!("no token");
    };
    let terms = terms.clone();
    answer(server, now, nonce, ClientMessage::Request { token, terms }).expect("an answer")
}

#[test]
fn a_test_that_is_over_counts_until_its_client_says_goodbye_or_falls_silent() {
    let mut server = Server::new(server_config(limits()));
    let (now, later) = (Instant::from_secs(1), Instant::from_secs(20));
    let two = Terms {
        flows: 2,
        ..terms()
    };
    for nonce in [1, 2] {
        let ServerMessage::Accept { test } = request(&mut server, now, nonce, &two) else {
            panic!("refused");
        };
        let finish = ClientMessage::Finish { test, flow: 0 };
        let results = answer(&mut server, now, nonce, finish);
        assert!(matches!(results, Some(ServerMessage::Results { .. })));
    }
    let refused = ServerMessage::Refuse(Refusal::Flows(0));
    assert_eq!(request(&mut server, now, 3, &terms()), refused);
    server.handle_timeout(later);
    let third = request(&mut server, later, 3, &terms());
    assert!(matches!(third, ServerMessage::Accept { .. }), "{third:?}");
}

#[test]
fn a_request_that_comes_again_after_the_end_begins_nothing() {
    let mut server = Server::new(server_config(limits()));
    let now = Instant::from_secs(1);
    let ServerMessage::Accept { test } = request(&mut server, now, 1, &terms()) else {
        panic!("refused");
    };
    answer(&mut server, now, 1, ClientMessage::Goodbye { test });
    let again = request(&mut server, now, 1, &terms());
    assert_eq!(again, ServerMessage::Refuse(Refusal::Token));
    let other = request(&mut server, now, 2, &terms());
    assert!(matches!(other, ServerMessage::Accept { .. }), "{other:?}");
}

/// Tests on these terms that begin and end at one second, until one is refused.
fn begun_at(server: &mut Server, second: u64, terms: &Terms) -> usize {
    let now = Instant::from_secs(second);
    let refused = ServerMessage::Refuse(Refusal::TooOften);
    let accepted = (0..1_000).take_while(|index| {
        let nonce = second * 1_000 + index;
        match request(server, now, nonce, terms) {
            ServerMessage::Accept { test } => {
                answer(server, now, nonce, ClientMessage::Goodbye { test });
                true
            }
            other => {
                assert_eq!(other, refused);
                false
            }
        }
    });
    accepted.count()
}

#[test]
fn whoever_begins_and_ends_tests_without_pause_has_to_wait() {
    let mut server = Server::new(server_config(limits()));
    assert_eq!(begun_at(&mut server, 1, &terms()), 256);
    assert_eq!(begun_at(&mut server, 20, &terms()), 0);
    assert_eq!(begun_at(&mut server, 21, &terms()), 256);
}

#[test]
fn tests_of_many_flows_have_to_wait_sooner() {
    let mut server = Server::new(server_config(Limits::default()));
    let all = Terms {
        flows: 1_000,
        ..terms()
    };
    assert_eq!(begun_at(&mut server, 1, &all), 4);
}

#[test]
fn a_test_that_fell_silent_has_used_its_token_up() {
    let mut server = Server::new(server_config(limits()));
    // The token is of the period before, and good until 20 s.
    let (asked, silent) = (Instant::from_secs(8), Instant::from_millis(18_500));
    let Some(ServerMessage::Token { token }) = answer(&mut server, asked, 1, ClientMessage::Hello)
    else {
        panic!("no token");
    };
    let message = || ClientMessage::Request {
        token,
        terms: terms(),
    };
    let begun = answer(&mut server, asked, 1, message());
    assert!(matches!(begun, Some(ServerMessage::Accept { .. })));
    server.handle_timeout(silent);
    let again = answer(&mut server, Instant::from_secs(19), 1, message());
    assert_eq!(again, Some(ServerMessage::Refuse(Refusal::Token)));
}
