//! Tests of the requests to a media server, against servers that say what the test wants.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use super::signalling::{SignallingEndpoint, SignallingError};
use super::*;

/// The first line of a request, with its authorization.
type Asked = (String, Option<String>);

/// Serves these answers, one a connection; returns the URL and the requests.
fn serve(answers: Vec<String>) -> (String, Receiver<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/live/whip", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = BufReader::new(stream.try_clone().unwrap());
            let (mut first, mut authorization, mut length) = (String::new(), None, 0);
            request.read_line(&mut first).unwrap();
            loop {
                let mut line = String::new();
                request.read_line(&mut line).unwrap();
                let Some((name, value)) = line.trim().split_once(": ") else {
                    break;
                };
                match name.to_ascii_lowercase().as_str() {
                    "authorization" => authorization = Some(value.to_owned()),
                    "content-length" => length = value.parse().unwrap(),
                    _ => {}
                }
            }
            request.read_exact(&mut vec![0; length]).unwrap();
            // A client may refuse before it has read everything.
            let _ = stream.write_all(answer.as_bytes());
            let _ = sender.send((first.trim().to_owned(), authorization));
        }
    });
    (url, requests)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
}

fn access(token: &str) -> MediaServerArgs {
    MediaServerArgs {
        token: Some(token.into()),
        tls_fingerprint: None,
    }
}

fn endpoint(protocol: ServerProtocol, url: &str) -> SignallingEndpoint {
    MediaServer::new(protocol, url, &access("secret"))
        .unwrap()
        .0
}

#[test]
fn refusal_is_said_in_words() {
    use ServerProtocol::{Whep, Whip};
    for (protocol, status, said) in [
        (Whip, "401 Unauthorized", "EVENKEEL_TOKEN"),
        (Whip, "403 Forbidden", "does not permit"),
        (Whip, "404 Not Found", "check the path"),
        (Whep, "404 Not Found", "somebody publishes"),
        (Whip, "405 Method Not Allowed", "not of WHIP"),
        (Whip, "406 Not Acceptable", "H.264"),
        (Whip, "409 Conflict", "another stream"),
        (Whep, "409 Conflict", "nobody publishes"),
        (Whip, "302 Found", "redirects"),
        (Whip, "503 Service Unavailable", "busy"),
        (Whip, "500 Internal Server Error", "log"),
    ] {
        let body = "no\u{7} luck\nand more";
        let (url, _) = serve(vec![answer(status, "", body)]);
        let error = endpoint(protocol, &url).post("v=0").err().unwrap();
        let error = error.to_string();
        assert!(
            error.contains(&status[..3]) && error.contains(said),
            "{error}"
        );
        assert!(error.contains("'no luck'"), "{error}");
    }
}

#[test]
fn offer_follows_redirections_with_its_token() {
    let moved = |to: &str| answer("307 Temporary Redirect", &format!("Location: {to}\r\n"), "");
    let made = answer("201 Created", "Location: session/7\r\n", "v=0\r\n");
    let ended = answer("200 OK", "", "");
    let (url, requests) = serve(vec![moved("/other/place"), made, ended]);
    let answered = endpoint(ServerProtocol::Whip, &url).post("v=0").unwrap();
    assert_eq!(answered.text, "v=0\r\n");
    answered.session.expect("a session").end();
    for expected in [
        "POST /live/whip HTTP/1.1",
        "POST /other/place HTTP/1.1",
        "DELETE /other/session/7 HTTP/1.1",
    ] {
        let (line, authorization) = requests.recv().unwrap();
        assert_eq!(line, expected);
        assert_eq!(authorization.as_deref(), Some("Bearer secret"));
    }
    let (url, _) = serve(vec![moved("/again"); 6]);
    let error = endpoint(ServerProtocol::Whip, &url).post("v=0").err();
    assert!(matches!(error, Some(SignallingError::Redirections)));
}

#[test]
fn session_without_an_answer_is_ended() {
    let page = answer("201 Created", "Location: /s\r\n", "<html>");
    let (url, requests) = serve(vec![page, answer("200 OK", "", "")]);
    let error = endpoint(ServerProtocol::Whip, &url).post("v=0").err();
    assert!(matches!(error, Some(SignallingError::NoAnswer(_))));
    let asked = [requests.recv().unwrap(), requests.recv().unwrap()];
    assert_eq!(asked[1].0, "DELETE /s HTTP/1.1");
    let long = "v".repeat(1 << 20);
    let (url, _) = serve(vec![answer("201 Created", "", &long)]);
    let error = endpoint(ServerProtocol::Whip, &url).post("v=0").err();
    assert!(matches!(error, Some(SignallingError::Request(_))));
}

#[test]
fn token_and_url_are_checked_at_once() {
    for (url, token, named) in [
        ("host/whip", "a", "https://HOST/PATH"),
        ("https://me:pass@host/whip", "a", "--token"),
        ("https://host/whip", "a b", "without spaces"),
        ("https://host/whip", "a\r\nX: y", "without spaces"),
    ] {
        let refused = MediaServer::new(ServerProtocol::Whip, url, &access(token));
        let failure = refused.err().expect("refused");
        assert_eq!(failure.status(), 2);
        assert!(failure.to_string().contains(named), "{failure}");
    }
}
