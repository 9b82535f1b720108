//! Tests of the page over real connections.

use super::*;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc;

fn info() -> PageInfo {
    PageInfo {
        source: "built-in scene".into(),
        width: Some(640),
        height: Some(480),
        fps: Some(25.0),
        seed: Some(1),
        words: vec!["evenkeel".into(), "demo".into()],
        mode: Mode::Demo,
        choices: BTreeMap::new(),
        deadline_ms: 150.0,
        max_rate_bps: None,
    }
}

fn start() -> Page {
    let any_port = "127.0.0.1:0".parse().unwrap();
    Page::start(any_port, &info(), Some(Box::new(|_| Ok(())))).unwrap()
}

/// Sends a request, and returns the stream of its answer.
fn ask(page: &Page, request: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(page.address()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream)
}

fn get(page: &Page, path: &str) -> BufReader<TcpStream> {
    ask(
        page,
        &format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            page.address()
        ),
    )
}

fn post(page: &Page, json: &str) -> String {
    let length = json.len();
    let head = "POST /api/link HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json";
    let mut answer = String::new();
    ask(
        page,
        &format!("{head}\r\nContent-Length: {length}\r\n\r\n{json}"),
    )
    .read_to_string(&mut answer)
    .unwrap();
    answer
}

/// Returns the first line that starts with `start`.
fn line(answer: &mut BufReader<TcpStream>, start: &str) -> String {
    answer
        .lines()
        .map(Result::unwrap)
        .find(|line| line.starts_with(start))
        .unwrap()
}

#[test]
fn busy_port_gives_way_to_the_next_free_one() {
    let first = start();
    let second = Page::start(first.address(), &info(), None).expect("another port");
    let [taken, free] = [first.address(), second.address()].map(|address| address.port());
    assert!(
        free > taken && free - taken < PORTS_TRIED,
        "{taken}, {free}"
    );
    let refused = listen(first.address(), 1).expect_err("the only port is taken");
    let all_taken = PageError::bind(first.address(), refused);
    let remedy = "end another program or choose with --page 127.0.0.1:0 (any free port)";
    assert_eq!(
        all_taken.to_string(),
        format!(
            "the page's address {} and the 19 ports after it are in use: {remedy}",
            first.address()
        )
    );
}

#[test]
fn a_stopped_page_gives_its_port_back() {
    let page = start();
    let address = page.address();
    let mut open = get(&page, "/api/events");
    line(&mut open, "data: {");
    drop(page);
    let second = Page::start(address, &info(), None).expect("a free port");
    assert_eq!(second.address(), address);
}

#[test]
fn samples_reach_a_viewer_as_events() {
    let page = start();
    page.publish(&Sample {
        t_s: 1.0,
        ..Sample::default()
    });
    let mut events = get(&page, "/api/events");
    assert!(line(&mut events, "data: {").contains("\"source\":\"built-in scene\""));
    assert!(line(&mut events, "data: [").contains("\"t_s\":1.0"));
    page.publish(&Sample {
        t_s: 2.0,
        ..Sample::default()
    });
    assert!(line(&mut events, "data: {").contains("\"t_s\":2.0"));
}

#[test]
fn a_viewer_that_reads_nothing_holds_nobody_up() {
    let page = start();
    let mut viewer = get(&page, "/sent.mjpg");
    line(&mut viewer, "--picture");
    assert!(page.has_viewers());
    // The pictures far exceed the sockets' buffers, so this ends only if nothing waits for the viewer.
    (0..5_000).for_each(|_| page.show_sent(&[0; 50_000]));
    page.show_sent(b"the last one");
    line(&mut viewer, "Content-Type: image/jpeg");
}

#[test]
fn knobs_reach_the_controls_and_refusals_the_viewer() {
    let (moved, moves) = mpsc::channel();
    let any_port = "127.0.0.1:0".parse().unwrap();
    let controls: Controls = Box::new(move |knobs| {
        moved.send(knobs).unwrap();
        if knobs.loss_pct.is_some() {
            Err("the link is gone".into())
        } else {
            Ok(())
        }
    });
    let page = Page::start(any_port, &info(), Some(controls)).unwrap();
    assert!(post(&page, r#"{"rate_bps": 2e6}"#).starts_with("HTTP/1.1 200 "));
    assert_eq!(moves.try_recv().unwrap().rate_bps, Some(2e6));
    let refused = post(&page, r#"{"loss_pct": 1}"#);
    assert!(
        refused.starts_with("HTTP/1.1 409 ") && refused.ends_with("the link is gone\n"),
        "{refused}"
    );
    assert_eq!(moves.try_recv().unwrap().loss_pct, Some(1.0));
    assert!(post(&page, r#"{"rate_bps": 0}"#).starts_with("HTTP/1.1 422 "));
    assert!(post(&page, &" ".repeat(5_000)).starts_with("HTTP/1.1 413 "));
    assert!(moves.try_recv().is_err());
}

#[test]
fn a_run_without_a_link_has_no_knobs() {
    let any_port = "127.0.0.1:0".parse().unwrap();
    let page = Page::start(any_port, &info(), None).unwrap();
    assert!(post(&page, r#"{"rate_bps": 2e6}"#).starts_with("HTTP/1.1 404 "));
}

#[test]
fn a_rebound_name_gets_nothing() {
    let page = start();
    let mut answer = ask(&page, "GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n");
    assert!(line(&mut answer, "HTTP/1.1").contains("421"));
}

#[test]
fn page_off_loopback_needs_its_token() {
    let any_port = "0.0.0.0:0".parse().unwrap();
    let page = Page::start(any_port, &info(), Some(Box::new(|_| Ok(())))).unwrap();
    page.publish(&Sample::default());
    let port = page.address().port();
    let url = page.url();
    let (_, secret) = url.split_once("/?token=").expect("a token");
    let cookie = format!("Cookie: evenkeel-{port}={secret}\r\n");
    let answer = |path: &str, headers: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let head = "Host: 127.0.0.1\r\nConnection: close";
        write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n{headers}\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    for path in [
        "/",
        "/page.js",
        "/api/sample",
        "/api/events",
        "/sent.mjpg",
        "/?token=0",
    ] {
        let refused = answer(path, "");
        assert!(refused.starts_with("HTTP/1.1 403 "), "{path}: {refused}");
        assert!(!refused.contains("set-cookie"), "{refused}");
    }
    let opened = answer(&format!("/?token={secret}"), "");
    assert!(opened.starts_with("HTTP/1.1 200 "), "{opened}");
    assert!(opened.contains(&format!("set-cookie: evenkeel-{port}={secret}; ")));
    for (path, headers) in [
        ("/api/sample".to_owned(), cookie.as_str()),
        (format!("/api/sample?token={secret}"), ""),
    ] {
        let sample = answer(&path, headers);
        assert!(sample.starts_with("HTTP/1.1 200 "), "{sample}");
    }
    // On loopback there is none.
    assert!(!start().url().contains("token"));
}

#[test]
fn idle_connections_keep_no_viewer_out() {
    let page = start();
    let mut viewer = get(&page, "/api/events");
    line(&mut viewer, "data: [");
    let idle: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(page.address()).unwrap())
        .collect();
    let mut late = get(&page, "/api/info");
    let patience = std::time::Duration::from_secs(5);
    late.get_ref().set_read_timeout(Some(patience)).unwrap();
    assert!(line(&mut late, "HTTP/1.1").contains("200"));
    // And the viewer that was there is there still.
    page.publish(&Sample::default());
    assert!(line(&mut viewer, "data: {").contains("\"t_s\":0.0"));
    drop(idle);
}
