//! Writes `--trace`: a line for each report, in columns.

use std::fs::File;
use std::io;
use std::path::Path;

use evenkeel_net::Records;
use evenkeel_perf::FlowEvent;
use evenkeel_rtp::session::EventKind;
use tfrc::time::{Duration, Instant};
use tfrc::trace::Trace;

use crate::failure::Failure;
use crate::outputs;
use crate::units::millis;

use super::output;

/// The columns. Throughput counts the bytes since the flow's last line that this side sent, or received if it sends
/// nothing.
const HEADING: &str = "time_s,flow,event,x_bps,x_recv_bps,rtt_ms,p,throughput_bps\n";

/// The file that `--trace` names.
pub(super) struct FlowTraceFile {
    out: Records<File>,
    file: File,
    name: String,
    /// The time at which the test began; `None` while the file has its old content.
    start: Option<Instant>,
    /// The time and the bytes of each flow's last line.
    last: Vec<(f64, u64)>,
}

impl FlowTraceFile {
    /// Opens the file, and leaves its old content.
    pub(super) fn open(path: &Path, flows: u16) -> Result<Self, Failure> {
        let file = output::reserve(path)?;
        Ok(Self {
            file: file
                .try_clone()
                .map_err(|error| outputs::cannot("write", path, &error))?,
            out: Records::new(file),
            name: path.display().to_string(),
            start: None,
            last: vec![(0.0, 0); flows.into()],
        })
    }

    /// Begins the test at `start`: its lines replace the old content. Further calls change nothing.
    pub(super) fn begin(&mut self, start: Instant) -> Result<(), Failure> {
        if self.start.replace(start).is_some() {
            return Ok(());
        }
        let written = output::empty(&self.file)
            .and_then(|()| self.out.push(Duration::ZERO, HEADING.as_bytes()))
            .and_then(|()| self.out.flush());
        self.check(written)
    }

    /// Writes a line of the test; events before its beginning have none.
    pub(super) fn write(&mut self, event: &FlowEvent) -> Result<(), Failure> {
        let Some(start) = self.start else {
            return Ok(());
        };
        let made = event.event.at.saturating_since(start);
        let time = made.as_secs_f64();
        let count = event.state.count;
        let bytes = match event.state.path {
            Some(_) => count.bytes_sent,
            None => count.bytes_received,
        };
        let Some(last) = self.last.get_mut(usize::from(event.flow)) else {
            return Ok(());
        };
        let (before, bytes_before) = std::mem::replace(last, (time, bytes));
        let throughput = if time > before {
            format!(
                "{:.0}",
                (bytes - bytes_before) as f64 * 8.0 / (time - before)
            )
        } else {
            String::new()
        };
        let flow = event.flow + 1;
        let written = match columns(&event.event.kind) {
            Some(columns) => {
                let line = format!("{time:.6},{flow},{columns},{throughput}\n");
                self.out.push(made, line.as_bytes())
            }
            None => Ok(()),
        };
        self.check(written)
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let flushed = self.out.flush();
        self.check(flushed)
    }

    fn check(&self, result: io::Result<()>) -> Result<(), Failure> {
        result.map_err(|error| Failure::runtime(format!("cannot write {}: {error}", self.name)))
    }
}

/// Returns the event, X, X_recv, R and p; a column is empty if the event does not have it.
fn columns(kind: &EventKind) -> Option<String> {
    match kind {
        EventKind::RateControl(Trace::Feedback {
            allowed_rate,
            receive_rate,
            rtt,
            loss_event_rate,
            ..
        }) => Some(format!(
            "feedback,{:.0},{:.0},{:.6},{}",
            allowed_rate.bits_per_sec(),
            receive_rate.bits_per_sec(),
            millis(*rtt),
            loss_event_rate.get()
        )),
        EventKind::RateControl(Trace::NoFeedback { allowed_rate, .. }) => {
            Some(format!("nofeedback,{:.0},,,", allowed_rate.bits_per_sec()))
        }
        EventKind::ReportSent {
            receive_rate,
            loss_event_rate,
            ..
        } => Some(format!(
            "report,,{:.0},,{}",
            receive_rate.bits_per_sec(),
            loss_event_rate.get()
        )),
        // The sender computes the other columns.
        EventKind::ArrivalsReported { .. } => Some("report,,,,".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_perf::{Count, FlowState};
    use evenkeel_rtp::session::{Event, FeedbackMode};
    use tfrc::units::{LossEventRate, Rate};

    #[test]
    fn heading_comes_first_and_times_start_at_zero() {
        let path = std::env::temp_dir().join(format!("evenkeel-trace-{}", std::process::id()));
        std::fs::write(&path, "the last run\n").unwrap();
        let mut trace = FlowTraceFile::open(&path, 1).unwrap();
        let start = Instant::ZERO + Duration::from_secs(5);
        let event = |at| FlowEvent {
            flow: 0,
            event: Event {
                at,
                kind: EventKind::ArrivalsReported {
                    format: FeedbackMode::Ccfb,
                    packets: 1,
                },
            },
            state: FlowState {
                count: Count::default(),
                path: None,
                held: None,
            },
        };
        // The lines exceed the buffer of one write.
        for _ in 0..5_000 {
            trace.write(&event(start)).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "the last run\n");
        for ms in [250, 500] {
            trace.begin(start).unwrap();
            trace
                .write(&event(start + Duration::from_millis(ms)))
                .unwrap();
        }
        trace.finish().unwrap();
        let lines = "0.250000,1,report,,,,,0\n0.500000,1,report,,,,,0\n";
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            format!("{HEADING}{lines}")
        );
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn every_line_has_the_columns_of_the_heading() {
        let kinds = [
            EventKind::RateControl(Trace::NoFeedback {
                branch: tfrc::trace::Branch::Idle,
                allowed_rate: Rate::from_bits_per_sec(1e6),
                interval: Duration::from_secs(1),
            }),
            EventKind::ReportSent {
                format: FeedbackMode::Tfrc,
                receive_rate: Rate::from_bits_per_sec(1e6),
                loss_event_rate: LossEventRate::ZERO,
                delay: Duration::ZERO,
            },
        ];
        for kind in kinds {
            // The time, the flow and the throughput are not among these columns.
            let columns = columns(&kind).unwrap();
            assert_eq!(
                columns.split(',').count() + 3,
                HEADING.split(',').count(),
                "{columns}"
            );
        }
    }
}
