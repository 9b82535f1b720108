//! What a sender of TFRC was told, from the file that `evenkeel perf client --trace` writes.

use std::fs;
use std::path::Path;

use evenkeel_lab::network::Told;
use tfrc::time::{Duration, Instant};

use crate::host::HostError;

/// Adds the reports of a sender that started at a time after the beginning.
pub(crate) fn read(
    file: &Path,
    started: Duration,
    flow: usize,
    told: &mut Told,
) -> Result<(), HostError> {
    let text = fs::read_to_string(file).map_err(|error| HostError::System("trace", error))?;
    for (seconds, p) in text.lines().filter_map(report) {
        let Ok(after) = Duration::try_from_secs_f64(seconds) else {
            continue;
        };
        told.report(flow, Instant::ZERO + started + after, p);
    }
    Ok(())
}

/// The time and p of a line, if it is of a report.
fn report(line: &str) -> Option<(f64, f64)> {
    let mut columns = line.split(',');
    let time = columns.next()?.parse().ok()?;
    let is_report = columns.nth(1)? == "feedback";
    let p = columns.nth(3)?.parse().ok()?;
    is_report.then_some((time, p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_reports_have_a_time_and_p() {
        let lines = [
            "time_s,flow,event,x_bps,x_recv_bps,rtt_ms,p,throughput_bps",
            "1.500000,1,feedback,8000000,7900000,20.100000,0.0125,7800000",
            "1.600000,1,nofeedback,4000000,,,,7800000",
            "1.7",
        ];
        assert_eq!(lines.map(report), [None, Some((1.5, 0.0125)), None, None]);
    }
}
