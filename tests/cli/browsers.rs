//! A call that browsers join, as far as no browser is needed: the signalling, and wrong options.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::page::Running;
use super::*;

const OFFER: &str = include_str!("../../testdata/offers/chromium.sdp");

/// The address of the server, and the bearer token.
struct Room {
    address: String,
    token: String,
}

impl Room {
    /// Sends a request with this token; returns the answer.
    fn ask(&self, what: &str, token: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        let length = body.len();
        write!(
            stream,
            "{what} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/sdp\r\nContent-Length: {length}\r\n\r\n{body}",
            self.address
        )
        .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn status(&self, what: &str, body: &str) -> String {
        let answer = self.ask(what, &self.token, body);
        answer.split_whitespace().nth(1).unwrap_or_default().into()
    }
}

#[test]
fn one_session_at_a_time_begins_and_ends() {
    let mut running = Running::start("call --web 127.0.0.1:0 --headless");
    let link = running.line();
    let link = link.trim().strip_prefix("http://").expect("a link");
    let (place, token) = link.split_once('#').expect("a token");
    let room = Room {
        address: place.strip_suffix("/call").expect("the room").into(),
        token: token.into(),
    };
    let page = room.ask("GET /call", "", "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<button id=\"join\""));
    assert!(page.contains("content-security-policy: default-src 'none'"));
    assert!(!page.contains(&room.token));
    for wrong in ["", "0", &room.token[1..], &format!("{}0", room.token)] {
        let refused = room.ask("POST /call/whip", wrong, OFFER);
        assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    }
    assert_eq!(room.status("POST /other/whip", OFFER), "404");
    assert_eq!(room.status("POST /call/whip", "v=0"), "400");
    let answer = room.ask("POST /call/whip", &room.token, OFFER);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let location = answer
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    let session = location.expect("a session").trim().to_owned();
    for _ in 0..3 {
        assert_eq!(room.status("POST /call/whip", OFFER), "409");
    }
    assert_eq!(room.status("DELETE /call/session/other", ""), "404");
    assert_eq!(room.status(&format!("DELETE {session}"), ""), "200");
    assert_eq!(room.status("POST /call/whip", OFFER), "201");
    running.interrupt();
}

#[test]
fn wrong_options_for_browsers_are_named() {
    refuses("call --web 127.0.0.1:0 --room a/b", &["--room", "studio-2"]);
    let absent = "call --web 127.0.0.1:0 --tls-cert absent.pem --tls-key absent.pem";
    refuses(absent, &["--tls-cert absent.pem", "PEM"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("its address");
    refuses(
        &format!("call --headless --web {taken}"),
        &["--web", "free port"],
    );
}
