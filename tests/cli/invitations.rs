//! Ends that meet by an invitation, encrypted.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Child;

use evenkeel_secure::endpoint::Candidate;
use evenkeel_secure::invitation::Invitation;

use super::*;

/// Starts an end that invites; returns it and its invitation.
fn invites(words: &str) -> (Child, BufReader<std::process::ChildStdout>, String) {
    let mut inviter = program(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("run the program");
    let mut said = BufReader::new(inviter.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("evenkeel:") {
        line.clear();
        assert!(
            said.read_line(&mut line).expect("a pipe") > 0,
            "no invitation"
        );
    }
    let (_, invitation) = line.split_once(" evenkeel:").expect("a command first");
    (inviter, said, format!("evenkeel:{}", invitation.trim()))
}

/// Returns the words that an end shows on standard error.
fn words_of(said: &str) -> Option<&str> {
    let (_, words) = said.split_once("if they differ: ")?;
    words.lines().next()
}

/// Runs an end that invites and one that joins, which are to show pictures and the same words.
fn meet(first: &str, second: &str) {
    let options = |words: &str| match words.starts_with("recv") {
        true => "--headless --warmup 0",
        false => "--size 160x120 --headless --warmup 0",
    };
    let bind = if first == "recv" { "" } else { "--bind" };
    let inviting = format!("{first} {bind} 127.0.0.1:0 {} --seconds 10", options(first));
    let (inviter, mut said, invitation) = invites(&inviting);
    let joining = format!("{second} {} --seconds 5 {invitation}", options(second));
    let joined = run(&joining);
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("a pipe");
    let invited = inviter.wait_with_output().expect("the inviter ends");
    for (end, output) in [(first, &invited), (second, &joined)] {
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{end}: {said}");
    }
    let [one, other] = [&invited, &joined].map(|output| text(&output.stderr));
    assert!(one.contains("the other end has left"), "{one}");
    let words = words_of(&one).unwrap_or_default();
    assert_eq!(words.split(' ').count(), 4, "{one}");
    assert_eq!(Some(words), words_of(&other), "{other}");
}

#[test]
fn invited_ends_show_pictures_and_same_words() {
    let sdp = Temporary::new("encrypted.sdp");
    // Raw video does not say its size.
    let raw = [
        format!("send --codec raw --sdp {}", sdp.path),
        format!("recv --sdp {}", sdp.path),
    ];
    std::thread::scope(|scope| {
        for (first, second) in [
            ("call", "call --codec h264"),
            ("recv", "send --codec h264"),
            ("send", "recv"),
            (&raw[0], &raw[1]),
        ] {
            scope.spawn(move || meet(first, second));
        }
    });
}

#[test]
fn wrong_invitation_is_refused_in_one_line() {
    let (mut inviter, _said, invitation) = invites("recv 127.0.0.1:0 --headless --seconds 30");
    for (words, named) in [
        (format!("call {invitation}"), "evenkeel send"),
        (format!("recv {invitation}"), "evenkeel send"),
        (format!("send {invitation} --plain"), "--plain"),
        (format!("send {}", &invitation[..40]), "copy the whole line"),
        ("call 192.0.2.7".into(), "--plain"),
        ("send 192.0.2.7:5004".into(), "evenkeel recv"),
        ("call --from 192.0.2.7".into(), "--from"),
        ("recv --from 192.0.2.7".into(), "--from"),
        ("call --plain".into(), "address"),
    ] {
        refuses(&format!("{words} --headless"), &[named]);
    }
    inviter.kill().expect("it runs");
    inviter.wait().expect("it runs");
}

/// Nothing that is not of the invitation is heard, and a person is told why.
#[test]
fn plain_rtp_is_not_heard_by_an_encrypted_end() {
    let (free, address) = taken_port();
    drop(free);
    let (inviter, _said, _) = invites(&format!("recv {address} --headless --seconds 4 --warmup 0"));
    let sent = run(&format!(
        "send {address} --plain --size 160x120 --headless --seconds 2"
    ));
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    let output = inviter.wait_with_output().expect("the receiver ends");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("add --plain at this end"), "{said}");
}

/// The joiner has a wrong address of the inviter, as if a router dropped its packets: only the inviter can find the joiner.
#[test]
fn pasted_reply_lets_inviter_find_joiner() {
    let inviting = "recv 127.0.0.1:0 --headless --seconds 12 --warmup 0";
    let (mut inviter, _said, invitation) = invites(inviting);
    let (silent, nowhere) = taken_port();
    let nowhere = Candidate::host(nowhere.parse().expect("an address"), "udp");
    let invitation: Invitation = invitation.parse().expect("an invitation");
    let invitation = invitation.at(&[nowhere.expect("a host")]);
    let joining = format!(
        "send {invitation} --bind 127.0.0.1:0 --size 160x120 --headless --seconds 6 --warmup 0"
    );
    let mut joiner = program(&joining)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("run the program");
    let mut said = BufReader::new(joiner.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("evenkeel-reply:") {
        line.clear();
        assert!(said.read_line(&mut line).expect("a pipe") > 0, "no reply");
    }
    let (_, reply) = line.split_once("terminal: ").expect("a reply last");
    let mut terminal = inviter.stdin.take().expect("a pipe");
    write!(terminal, "no reply\n\n{reply}").expect("a pipe");
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("a pipe");
    assert!(joiner.wait().expect("it ran").success(), "{rest}");
    let output = inviter.wait_with_output().expect("the inviter ends");
    let invited = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{invited}");
    assert!(
        invited.contains("a reply with evenkeel-reply:"),
        "{invited}"
    );
    assert_eq!(words_of(&invited), words_of(&rest));
    drop(silent);
}
