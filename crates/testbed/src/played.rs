//! What the two ends say of a title: from what `evenkeel vod play --json` and `evenkeel vod serve --json` print.

use std::path::Path;

use evenkeel_lab::real::Played;
use evenkeel_lab::whole_file::{FileKind, read_text};
use serde::Deserialize;
use tfrc::time::Duration;

use crate::host::HostError;

#[derive(Deserialize)]
struct Printed {
    iplr: f64,
    /// Nothing before the first sender report.
    iptd_mean_ms: Option<f64>,
    iptd_max_ms: Option<f64>,
    stalls: u64,
    stalled_s: f64,
}

#[derive(Deserialize)]
struct Served {
    late_max_us: f64,
}

/// Reads the file that the player's output went to.
pub(crate) fn read(log: &Path) -> Result<Played, HostError> {
    results(log, "the player", played)
}

/// Reads from the file that the server's output went to how late it handed packets to the system at most.
pub(crate) fn server_was_late(log: &Path) -> Result<Duration, HostError> {
    results(log, "the server", late)
}

fn results<T>(log: &Path, who: &str, of: fn(&str) -> Option<T>) -> Result<T, HostError> {
    let text =
        read_text(log, FileKind::Output).map_err(|error| HostError::File(log.to_owned(), error))?;
    of(&text).ok_or_else(|| {
        let name = log.display().to_string();
        HostError::Failed(name, format!("{who} ended without results"))
    })
}

/// Warnings may stand before the results.
fn behind_warnings(text: &str) -> Option<&str> {
    text.get(text.find('{')?..)
}

fn late(text: &str) -> Option<Duration> {
    let served: Served = serde_json::from_str(behind_warnings(text)?).ok()?;
    Duration::try_from_secs_f64(served.late_max_us / 1e6).ok()
}

fn played(text: &str) -> Option<Played> {
    let printed: Printed = serde_json::from_str(behind_warnings(text)?).ok()?;
    Some(Played {
        iplr: printed.iplr,
        iptd_mean: printed.iptd_mean_ms? / 1e3,
        iptd_max: printed.iptd_max_ms? / 1e3,
        stalls: printed.stalls,
        stalled: printed.stalled_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_player_tells_loss_delay_and_stalls() {
        let text = r#"evenkeel: something odd
{"iplr":0.25,"iptd_max_ms":750.0,"iptd_mean_ms":62.5,"stalled_s":1.5,"stalls":2,"startup_ms":2000.0}
"#;
        let expected = Played {
            iplr: 0.25,
            iptd_mean: 0.0625,
            iptd_max: 0.75,
            stalls: 2,
            stalled: 1.5,
        };
        assert_eq!(played(text), Some(expected));
        let silent = text.replace("62.5", "null");
        assert_eq!(played(&silent), None);
        assert_eq!(played("it was killed"), None);
    }

    #[test]
    fn a_server_tells_how_late_it_was() {
        let text = r#"evenkeel: something odd
{"datagrams":5,"late_max_us":1250.0}
"#;
        assert_eq!(late(text), Some(Duration::from_micros(1_250)));
        assert_eq!(late("it was killed"), None);
    }
}
