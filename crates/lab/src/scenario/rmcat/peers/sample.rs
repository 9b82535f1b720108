//! The metrics of one case with one controller.
//!
//! Names of metrics end in the period (counted from 1), the case and the controller.

use evenkeel_sim::{End, LoggedFrame, Traffic};

use super::super::flow::Flow;
use super::super::sample::{Period, periods};
use super::super::{Case, CaseRecord};
use super::wire::{BIN, WireFlow, WireRecord};
use crate::comparison::{Better, ComparedRow, Measure, PeerComparison};
use crate::findings::{Findings, Sample};
use crate::metrics::{Throughput, jain, least_over_most, lost_share, mean, quantile};

/// ITU-T G.114: what conversation does not notice, from capture to the last packet.
const IN_TIME: f64 = 0.150;
/// The start of a flow, which the seconds to 90 % of the link are of.
const START: f64 = 10.0;
/// A first period that is longer than this is measured without the start.
const LONG_PERIOD: f64 = 20.0;
/// A flow has reached its link when it carries this much of it over a second.
const REACHED: f64 = 0.9;
/// Bins of a second.
const SECOND: usize = 10;

/// A period with its number.
#[derive(Clone, Copy, Debug)]
struct MeasuredPeriod {
    number: usize,
    /// All of it.
    whole: Period,
    /// Without the start.
    measured: Period,
    /// The call is alone, and there is more for it than before.
    rises: bool,
}

/// The metrics of a run.
pub(super) fn of(case: &Case, peer: &str, seen: &CaseRecord<WireRecord>) -> Sample {
    let mut sample = Sample::default();
    let calls = (0..case.flow.len()).filter(|flow| case.flow[*flow].kind.is_call());
    let frames: Vec<Vec<LoggedFrame>> = calls.clone().map(|flow| frames(seen, flow)).collect();
    let flows = &seen.record.0;
    let spans = spans(case);
    for span in &spans {
        let key = format!("{}_{}_{peer}", span.number, case.name);
        let forward = case.flow.iter().zip(flows);
        let forward = forward.filter(|(flow, _)| !flow.backward);
        let used: f64 = forward.map(|(_, wire)| bits(wire, &span.measured)).sum();
        let [from, to] = [span.measured.from, span.measured.to];
        let capacity = case.bottleneck[0].bits(from, to);
        sample.metric(format!("use_pct_{key}"), 100.0 * used / capacity);
        of_frames(&mut sample, &key, &frames, &span.measured);
        if span.rises {
            let time = reaching_time(case, &flows[0].received, &span.whole);
            let reached = f64::from(u8::from(time.is_finite()));
            sample.time(format!("reaches_s_{key}"), time);
            sample.metric(format!("reached_share_{key}"), reached);
        }
    }
    let [sent, arrived] = [|flow: &WireFlow| flow.sent, |flow: &WireFlow| flow.arrived]
        .map(|count| calls.clone().map(|flow| count(&flows[flow])).sum::<u64>() as f64);
    let lost = 100.0 * lost_share(arrived, sent);
    sample.metric(format!("lost_pct_{}_{peer}", case.name), lost);
    if let Some(last) = spans.last() {
        of_shares(&mut sample, case, peer, flows, &last.measured);
        if frames.len() > 1 {
            for (flow, frames) in calls.zip(&frames) {
                let delay = 1e3 * quantile(&delays(frames, &last.measured), 0.95);
                let name = &case.flow[flow].name;
                sample.metric(format!("delay_p95_ms_{name}_{}_{peer}", case.name), delay);
            }
        }
    }
    sample
}

/// How flows share the link in a period.
fn of_shares(sample: &mut Sample, case: &Case, peer: &str, flows: &[WireFlow], period: &Period) {
    let long = case.flow.iter().zip(flows);
    let long = long.filter(|(flow, _)| takes_share(flow));
    let mut rates = Vec::new();
    for (flow, wire) in long {
        let rate = bits(wire, period) / (period.to - period.from) / 1e6;
        sample.metric(
            format!("rate_mbps_{}_{}_{peer}", flow.name, case.name),
            rate,
        );
        rates.push(rate);
    }
    if rates.len() > 1 {
        let evenness = least_over_most(&rates);
        sample.metric(format!("least_over_most_{}_{peer}", case.name), evenness);
        sample.metric(format!("jain_{}_{peer}", case.name), jain(&rates));
    }
}

/// Does the flow take a share of the bottleneck for all of its time?
fn takes_share(flow: &Flow) -> bool {
    flow.kind.is_long() && !flow.backward
}

/// The periods in which every flow takes part.
fn spans(case: &Case) -> Vec<MeasuredPeriod> {
    let long = || case.flow.iter().filter(|flow| flow.kind.is_long());
    let everyone = |period: &Period| {
        let middle = f64::midpoint(period.from, period.to);
        long().all(|flow| flow.is_active(middle))
    };
    let rate = |period: &Period| {
        case.bottleneck[0].bits(period.from, period.to) / (period.to - period.from)
    };
    let alone = long().count() == 1;
    let periods: Vec<Period> = periods(case);
    let spans = periods
        .iter()
        .enumerate()
        .filter(|(_, period)| everyone(period));
    let spans = spans.map(|(index, whole)| {
        let starts = index == 0 && whole.to - whole.from > LONG_PERIOD;
        let from = whole.from + if starts { START } else { 0.0 };
        let grows = index == 0 || rate(whole) > rate(&periods[index - 1]);
        MeasuredPeriod {
            number: index + 1,
            whole: *whole,
            measured: Period { from, ..*whole },
            rises: alone && grows,
        }
    });
    spans.collect()
}

/// The frames of a call: from a peer's receiver, or from the call's packets on the wire.
fn frames(seen: &CaseRecord<WireRecord>, flow: usize) -> Vec<LoggedFrame> {
    let log = match seen.sim.agent(seen.flows[flow], End::Receiver) {
        Traffic::Peer(end) => end.frames(),
        _ => seen.record.0[flow]
            .frames
            .as_ref()
            .map(|frames| &frames.log),
    };
    log.map_or_else(Vec::new, |log| log.frames().collect())
}

fn of_frames(sample: &mut Sample, key: &str, calls: &[Vec<LoggedFrame>], period: &Period) {
    let inside = |frame: &&LoggedFrame| period.has(frame.captured.as_secs_f64());
    let captured = calls.iter().flatten().filter(inside);
    let delays = delays(calls.iter().flatten(), period);
    for (name, share) in [("p50", 0.5), ("p95", 0.95)] {
        let delay = 1e3 * quantile(&delays, share);
        sample.metric(format!("delay_{name}_ms_{key}"), delay);
    }
    let captured = captured.count() as f64;
    let in_time = delays.iter().filter(|delay| **delay <= IN_TIME).count() as f64;
    sample.metric(
        format!("whole_pct_{key}"),
        100.0 * delays.len() as f64 / captured,
    );
    sample.metric(format!("in_time_pct_{key}"), 100.0 * in_time / captured);
    let gaps = calls.iter().map(|frames| longest_gap(frames, period));
    sample.metric(format!("gap_ms_{key}"), 1e3 * gaps.fold(0.0, f64::max));
}

/// The seconds from capture to the last packet of whole frames that are captured in a period.
fn delays<'a>(frames: impl IntoIterator<Item = &'a LoggedFrame>, period: &Period) -> Vec<f64> {
    let captured = frames.into_iter();
    let captured = captured.filter(|frame| period.has(frame.captured.as_secs_f64()));
    captured
        .filter_map(|frame| Some((frame.complete? - frame.captured).as_secs_f64()))
        .collect()
}

/// The longest time in seconds without a newer whole frame, in a period.
fn longest_gap(frames: &[LoggedFrame], period: &Period) -> f64 {
    let whole = frames
        .iter()
        .filter_map(|frame| Some((frame.complete?, frame.captured)));
    let mut whole: Vec<_> = whole.collect();
    whole.sort_unstable();
    let (mut newest, mut last, mut longest) = (None, period.from, 0.0_f64);
    for (complete, captured) in whole {
        if newest.is_none_or(|newest| captured > newest) {
            newest = Some(captured);
            let at = complete.as_secs_f64().clamp(period.from, period.to);
            longest = longest.max(at - last);
            last = at;
        }
    }
    longest.max(period.to - last)
}

/// The bits that a flow's receiver got in a period.
fn bits(flow: &WireFlow, period: &Period) -> f64 {
    let times = flow.received.times(BIN).into_iter();
    let inside = times
        .zip(flow.received.rates(BIN))
        .filter(|(at, _)| period.has(*at));
    inside.map(|(_, rate)| rate * 8.0 * BIN.as_secs_f64()).sum()
}

/// Seconds until the first call first carries nine tenths of its link, or of what it asks for, over a
/// second; not a number if it never does.
fn reaching_time(case: &Case, received: &Throughput, period: &Period) -> f64 {
    let times = received.times(BIN).into_iter();
    let inside = times
        .zip(received.rates(BIN))
        .filter(|(at, _)| period.has(*at));
    let rates: Vec<f64> = inside.map(|(_, rate)| rate * 8.0).collect();
    let link = case.bottleneck[0].bits(period.from, period.to) / (period.to - period.from);
    let wanted = REACHED * link.min(case.flow[0].max_rate());
    let reached = rates
        .windows(SECOND)
        .position(|second| mean(second) >= wanted);
    reached.map_or(f64::NAN, |bin| (bin + SECOND) as f64 * BIN.as_secs_f64())
}

/// A point at the one-way delay of a case, for each curve over the delay.
pub(super) fn draw_by_delay(findings: &mut Findings, case: &Case, peer: &str, label: &str) {
    let millis = case.flow[0].delay.secs() * 1e3;
    let Some(last) = spans(case).last().copied() else {
        return;
    };
    for measure in ["use_pct", "delay_p95_ms", "in_time_pct"] {
        let name = format!("{measure}_{}_{}_{peer}", last.number, case.name);
        let value = findings.estimate(&name);
        findings.draw(&format!("{measure}_by_delay"), label, millis, value);
    }
}

/// The table of these metrics.
pub(super) fn comparison(cases: &[Case], peers: Vec<(String, String)>) -> PeerComparison {
    let measure = |name: &str, heading: &str, better| Measure {
        name: name.to_owned(),
        heading: heading.to_owned(),
        better,
    };
    let measures = vec![
        measure("use_pct", "use of the link, %", Better::More),
        measure("delay_p50_ms", "delay p50, ms", Better::Less),
        measure("delay_p95_ms", "delay p95, ms", Better::Less),
        measure("in_time_pct", "whole in 150 ms, %", Better::More),
        measure("gap_ms", "longest gap, ms", Better::Less),
        measure("reaches_s", "90 % of the link after, s", Better::Less),
        measure("reached_share", "seeds that reach it", Better::More),
        measure("least_over_most", "least share over largest", Better::More),
        measure("lost_pct", "packets lost, %", Better::Less),
    ];
    let mut rows = Vec::new();
    for case in cases {
        let spans = spans(case);
        for span in &spans {
            let Period { from, to } = span.measured;
            let is_last = Some(span.number) == spans.last().map(|last| last.number);
            let of_case = is_last.then(|| case.name.clone());
            let long = case.flow.iter().filter(|flow| takes_share(flow));
            let several = long.clone().count() > 1;
            let shares = long.filter(|_| is_last && several);
            rows.push(ComparedRow {
                title: format!("{}, {from} to {to} s", case.name),
                keys: [Some(format!("{}_{}", span.number, case.name)), of_case]
                    .into_iter()
                    .flatten()
                    .collect(),
                shares: shares
                    .map(|flow| {
                        (
                            flow.name.clone(),
                            format!("rate_mbps_{}_{}", flow.name, case.name),
                        )
                    })
                    .collect(),
            });
        }
    }
    PeerComparison {
        peers,
        measures,
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::time::Instant;

    fn frame(captured: u64, complete: Option<u64>) -> LoggedFrame {
        LoggedFrame {
            captured: Instant::from_millis(captured),
            complete: complete.map(Instant::from_millis),
        }
    }

    #[test]
    fn longest_gap_counts_newer_whole_frames_alone() {
        let frames = [
            frame(0, Some(60)),
            frame(40, None),
            // Overtaken by the next.
            frame(80, Some(300)),
            frame(120, Some(200)),
            frame(160, Some(420)),
        ];
        let of = |from: f64, to: f64| longest_gap(&frames, &Period { from, to });
        assert!((of(0.0, 0.5) - 0.220).abs() < 1e-12);
        assert!((of(0.1, 0.3) - 0.1).abs() < 1e-12);
        assert!((of(0.0, 2.0) - 1.580).abs() < 1e-12);
    }

    fn case() -> Case {
        toml::from_str(
            r#"name = "a"
               queue = "50ms"
               bottleneck = [[["0s", "1Mb/s"], ["30s", "2Mb/s"], ["60s", "0.5Mb/s"]]]
               flow = [{ name = "S1", kind = "call-sizes", stop = "70s", delay = "50ms" }]"#,
        )
        .unwrap()
    }

    #[test]
    fn start_is_left_out_of_a_long_first_period() {
        let of = |case: &Case| -> Vec<_> {
            let spans = spans(case).into_iter();
            spans
                .map(|span| (span.number, span.measured.from, span.rises))
                .collect()
        };
        let mut case = case();
        let alone = [(1, 10.0, true), (2, 30.0, true), (3, 60.0, false)];
        assert_eq!(of(&case), alone);
        let tcp = r#"name = "T"
                     kind = "tcp"
                     start = "30s"
                     stop = "70s"
                     delay = "50ms""#;
        case.flow.push(toml::from_str(tcp).unwrap());
        assert_eq!(of(&case), [(2, 30.0, false), (3, 60.0, false)]);
    }

    #[test]
    fn link_is_reached_by_the_first_second_at_nine_tenths() {
        let mut received = Throughput::new(Instant::ZERO, Instant::from_secs(70), BIN);
        for bin in 0..700_u64 {
            let rate = if bin < 50 { 0.5e6 } else { 0.95e6 };
            let bytes = tfrc::units::Bytes::new((rate / 80.0) as u64);
            received.add(Instant::from_millis(100 * bin), bytes);
        }
        // Nine bins at .95 and one at .5 make .905 Mb/s.
        let case = case();
        let period = |from, to| Period { from, to };
        assert!((reaching_time(&case, &received, &period(0.0, 30.0)) - 5.9).abs() < 1e-9);
        assert!(reaching_time(&case, &received, &period(30.0, 60.0)).is_nan());
    }
}
