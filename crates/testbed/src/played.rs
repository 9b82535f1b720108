//! What a player counted of a title, from what `evenkeel vod play --json` prints.

use std::fs;
use std::path::Path;

use evenkeel_lab::real::Played;
use serde::Deserialize;

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

/// Reads the file that the player's output went to.
pub(crate) fn read(log: &Path) -> Result<Played, HostError> {
    let text = fs::read_to_string(log).map_err(|error| HostError::System("log", error))?;
    parse(&text).ok_or_else(|| {
        let name = log.display().to_string();
        HostError::Failed(name, "the player ended without results".into())
    })
}

/// Warnings may stand before the results.
fn parse(text: &str) -> Option<Played> {
    let printed: Printed = serde_json::from_str(text.get(text.find('{')?..)?).ok()?;
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
        assert_eq!(parse(text), Some(expected));
        let silent = text.replace("62.5", "null");
        assert_eq!(parse(&silent), None);
        assert_eq!(parse("it was killed"), None);
    }
}
