//! What `evenkeel doctor` finds out about this machine.

use super::*;

#[test]
fn doctor_has_speed_addresses_and_version() {
    let output = run("doctor --json");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found = json(&output);
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    for codec in ["mjpeg", "raw", "h264"] {
        for time in ["encode_ms", "decode_ms"] {
            let ms = found["codecs"][codec][time].as_f64();
            assert!(ms.is_some_and(|ms| ms > 0.0), "{codec} {time}: {found}");
        }
    }
    for fact in ["ipv6", "h264_assembly"] {
        assert!(found[fact].is_boolean(), "{fact}: {found}");
    }
    let addresses = found["addresses"].as_array().expect("a list");
    let loops = |address: &Value| address.as_str().is_none_or(|text| text.starts_with("127."));
    assert!(!addresses.iter().any(loops), "{found}");
}

#[test]
fn doctor_says_in_words_what_it_found() {
    let said = text(&run("doctor").stdout);
    for name in [
        "version",
        "codec mjpeg",
        "codec h264",
        "assembly for H.264",
        "IPv6",
        "addresses for a peer",
        "cameras",
    ] {
        assert!(said.lines().any(|line| line.starts_with(name)), "{said}");
    }
}
