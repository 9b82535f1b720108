//! A media server of another maker, pion's WHIP and WHEP example, that is published to and played from. Needs Go and root.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::namespaces::{Cable, LEFT, RIGHT};
use crate::support::{Running, Scratch, evenkeel, number, pause, record, summary};

/// The server with its version, from the module proxy of Go.
const SERVER: &str = "github.com/pion/webrtc/v4/examples/whip-whep@v4.2.26";

/// Builds the server, once; returns `None` where Go is missing, except in CI.
fn build() -> Option<PathBuf> {
    let is_there = Command::new("go")
        .arg("version")
        .stdout(Stdio::null())
        .status();
    if is_there.is_err() && env::var_os("CI").is_none() {
        println!("skipped: Go is not installed");
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
    let mut go = Command::new("go");
    let built = go.args(["install", SERVER]).env("GOBIN", &folder).status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "go install {SERVER}"
    );
    Some(folder.join("whip-whep"))
}

/// Starts an end on the left host, whose summary goes to this file.
fn start(cable: &Cable, words: &str, json: &Path) -> Running {
    let words: Vec<&str> = words.split(' ').collect();
    let mut command = evenkeel(&words);
    command
        .args(["--headless", "--warmup", "0", "--json"])
        .arg(json);
    Running::start(cable.on("left", &command).stdout(Stdio::null()))
}

#[test]
fn pictures_pass_a_foreign_media_server() {
    let Some(server) = build() else {
        return;
    };
    let scratch = Scratch::new("media-server");
    let cable = Cable::new();
    for side in ["left", "right"] {
        cable.ip(side, "link set lo up");
    }
    let log = std::fs::File::create(scratch.file("log")).expect("a file");
    let mut server = cable.on("right", &Command::new(server));
    let _server = Running::start(server.stdout(log).stderr(Stdio::null()));
    pause(Duration::from_secs(1));
    let at = |path: &str| format!("http://{RIGHT}:8080/{path}");
    let [sent, played] = ["sent.json", "played.json"].map(|name| scratch.file(name));
    let publish = format!(
        "send --whip {} --bind {LEFT}:0 --size 320x240 --seconds 25",
        at("whip")
    );
    let mut publisher = start(&cable, &publish, &sent);
    pause(Duration::from_secs(8));
    let play = format!("recv --whep {} --seconds 10", at("whep"));
    let mut player = start(&cable, &play, &played);
    assert_eq!(player.wait(60).code(), Some(0), "the player");
    assert_eq!(publisher.wait(60).code(), Some(0), "the publisher");
    let [sent, played] = [sent, played].map(|file| summary(&file));
    assert!(number(&sent, "frames_sent") > 200.0, "{sent:#}");
    // The server reports each packet's arrival, so the rate is TFRC's.
    assert_eq!(sent["rate_from"], "feedback", "{sent:#}");
    let shown = number(&played, "frames_shown");
    assert!(shown > 50.0, "{played:#}");
    let (rate, rtt) = (number(&sent, "throughput_bps"), number(&sent, "rtt_p50_ms"));
    let figures = format!(
        "{:.0} kb/s to it, round trip {rtt:.0} ms; {shown} pictures in 10 s from it",
        rate / 1e3
    );
    let (direction, feedback) = ("both, by WHIP and WHEP", "transport-wide");
    let (_, name) = SERVER.rsplit_once("/v4/").expect("a version");
    let name = format!("pion {name}");
    record([&name, "server", direction, "H.264", feedback, &figures]);
}
