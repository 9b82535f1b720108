//! Calls and streams between two hosts over addresses of a link, over IPv4 alone, and to groups. They need root.

use std::process::{Command, Stdio};

use crate::namespaces::{Cable, LEFT, RIGHT};
use crate::support::{Running, evenkeel};

/// The size and length of a run whose pictures only have to arrive.
const SHORT: [&str; 4] = ["--headless", "--seconds", "4", "--warmup=0"];

/// Two hosts with an address of their link each, `fe80::1` and `fe80::2`.
fn linked() -> Cable {
    let cable = Cable::new();
    for (side, address) in [("left", "fe80::1"), ("right", "fe80::2")] {
        cable.ip(side, &format!("addr add {address}/64 dev {side} nodad"));
        cable.ip(side, &format!("route add 239.0.0.0/8 dev {side}"));
    }
    cable
}

fn start(cable: &Cable, side: &str, words: &[&str]) -> Running {
    let program = evenkeel(&[words, &SHORT].concat());
    Running::start(cable.on(side, &program).stdout(Stdio::null()))
}

/// Both programs end well, as a run does that has shown pictures.
fn both_end_well(ends: [Running; 2], what: &str) {
    for mut end in ends {
        assert!(end.wait(30).success(), "{what}");
    }
}

/// The UDP datagrams that a host has sent.
fn sent(cable: &Cable, side: &str) -> u64 {
    let counters = cable.on(side, Command::new("cat").arg("/proc/net/snmp6"));
    let old = cable.on(side, Command::new("cat").arg("/proc/net/snmp"));
    let [new, old] = [counters, old].map(|mut cat| {
        let output = cat.output().expect("run cat");
        String::from_utf8(output.stdout).expect("text")
    });
    let new = new
        .lines()
        .find_map(|line| line.strip_prefix("Udp6OutDatagrams"));
    let mut old = old.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let old = old.next_back().and_then(|line| line.split(' ').nth(3));
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<u64>().ok());
    number(new).expect("a counter") + number(old).expect("a counter")
}

#[test]
fn call_runs_between_addresses_of_a_link() {
    let cable = linked();
    let left = [
        "call",
        "[fe80::2%left]:5004",
        "--plain",
        "--size",
        "160x120",
    ];
    let right = [
        "call",
        "fe80::1%right",
        "--plain",
        "--size",
        "160x120",
        "--from",
        "fe80::1%right",
    ];
    let ends = [start(&cable, "left", &left), start(&cable, "right", &right)];
    both_end_well(ends, "over addresses of a link");
}

#[test]
fn call_runs_on_a_host_without_ipv6() {
    let cable = Cable::new();
    for side in ["left", "right"] {
        cable.run(side, "sysctl -qw net.ipv6.conf.all.disable_ipv6=1");
    }
    let ends = [("left", RIGHT), ("right", LEFT)];
    let ends = ends.map(|(side, peer)| {
        start(
            &cable,
            side,
            &["call", peer, "--plain", "--size", "160x120"],
        )
    });
    both_end_well(ends, "over IPv4 alone");
}

#[test]
fn group_is_heard_and_gets_no_reports() {
    let cable = linked();
    for (to, at) in [
        ("239.1.2.3:5004", "239.1.2.3:5004"),
        ("[ff02::4567%left]:5004", "[ff02::4567%right]:5004"),
    ] {
        let before = sent(&cable, "right");
        let recv = start(&cable, "right", &["recv", at, "--plain"]);
        let send = [
            "send",
            to,
            "--plain",
            "--fixed-rate",
            "500k",
            "--size",
            "160x120",
        ];
        both_end_well([recv, start(&cable, "left", &send)], to);
        assert_eq!(sent(&cable, "right"), before, "{to}");
    }
}
