//! Tells the program which commit it was built from, so that its results can name it.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=.git/HEAD");
    println!("cargo::rerun-if-changed=.git/logs/HEAD");
    let described = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=12"])
        .output();
    let commit = match described {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => "unknown".to_owned(),
    };
    println!("cargo::rustc-env=EVENKEEL_COMMIT={commit}");
}
