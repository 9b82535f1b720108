//! The summary of a run: a few lines for the terminal, and one JSON object under its documented keys.

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
    pub(super) warnings: &'a [String],
}

impl RunSummary<'_> {
    /// Returns at most five lines of the available figures: rates, frames, delay, network, quality.
    pub(super) fn lines(&self, summary: &Summary, live: &Live) -> Vec<String> {
        let at_hand = live.at_hand();
        let mbps = |rate: Rate| rate.bits_per_sec() / 1e6;
        let count = |is: bool, frames: u64, what: &str| is.then(|| format!("{frames} {what}"));
        let (flows, tcp) = self.tcp;
        let lines = [
            (
                "rates",
                known([
                    summary
                        .throughput
                        .map(|rate| format!("{:.2} Mb/s of media", mbps(rate))),
                    summary
                        .x_mean
                        .map(|rate| format!("{:.2} Mb/s allowed", mbps(rate))),
                    summary
                        .link_mean
                        .map(|rate| format!("{:.2} Mb/s link", mbps(rate))),
                    summary
                        .filler
                        .filter(|rate| *rate > Rate::ZERO)
                        .map(|rate| format!("{:.2} Mb/s filler", mbps(rate))),
                    flows.zip(tcp).map(|(flows, rate)| {
                        format!("{flows:.0} TCP with {:.2} Mb/s each", mbps(rate))
                    }),
                ]),
            ),
            (
                "frames",
                known([
                    Some(format!("{} not captured in time", summary.frames_missed))
                        .filter(|_| summary.frames_missed > 0),
                    count(at_hand.sends, summary.frames_sent, "sent"),
                    count(
                        at_hand.sends,
                        summary.frames_discarded,
                        "discarded before sending",
                    ),
                    count(at_hand.receives, summary.frames_shown, "shown"),
                    count(at_hand.receives, summary.frames_late, "incomplete when due"),
                    count(
                        at_hand.receives,
                        summary.frames_concealed + summary.frames_frozen,
                        "broken",
                    ),
                ]),
            ),
            (
                "delay",
                known([
                    summary
                        .frame_delay_p50_ms
                        .map(|ms| format!("{ms:.0} ms capture to display")),
                    summary
                        .frame_delay_p95_ms
                        .map(|ms| format!("{ms:.0} ms at the 95th percentile")),
                    summary
                        .frame_delay_p95_ms
                        .map(|_| format!("{:.0} ms deadline", millis(self.deadline))),
                    summary
                        .longest_gap_ms
                        .map(|ms| format!("{ms:.0} ms longest gap")),
                ]),
            ),
            (
                "network",
                known([
                    summary
                        .rtt_p50_ms
                        .map(|ms| format!("{ms:.0} ms round trip")),
                    summary
                        .packet_loss_pct
                        .map(|share| format!("{share:.2} % of packets lost")),
                    summary
                        .loss_event_rate
                        .map(|p| format!("{:.3} % loss event rate", p * 100.0)),
                    summary
                        .packets_recovered
                        .filter(|packets| *packets > 0)
                        .map(|packets| format!("{packets} packets recovered")),
                ]),
            ),
            (
                "quality",
                known([
                    summary
                        .psnr_mean_db
                        .map(|db| format!("PSNR {db:.1} dB in the mean")),
                    summary
                        .psnr_p5_db
                        .map(|db| format!("{db:.1} dB at the 5th percentile")),
                ]),
            ),
        ];
        let filled = lines.into_iter().filter(|(_, parts)| !parts.is_empty());
        filled
            .map(|(name, parts)| format!("{name:<8} {}", parts.join(", ")))
            .collect()
    }

    /// Returns the summary as JSON; unavailable values are null.
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
            "frames_missed": sent(summary.frames_missed),
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

fn known<const N: usize>(parts: [Option<String>; N]) -> Vec<String> {
    parts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::Snapshot;
    use super::*;
    use evenkeel_media::report::State;
    use tfrc::time::Instant;
    use tfrc::units::Bytes;

    /// Returns a run in which the sender, the receiver and the link are in this process, or not.
    fn live_with([sends, receives, link]: [bool; 3]) -> Live {
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
        live
    }

    fn run_summary() -> RunSummary<'static> {
        RunSummary {
            seed: 1,
            deadline: Duration::from_millis(150),
            tcp: (None, None),
            warnings: &[],
        }
    }

    fn json_of(figures: &Summary, at_hand: [bool; 3]) -> Value {
        run_summary().as_json(figures, &live_with(at_hand))
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

    #[test]
    fn lines_have_only_what_is_known() {
        let figures = Summary {
            throughput: Some(Rate::from_bits_per_sec(2_500_000.0)),
            frames_sent: 500,
            frame_delay_p50_ms: Some(103.4),
            frame_delay_p95_ms: Some(140.0),
            ..Summary::default()
        };
        let lines = |at_hand| {
            let live = live_with(at_hand);
            run_summary().lines(&figures, &live)
        };
        let delay =
            "delay    103 ms capture to display, 140 ms at the 95th percentile, 150 ms deadline";
        let rates = "rates    2.50 Mb/s of media";
        let slow = Summary {
            frames_missed: 7,
            ..figures
        };
        assert_eq!(
            run_summary().lines(&slow, &live_with([true, false, false]))[1],
            "frames   7 not captured in time, 500 sent, 0 discarded before sending"
        );
        assert_eq!(
            lines([true, false, false]),
            [
                rates,
                "frames   500 sent, 0 discarded before sending",
                delay
            ]
        );
        assert_eq!(
            lines([false, true, false])[1],
            "frames   0 shown, 0 incomplete when due, 0 broken"
        );
    }

    /// A count of 0 would say that frames were counted. No end knows when its peer captured or showed a picture.
    #[test]
    fn frames_of_an_absent_end_are_null() {
        let (zero, null) = (json!(0), Value::Null);
        for (at_hand, expected) in [
            ([true, false, false], [&zero, &null, &null]),
            ([false, true, false], [&null, &zero, &null]),
            ([true, true, true], [&zero, &zero, &zero]),
        ] {
            let json = json_of(&Summary::default(), at_hand);
            assert_eq!(json["frames_missed"], json["frames_sent"]);
            let keys = ["frames_sent", "frames_shown", "frames_in_time"];
            assert_eq!(keys.map(|key| &json[key]), expected);
        }
    }
}
