//! Addresses and ports: malformed, busy, or without an answer.

use super::*;

#[test]
fn malformed_port_is_named() {
    for words in [
        "send 127.0.0.1:99999",
        "send localhost:http",
        "call [::1]:65536",
        "recv 127.0.0.1:99999",
        "demo --page 127.0.0.1:99999",
    ] {
        refuses(words, &["port ", "is no number", "65535"]);
    }
}

#[test]
fn busy_port_is_named_with_its_remedy() {
    let (_taken, address) = taken_port();
    for (command, option) in [
        ("recv --headless --seconds 1", ""),
        ("send 127.0.0.1:9 --headless --seconds 1", "--bind"),
        ("call 127.0.0.1:9 --headless --seconds 1", "--bind"),
        ("conform --only B.2.1-1", "--bind"),
        ("link relay 127.0.0.1:0 127.0.0.1:9 --seconds 1", "--from"),
    ] {
        refuses(
            &format!("{command} {option} {address}"),
            &[option, &address, "in use", "another port"],
        );
    }
    refuses(
        &format!("link relay {address} 127.0.0.1:9 --seconds 1"),
        &["LISTEN", &address, "in use", "another port"],
    );

    let taken = UdpSocket::bind("0.0.0.0:0").expect("a free port");
    let port = taken.local_addr().expect("its address").port().to_string();
    refuses(
        &format!("perf server --port {port}"),
        &["--port", &port, "in use", "another port"],
    );
}

#[test]
fn busy_page_port_gives_way_to_another() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("its address");
    let output = run(&format!("demo --page {address} --seconds 2"));
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    let note = format!(" (port {} is taken)", address.port());
    assert!(
        said.lines()
            .any(|line| line.starts_with("page: http://127.0.0.1:") && line.ends_with(&note)),
        "{said}"
    );
}

#[test]
fn run_that_shows_no_picture_fails() {
    let output = run("recv 127.0.0.1:0 --headless --seconds 1");
    let why = "no picture was shown: nothing arrived";
    ends(1, &output, &[why, "address", "firewall"]);
}

#[test]
fn peer_at_port_0_is_refused() {
    for words in [
        "send 127.0.0.1:0 --headless --seconds 1",
        "call [::1]:0 --headless --seconds 1",
        "vod serve title.ts --to 127.0.0.1:0",
    ] {
        refuses(words, &[":0'", "port 0", "where it listens"]);
    }
}

#[test]
fn sender_without_reports_ends_and_names_the_receiver() {
    let (_silent, peer) = taken_port();
    let send = format!("send {peer} --headless --size 160x120 --give-up 1s --seconds 60");
    ends(1, &run(&send), &[&peer, "1s (--give-up)", "evenkeel recv"]);
}

#[test]
fn title_that_nobody_sends_or_receives_fails() {
    let nothing = run("vod play 127.0.0.1:0 --seconds 0.3");
    ends(1, &nothing, &["nothing was received on 127.0.0.1:", "--to"]);
    let frames = Temporary::file("trace.csv", "0,I,5000\n0.04,P,5000\n0.08,P,5000\n");
    let serve = format!("vod serve --trace {} --seconds 0.3", frames.path);
    let (_silent, peer) = taken_port();
    let unheard = run(&format!("{serve} --to {peer}"));
    ends(1, &unheard, &["nothing came back", &peer, "--udp"]);
    // A system sends nothing to all hosts unless asked specially.
    let refused = run(&format!("{serve} --udp --to 255.255.255.255"));
    let named = [
        "nothing was sent to 255.255.255.255:5004",
        "refused",
        "firewall",
    ];
    ends(1, &refused, &named);
}
