//! What a sender of TFRC says at its end, from what `evenkeel perf client --json` prints.

use std::path::Path;

use evenkeel_lab::whole_file::{FileKind, read_text};
use serde::Deserialize;
use tfrc::time::Duration;

use crate::host::HostError;

/// What a test bed wants to know of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Results {
    /// When it began to send, behind the handshake: since the Unix epoch.
    pub(crate) began: Duration,
    /// How late it handed packets to the system: the median, and what 99 of 100 are below.
    pub(crate) lateness: [Duration; 2],
    /// The latest.
    pub(crate) late_max: Duration,
}

#[derive(Deserialize)]
struct Printed {
    start: Start,
    end: End,
}

#[derive(Deserialize)]
struct Start {
    timestamp: Timestamp,
}

#[derive(Deserialize)]
struct Timestamp {
    timemillisecs: u64,
}

#[derive(Deserialize)]
struct End {
    tfrc: Tfrc,
}

#[derive(Deserialize)]
struct Tfrc {
    departures: Departures,
}

#[derive(Deserialize)]
struct Departures {
    late_p50_us: f64,
    late_p99_us: f64,
    late_max_us: f64,
}

/// Reads the file that the sender's output went to.
pub(crate) fn read(log: &Path) -> Result<Results, HostError> {
    let text =
        read_text(log, FileKind::Output).map_err(|error| HostError::File(log.to_owned(), error))?;
    parse(&text).ok_or_else(|| {
        let name = log.display().to_string();
        HostError::Failed(name, "the sender ended without results".into())
    })
}

/// Warnings may stand before the results.
fn parse(text: &str) -> Option<Results> {
    let results = text.get(text.find('{')?..)?;
    let printed: Printed = serde_json::from_str(results).ok()?;
    let departures = printed.end.tfrc.departures;
    let micros = |us: f64| Duration::try_from_secs_f64(us / 1e6).ok();
    Some(Results {
        began: Duration::from_millis(printed.start.timestamp.timemillisecs),
        lateness: [
            micros(departures.late_p50_us)?,
            micros(departures.late_p99_us)?,
        ],
        late_max: micros(departures.late_max_us)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_found_behind_a_warning() {
        let text = r#"evenkeel: something odd
{ "start": { "version": "", "timestamp": { "timemillisecs": 1500 } },
  "end": { "sum": {}, "tfrc": { "departures": { "late_p50_us": 20.5, "late_p99_us": 100.0, "late_max_us": 2500.0 } } } }
"#;
        let expected = Results {
            began: Duration::from_millis(1_500),
            lateness: [20_500, 100_000].map(Duration::from_nanos),
            late_max: Duration::from_micros(2_500),
        };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("it was killed"), None);
    }
}
