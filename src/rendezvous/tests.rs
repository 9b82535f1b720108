//! Tests of a rendezvous over real connections.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use evenkeel_net::Clock;
use evenkeel_secure::endpoint::Candidate;
use evenkeel_secure::identity::Identity;
use evenkeel_secure::invitation::{Invitation, Purpose, RendezvousUrl, Reply};
use tfrc::time::Duration;

use super::routes::MAX_MESSAGE;
use super::*;
use crate::http::HttpServer;

/// Serves a rendezvous until the server is dropped.
fn serve() -> (HttpServer, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let routes = router(Clock::start());
    let server = HttpServer::start("rendezvous", listener, None, routes, CONNECTION_LIMITS);
    (server.unwrap(), address)
}

/// Returns the status line and the rest of an answer.
fn ask(address: SocketAddr, request: &str, body: &[u8]) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let (line, headers) = request.split_once('\n').unwrap_or((request, ""));
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server may refuse before it has read everything.
    let _ = stream.write_all(body);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    let (status, rest) = answer.split_once("\r\n").unwrap_or_default();
    (status.into(), rest.into())
}

fn invitation() -> Invitation {
    let identity =
        Identity::generate(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_800_000_000))
            .unwrap();
    Invitation::new(Purpose::Call, &identity).unwrap()
}

fn reply(port: u16) -> Reply {
    let candidate = Candidate::host(([192, 0, 2, 7], port).into(), "udp");
    Reply(vec![candidate.unwrap()])
}

/// Waits for an event of a client.
fn wait(client: &RendezvousClient) -> MailboxEvent {
    let clock = Clock::start();
    while clock.now() < tfrc::time::Instant::ZERO + Duration::from_secs(20) {
        if let Some(event) = client.poll().next() {
            return event;
        }
        clock.sleep_until(clock.now() + Duration::from_millis(10));
    }
    panic!("nothing happens");
}

#[test]
fn reader_waits_for_what_a_writer_leaves() {
    let (_server, address) = serve();
    let url: RendezvousUrl = format!("http://{address}").parse().unwrap();
    let (clock, made) = (Clock::start(), invitation());
    let reader = RendezvousClient::read(clock, &url, made.mailbox()).unwrap();
    let writer = RendezvousClient::write(clock, &url, made.mailbox()).unwrap();
    for port in [5_004, 5_005] {
        writer.leave(reply(port));
        assert!(matches!(wait(&writer), MailboxEvent::ReplyStored));
        let MailboxEvent::Reply(Reply(candidates)) = wait(&reader) else {
            panic!("no reply");
        };
        assert_eq!(candidates[0].addr().port(), port);
    }
}

#[test]
fn foreign_bytes_in_the_mailbox_are_no_reply() {
    let (_server, address) = serve();
    let url: RendezvousUrl = format!("http://{address}").parse().unwrap();
    let (clock, made) = (Clock::start(), invitation());
    let path = format!("PUT {MAILBOX_PATH}{}", made.mailbox().name());
    assert!(ask(address, &path, &[7; MAX_MESSAGE]).0.contains("204"));
    let reader = RendezvousClient::read(clock, &url, made.mailbox()).unwrap();
    let MailboxEvent::Failed(_) = wait(&reader) else {
        panic!("it was read");
    };
    // The joiner is heard all the same.
    let writer = RendezvousClient::write(clock, &url, made.mailbox()).unwrap();
    writer.leave(reply(5_004));
    assert!(matches!(wait(&reader), MailboxEvent::Reply(_)));
}

#[test]
fn missing_rendezvous_is_reported_with_its_address() {
    let url: RendezvousUrl = "http://127.0.0.1:1".parse().unwrap();
    let client = RendezvousClient::read(Clock::start(), &url, invitation().mailbox()).unwrap();
    let MailboxEvent::Failed(why) = wait(&client) else {
        panic!("nobody is there");
    };
    assert!(why.contains("http://127.0.0.1:1: nobody listens"), "{why}");
}

#[test]
fn absurd_requests_are_refused() {
    let (_server, address) = serve();
    let made = invitation();
    let mailbox = made.mailbox();
    let path = format!("{MAILBOX_PATH}{}", mailbox.name());
    let long = vec![0; MAX_MESSAGE + 1];
    for (request, body, status) in [
        (format!("PUT {path}"), &long[..], "413"),
        (format!("PUT {path}x"), &[], "404"),
        (format!("GET {path}x"), &[], "404"),
        (format!("PUT {MAILBOX_PATH}"), &[], "404"),
        (format!("GET {MAILBOX_PATH}"), &[], "404"),
        (
            format!("PUT {MAILBOX_PATH}{}", "%00".repeat(43)),
            &[],
            "404",
        ),
        (format!("DELETE {path}"), &[], "405"),
        (format!("POST {path}"), &[], "405"),
        ("GET /".into(), &[], "404"),
    ] {
        let (said, _) = ask(address, &request, body);
        assert!(said.contains(status), "{request}: {said}");
    }
    assert!(
        ask(address, &format!("PUT {path}"), b"sealed")
            .0
            .contains("204")
    );
    let (_, answer) = ask(
        address,
        &format!("GET {path}\nIf-None-Match: \"é\"\r\n"),
        &[],
    );
    assert!(answer.ends_with("\r\n\r\nsealed"), "{answer}");
}
