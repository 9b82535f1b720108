//! Calls and streams between two hosts over addresses of a link, over IPv4 alone, and to groups; the README's commands
//! with IPv6 and without. They need root.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::namespaces::{Cable, LEFT, RIGHT};
use crate::support::{Running, Scratch, evenkeel, pause};

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

/// Starts `command`, which invites; returns it and the invitation that it prints.
fn invite(cable: &Cable, scratch: &Scratch, command: &str) -> (Running, String) {
    let path = scratch.file(command);
    let program = evenkeel(&[&[command], &SHORT[..]].concat());
    let output = fs::File::create(&path).expect("a file");
    let inviter = Running::start(cable.on("left", &program).stdout(output));
    let invitation = (0..200).find_map(|_| {
        pause(Duration::from_millis(50));
        let text = fs::read_to_string(&path).expect("text");
        let words = text.split_whitespace();
        let mut invitations = words.filter(|word| word.starts_with("evenkeel:"));
        invitations.next().map(str::to_owned)
    });
    (inviter, invitation.expect("an invitation"))
}

/// The README's commands for one machine and for two, as printed but for their length and the addresses.
fn readme_commands_show_pictures(cable: &Cable, machine: &str) {
    let scratch = Scratch::new("families-readme");
    cable.ip("left", "link set lo up");
    let mut demo = start(cable, "left", &["demo"]);
    assert!(demo.wait(60).success(), "demo {machine}");
    for (invites, joins) in [("call", "call"), ("recv", "send")] {
        let (inviter, invitation) = invite(cable, &scratch, invites);
        let joiner = start(cable, "right", &[joins, &invitation]);
        both_end_well([inviter, joiner], &format!("{invites} {machine}"));
    }
    let group = "239.1.2.3:5004";
    for (recv, send) in [
        (&["recv", "--plain"][..], &["send", RIGHT, "--plain"][..]),
        (
            &["recv", group],
            &["send", group, "--fixed-rate", "2M", "--ttl", "8"],
        ),
    ] {
        let recv = start(cable, "right", recv);
        let ends = [recv, start(cable, "left", send)];
        both_end_well(ends, &format!("{} {machine}", send[1]));
    }
}

#[test]
fn readme_commands_run_on_hosts_with_ipv6() {
    let cable = linked();
    for (side, address) in [("left", "2001:db8::1"), ("right", "2001:db8::2")] {
        cable.ip(side, &format!("addr add {address}/64 dev {side} nodad"));
    }
    readme_commands_show_pictures(&cable, "with IPv6");
}

#[test]
fn readme_commands_run_on_hosts_without_ipv6() {
    let cable = Cable::new();
    for side in ["left", "right"] {
        cable.run(side, "sysctl -qw net.ipv6.conf.all.disable_ipv6=1");
        cable.ip(side, &format!("route add 239.0.0.0/8 dev {side}"));
    }
    readme_commands_show_pictures(&cable, "without IPv6");
    let ends = [("left", RIGHT), ("right", LEFT)];
    let ends = ends.map(|(side, peer)| {
        start(
            &cable,
            side,
            &["call", peer, "--plain", "--size", "160x120"],
        )
    });
    both_end_well(ends, "a call over IPv4 alone");
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
