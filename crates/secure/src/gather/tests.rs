//! Tests of what is asked of servers, and of whose answers count.

use std::time::Duration;

use turn_client_proto::stun::types::attribute::XorMappedAddress;
use turn_client_proto::stun::types::message::MessageWriteVec;
use turn_client_proto::stun::types::prelude::{MessageWrite, MessageWriteExt};

use super::*;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

const SERVER: &str = "192.0.2.10:3478";
const MAPPED: &str = "203.0.113.1:40000";

fn gathering(account: Option<Account>) -> Gathering {
    gathering_by(account, None)
}

fn gathering_by(account: Option<Account>, by_stream: Option<SocketAddr>) -> Gathering {
    let server = IceServer {
        address: address(SERVER),
        by_stream,
        account,
    };
    let base = address("192.168.1.2:5000");
    let mut gathering = Gathering::new(Instant::ZERO, vec![base], vec![server]);
    gathering.handle_timeout(Instant::ZERO);
    gathering
}

fn sent(gathering: &mut Gathering) -> Vec<Vec<u8>> {
    let datagrams = gathering.output().datagrams.drain(..);
    let datagrams = datagrams.map(|(server, datagram)| {
        assert_eq!(server, address(SERVER));
        datagram
    });
    datagrams.collect()
}

fn answer(request: &[u8], mapped: SocketAddr) -> Vec<u8> {
    let request = Message::from_bytes(request).unwrap();
    let mapped = XorMappedAddress::new(mapped, request.transaction_id());
    let mut answer = Message::builder_success(&request, MessageWriteVec::new());
    answer.add_attribute(&mapped).unwrap();
    answer.finish()
}

/// Lets time pass until `end`, and returns when something was sent.
fn departures(gathering: &mut Gathering, from: Instant, end: Instant) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut now = from;
    while now < end {
        gathering.handle_timeout(now);
        let count = sent(gathering).len();
        times.extend((0..count).map(|_| now.saturating_since(from)));
        let next = gathering.poll_timeout().unwrap();
        assert!(next > now, "the timer spins");
        now = next;
    }
    times
}

#[test]
fn answer_counts_with_number_and_address_of_the_server() {
    let mut gathering = gathering(None);
    let request = sent(&mut gathering).remove(0);
    let now = Instant::ZERO;
    let mapped = address(MAPPED);
    let right = answer(&request, mapped);
    let stranger = gathering.handle_datagram(now, address("192.0.2.66:3478"), &right);
    assert!(matches!(stranger, Arrival::Direct));
    let mut forged = right.clone();
    forged[19] ^= 1;
    let forged = gathering.handle_datagram(now, address(SERVER), &forged);
    assert!(matches!(forged, Arrival::Unknown));
    assert!(gathering.output().candidates.is_empty());
    let right = gathering.handle_datagram(now, address(SERVER), &right);
    assert!(matches!(right, Arrival::Handled));
    let candidate = gathering.output().candidates.pop_front().unwrap();
    assert_eq!(candidate.addr(), mapped);
}

#[test]
fn request_is_repeated_as_rfc_8489_has_it() {
    let mut gathering = gathering(None);
    sent(&mut gathering);
    let end = Instant::ZERO + Duration::from_secs(60);
    let times = departures(&mut gathering, Instant::ZERO, end);
    // RFC 8489 §6.2.1: the first is at zero, and the transaction fails after 39.5 s.
    let expected = [
        500, 1_500, 3_500, 7_500, 15_500, 31_500, // The next transaction begins.
        54_500, 55_000, 56_000, 58_000,
    ];
    assert_eq!(times, expected.map(Duration::from_millis));
}

#[test]
fn mapping_is_kept_alive_and_its_change_told() {
    let mut gathering = gathering(None);
    let mut now = Instant::ZERO;
    for port in [1, 1, 2, 2, 2] {
        let request = sent(&mut gathering).remove(0);
        let answer = answer(&request, SocketAddr::new(address(MAPPED).ip(), port));
        gathering.handle_datagram(now, address(SERVER), &answer);
        now += Duration::from_secs(15);
        gathering.handle_timeout(now);
    }
    let found = gathering.output().candidates.iter();
    let ports: Vec<_> = found.map(|candidate| candidate.addr().port()).collect();
    assert_eq!(ports, [1, 2]);
}

#[test]
fn forger_of_mappings_fills_no_memory() {
    let mut gathering = gathering(None);
    let mut now = Instant::ZERO;
    for port in 1..1_000 {
        let request = sent(&mut gathering).remove(0);
        let answer = answer(&request, SocketAddr::new(address(MAPPED).ip(), port));
        gathering.handle_datagram(now, address(SERVER), &answer);
        now += Duration::from_secs(15);
        gathering.handle_timeout(now);
    }
    assert_eq!(gathering.output().candidates.len(), 32);
}

/// A server that relays gives two addresses, and the second one takes longer.
#[test]
fn gathering_is_complete_when_the_relay_is() {
    let mut gathering = gathering(Some(Account {
        user: "user".into(),
        password: "password".into(),
    }));
    let now = Instant::ZERO;
    for request in sent(&mut gathering) {
        let is_binding = request.starts_with(&[0, 1]);
        if is_binding {
            let answer = answer(&request, address(MAPPED));
            gathering.handle_datagram(now, address(SERVER), &answer);
        }
    }
    assert_eq!(gathering.output().candidates.len(), 1);
    assert!(!gathering.is_complete());
    departures(&mut gathering, now, now + Duration::from_secs(60));
    assert!(gathering.is_complete(), "the relay was given up");
}

/// Only an address from which a server was asked makes what the server said worthless.
#[test]
fn servers_are_asked_anew_from_a_new_address() {
    let now = Instant::ZERO;
    let mut gathering = gathering(None);
    let request = sent(&mut gathering).remove(0);
    gathering.handle_datagram(now, address(SERVER), &answer(&request, address(MAPPED)));
    gathering.output().candidates.clear();
    let kept = vec![address("10.0.0.1:5000"), address("192.168.1.2:5000")];
    gathering.restart(now, kept);
    gathering.handle_timeout(now);
    assert_eq!(gathering.output().candidates.len(), 1);
    assert!(sent(&mut gathering).is_empty());
    gathering.restart(now, vec![address("10.0.0.1:5000")]);
    gathering.handle_timeout(now);
    assert_eq!(sent(&mut gathering).len(), 1);
}

#[test]
fn gathering_without_servers_is_complete() {
    let base = address("192.168.1.2:5000");
    assert!(Gathering::new(Instant::ZERO, vec![base], Vec::new()).is_complete());
}

#[test]
fn relay_is_asked_anew_where_its_stream_began_again() {
    let server = Some(address("203.0.113.9:443"));
    for (by_stream, requests, again) in [(None, 2, 0), (server, 1, 1)] {
        let account = Account {
            user: "user".into(),
            password: "password".into(),
        };
        let mut gathering = gathering_by(Some(account), by_stream);
        assert_eq!(sent(&mut gathering).len(), requests);
        gathering.handle_datagram(Instant::ZERO, address(SERVER), &[]);
        let asked = sent(&mut gathering);
        assert_eq!(asked.len(), again);
        assert!(asked.iter().all(|request| request.starts_with(&[0, 3])));
    }
}

#[test]
fn silent_relay_is_reported_once_and_asked_again() {
    let mut gathering = gathering(Some(Account {
        user: "user".into(),
        password: "password".into(),
    }));
    sent(&mut gathering);
    let minutes = Duration::from_secs(600);
    let times = departures(&mut gathering, Instant::ZERO, Instant::ZERO + minutes);
    assert!(times.last().unwrap() > &(minutes - Duration::from_secs(60)));
    assert_eq!(gathering.output().failed, [address(SERVER)]);
}
