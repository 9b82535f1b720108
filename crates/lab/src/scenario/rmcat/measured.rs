//! Use of the links, and frames that arrive in time, over the measured part of a run.

use evenkeel_media::policy::PolicyConfig;
use evenkeel_sim::{End, Traffic};
use tfrc::time::Instant;

use super::record::BIN;
use super::{Case, CaseRecord};
use crate::findings::Sample;
use crate::metrics::{mean, quantile};
use crate::units::Time;

/// Adds the metrics of the measured time, if the case has one.
pub(super) fn of(sample: &mut Sample, case: &Case, seen: &CaseRecord) {
    let Some(window) = case.measured else {
        return;
    };
    let name = &case.name;
    let [from, to] = window.map(Time::secs);
    let window = window.map(|time| Instant::ZERO + time.0);
    for (hop, capacity) in case.bottleneck.iter().enumerate() {
        let crossing = case.flow.iter().zip(&seen.record.0);
        let crossing = crossing.filter(|(flow, _)| flow.crosses(hop));
        let rates = crossing.map(|(_, packets)| mean(&packets.received.within(BIN, window)));
        let used = rates.sum::<f64>() * 8.0 / capacity.mean(from, to);
        let which = case.link_suffix(hop);
        sample.metric(format!("link_use{which}_{name}"), used);
    }
    for (flow, id) in case.flow.iter().zip(&seen.flows) {
        let ends = [End::Sender, End::Receiver].map(|end| seen.sim.agent(*id, end));
        if let [Traffic::MediaEnd(sender), Traffic::MediaEnd(receiver)] = ends {
            let delays = receiver.arrivals().filter_map(|[captured, arrived]| {
                let is_measured = (window[0]..window[1]).contains(&captured);
                is_measured.then(|| arrived.saturating_since(captured).as_secs_f64() * 1e3)
            });
            let key = format!("{}_{name}", flow.name);
            of_frames(
                sample,
                &key,
                sender.captures(window),
                &delays.collect::<Vec<_>>(),
            );
        }
    }
    if let Some((_, is_there)) = case.recordings().next() {
        let is_recorded = f64::from(u8::from(is_there));
        sample.metric(format!("is_recorded_{name}"), is_recorded);
    }
}

/// Shares are of all captured frames, so a frame that was never coded or sent counts as missed.
fn of_frames(sample: &mut Sample, key: &str, captured: usize, delays_ms: &[f64]) {
    let in_time = PolicyConfig::DEADLINE.as_secs_f64() * 1e3;
    let share = |count: usize| count as f64 / captured as f64;
    let count = delays_ms.iter().filter(|delay| **delay <= in_time).count();
    sample.metric(format!("frames_in_time_{key}"), share(count));
    sample.metric(format!("frames_whole_{key}"), share(delays_ms.len()));
    for (what, part) in [("p50", 0.5), ("p95", 0.95)] {
        let value = quantile(delays_ms, part);
        sample.metric(format!("frame_arrival_{what}_ms_{key}"), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Findings;

    #[test]
    fn frame_shares_count_every_captured_frame() {
        let mut sample = Sample::default();
        of_frames(&mut sample, "S1_a", 10, &[40.0, 150.0, 151.0, 900.0]);
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(findings.value("frames_in_time_S1_a"), 0.2);
        assert_eq!(findings.value("frames_whole_S1_a"), 0.4);
        assert_eq!(findings.value("frame_arrival_p95_ms_S1_a"), 900.0);
    }
}
