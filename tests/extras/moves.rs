//! An encrypted stream whose end changes its address or is suspended, as a phone does. As root.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::namespaces::{Cable, LEFT, RIGHT};
use crate::support::{Running, Scratch, pause};

/// The longest time without a picture that a person should meet: what a search for a new path may take, and a playout.
const MAX_GAP_MS: f64 = 5_000.0;

/// A receiver on the left, which invites, and a sender on the right.
struct Stream {
    receiver: Running,
    sender: Running,
    scratch: Scratch,
}

fn program(cable: &Cable, side: &str, words: &str, said: &Path) -> Running {
    let mut program = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    program.args(words.split(' '));
    let said = File::create(said).expect("a file");
    Running::start(cable.on(side, &program).stdout(said).stderr(Stdio::null()))
}

impl Stream {
    /// Starts both ends, and returns once pictures have gone for some seconds.
    fn start(cable: &Cable, seconds: u32) -> Self {
        let scratch = Scratch::new("moves");
        let said = scratch.file("receiver");
        let json = scratch.file("summary").display().to_string();
        let words = format!("recv --headless --warmup 0 --seconds {seconds} --json {json}");
        let receiver = program(cable, "left", &words, &said);
        let invitation = (0..100).find_map(|_| {
            pause(Duration::from_millis(100));
            let said = fs::read_to_string(&said).ok()?;
            let at = said.find("evenkeel:")?;
            said[at..].lines().next().map(str::to_owned)
        });
        let invitation = invitation.expect("an invitation");
        let words = format!("send {invitation} --size 160x120 --headless --seconds {seconds}");
        let sender = program(cable, "right", &words, &scratch.file("sender"));
        pause(Duration::from_secs(6));
        Self {
            receiver,
            sender,
            scratch,
        }
    }

    /// Waits for the end, and returns the receiver's summary.
    fn summary(mut self) -> Value {
        self.receiver.wait(60);
        drop(self.sender);
        let summary = fs::read(self.scratch.file("summary")).expect("a summary");
        serde_json::from_slice(&summary).expect("JSON")
    }
}

/// The address of either end goes, and another one comes half a second later, as from Wi-Fi to a mobile network.
#[test]
fn pictures_go_on_within_five_seconds_at_another_address() {
    for (side, before) in [("left", LEFT), ("right", RIGHT)] {
        let cable = Cable::new();
        let stream = Stream::start(&cable, 20);
        cable.ip(side, &format!("addr del {before}/24 dev {side}"));
        pause(Duration::from_millis(500));
        cable.ip(side, &format!("addr add 198.51.100.77/24 dev {side}"));
        let summary = stream.summary();
        let gap = summary["longest_gap_ms"].as_f64().expect("pictures");
        println!("{side}: {gap:.0} ms without a picture");
        assert!(gap < MAX_GAP_MS, "{side}: {summary:#}");
    }
}

#[test]
fn pictures_go_on_after_twenty_seconds_of_suspension() {
    let cable = Cable::new();
    let stream = Stream::start(&cable, 45);
    stream.sender.signal("STOP");
    pause(Duration::from_secs(20));
    stream.sender.signal("CONT");
    let summary = stream.summary();
    let gap = summary["longest_gap_ms"].as_f64().expect("pictures");
    println!("{gap:.0} ms without a picture");
    assert!(
        (19_000.0..20_000.0 + MAX_GAP_MS).contains(&gap),
        "{summary:#}"
    );
}
