//! Tests that are over: for how long they count, and what their tokens are good for.

use std::collections::BTreeSet;
use std::time::Duration;

use evenkeel_perf::control::{ClientMessage, ServerMessage};
use evenkeel_perf::{Limits, Refusal, Server, ServerEventKind, Terms};
use evenkeel_rtp::endpoint::Endpoint;
use tfrc::time::Instant;

use crate::questions::{Asker, another, answer, request};
use crate::world::{client_address, limits, server_config, terms};

/// The client, with the number that it drew.
fn from(nonce: u64) -> Asker {
    (client_address(), nonce)
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
        let ServerMessage::Accept { test } = request(&mut server, now, from(nonce), &two) else {
            panic!("refused");
        };
        let finish = ClientMessage::Finish { test, flow: 0 };
        let results = answer(&mut server, now, from(nonce), finish);
        assert!(matches!(results, Some(ServerMessage::Results { .. })));
    }
    let refused = ServerMessage::Refuse(Refusal::Flows(0));
    assert_eq!(request(&mut server, now, from(3), &terms()), refused);
    server.handle_timeout(later);
    let third = request(&mut server, later, from(3), &terms());
    assert!(matches!(third, ServerMessage::Accept { .. }), "{third:?}");
}

#[test]
fn a_request_that_comes_again_after_the_end_begins_nothing() {
    let mut server = Server::new(server_config(limits()));
    let now = Instant::from_secs(1);
    let ServerMessage::Accept { test } = request(&mut server, now, from(1), &terms()) else {
        panic!("refused");
    };
    answer(&mut server, now, from(1), ClientMessage::Goodbye { test });
    let second = request(&mut server, now, from(1), &terms());
    assert_eq!(second, ServerMessage::Refuse(Refusal::Token));
    let other = request(&mut server, now, from(2), &terms());
    assert!(matches!(other, ServerMessage::Accept { .. }), "{other:?}");
}

/// Tests on these terms that begin and end at one second, until one is refused.
fn begun_at(server: &mut Server, second: u64, terms: &Terms) -> usize {
    let now = Instant::from_secs(second);
    let refused = ServerMessage::Refuse(Refusal::TooOften);
    let accepted = (0..1_000).take_while(|index| {
        let nonce = second * 1_000 + index;
        match request(server, now, from(nonce), terms) {
            ServerMessage::Accept { test } => {
                answer(server, now, from(nonce), ClientMessage::Goodbye { test });
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
    // Half of what all may begin is left for other hosts.
    assert_eq!(begun_at(&mut server, 1, &terms()), 128);
    assert_eq!(begun_at(&mut server, 20, &terms()), 0);
    let now = Instant::from_secs(20);
    let other = request(&mut server, now, (another(), 1), &terms());
    assert!(matches!(other, ServerMessage::Accept { .. }), "{other:?}");
    assert_eq!(begun_at(&mut server, 21, &terms()), 128);
}

#[test]
fn one_host_leaves_flows_to_the_next() {
    let mut server = Server::new(server_config(limits()));
    let now = Instant::from_secs(1);
    let two = Terms {
        flows: 2,
        ..terms()
    };
    let mut begun = |who| request(&mut server, now, who, &two);
    for nonce in [1, 2] {
        let accepted = begun(from(nonce));
        assert!(matches!(accepted, ServerMessage::Accept { .. }));
    }
    // Another port is the same host.
    let mut port = client_address();
    port.set_port(1);
    let refused = ServerMessage::Refuse(Refusal::Flows(0));
    assert_eq!(begun((port, 3)), refused);
    assert!(matches!(
        begun((another(), 4)),
        ServerMessage::Accept { .. }
    ));
    assert_eq!(begun((another(), 5)), refused);
}

#[test]
fn finish_again_and_again_keeps_no_place() {
    let mut server = Server::new(server_config(limits()));
    let long = Terms {
        flows: 4,
        duration: Duration::from_secs(20),
        ..terms()
    };
    let begun = request(&mut server, Instant::from_secs(1), from(1), &long);
    let ServerMessage::Accept { test } = begun else {
        panic!("refused");
    };
    for second in 2..=13 {
        let now = Instant::from_secs(second);
        let finish = ClientMessage::Finish { test, flow: 0 };
        answer(&mut server, now, from(1), finish);
        server.handle_timeout(now);
    }
    let next = request(&mut server, Instant::from_secs(13), from(2), &long);
    assert!(matches!(next, ServerMessage::Accept { .. }), "{next:?}");
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
    let Some(ServerMessage::Token { token }) =
        answer(&mut server, asked, from(1), ClientMessage::Hello)
    else {
        panic!("no token");
    };
    let message = || ClientMessage::Request {
        token,
        terms: terms(),
    };
    let begun = answer(&mut server, asked, from(1), message());
    assert!(matches!(begun, Some(ServerMessage::Accept { .. })));
    server.handle_timeout(silent);
    let second = answer(&mut server, Instant::from_secs(19), from(1), message());
    assert_eq!(second, Some(ServerMessage::Refuse(Refusal::Token)));
}

/// More tests than there is room to tell of, none of which anyone looks at before they are over.
#[test]
fn each_test_whose_beginning_is_told_has_an_end() {
    let tests = 1_100;
    let limits = Limits {
        flows: 2 * tests,
        ..Limits::default()
    };
    let mut server = Server::new(server_config(limits));
    let now = Instant::from_secs(1);
    for nonce in 0..tests {
        let begun = request(&mut server, now, from(nonce.into()), &terms());
        assert!(matches!(begun, ServerMessage::Accept { .. }), "{begun:?}");
    }
    server.handle_timeout(Instant::from_secs(20));
    assert_eq!(server.tests().count(), 0);
    let mut under_way = BTreeSet::new();
    while let Some(event) = server.poll_event() {
        match event.kind {
            ServerEventKind::Began { test, .. } => assert!(under_way.insert(test)),
            ServerEventKind::Ended { test, .. } => assert!(under_way.remove(&test), "{test}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(under_way.len(), 0, "without an end");
}
