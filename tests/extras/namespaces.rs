//! Two hosts joined by a cable, a third or two NATs, each in a network namespace without a name: gone with the test.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use evenkeel_net::Socket;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::support::{Running, pause};

/// What the left host and the right one are called in their network.
pub(crate) const LEFT: &str = "198.51.100.1";
/// See [`LEFT`].
pub(crate) const RIGHT: &str = "198.51.100.2";

/// The address of the middle between two NATs.
pub(crate) const PUBLIC: [u8; 4] = [203, 0, 113, 1];

/// Two hosts and the cable between their interfaces, `left` and `right`. Needs root.
pub(crate) struct Cable {
    /// Left and right, and perhaps the middle and two NATs.
    hosts: Vec<Running>,
}

impl Cable {
    pub(crate) fn new() -> Self {
        let cable = Self::hosts(2);
        let [left, right] = [0, 1].map(|host| cable.hosts[host].id());
        ip(&format!(
            "link add left netns {left} type veth peer name right netns {right}"
        ));
        cable.address();
        cable
    }

    /// The same cut in two: a host in the middle has an end of each half, `a` and `b`, to be joined by a router.
    pub(crate) fn with_a_middle() -> Self {
        let cable = Self::hosts(3);
        let [left, right, middle] = [0, 1, 2].map(|host| cable.hosts[host].id());
        for (here, side, host) in [("a", "left", left), ("b", "right", right)] {
            ip(&format!(
                "link add name {here} netns {middle} type veth peer name {side} netns {host}"
            ));
            cable.ip("middle", &format!("link set dev {here} up"));
        }
        cable.address();
        cable
    }

    /// Two hosts, 10.0.1.2 and 10.0.2.2, each behind a NAT, and a public network in the middle that forwards between the
    /// NATs and has [`PUBLIC`] itself. `nats` says how each translates: `masquerade`, with or without `fully-random`.
    pub(crate) fn with_nats(nats: [&str; 2]) -> Self {
        let cable = Self::hosts(5);
        let sides = [("left", "left nat", "a"), ("right", "right nat", "b")];
        for (n, (side, nat, middle)) in sides.into_iter().enumerate() {
            let [host, router, public] = [side, nat, "middle"].map(|name| cable.host(name).id());
            ip(&format!(
                "link add in netns {router} type veth peer name {side} netns {host}"
            ));
            ip(&format!(
                "link add out netns {router} type veth peer name {middle} netns {public}"
            ));
            let (inner, outer) = (n + 1, n + 113);
            for (name, device, address) in [
                (side, side, format!("10.0.{inner}.2")),
                (nat, "in", format!("10.0.{inner}.1")),
                (nat, "out", format!("203.0.{outer}.2")),
                ("middle", middle, format!("203.0.{outer}.1")),
            ] {
                cable.ip(name, &format!("addr add {address}/24 dev {device}"));
                cable.ip(name, &format!("link set dev {device} up"));
            }
            cable.ip(side, &format!("route add default via 10.0.{inner}.1"));
            cable.ip(nat, &format!("route add default via 203.0.{outer}.1"));
            for name in [nat, "middle"] {
                cable.run(name, "sysctl -qw net.ipv4.ip_forward=1");
            }
            let translate = format!("post oifname out {}", nats[n]);
            cable.run(nat, "nft add table ip nat");
            // As routers do: a packet that nobody asked for would take the port from the host that asks a moment later.
            for (chain, rule) in [
                (
                    "post { type nat hook postrouting priority 100 ; }",
                    translate.as_str(),
                ),
                (
                    "in { type filter hook input priority 0 ; }",
                    "in iifname out drop",
                ),
            ] {
                cable.run(nat, &format!("nft add chain ip nat {chain}"));
                cable.run(nat, &format!("nft add rule ip nat {rule}"));
            }
        }
        cable
    }

    /// A UDP socket there, at any port.
    pub(crate) fn bind(&self, side: &str, address: Ipv4Addr) -> Socket {
        let namespace = format!("/proc/{}/ns/net", self.host(side).id());
        let bind = move || {
            let namespace = fs::File::open(namespace).expect("a namespace");
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), network).expect("root");
            Socket::bind(SocketAddr::from((address, 0))).expect("a socket")
        };
        // The namespace is that of the thread, which ends.
        thread::spawn(bind).join().expect("a thread")
    }

    fn hosts(count: usize) -> Self {
        let start = || Running::start(Command::new("unshare").args(["--net", "sleep", "infinity"]));
        let hosts: Vec<Running> = std::iter::repeat_with(start).take(count).collect();
        hosts.iter().map(Running::id).for_each(wait_for_namespace);
        Self { hosts }
    }

    fn address(&self) {
        for (side, address) in [("left", LEFT), ("right", RIGHT)] {
            self.ip(side, &format!("addr add {address}/24 dev {side}"));
            self.ip(side, &format!("link set {side} up"));
        }
    }

    fn host(&self, side: &str) -> &Running {
        let names = ["left", "right", "middle", "left nat", "right nat"];
        let host = names.iter().position(|name| *name == side);
        &self.hosts[host.expect("a side")]
    }

    /// `command`, but on the left host, the right one, that in the middle or a NAT.
    pub(crate) fn on(&self, side: &str, command: &Command) -> Command {
        let host = self.host(side);
        let mut inside = Command::new("nsenter");
        inside
            .args(["--net", "--target", &host.id().to_string()])
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::null());
        inside
    }

    /// `ip` there.
    pub(crate) fn ip(&self, side: &str, arguments: &str) {
        self.run(side, &format!("ip {arguments}"));
    }

    /// Any program there, to its end.
    pub(crate) fn run(&self, side: &str, line: &str) {
        let mut words = line.split(' ');
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        let status = self.on(side, &command).status();
        assert!(status.is_ok_and(|status| status.success()), "{line}");
    }
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "ip {arguments} (it needs root)"
    );
}

/// `unshare` has its namespace a moment after it was started.
fn wait_for_namespace(id: u32) {
    let of = |id: &str| fs::read_link(format!("/proc/{id}/ns/net")).ok();
    for _ in 0..200 {
        if of(&id.to_string()) != of("self") {
            return;
        }
        pause(Duration::from_millis(20));
    }
    panic!("no network namespace: it needs root");
}
