//! Two hosts joined by a cable or through a third, each in a network namespace without a name: gone with the test.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Running, pause};

/// What the left host and the right one are called in their network.
pub(crate) const LEFT: &str = "198.51.100.1";
/// See [`LEFT`].
pub(crate) const RIGHT: &str = "198.51.100.2";

/// Two hosts and the cable between their interfaces, `left` and `right`. Needs root.
pub(crate) struct Cable {
    /// Left and right, and perhaps the middle.
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

    /// `command`, but on the left host, the right one or that in the middle.
    pub(crate) fn on(&self, side: &str, command: &Command) -> Command {
        let names = ["left", "right", "middle"];
        let host = names.iter().position(|name| *name == side);
        let host = &self.hosts[host.expect("a side")];
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
