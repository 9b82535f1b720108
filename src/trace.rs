//! Writes the trace: one JSON object a line, from the typed events of every part.

use std::io;

use evenkeel_link::{DropReason, Event as LinkEvent};
use evenkeel_media::call::CallEvent;
use evenkeel_media::event::EventKind as MediaEvent;
use evenkeel_net::{Direction, Records};
use evenkeel_rtp::session::EventKind as SessionEvent;
use serde_json::{Map, Value, json};
use tfrc::time::Instant;
use tfrc::trace::Trace as Decision;

use crate::output_file::OutputFile;
use crate::units::millis;

/// The content of an event's line: its time, its name and its fields.
pub(crate) type TraceEvent = (Instant, (&'static str, Value));

/// A trace file, written in whole lines.
pub(crate) struct TraceFile(Records<OutputFile>);

impl TraceFile {
    /// Creates a trace in this file.
    pub(crate) fn new(file: OutputFile) -> Self {
        Self(Records::new(file))
    }

    /// Writes one event of a part of the run: `a`, `b` or `link`.
    pub(crate) fn write(&mut self, part: &str, event: &TraceEvent) -> io::Result<()> {
        let (at, (name, fields)) = event;
        let mut line = Map::new();
        line.insert("t".into(), json!(at.as_secs_f64()));
        line.insert("part".into(), json!(part));
        line.insert("event".into(), json!(name));
        if let Value::Object(fields) = fields {
            line.extend(fields.clone());
        }
        let text = format!("{}\n", Value::Object(line));
        self.0
            .push(at.saturating_since(Instant::ZERO), text.as_bytes())
    }

    /// Writes the buffered lines.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns an event of a call.
pub(crate) fn call(event: &CallEvent) -> TraceEvent {
    let described = match event {
        CallEvent::Session(event) => session(&event.kind),
        CallEvent::Media(event) => media(&event.kind),
    };
    (event.at(), described)
}

/// Returns the name and the fields of a session's event.
fn session(event: &SessionEvent) -> (&'static str, Value) {
    match event {
        SessionEvent::PeerLatched { address, ssrc } => (
            "peer",
            json!({ "address": address.to_string(), "ssrc": ssrc }),
        ),
        SessionEvent::PeerChanged { address, ssrc } => (
            "peer_changed",
            json!({ "address": address.to_string(), "ssrc": ssrc }),
        ),
        SessionEvent::PeerMoved { from, to } => (
            "peer_moved",
            json!({ "from": from.to_string(), "to": to.to_string() }),
        ),
        SessionEvent::PeerLeft => ("peer_left", json!({})),
        SessionEvent::MarksLost => ("marks_lost", json!({})),
        SessionEvent::ReceiverLied {
            address,
            ssrc,
            lie,
            again,
        } => (
            "receiver_lied",
            json!({ "address": address.to_string(), "ssrc": ssrc, "lie": lie.name(), "again": again }),
        ),
        SessionEvent::UnknownPayloadType { payload_type } => (
            "unknown_payload_type",
            json!({ "payload_type": payload_type }),
        ),
        SessionEvent::SecondSender { heard, ignored } => (
            "second_sender",
            json!({ "heard": heard.to_string(), "ignored": ignored.to_string() }),
        ),
        SessionEvent::GaveUp => ("gave_up", json!({})),
        SessionEvent::KeyframeRequested => ("keyframe_requested", json!({})),
        SessionEvent::Returned => ("returned", json!({})),
        SessionEvent::RateSource(source) => ("rate_source", json!({ "source": source.name() })),
        SessionEvent::CircuitBreaker { breach, ceased } => (
            "circuit_breaker",
            json!({ "breach": format!("{breach:?}"), "ceased": ceased }),
        ),
        SessionEvent::RateControl(decision) => rate_control(decision),
        SessionEvent::ReportSent {
            format,
            receive_rate,
            loss_event_rate,
            delay,
        } => (
            "report",
            json!({
                "format": format.name(),
                "x_recv_bps": receive_rate.bits_per_sec(),
                "p": loss_event_rate.get(),
                "delay_ms": millis(*delay),
            }),
        ),
        SessionEvent::ArrivalsReported { format, packets } => (
            "arrivals_reported",
            json!({ "format": format.name(), "packets": packets }),
        ),
        SessionEvent::SenderReport { timestamp, .. } => {
            ("sender_report", json!({ "timestamp": timestamp }))
        }
        SessionEvent::ReceptionReport {
            fraction_lost,
            cumulative_lost,
            jitter,
        } => (
            "reception_report",
            json!({ "fraction_lost": fraction_lost, "cumulative_lost": cumulative_lost, "jitter": jitter }),
        ),
    }
}

fn rate_control(decision: &Decision) -> (&'static str, Value) {
    match decision {
        Decision::Feedback {
            allowed_rate,
            instantaneous_rate,
            bound,
            rtt,
            rtt_sample,
            sent_at: _,
            receive_rate,
            loss_event_rate,
            data_limited,
        } => (
            "feedback",
            json!({
                "x_bps": allowed_rate.bits_per_sec(),
                "x_inst_bps": instantaneous_rate.bits_per_sec(),
                "bound": format!("{bound:?}"),
                "rtt_ms": millis(*rtt),
                "rtt_sample_ms": millis(*rtt_sample),
                "x_recv_bps": receive_rate.bits_per_sec(),
                "p": loss_event_rate.get(),
                "data_limited": data_limited,
            }),
        ),
        Decision::NoFeedback {
            branch,
            allowed_rate,
            interval,
        } => (
            "nofeedback",
            json!({
                "branch": format!("{branch:?}"),
                "x_bps": allowed_rate.bits_per_sec(),
                "interval_ms": millis(*interval),
            }),
        ),
        // A new decision of `tfrc` is traced before it has fields here.
        other => ("decision", json!({ "debug": format!("{other:?}") })),
    }
}

/// Returns the name and the fields of a media event.
fn media(event: &MediaEvent) -> (&'static str, Value) {
    match event {
        MediaEvent::Target {
            size,
            queued,
            deadline,
        } => (
            "target",
            json!({ "size": size.get(), "queued": queued.get(), "deadline_ms": millis(*deadline) }),
        ),
        MediaEvent::Missed { pictures } => ("missed", json!({ "pictures": pictures })),
        MediaEvent::Queued {
            timestamp,
            target,
            size,
            packets,
        } => (
            "queued",
            json!({ "frame": timestamp, "target": target.map(tfrc::units::Bytes::get), "size": size.get(), "packets": packets }),
        ),
        MediaEvent::Begun { timestamp, age } => (
            "begun",
            json!({ "frame": timestamp, "age_ms": millis(*age) }),
        ),
        MediaEvent::Sent { timestamp, age } => (
            "sent",
            json!({ "frame": timestamp, "age_ms": millis(*age) }),
        ),
        MediaEvent::Discarded { timestamp, reason } => (
            "discarded",
            json!({ "frame": timestamp, "reason": reason.name() }),
        ),
        MediaEvent::Stretched { deadline } => {
            ("stretched", json!({ "deadline_ms": millis(*deadline) }))
        }
        MediaEvent::Relaxed => ("relaxed", json!({})),
        MediaEvent::Completed { timestamp, late } => {
            ("completed", json!({ "frame": timestamp, "late": late }))
        }
        MediaEvent::Shown { timestamp, parts } => (
            "shown",
            json!({ "frame": timestamp, "missing": parts.missing, "parts": parts.of }),
        ),
        MediaEvent::Dropped { timestamp, reason } => (
            "dropped",
            json!({ "frame": timestamp, "reason": reason.name() }),
        ),
        MediaEvent::Keyframe => ("keyframe", json!({})),
        MediaEvent::Resynchronised => ("resynchronised", json!({})),
        MediaEvent::OtherSize { sent, received } => {
            ("other_size", json!({ "sent": sent, "received": received }))
        }
    }
}

/// Returns an event of a link.
pub(crate) fn link(event: &LinkEvent) -> TraceEvent {
    match event {
        LinkEvent::Enqueued { at, size, backlog } => (
            *at,
            (
                "enqueued",
                json!({ "size": size.get(), "backlog": backlog.get() }),
            ),
        ),
        LinkEvent::Transmitted { at, size, waited } => (
            *at,
            (
                "transmitted",
                json!({ "size": size.get(), "waited_ms": millis(*waited) }),
            ),
        ),
        LinkEvent::Marked { at, size } => (*at, ("link_marked", json!({ "size": size.get() }))),
        LinkEvent::Dropped {
            at, size, reason, ..
        } => {
            let reason = match reason {
                DropReason::Loss => "loss",
                DropReason::QueueFull => "queue_full",
                DropReason::Early => "early",
                DropReason::Capacity => "capacity",
            };
            (
                *at,
                (
                    "link_dropped",
                    json!({ "size": size.get(), "reason": reason }),
                ),
            )
        }
        LinkEvent::RateChanged { at, rate } => {
            (*at, ("rate", json!({ "link_bps": rate.bits_per_sec() })))
        }
    }
}

/// Returns the part of a trace to which a link's events belong.
pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_rtp::session::{FeedbackMode, Lie};

    use super::*;

    #[test]
    fn lying_receiver_is_named_with_its_lie() {
        let caught = SessionEvent::ReceiverLied {
            address: ([192, 0, 2, 7], 5004).into(),
            ssrc: 9,
            lie: Lie::NeverSent,
            again: true,
        };
        let fields =
            json!({ "address": "192.0.2.7:5004", "ssrc": 9, "lie": "never_sent", "again": true });
        assert_eq!(session(&caught), ("receiver_lied", fields));
    }

    #[test]
    fn a_report_names_its_format() {
        let reported = SessionEvent::ArrivalsReported {
            format: FeedbackMode::Twcc,
            packets: 3,
        };
        let fields = json!({ "format": "twcc", "packets": 3 });
        assert_eq!(session(&reported), ("arrivals_reported", fields));
    }
}
