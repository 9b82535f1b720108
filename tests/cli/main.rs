//! What the program says to a person who makes a mistake: one clear line, and exit status 2.

mod browsers;
mod conform;
mod doctor;
mod files;
mod invitations;
mod lab;
mod link;
mod media_server;
mod moved_peer;
mod options;
mod page;
mod perf;
mod ports;
mod sources;
mod summary;

use std::fs;
use std::net::UdpSocket;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The program with these words as its arguments.
fn program(words: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    program.args(words.split_whitespace()).stdin(Stdio::null());
    program
}

fn run(words: &str) -> Output {
    program(words).output().expect("run the program")
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

/// The run ends with this status, and with one line on standard error that contains each of `named`.
fn ends(status: i32, output: &Output, named: &[&str]) {
    let said = text(&output.stderr);
    let ended = (output.status.code(), said.trim_end().lines().count());
    assert_eq!(ended, (Some(status), 1), "{said}");
    for part in named {
        assert!(said.contains(part), "does not name {part}: {said}");
    }
}

/// The program finds a mistake in the arguments.
fn refuses(words: &str, named: &[&str]) {
    println!("evenkeel {words}");
    ends(2, &run(words), named);
}

/// The JSON on standard output, which has nothing else.
fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("nothing but JSON")
}

/// A path that no other test has. Its file or folder ends with this value.
struct Temporary {
    path: String,
}

impl Temporary {
    fn new(name: &str) -> Self {
        let name = format!("evenkeel-cli-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let path = path.to_str().expect("a plain path").to_owned();
        Self { path }
    }

    fn file(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let file = Self::new(name);
        file.write(bytes);
        file
    }

    fn write(&self, bytes: impl AsRef<[u8]>) {
        fs::write(&self.path, bytes).expect("write a file");
    }

    fn read(&self) -> Vec<u8> {
        fs::read(&self.path).expect("read a file")
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path).or_else(|_| fs::remove_dir_all(&self.path));
    }
}

/// A bound socket, and its address.
fn taken_port() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("its address").to_string();
    (socket, address)
}

/// A stream of grey pictures of 16x16, at 25 a second.
fn grey(pictures: usize) -> Vec<u8> {
    let picture = [b"FRAME\n".as_slice(), &[128; 384]].concat();
    [b"YUV4MPEG2 W16 H16 F25:1\n", &*picture.repeat(pictures)].concat()
}
