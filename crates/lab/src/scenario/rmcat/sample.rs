//! What a run says: the metrics of RFC 8867 §4.1 and RFC 8868 §3, and the curves.
//!
//! A case falls into periods: one begins where a capacity or a propagation delay changes and where a flow that takes a share
//! of a bottleneck starts, pauses, resumes or stops. Names of metrics end in the flow, the period
//! (counted from 1) and the case, as far as they are of one.

use evenkeel_media::report::Summary;
use evenkeel_sim::{End, Traffic};

use super::capacity::Capacity;
use super::flow::{self, Flow};
use super::record::{BIN, Packets};
use super::{Case, CaseRecord, measured};
use crate::findings::Sample;
use crate::metrics::{
    Stable, Throughput, convergence_time, cov, friendliness, jain, least, least_over_most,
    lost_share, mean, quantile, swings,
};
use crate::units::Time;

/// Rates and delays are drawn over this (RFC 8868 §3: one second), in bins.
const DRAWN_BINS: usize = 5;
/// A rate has converged when its means over 2 s are near the steady one for 5 s.
const STABLE: Stable = Stable {
    over: 10,
    hold: 25,
    within: 0.25,
};
/// A flow swings between these shares of its steady mean, over a second.
const WATERMARKS: [f64; 2] = [0.75, 1.25];
/// Starvation is looked for in intervals of 10 s, once the start is over.
const LOWEST_BINS: usize = 50;
const LOWEST_AFTER: f64 = 10.0;
/// Shorter periods tell nothing.
const LEAST_PERIOD: f64 = 5.0;

/// Part of a run, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Period {
    pub(super) from: f64,
    pub(super) to: f64,
}

/// The metrics and curves of a run.
pub(super) fn of(case: &Case, seen: &CaseRecord) -> Sample {
    let mut sample = Sample::default();
    let periods = periods(case);
    of_links(&mut sample, case, seen, &periods);
    let flows = || case.flow.iter().zip(&seen.record.0);
    for (index, (flow, packets)) in flows().enumerate() {
        of_flow(&mut sample, case, flow, packets);
        if flow.kind.is_media() {
            of_media(&mut sample, case, flow, packets, &periods);
        }
        let key = format!("{}_{}", flow.name, case.name);
        if let Traffic::MediaEnd(end) = seen.sim.agent(seen.flows[index], End::Receiver) {
            of_frames(&mut sample, &key, &end.report().summary());
        }
    }
    measured::of(&mut sample, case, seen);
    of_sharing(&mut sample, case, &seen.record.0, &periods);
    sample
}

pub(super) fn periods(case: &Case) -> Vec<Period> {
    let changes = case.bottleneck.iter().chain(&case.backward);
    let changes = changes.flat_map(|capacity| capacity.changes().map(|(at, _)| at.secs()));
    let flows = case.flow.iter().filter(|flow| flow.kind.is_long());
    let flows = flows.flat_map(|flow| {
        let pauses = flow.pause.into_iter().flatten();
        [flow.start, flow.stop].into_iter().chain(pauses)
    });
    let detours = case.detour.iter().map(|(at, _)| at.secs());
    let changes = changes.chain(detours);
    let mut at: Vec<f64> = flows.map(Time::secs).chain(changes).collect();
    at.extend([0.0, case.length().as_secs_f64()]);
    at.sort_by(f64::total_cmp);
    at.windows(2)
        .map(|pair| Period {
            from: pair[0],
            to: pair[1],
        })
        .filter(|period| period.to - period.from >= LEAST_PERIOD)
        .collect()
}

impl Period {
    pub(super) fn has(&self, time: f64) -> bool {
        (self.from..self.to).contains(&time)
    }

    /// Its second half, in which what can be steady is.
    fn late(&self) -> Self {
        Self {
            from: f64::midpoint(self.from, self.to),
            ..*self
        }
    }
}

/// Bits per second in each bin of a period.
fn rates(throughput: &Throughput, period: &Period) -> Vec<f64> {
    let times = throughput.times(BIN).into_iter();
    let rates = times.zip(throughput.rates(BIN));
    let inside = rates.filter(|(time, _)| period.has(*time));
    inside.map(|(_, bytes)| bytes * 8.0).collect()
}

/// Means over some bins; what is left over is left out.
fn over(rates: &[f64], bins: usize) -> Vec<f64> {
    rates.chunks_exact(bins).map(mean).collect()
}

/// The bits per second that a flow could have in a period: an equal share of its narrowest bottleneck,
/// and no more than it asks for. What calls cannot use is there for the rest of them.
pub(super) fn possible(case: &Case, flow: &Flow, period: &Period) -> f64 {
    let middle = f64::midpoint(period.from, period.to);
    let mean = |capacity: &Capacity| capacity.mean(period.from, period.to);
    let active = |other: &&Flow| other.kind.is_long() && other.is_active(middle);
    if flow.backward {
        let others = case
            .flow
            .iter()
            .filter(active)
            .filter(|other| other.backward);
        let back = case.backward.as_ref().map_or(f64::INFINITY, mean);
        return (back / others.count() as f64).min(flow.max_rate());
    }
    let shares = case
        .bottleneck
        .iter()
        .enumerate()
        .filter_map(|(hop, capacity)| {
            let others = case.flow.iter().filter(active);
            let others = others.filter(|other| other.crosses(hop)).count();
            flow.crosses(hop).then(|| mean(capacity) / others as f64)
        });
    shares.fold(flow.max_rate(), f64::min)
}

fn of_links(sample: &mut Sample, case: &Case, seen: &CaseRecord, periods: &[Period]) {
    let name = &case.name;
    let end = case.length().as_secs_f64();
    for (hop, capacity) in case.bottleneck.iter().enumerate() {
        let which = case.link_suffix(hop);
        let link = seen.sim.link(seen.forward[hop]);
        let carried = link.counters().delivered.bytes.as_f64() * 8.0;
        let utilisation = carried / capacity.bits(0.0, end);
        sample.metric(format!("utilisation{which}_{name}"), utilisation);
        for (index, period) in periods.iter().enumerate() {
            let crossing = case.flow.iter().zip(&seen.record.0);
            let crossing = crossing.filter(|(flow, _)| flow.crosses(hop));
            let rates = crossing.map(|(_, packets)| mean(&rates(&packets.received, period)));
            let used = rates.sum::<f64>() / capacity.mean(period.from, period.to);
            sample.metric(format!("utilisation{which}_{}_{name}", index + 1), used);
        }
        let waits = seen.queues.iter().map(|(_, waits)| waits[hop] * 1e3);
        let waits: Vec<f64> = waits.collect();
        for (what, share) in [("p50", 0.5), ("p95", 0.95), ("max", 1.0)] {
            let value = quantile(&waits, share);
            sample.metric(format!("queue{which}_{what}_ms_{name}"), value);
        }
        let legend = format!("capacity{}", which.replace('_', " "));
        sample.curve(format!("rates_{name}"), legend, capacity.curve(end));
    }
    if let Some(capacity) = &case.backward {
        let curve = capacity.curve(end);
        sample.curve(format!("rates_{name}"), "capacity back", curve);
    }
}

/// The share of a flow's packets that was lost. Of TCP, whose packets cannot be told apart, those on
/// their way at the end are counted, too.
fn loss(packets: &Packets) -> f64 {
    let arrived = packets.delays.len() as f64;
    if arrived > 0.0 {
        lost_share(arrived, arrived + packets.lost.len() as f64)
    } else {
        lost_share(packets.received_count as f64, packets.sent_count as f64)
    }
}

/// What holds for any flow.
fn of_flow(sample: &mut Sample, case: &Case, flow: &Flow, packets: &Packets) {
    let key = format!("{}_{}", flow.name, case.name);
    sample.metric(format!("loss_{key}"), loss(packets));
    let whole = Period {
        from: flow.start.secs(),
        to: flow.stop.secs(),
    };
    let mean_rate = mean(&rates(&packets.received, &whole));
    sample.metric(format!("rate_kbps_{key}"), mean_rate / 1e3);
    if packets.delays.is_empty() {
        return;
    }
    let least = flow.delay.secs();
    let queueing = packets
        .delays
        .iter()
        .map(|(_, delay)| (delay - least) * 1e3);
    let queueing: Vec<f64> = queueing.collect();
    for (what, share) in [("p50", 0.5), ("p95", 0.95), ("max", 1.0)] {
        let value = quantile(&queueing, share);
        sample.metric(format!("queueing_{what}_ms_{key}"), value);
    }
}

/// What holds for what is under congestion control and on time.
fn of_media(sample: &mut Sample, case: &Case, flow: &Flow, packets: &Packets, periods: &[Period]) {
    let key = format!("{}_{}", flow.name, case.name);
    let overhead = packets.back.total().as_f64() / packets.sent.total().as_f64();
    sample.metric(format!("feedback_share_{key}"), overhead);
    let from_then = Period {
        from: flow.start.secs() + LOWEST_AFTER,
        to: flow.stop.secs(),
    };
    let lowest = over(&rates(&packets.received, &from_then), LOWEST_BINS);
    sample.metric(format!("lowest_10s_kbps_{key}"), least(lowest) / 1e3);
    for (index, period) in periods.iter().enumerate() {
        if !flow.is_active(f64::midpoint(period.from, period.to)) {
            continue;
        }
        let key = format!("{}_{}_{}", flow.name, index + 1, case.name);
        let of = |period| rates(&packets.received, period);
        let (all, late) = (of(period), of(&period.late()));
        let steady = mean(&late);
        let share = steady / possible(case, flow, &period.late());
        sample.metric(format!("of_possible_{key}"), share);
        let seconds = convergence_time(&all, BIN.as_secs_f64(), STABLE);
        sample.metric(format!("converges_s_{key}"), seconds);
        let seconds = over(&late, DRAWN_BINS);
        sample.metric(format!("cov_1s_{key}"), cov(&seconds));
        let [low, high] = WATERMARKS.map(|share| share * steady);
        let swings = f64::from(swings(&seconds, low, high));
        let minutes = (period.late().to - period.late().from) / 60.0;
        sample.metric(format!("swings_per_min_{key}"), swings / minutes);
        let least = flow.delay.secs();
        let inside = packets.delays.iter().filter(|(at, _)| period.has(*at));
        let queueing: Vec<f64> = inside.map(|(_, delay)| (delay - least) * 1e3).collect();
        sample.metric(format!("queueing_p95_ms_{key}"), quantile(&queueing, 0.95));
    }
    let name = &case.name;
    let end = case.length().as_secs_f64();
    let whole = Period { from: 0.0, to: end };
    let middle = |second: usize| second as f64 + 0.5;
    let drawn = over(&rates(&packets.received, &whole), DRAWN_BINS);
    let points = drawn.into_iter().enumerate();
    let points = points.map(|(second, rate)| (middle(second), rate / 1e3));
    sample.curve(format!("rates_{name}"), flow.name.as_str(), points);
    let seconds = || (0..end as usize).map(|second| (second, middle(second)));
    let in_second = |time: f64, second: usize| time as usize == second;
    let delays = seconds().filter_map(|(second, at)| {
        let inside = packets.delays.iter().filter(|(t, _)| in_second(*t, second));
        let delays: Vec<f64> = inside.map(|(_, delay)| delay * 1e3).collect();
        (!delays.is_empty()).then(|| (at, quantile(&delays, 0.95)))
    });
    sample.curve(format!("delay_{name}"), flow.name.as_str(), delays);
    let losses = seconds().map(|(second, at)| {
        let lost = packets.lost.iter().filter(|t| in_second(**t, second));
        (at, lost.count() as f64)
    });
    sample.curve(format!("lost_{name}"), flow.name.as_str(), losses);
}

/// What the viewer of a call saw.
fn of_frames(sample: &mut Sample, key: &str, summary: &Summary) {
    let metrics = [
        ("frame_delay_p50_ms", summary.frame_delay_p50_ms),
        ("frame_delay_p95_ms", summary.frame_delay_p95_ms),
        ("frames_shown", Some(summary.frames_shown as f64)),
        ("frames_corrupt", Some(summary.frames_concealed as f64)),
    ];
    for (name, value) in metrics {
        sample.metric(format!("{name}_{key}"), value.unwrap_or(f64::NAN));
    }
}

/// How flows share, period by period.
fn of_sharing(sample: &mut Sample, case: &Case, packets: &[Packets], periods: &[Period]) {
    for (index, period) in periods.iter().enumerate() {
        let key = format!("{}_{}", index + 1, case.name);
        let middle = f64::midpoint(period.from, period.to);
        let of = |wanted: fn(&Flow) -> bool| -> Vec<f64> {
            let flows = case.flow.iter().zip(packets);
            flows
                .filter(|(flow, _)| wanted(flow) && flow.is_active(middle))
                .map(|(_, packets)| mean(&rates(&packets.received, &period.late())))
                .collect()
        };
        let media = of(|flow| flow.kind.is_media() && !flow.backward);
        let tcp = of(|flow| flow.kind == flow::Kind::Tcp);
        if media.len() > 1 {
            sample.metric(format!("jain_{key}"), jain(&media));
            sample.metric(format!("least_over_most_{key}"), least_over_most(&media));
        }
        if !tcp.is_empty() && !media.is_empty() {
            let over_tcp = friendliness(&media, &tcp);
            sample.metric(format!("media_over_tcp_{key}"), over_tcp);
        }
    }
    for (flow, packets) in case.flow.iter().zip(packets) {
        if flow.kind == flow::Kind::Tcp {
            let whole = Period {
                from: 0.0,
                to: case.length().as_secs_f64(),
            };
            let drawn = over(&rates(&packets.received, &whole), DRAWN_BINS).into_iter();
            let points = drawn
                .enumerate()
                .map(|(s, rate)| (s as f64 + 0.5, rate / 1e3));
            let group = format!("rates_{}", case.name);
            sample.curve(group, flow.name.as_str(), points);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> Case {
        toml::from_str(
            r#"name = "a"
               queue = "300ms"
               bottleneck = [[["0s", "2Mb/s"], ["60s", "6Mb/s"]], [["0s", "1.2Mb/s"]]]
               flow = [
                 { name = "S1", kind = "call", stop = "100s", pause = ["20s", "40s"], delay = "50ms" },
                 { name = "S2", kind = "call", stop = "100s", delay = "50ms", hop = 0 },
                 { name = "A2", kind = "audio", start = "10s", stop = "100s", delay = "50ms" },
                 { name = "S3", kind = "tcp", stop = "98s", delay = "50ms", hop = 1 },
               ]"#,
        )
        .unwrap()
    }

    #[test]
    fn periods_begin_where_capacities_and_shares_change() {
        let periods = periods(&case());
        let bounds: Vec<[f64; 2]> = periods.iter().map(|p| [p.from, p.to]).collect();
        // What begins at 98 s is too short.
        let expected = [[0.0, 20.0], [20.0, 40.0], [40.0, 60.0], [60.0, 98.0]];
        assert_eq!(bounds, expected);
        assert_eq!(periods[3].late().from, 79.0);
    }

    #[test]
    fn a_flow_could_have_its_share_of_the_narrowest_link_or_what_it_asks_for() {
        let case = case();
        let periods = periods(&case);
        let could = |flow: usize, period: usize| {
            possible(&case, &case.flow[flow], &periods[period]).round()
        };
        // Half of 2 Mb/s, and half of 1.2 Mb/s; alone while the other pauses; 1.5 Mb/s at most.
        assert_eq!([could(0, 0), could(1, 0)], [0.6e6, 1e6]);
        assert_eq!([could(1, 1), could(3, 1)], [1.5e6, 1.2e6]);
        assert_eq!([could(0, 3), could(1, 3)], [0.6e6, 1.5e6]);
    }
}
