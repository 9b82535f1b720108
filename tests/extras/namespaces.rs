//! Two hosts joined by a cable, each in a network namespace without a name: gone with the test.

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
    hosts: [Running; 2],
}

impl Cable {
    pub(crate) fn new() -> Self {
        let cable = Self {
            hosts: [(), ()].map(|()| {
                Running::start(Command::new("unshare").args(["--net", "sleep", "infinity"]))
            }),
        };
        let ids = cable.hosts.each_ref().map(Running::id);
        ids.into_iter().for_each(wait_for_namespace);
        let [left, right] = ids.map(|id| id.to_string());
        ip(&format!(
            "link add left netns {left} type veth peer name right netns {right}"
        ));
        for (side, address) in [("left", LEFT), ("right", RIGHT)] {
            cable.ip(side, &format!("addr add {address}/24 dev {side}"));
            cable.ip(side, &format!("link set {side} up"));
        }
        cable
    }

    /// `command`, but on the left or the right host.
    pub(crate) fn on(&self, side: &str, command: &Command) -> Command {
        let host = &self.hosts[usize::from(side == "right")];
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
