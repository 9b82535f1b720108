//! A sender behind an address translator that gives it another port during the run.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;

/// The datagrams to the receiver after which the port changes.
const UNTIL_THE_MOVE: u64 = 40;

/// Carries datagrams between a sender that sends to `near` and the receiver at `to`. Answers to the first port are lost
/// once it has changed.
fn translate(near: &UdpSocket, to: SocketAddr, is_over: &AtomicBool) {
    let port = || {
        let port = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        port.set_nonblocking(true).expect("a socket");
        port
    };
    let (mut far, mut buf, mut sender, mut carried) = (port(), [0; 2_048], None, 0);
    near.set_read_timeout(Some(Duration::from_millis(1)))
        .expect("a socket");
    while !is_over.load(Ordering::Relaxed) {
        if let Ok((len, from)) = near.recv_from(&mut buf) {
            sender = Some(from);
            carried += 1;
            if carried == UNTIL_THE_MOVE {
                far = port();
            }
            let _ = far.send_to(&buf[..len], to);
        }
        while let (Ok(len), Some(sender)) = (far.recv(&mut buf), sender) {
            let _ = near.send_to(&buf[..len], sender);
        }
    }
}

#[test]
fn receiver_follows_a_sender_to_its_new_port() {
    let (near, dest) = taken_port();
    let (free, bind) = taken_port();
    drop(free);
    let to = bind.parse().expect("an address");
    let is_over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| translate(&near, to, &is_over));
        let recv = format!("recv {bind} --plain --headless --seconds 6 --warmup 0 --json -");
        let recv = program(&recv)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("run the program");
        let sent = run(&format!(
            "send {dest} --plain --size 160x120 --headless --seconds 5"
        ));
        let output = recv.wait_with_output();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
        output.expect("the receiver ends")
    });
    let said = text(&output.stderr);
    assert!(said.contains("address changed"), "{said}");
    // A datagram has one picture at most.
    let shown = json(&output)["frames_shown"].as_u64();
    assert!(shown > Some(UNTIL_THE_MOVE), "{shown:?}: {said}");
}
