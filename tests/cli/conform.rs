//! `conform`: the list of checks, one check between two processes, and errors.

use super::*;

#[test]
fn conformance_errors_name_option_and_remedy() {
    refuses("conform --only B.9", &["--only", "B.9", "--list"]);
    refuses("conform --receiver nowhere", &["nowhere", "HOST:PORT"]);
    refuses("conform --rfc 793", &["--rfc", "793"]);
    refuses("conform --packet-size 800", &["--sender"]);
    refuses("conform --role sender", &["--peer"]);
}

/// The content of the first report does not depend on how late a timer is.
#[test]
fn check_passes_between_two_processes() {
    for bind in ["127.0.0.1:0", "[::1]:0"] {
        if std::net::UdpSocket::bind(bind).is_err() {
            continue; // This machine has no IPv6.
        }
        let output = run(&format!("conform --only B.2.1-5 --json --bind {bind}"));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "it said: {said}");
        let check = &json(&output)["checks"][0];
        assert_eq!(check["id"], "B.2.1-5");
        assert_eq!(check["pass"], true);
        assert_eq!(check["value"], 0.0);
    }
}

/// No implementation outlives the suite, however that ends.
#[test]
fn implementation_ends_with_its_standard_input() {
    let mut child = program("conform --role receiver")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("run the program");
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("wait for the program");
    assert_eq!(output.status.code(), Some(0));
    let address = text(&output.stdout);
    assert!(address.starts_with("127.0.0.1:"), "it said {address}");
}

#[test]
fn list_of_checks_has_the_57_of_the_thesis() {
    let output = run("conform --list");
    assert_eq!(output.status.code(), Some(0));
    let list = text(&output.stdout);
    let checks = list.lines().filter(|line| line.starts_with("B."));
    assert_eq!(checks.count(), 57);
}
