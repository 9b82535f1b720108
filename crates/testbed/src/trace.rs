//! What a sender of TFRC was told and allowed, from the file that `evenkeel perf client --trace` writes.

use std::path::Path;

use evenkeel_lab::real::BedRecord;
use evenkeel_lab::whole_file::{FileKind, read_text};
use tfrc::time::{Duration, Instant};

use crate::host::HostError;

/// Adds what a sender that started at a time after the beginning was told.
pub(crate) fn read(
    file: &Path,
    started: Duration,
    flow: usize,
    seen: &mut BedRecord,
) -> Result<(), HostError> {
    let text = read_text(file, FileKind::Output)
        .map_err(|error| HostError::File(file.to_owned(), error))?;
    for line in text.lines().filter_map(line) {
        let at = Instant::ZERO + started + line.after;
        if let Some(p) = line.p {
            seen.loss_reports.record(flow, at, p);
        }
        if flow == 0 {
            seen.allowed.push((at.as_secs_f64(), line.allowed));
        }
    }
    Ok(())
}

/// X was set.
#[derive(Debug, PartialEq)]
struct Line {
    /// The time, from the start of the sender.
    after: Duration,
    /// Bytes a second.
    allowed: f64,
    /// As told by a report; nothing if there was none for too long.
    p: Option<f64>,
}

/// One that is whole.
fn line(line: &str) -> Option<Line> {
    let columns: Vec<&str> = line.split(',').collect();
    let &[time, _, event, allowed, _, _, p, _] = columns.as_slice() else {
        return None;
    };
    let p = match event {
        "feedback" => Some(p.parse().ok()?),
        "nofeedback" => None,
        _ => return None,
    };
    Some(Line {
        after: Duration::try_from_secs_f64(time.parse().ok()?).ok()?,
        allowed: allowed.parse::<f64>().ok()? / 8.0,
        p,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_when_x_was_set_and_by_what() {
        let lines = [
            "time_s,flow,event,x_bps,x_recv_bps,rtt_ms,p,throughput_bps",
            "1.500000,1,feedback,8000000,7900000,20.100000,0.0125,7800000",
            "1.600000,1,nofeedback,4000000,,,,7800000",
            "1.7",
        ];
        let set = |millis, allowed, p| {
            let after = Duration::from_millis(millis);
            Some(Line { after, allowed, p })
        };
        let reported = set(1_500, 1e6, Some(0.0125));
        let silent = set(1_600, 5e5, None);
        assert_eq!(lines.map(line), [None, reported, silent, None]);
    }
}
