//! What needs root, without it: one line, and nothing is left.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::Scratch;

#[test]
fn missing_root_is_named_in_one_line() {
    let scratch = Scratch::new("unprivileged");
    // Where nobody may look for themselves.
    let [program, experiments, theirs] =
        ["evenkeel", "experiments", "theirs"].map(|name| scratch.file(name));
    fs::copy(env!("CARGO_BIN_EXE_evenkeel"), &program).expect("a copy of the program");
    fs::create_dir(&experiments).expect("a folder");
    let file = "sigcomm-fig15.toml";
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("experiments")
        .join(file);
    fs::copy(source, experiments.join(file)).expect("a copy of an experiment");
    // Nothing but the test bed itself is in the way of results there.
    fs::create_dir(&theirs).expect("a folder");
    fs::set_permissions(&theirs, Permissions::from_mode(0o777)).expect("a folder for all");
    let out = theirs.join("out");
    let [experiments, out_text] = [&experiments, &out].map(|path| path.to_string_lossy());
    let commands: [(&[&str], &str); 2] = [
        (
            &[
                "testbed",
                "run",
                "sigcomm-fig15",
                "--experiments",
                &experiments,
                "--out",
                &out_text,
            ],
            "which only root may: run it with sudo",
        ),
        (
            &["link", "router", "lo", "other"],
            "run as root, or with CAP_NET_RAW",
        ),
    ];
    for (arguments, why) in commands {
        let output = Command::new("setpriv")
            .args(["--reuid", "65534", "--clear-groups"])
            .arg(&program)
            .args(arguments)
            .current_dir("/")
            .output()
            .expect("run setpriv, of util-linux");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (
                output.status.code(),
                said.lines().count(),
                output.stdout.len()
            ),
            (Some(2), 1, 0),
            "{arguments:?}: {said}"
        );
        assert!(said.contains(why), "{said}");
    }
    assert!(!out.exists());
}
