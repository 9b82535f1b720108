//! `evenkeel doctor`: lists the means of this machine to send and receive on time.

use std::process::{Command, Stdio};

use evenkeel_net::{Clock, Lateness, ProbeReport, probe};
use serde_json::json;
use tfrc::time::Duration;

use crate::cli::DoctorArgs;
use crate::devices;
use crate::failure::Failure;
use crate::outputs;

pub(crate) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let report = probe(Clock::start()).map_err(Failure::runtime)?;
    let ffmpeg = ffmpeg_version();
    let cameras = devices::cameras();
    if args.json {
        outputs::say(as_json(&report, ffmpeg.as_deref(), &cameras))
    } else {
        print(&report, ffmpeg.as_deref(), &cameras)
    }
}

fn print(report: &ProbeReport, ffmpeg: Option<&str>, cameras: &[String]) -> Result<(), Failure> {
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let or = |value: Option<&str>, unknown: &str| value.unwrap_or(unknown).to_owned();
    let (granted, asked) = (
        report.receive_buffer_granted.get() / 1_024,
        report.receive_buffer_asked.get() / 1_024,
    );
    let cameras = Some(cameras.join(", ")).filter(|names| !names.is_empty());
    let lines = [
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
                "p50 and p99 of waits of 1 ms: others have the processor; `chrt -r 10 evenkeel …` goes before them"
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
            or(ffmpeg, "not found"),
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
    let mut lines = lines.iter();
    lines.try_for_each(|(name, value, meaning)| {
        outputs::say(format_args!("{name:<26}{value:<22}{meaning}"))
    })
}

/// The greatest lateness that a stream does not notice: the target for packets every 200 µs.
const PUNCTUAL: Duration = Duration::from_micros(200);

fn as_json(report: &ProbeReport, ffmpeg: Option<&str>, cameras: &[String]) -> serde_json::Value {
    json!({
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
        "ffmpeg": ffmpeg,
        "cameras": cameras,
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
