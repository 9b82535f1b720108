//! Ends that publish to a media server and play from one: the server is a call that browsers join.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout};

use super::*;

/// Starts a call for browsers on loopback; returns it with its URLs of WHIP and WHEP, and its token.
fn serves(json: &Temporary) -> (Child, BufReader<ChildStdout>, [String; 3]) {
    let (server, said, [whip, whep, token, _]) = serves_at("127.0.0.1:0", json);
    (server, said, [whip, whep, token])
}

/// Starts a call for browsers; returns it with its URLs of WHIP and WHEP, its token, and its fingerprint if it has one.
fn serves_at(web: &str, json: &Temporary) -> (Child, BufReader<ChildStdout>, [String; 4]) {
    let mut server = program(&format!(
        "call --web {web} --bind 127.0.0.1:0 --size 160x120 --headless --warmup 0 --seconds 25 --json {}",
        json.path
    ))
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .expect("run the program");
    let mut said = BufReader::new(server.stdout.take().expect("a pipe"));
    let (mut line, mut fingerprint) = (String::new(), String::new());
    while !line.starts_with("WHIP: ") {
        if line.starts_with("certificate ") {
            fingerprint = line.split_whitespace().last().unwrap_or_default().into();
        }
        line.clear();
        assert!(said.read_line(&mut line).expect("a pipe") > 0, "no URLs");
    }
    let mut words = line.split_whitespace();
    let mut after = |name: &str| {
        words.find(|word| *word == name);
        words.next().expect("its value").to_owned()
    };
    let names = [after("WHIP:"), after("WHEP:"), after("token:"), fingerprint];
    (server, said, names)
}

#[test]
fn call_is_published_to_and_played_from_by_url() {
    let [served, published, played] =
        ["served", "published", "played"].map(|name| Temporary::new(&format!("server-{name}")));
    let (mut server, mut said, [whip, whep, token]) = serves(&served);
    let options = "--headless --warmup 0 --seconds 5";
    let received = program(&format!(
        "recv --whep {whep} {options} --json {}",
        played.path
    ))
    .env("EVENKEEL_TOKEN", &token)
    .output();
    let received = received.expect("run the program");
    assert_eq!(
        received.status.code(),
        Some(0),
        "{}",
        text(&received.stderr)
    );
    // The place is free again at once, because the viewer ended its session. The figures of the call begin anew.
    let sent = run(&format!(
        "send --whip {whip} --token {token} --bind 127.0.0.1:0 --size 160x120 {options} --json {}",
        published.path
    ));
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    assert!(text(&sent.stderr).contains("as far as the media server"));
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut said, &mut rest).expect("a pipe");
    assert!(server.wait().expect("it ran").success(), "{rest}");
    for (end, key) in [
        (&served, "frames_shown"),
        (&published, "frames_sent"),
        (&played, "frames_shown"),
    ] {
        let summary: Value = serde_json::from_slice(&end.read()).expect("JSON");
        let frames = summary[key].as_u64().unwrap_or_default();
        assert!(frames > 50, "{key} of {}: {summary:#}", end.path);
    }
}

#[test]
fn self_made_certificate_is_trusted_by_fingerprint_alone() {
    let [served, played] = ["tls", "tls-played"].map(Temporary::new);
    let (mut server, _said, [_, whep, token, fingerprint]) = serves_at("0.0.0.0:0", &served);
    assert!(whep.starts_with("https://"), "{whep}");
    let play = |options: &str| {
        run(&format!(
            "recv --whep {whep} --token {token} --headless --warmup 0 --seconds 4 --json {} {options}",
            played.path
        ))
    };
    ends(1, &play(""), &["not trusted", "--tls-fingerprint", &whep]);
    let other = [&fingerprint[3..], &fingerprint[..2]].join(":");
    let wrong = play(&format!("--tls-fingerprint {other}"));
    ends(1, &wrong, &["--tls-fingerprint", &fingerprint, &other]);
    let played_by_it = play(&format!("--tls-fingerprint {fingerprint}"));
    let said = text(&played_by_it.stderr);
    assert_eq!(played_by_it.status.code(), Some(0), "{said}");
    let summary: Value = serde_json::from_slice(&played.read()).expect("JSON");
    assert!(summary["frames_shown"].as_u64() > Some(30), "{summary:#}");
    let plain = format!("send --whip http://127.0.0.1/whip --tls-fingerprint {fingerprint}");
    refuses(&plain, &["--tls-fingerprint", "https://"]);
    refuses(
        "send --whip https://127.0.0.1/whip --tls-fingerprint AB:CD",
        &["--tls-fingerprint", "AB:CD", "SHA-256"],
    );
    server.kill().expect("it runs");
    server.wait().expect("it runs");
}

#[test]
fn media_server_that_refuses_is_named_in_one_line() {
    let json = Temporary::new("server-refuses");
    let (mut server, _said, [whip, whep, token]) = serves(&json);
    let wrong = format!("{whip}x");
    for (words, named) in [
        (
            format!("send --whip {whip} --token x"),
            ["--whip", "401", "--token"],
        ),
        (
            format!("recv --whep {whep} --token x"),
            ["--whep", "401", "--token"],
        ),
        (
            format!("send --whip {wrong} --token {token}"),
            ["404", "path", &wrong],
        ),
    ] {
        let output = run(&format!("{words} --headless"));
        ends(1, &output, &named);
    }
    for (words, named) in [
        ("send --whip rtsp://host/live", "https://HOST/PATH"),
        ("send 192.0.2.7 --whip http://127.0.0.1/whip", "--whip"),
        ("recv --whep http://127.0.0.1/whep --plain", "--whep"),
        (
            "send --whip http://127.0.0.1/whip --codec mjpeg",
            "--codec mjpeg: --whip",
        ),
        ("call --web 127.0.0.1:0 --codec raw", "--codec raw: --web"),
        (
            "send --whip http://127.0.0.1/whip --rendezvous http://host",
            "--whip",
        ),
    ] {
        refuses(&format!("{words} --headless"), &[named]);
    }
    server.kill().expect("it runs");
    server.wait().expect("it runs");
}
