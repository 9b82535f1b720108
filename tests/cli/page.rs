//! What the page says while a run goes on.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;
use std::time::{Duration, SystemTime};

use evenkeel_secure::identity::Identity;
use evenkeel_secure::invitation::{Invitation, Purpose};

use super::*;

/// A run that goes on until it is interrupted.
pub(super) struct Running {
    child: Child,
    /// The first line on its standard output.
    first: String,
}

impl Running {
    pub(super) fn start(words: &str) -> Self {
        let child = program(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("run the program");
        let mut running = Self {
            child,
            first: String::new(),
        };
        running.first = running.line();
        running
    }

    /// Reads the next line on its standard output.
    pub(super) fn line(&mut self) -> String {
        let mut line = String::new();
        let output = self.child.stdout.as_mut().expect("a pipe");
        let read = BufReader::with_capacity(1, output).read_line(&mut line);
        read.expect("a line");
        line
    }

    /// Asks the page for the newest sample.
    fn sample(&self) -> Option<Value> {
        serde_json::from_str(&self.ask("/api/sample")?).ok()
    }

    /// Returns what the page answers at this path.
    fn ask(&self, path: &str) -> Option<String> {
        let address = self.first.trim().strip_prefix("page: http://")?;
        let mut stream = TcpStream::connect(address).ok()?;
        let head = "Host: localhost\r\nConnection: close";
        write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer.split_once("\r\n\r\n")?.1.to_owned())
    }

    /// Ends the run as Ctrl-C does.
    pub(super) fn interrupt(self) -> Output {
        let id = self.child.id().to_string();
        let kill = Command::new("kill").args(["-s", "INT", &id]).status();
        assert!(kill.is_ok_and(|status| status.success()));
        self.child.wait_with_output().expect("its end")
    }
}

/// Waits a moment between two looks at a process.
#[expect(clippy::disallowed_methods, reason = "a real process takes real time")]
fn pause() {
    std::thread::sleep(Duration::from_millis(100));
}

#[test]
fn warning_is_on_terminal_page_and_summary() {
    let json = Temporary::new("warned.json");
    let words = format!(
        "demo --page 127.0.0.1:0 --deadline 20ms --json {}",
        json.path
    );
    let running = Running::start(&words);
    let warned = (0..300).find_map(|_| {
        pause();
        let shown = running.sample()?["warnings"].get(0)?.as_str()?.to_owned();
        Some(shown)
    });
    let said = text(&running.interrupt().stderr);
    let warned = warned.expect("a warning on the page");
    assert!(warned.contains("20 ms of --deadline"), "{warned}");
    assert!(
        said.contains(&format!("evenkeel: warning: {warned}")),
        "{said}"
    );
    let summary: Value = serde_json::from_slice(&json.read()).expect("the summary");
    assert_eq!(summary["warnings"][0], warned.as_str());
}

#[test]
fn interrupt_before_figures_is_no_failure() {
    for (warmup, status) in [("60s", 0), ("0", 1)] {
        // The first line is one of progress, a second after the start.
        let recv = format!("recv 127.0.0.1:0 --plain --headless --warmup {warmup}");
        let output = Running::start(&recv).interrupt();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert_eq!(said.contains("no picture was shown"), status == 1, "{said}");
    }
}

/// Anyone who watches could otherwise join in the joiner's place, or use the account at the relay.
#[test]
fn page_shows_neither_invitation_nor_password() {
    let identity = Identity::generate(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000))
        .expect("random numbers");
    let invitation = Invitation::new(Purpose::Send, &identity).expect("random numbers");
    let (silent, server) = taken_port();
    let running = Running::start(&format!(
        "recv {invitation} --page 127.0.0.1:0 --ice-server turn:me:hidden@{server}"
    ));
    let command = (0..300).find_map(|_| {
        pause();
        Some(running.sample()?["command"].as_str()?.to_owned())
    });
    let info = running.ask("/api/info").expect("an answer");
    running.interrupt();
    let command = command.expect("a sample");
    let expected = "evenkeel recv INVITATION --page 127.0.0.1:0 --ice-server turn:me:PASSWORD@HOST";
    assert_eq!(command, expected);
    assert!(
        info.contains("INVITATION") && !info.contains("evenkeel:") && !info.contains("hidden"),
        "{info}"
    );
    drop(silent);
}
