//! Finds out whether OpenH264 is built with assembly, by the rule of its own build script.

use std::env;
use std::process::{Command, Stdio};

fn main() {
    // Without this line the script would run again long after OpenH264 was built.
    println!("cargo::rerun-if-env-changed=OPENH264_NO_ASM");
    println!("cargo::rustc-check-cfg=cfg(assembly)");
    let has_assembly = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        // The assembler of the C++ compiler suffices.
        Ok("arm" | "aarch64") => true,
        Ok("x86" | "x86_64") => env::var_os("OPENH264_NO_ASM").is_none() && has_nasm(),
        _ => false,
    };
    if has_assembly {
        println!("cargo::rustc-cfg=assembly");
    }
}

fn has_nasm() -> bool {
    let version = Command::new("nasm")
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    version.is_ok_and(|status| status.success())
}
