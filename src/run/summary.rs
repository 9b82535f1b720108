//! `--json`: the summary of a run under its documented keys.

use std::borrow::Cow;

use evenkeel_media::report::Summary;
use evenkeel_rtp::session::RateSource;
use serde_json::{Value, json};
use tfrc::time::Duration;
use tfrc::units::Rate;

use super::live::Live;
use crate::units::millis;

/// The parts of the summary that neither the report nor the present state has.
pub(super) struct RunSummary<'a> {
    pub(super) seed: u64,
    /// The configured deadline.
    pub(super) deadline: Duration,
    /// The mean number of TCP flows beside the call, and the mean throughput of one.
    pub(super) tcp: (Option<f64>, Option<Rate>),
    pub(super) warnings: &'a [Cow<'static, str>],
}

impl RunSummary<'_> {
    /// The summary; what was not at hand is null.
    pub(super) fn as_json(&self, summary: &Summary, live: &Live) -> Value {
        let at_hand = live.at_hand();
        let (flows, throughput) = self.tcp;
        let [sent, received] =
            [at_hand.sends, at_hand.receives].map(|is| move |frames: u64| is.then_some(frames));
        json!({
            "x_mean_bps": summary.x_mean.map(Rate::bits_per_sec),
            "link_mean_bps": summary.link_mean.map(Rate::bits_per_sec),
            "x_over_link": summary.x_over_link,
            "media_over_x": summary.media_over_x,
            "throughput_bps": summary.throughput.map(Rate::bits_per_sec),
            "rtt_p50_ms": summary.rtt_p50_ms,
            "loss_event_rate": summary.loss_event_rate,
            "packet_loss_pct": summary.packet_loss_pct,
            "filler_bps": summary.filler.map(Rate::bits_per_sec),
            "packets_recovered": summary.packets_recovered,
            "frames_captured": sent(summary.frames_captured),
            "frames_sent": sent(summary.frames_sent),
            "frames_discarded": sent(summary.frames_discarded),
            "frames_shown": received(summary.frames_shown),
            "frames_in_time": at_hand.link.then_some(summary.frames_in_time),
            "frames_late": received(summary.frames_late),
            "frames_damaged": received(summary.frames_damaged),
            "frames_concealed": received(summary.frames_concealed),
            // The old name of `frames_concealed`, from before damaged frames were counted apart.
            "frames_corrupt": received(summary.frames_concealed),
            "frames_frozen": received(summary.frames_frozen),
            "frame_delay_p50_ms": summary.frame_delay_p50_ms,
            "frame_delay_p95_ms": summary.frame_delay_p95_ms,
            "longest_gap_ms": summary.longest_gap_ms,
            "psnr_mean_db": summary.psnr_mean_db,
            "psnr_p5_db": summary.psnr_p5_db,
            "size_error_p50_pct": summary.size_error_p50_pct,
            "size_error_p95_pct": summary.size_error_p95_pct,
            "deadline_ms": millis(self.deadline),
            "deadline_in_force_ms": live.deadline().map(millis),
            "tolerated_loss": live.tolerated_loss(),
            "ignored": live.ignored(),
            "rate_from": live.rate_source().map(RateSource::name),
            "warnings": self.warnings,
            "tcp_flows": flows,
            "tcp_throughput_bps": throughput.map(Rate::bits_per_sec),
            "seed": self.seed,
            "commit": env!("EVENKEEL_COMMIT"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::Snapshot;
    use super::*;
    use evenkeel_media::report::State;
    use tfrc::time::Instant;
    use tfrc::units::Bytes;

    /// The JSON of these figures where the sender, the receiver and the link are at hand, or not.
    fn json_of(figures: &Summary, [sends, receives, link]: [bool; 3]) -> Value {
        let mut live = Live::new(Instant::ZERO);
        let snapshot = Snapshot {
            state: State {
                sent: sends.then_some(Bytes::ZERO),
                received: receives.then_some(Bytes::ZERO),
                link_rate: link.then_some(Rate::ZERO),
                ..State::default()
            },
            ..Snapshot::default()
        };
        live.handle_snapshot(Instant::ZERO, snapshot);
        let summary = RunSummary {
            seed: 1,
            deadline: Duration::ZERO,
            tcp: (None, None),
            warnings: &[],
        };
        summary.as_json(figures, &live)
    }

    #[test]
    fn damaged_concealed_and_frozen_frames_have_keys_each() {
        let figures = Summary {
            frames_damaged: 1,
            frames_concealed: 2,
            frames_frozen: 3,
            ..Summary::default()
        };
        let json = json_of(&figures, [true; 3]);
        for (key, frames) in [
            ("damaged", 1),
            ("concealed", 2),
            ("corrupt", 2),
            ("frozen", 3),
        ] {
            assert_eq!(json[format!("frames_{key}")], frames);
        }
    }

    /// 0 would say that frames were looked for. No end knows when its peer captured a picture, or showed it.
    #[test]
    fn frames_of_an_absent_end_are_null() {
        let (zero, null) = (json!(0), Value::Null);
        for (at_hand, expected) in [
            ([true, false, false], [&zero, &null, &null]),
            ([false, true, false], [&null, &zero, &null]),
            ([true, true, true], [&zero, &zero, &zero]),
        ] {
            let json = json_of(&Summary::default(), at_hand);
            let keys = ["frames_sent", "frames_shown", "frames_in_time"];
            assert_eq!(keys.map(|key| &json[key]), expected);
        }
    }
}
