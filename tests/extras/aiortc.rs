//! aiortc, a peer of WebRTC that is no browser, joins a call by WHIP and plays it by WHEP. Needs Python and its package index.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Running, Scratch, evenkeel, number, record, summary, wait_for_file};

const PACKAGE: &str = "aiortc==1.16.0";

/// Installs the package in an environment of its own, once; returns the environment's Python.
fn install() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aiortc");
    let python = folder.join("bin/python");
    let mut environment = Command::new("python3");
    environment.args(["-m", "venv"]).arg(&folder);
    let mut packages = Command::new(&python);
    packages.args(["-m", "pip", "install", "--quiet", PACKAGE]);
    for mut command in [environment, packages] {
        let status = command.stdout(Stdio::null()).status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "{command:?} must work for the extras"
        );
    }
    python
}

/// It sends no reports of arrivals: its reception reports pace what it gets.
#[test]
fn aiortc_is_in_a_call_and_plays_one() {
    let python = install();
    let mut call = evenkeel(&["call", "--web", "127.0.0.1:0", "--size", "320x240"]);
    let scratch = Scratch::new("aiortc");
    let [log, json] = ["log", "json"].map(|name| scratch.file(name));
    call.args(["--headless", "--seconds", "90", "--warmup", "0", "--json"])
        .arg(&json)
        .stdout(fs::File::create(&log).expect("a file"));
    let mut call = Running::start(&mut call);
    wait_for_file(&log);
    let said = fs::read_to_string(&log).expect("what it says");
    let endpoints = said.lines().find(|line| line.starts_with("WHIP: "));
    let endpoints = endpoints.expect("the endpoints");
    let words: Vec<_> = endpoints.split_whitespace().collect();
    let token = words.last().expect("a token");
    for (url, direction) in [(words[3], "to the peer"), (words[1], "both")] {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/extras/aiortc_peer.py");
        let output = Command::new(&python)
            .arg(script)
            .args([url, token, "10"])
            .output()
            .expect("run Python");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let counted: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        println!("aiortc, {url}: {counted}");
        let decoded = number(&counted, "decoded");
        assert!(decoded > 50.0, "{counted}");
        let figures = format!("{decoded} pictures decoded in 10 s, loopback");
        let feedback = "reception reports";
        record([PACKAGE, "library", direction, "H.264", feedback, &figures]);
    }
    call.signal("INT");
    call.wait(10);
    // The summary is of the last session: what aiortc published was shown here.
    let summary = summary(&json);
    assert!(number(&summary, "frames_shown") > 50.0, "{summary:#}");
}
