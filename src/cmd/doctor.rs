//! `evenkeel doctor`: lists the means of this machine to send and receive on time.

mod speed;

use std::net::{Ipv6Addr, UdpSocket};
use std::process::{Command, Stdio};

use evenkeel_codec::Codec;
use evenkeel_codec::h264::HAS_ASSEMBLY;
use evenkeel_net::{Clock, Lateness, LocalAddress, ProbeReport, local_addresses, probe};
use serde_json::json;
use tfrc::time::Duration;

use self::speed::CodecSpeed;
use crate::cli::DoctorArgs;
use crate::devices;
use crate::failure::Failure;
use crate::inputs::{DEFAULT_FRAME_RATE, DEFAULT_SIZE};
use crate::outputs;
use crate::units::millis;

/// The findings about this machine.
struct Findings {
    timing: ProbeReport,
    speeds: Vec<CodecSpeed>,
    has_ipv6: bool,
    addresses: Vec<LocalAddress>,
    ffmpeg: Option<String>,
    cameras: Vec<String>,
}

/// Prints the findings; returns an error if this machine cannot code the default video as fast as it is shown.
pub(crate) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let clock = Clock::start();
    let findings = Findings {
        timing: probe(clock).map_err(Failure::runtime)?,
        speeds: speed::speeds(&clock)?,
        has_ipv6: UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok(),
        addresses: local_addresses(),
        ffmpeg: ffmpeg_version(),
        cameras: devices::cameras(),
    };
    if args.json {
        outputs::say(as_json(&findings))?;
    } else {
        print(&findings)?;
    }
    let is_default = |speed: &&CodecSpeed| speed.codec == Codec::default();
    match findings.speeds.iter().find(is_default) {
        Some(slow) if !slow.keeps_up() => Err(Failure::runtime(format_args!(
            "this machine is too slow for the default video, {} pictures of {} a second: choose a smaller --size",
            DEFAULT_FRAME_RATE.per_second(),
            default_size()
        ))),
        _ => Ok(()),
    }
}

fn default_size() -> String {
    format!("{}x{}", DEFAULT_SIZE.0, DEFAULT_SIZE.1)
}

fn print(findings: &Findings) -> Result<(), Failure> {
    let report = &findings.timing;
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let or = |value: Option<&str>, unknown: &str| value.unwrap_or(unknown).to_owned();
    let (granted, asked) = (
        report.receive_buffer_granted.get() / 1_024,
        report.receive_buffer_asked.get() / 1_024,
    );
    let list = |names: Vec<String>| Some(names.join(", ")).filter(|names| !names.is_empty());
    let cameras = list(findings.cameras.clone());
    let reached = findings.addresses.iter().map(ToString::to_string);
    let reached = list(reached.collect());
    let coded = format!("to code and to decode a picture of {}", default_size());
    let slow = format!("{coded}: too slow here");
    let speeds = findings.speeds.iter().map(|speed| {
        (
            format!("codec {}", speed.codec),
            format!(
                "{:.1} + {:.1} ms",
                millis(speed.encode),
                millis(speed.decode)
            ),
            if speed.keeps_up() { &coded } else { &slow }.as_str(),
        )
    });
    let lines = [
        (
            "version",
            env!("CARGO_PKG_VERSION").to_owned(),
            concat!("of the program, commit ", env!("EVENKEEL_COMMIT")),
        ),
        (
            "IPv6",
            yes(findings.has_ipv6),
            "whether this machine speaks it",
        ),
        (
            "assembly for H.264",
            yes(HAS_ASSEMBLY),
            if HAS_ASSEMBLY {
                "in this build"
            } else {
                "H.264 is slower without; install nasm and build again"
            },
        ),
        (
            "kernel receive times",
            yes(report.kernel_timestamps),
            "arrival times survive a busy receiver",
        ),
        (
            "segments a send (GSO)",
            report.send_segments.to_string(),
            "datagrams that leave in one call",
        ),
        (
            "segments a read (GRO)",
            report.receive_segments.to_string(),
            "datagrams that come in one buffer",
        ),
        ("ECN", yes(report.ecn), "marks can be read"),
        (
            "departure times (TXTIME)",
            yes(report.departure_times),
            "the kernel takes them; not used: docs/decisions/0008",
        ),
        (
            "queue discipline",
            or(report.queue_discipline.as_deref(), "unknown"),
            "of an interface that is given no other",
        ),
        (
            "timer error",
            quantiles(&report.timer_error),
            if report.timer_error.quantile(0.99) > PUNCTUAL {
                "p50 and p99 of waits of 1 ms: other processes delay it; start evenkeel with `chrt -r 10` for priority"
            } else {
                "p50 and p99 of waits of 1 ms"
            },
        ),
        (
            "loopback",
            quantiles(&report.loopback),
            "p50 and p99 from send to read",
        ),
        (
            "receive buffer",
            format!("{granted} of {asked} KiB"),
            "what the system granted (Linux counts double)",
        ),
        (
            "ffmpeg",
            or(findings.ffmpeg.as_deref(), "not found"),
            "reads files and devices for --source",
        ),
        (
            "cameras",
            or(cameras.as_deref(), "none"),
            "for --source camera:N (by ffmpeg), or v4l2:/dev/videoN",
        ),
        (
            "screen",
            or(
                Some(&*devices::screens().join(", ")).filter(|names| !names.is_empty()),
                "none",
            ),
            "what ffmpeg offers for --source screen",
        ),
    ];
    let lines = lines.map(|(name, value, meaning)| (name.to_owned(), value, meaning));
    for (name, value, meaning) in lines.into_iter().chain(speeds) {
        outputs::say(format_args!("{name:<26}{value:<22}{meaning}"))?;
    }
    // The addresses come last, because there may be many.
    outputs::say(format_args!(
        "{:<26}{}",
        "addresses for a peer",
        or(
            reached.as_deref(),
            "none: only programs on this machine reach this one"
        )
    ))
}

/// The greatest lateness that a stream does not notice: the target for packets every 200 µs.
const PUNCTUAL: Duration = Duration::from_micros(200);

fn as_json(findings: &Findings) -> serde_json::Value {
    let report = &findings.timing;
    let addresses = findings.addresses.iter().map(ToString::to_string);
    let speeds = findings.speeds.iter().map(CodecSpeed::as_json);
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "ipv6": findings.has_ipv6,
        "addresses": addresses.collect::<Vec<_>>(),
        "h264_assembly": HAS_ASSEMBLY,
        "codecs": serde_json::Map::from_iter(speeds),
        "kernel_timestamps": report.kernel_timestamps,
        "send_segments": report.send_segments,
        "receive_segments": report.receive_segments,
        "ecn": report.ecn,
        "departure_times": report.departure_times,
        "queue_discipline": report.queue_discipline,
        "timer_error_p50_us": report.timer_error.quantile(0.5).as_micros() as u64,
        "timer_error_p99_us": report.timer_error.quantile(0.99).as_micros() as u64,
        "loopback_p50_us": report.loopback.quantile(0.5).as_micros() as u64,
        "loopback_p99_us": report.loopback.quantile(0.99).as_micros() as u64,
        "receive_buffer_asked": report.receive_buffer_asked.get(),
        "receive_buffer_granted": report.receive_buffer_granted.get(),
        "ffmpeg": findings.ffmpeg,
        "cameras": findings.cameras,
        "screens": devices::screens(),
        "commit": env!("EVENKEEL_COMMIT"),
    })
}

fn quantiles(lateness: &Lateness) -> String {
    format!(
        "{} / {} us",
        lateness.quantile(0.5).as_micros(),
        lateness.quantile(0.99).as_micros()
    )
}

/// Returns the version in the first line of `ffmpeg -version`.
fn ffmpeg_version() -> Option<String> {
    let output = Command::new("ffmpeg")
        .arg("-version")
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().nth(2).map(str::to_owned)
}
