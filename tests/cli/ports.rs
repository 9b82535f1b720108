//! Addresses and ports: malformed, busy, or without an answer.

use super::*;

#[test]
fn malformed_port_is_named() {
    for words in [
        "send 127.0.0.1:99999 --plain",
        "send localhost:http --plain",
        "call [::1]:65536 --plain",
        "recv 127.0.0.1:99999 --plain",
        "demo --page 127.0.0.1:99999",
    ] {
        refuses(words, &["port ", "is no number", "65535"]);
    }
}

#[test]
fn busy_port_is_named_with_its_remedy() {
    let (_taken, address) = taken_port();
    for (command, option) in [
        ("recv --plain --headless --seconds 1", ""),
        ("send 127.0.0.1:9 --plain --headless --seconds 1", "--bind"),
        ("call 127.0.0.1:9 --plain --headless --seconds 1", "--bind"),
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
    let output = run("recv 127.0.0.1:0 --plain --headless --seconds 1");
    let why = "no picture was shown: nothing arrived";
    ends(1, &output, &[why, "address", "firewall"]);
}

#[test]
fn peer_at_port_0_is_refused() {
    for words in [
        "send 127.0.0.1:0 --plain --headless --seconds 1",
        "call [::1]:0 --plain --headless --seconds 1",
        "vod serve title.ts --to 127.0.0.1:0",
    ] {
        refuses(words, &[":0'", "port 0", "where it listens"]);
    }
}

#[test]
fn peer_without_a_way_is_refused() {
    for words in [
        "call [::1]:9 --plain --bind 0.0.0.0:0 --headless --seconds 1",
        "send [::1]:9 --plain --bind 127.0.0.1:0 --headless --seconds 1",
        "call 255.255.255.255:9 --plain --bind [::]:0 --headless --seconds 1",
    ] {
        refuses(words, &["no way from", ":9: ", "--bind", "family"]);
    }
    for words in [
        "call fe80::7 --plain --headless",
        "send [fe80::7]:5004 --plain --headless",
        "recv [fe80::7]:5004 --plain --headless",
        "recv 127.0.0.1:0 --plain --from fe80::7 --headless",
    ] {
        refuses(words, &["fe80::7", "interface", "%eth0]:5004"]);
    }
    refuses(
        "call [fe80::7%no-such]:9 --plain --headless",
        &["no interface `no-such`"],
    );
}

#[test]
fn group_is_refused_where_it_cannot_work() {
    for words in [
        "call 239.1.2.3 --plain --headless",
        "call [ff15::7]:9 --plain --headless",
        "vod serve title.ts --to 239.1.2.3",
        "perf client 239.1.2.3",
    ] {
        refuses(words, &["group", "one host"]);
    }
    let send = "send 239.1.2.3 --plain --headless --seconds 1";
    refuses(send, &["239.1.2.3", "--fixed-rate"]);
    let h264 = format!("{send} --fixed-rate 1M --codec h264");
    refuses(&h264, &["239.1.2.3", "H.264", "--codec mjpeg"]);
}

#[test]
fn call_runs_over_either_family() {
    for host in ["[::1]", "127.0.0.1"] {
        if UdpSocket::bind(format!("{host}:0")).is_err() {
            continue; // This machine has no IPv6.
        }
        let taken = [taken_port(), taken_port()];
        let port = |socket: &UdpSocket| socket.local_addr().expect("its address").port();
        let [one, two] = taken.map(|(socket, _)| port(&socket));
        let ends = [(one, two), (two, one)].map(|(own, peer)| {
            let size = "--size 160x120 --headless --seconds 5 --warmup 0";
            let words =
                format!("call {host}:{peer} --plain --bind [::]:{own} --from {host} {size}");
            let mut command = program(&words);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().expect("run the program")
        });
        for end in ends {
            let output = end.wait_with_output().expect("an end");
            assert!(output.status.success(), "{host}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn only_the_named_source_is_heard() {
    let (taken, address) = taken_port();
    drop(taken);
    let send = format!("send {address} --plain --fixed-rate 500k --size 160x120 --headless");
    let mut sender = program(&send);
    let mut sender = sender
        .stdout(Stdio::null())
        .spawn()
        .expect("run the program");
    let recv = format!("recv {address} --plain --headless --warmup 0 --seconds");
    let other = run(&format!("{recv} 2 --from 127.0.0.2"));
    let named = run(&format!("{recv} 5 --from 127.0.0.1"));
    sender.kill().and_then(|()| sender.wait()).expect("its end");
    ends(1, &other, &["another address", "--from"]);
    assert!(named.status.success(), "{}", text(&named.stderr));
}

#[test]
fn sender_without_reports_ends_and_names_the_receiver() {
    let (_silent, peer) = taken_port();
    let send = format!("send {peer} --plain --headless --size 160x120 --give-up 1s --seconds 60");
    ends(
        1,
        &run(&send),
        &[&peer, "1s (--give-up)", "receiver still runs"],
    );
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
    ends(2, &refused, &["no way", "255.255.255.255:5004", "--bind"]);
}
