//! Options and values that the program refuses, and lists that it prints.

use super::*;

#[test]
fn absurd_numbers_are_named_with_their_option() {
    let cases: [(&str, &[&str]); 17] = [
        ("demo --rate 0", &["--rate", "1k"]),
        ("demo --rate fast", &["--rate", "fast", "3M"]),
        ("demo --rtt=-5ms", &["--rtt", "-5ms"]),
        ("demo --deadline 5s", &["--deadline", "5s", "20ms and 2s"]),
        (
            "send 192.0.2.7 --plain --deadline -1ms",
            &["--deadline", "-1ms", "20ms and 2s"],
        ),
        (
            "call 192.0.2.7 --plain --deadline soon",
            &["--deadline", "soon", "150ms"],
        ),
        ("demo --queue 0p", &["--queue", "0p"]),
        ("demo --loss 150%", &["--loss", "150%"]),
        ("demo --loss 5", &["--loss", "write 5%"]),
        ("demo --tcp 9", &["--tcp", "0..=8"]),
        ("demo --fps 0", &["--fps", "29.97"]),
        ("demo --size 0x0", &["--size", "0x0", "8192"]),
        ("demo --size 99999x2", &["--size", "99999x2"]),
        ("demo --seconds never", &["--seconds", "never"]),
        ("demo --page localhost", &["--page", "localhost"]),
        ("demo --colour", &["--colour"]),
        ("dance", &["dance"]),
    ];
    for (words, named) in cases {
        refuses(words, named);
    }
}

#[test]
fn repair_packets_without_reports_on_them_are_refused() {
    refuses(
        "demo --headless --seconds 1 --feedback sack --filler fec",
        &["--filler fec", "sack", "--feedback tfrc or twcc"],
    );
}

#[test]
fn random_loss_without_arrivals_is_refused() {
    let cases: [(&str, &[&str]); 3] = [
        (
            "demo --feedback tfrc",
            &["--random-loss", "--feedback tfrc", "ccfb or twcc"],
        ),
        (
            "send 127.0.0.1:9 --plain --fixed-rate 1M",
            &["--random-loss", "--fixed-rate"],
        ),
        (
            "demo --policy thesis",
            &["--random-loss", "--policy thesis", "evenkeel"],
        ),
    ];
    for (words, named) in cases {
        let bounded = format!("{words} --headless --seconds 1 --random-loss");
        refuses(&bounded, named);
    }
}

#[test]
fn warmup_as_long_as_the_run_is_refused() {
    for command in [
        "demo",
        "recv 127.0.0.1:0 --plain",
        "send 127.0.0.1:9 --plain",
        "call 127.0.0.1:9 --plain --bind 127.0.0.1:0",
    ] {
        refuses(
            &format!("{command} --headless --seconds 2 --warmup 2"),
            &["--warmup 2", "--seconds 2"],
        );
    }
}

#[test]
fn every_codec_is_listed() {
    let listed = text(&run("demo --codec list").stdout);
    let names = listed.lines().filter_map(|line| line.split(' ').next());
    let payloads = listed.lines().filter_map(|line| line.split("RFC ").nth(1));
    let codecs: Vec<_> = names.zip(payloads.map(|rfc| &rfc[..4])).collect();
    let expected = [
        ("mjpeg", "2435"),
        ("raw", "4175"),
        ("h264", "6184"),
        ("dv", "6469"),
    ];
    assert_eq!(codecs, expected);
}

/// As with `evenkeel lab list | head -1`.
#[test]
fn closed_standard_output_is_one_line_of_error() {
    for words in ["lab list", "demo --codec list"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = program(words)
            .stdout(writer)
            .output()
            .expect("run the program");
        ends(1, &output, &["standard output"]);
    }
}

#[test]
fn misspelt_option_and_command_are_guessed() {
    for (words, guess) in [("demo --rat 3M", "'--rate'"), ("dmo", "'demo'")] {
        refuses(words, &["tip: ", "similar", guess]);
    }
}

#[test]
fn help_fits_80_columns() {
    for command in [
        "",
        "demo",
        "call",
        "send",
        "recv",
        "conform",
        "doctor",
        "link relay",
        "testbed run",
        "lab run",
        "perf client",
        "vod play",
    ] {
        for option in ["-h", "--help"] {
            let output = run(&format!("{command} {option}"));
            let help = text(&output.stdout);
            let widest = help.lines().map(|line| line.chars().count()).max();
            assert!(widest.is_some_and(|columns| columns <= 80), "{help}");
        }
    }
}

#[test]
fn long_help_says_more_than_the_short_one() {
    for command in ["demo", "call", "send", "recv", "lab run", "perf client"] {
        let lengths = ["-h", "--help"].map(|option| {
            let output = run(&format!("{command} {option}"));
            text(&output.stdout).lines().count()
        });
        assert!(lengths[0] < lengths[1], "{command}: {lengths:?} lines");
    }
}
