//! Tests of an X of TFRC that decays between two frames.

use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

use super::{Faults, FaultyFlow, PACKET, X};
use crate::Mode;
use crate::law_state::QueueReport;
use crate::number::seconds;

/// X of an idle sender decays between two frames if four round trips are shorter than their interval (RFC 5348 §4.4).
#[test]
fn decay_of_x_between_frames_shortens_no_frame() {
    let deadline = Duration::from_secs(1);
    for (interval, shortens) in [(250, false), (40, true)] {
        let mut flow = FaultyFlow::new(interval, X, Faults::NONE);
        flow.run_until(20);
        flow.handle_reports(u64::MAX);
        let (now, bound) = (flow.now, flow.bound);
        let at = |ms: u64| Instant::from_nanos(now + 1_000_000 * ms);
        let model = &mut flow.model;
        model.set_bound(at(0), bound);
        let (budget, decayed) = (model.frame_budget(at(0), deadline), model.rate() / 10.0);
        model.set_bound(at(1), decayed);
        assert_eq!(model.rate() == decayed, shortens);
        let mut lossy = model.clone();
        lossy.set_bound(at(1), bound);
        lossy.handle_loss_event(at(2));
        lossy.set_bound(at(2), decayed);
        assert_eq!(lossy.rate(), decayed);
        let mut queued = model.clone();
        let (params, target) = (queued.params, queued.target());
        let frame = (seconds(at(600)), 2.0 * target);
        queued.set_bound(at(1), bound);
        queued
            .signal
            .observe(seconds(at(600)), u64::MAX, frame, target, &params);
        queued.set_bound(at(2), decayed);
        assert_eq!(queued.rate(), decayed);
        let mut competing = model.clone();
        competing.law.mode = Mode::Compete;
        competing.set_bound(at(1), bound);
        competing.handle_sent(at(2), u64::MAX - 2, Bytes::new(PACKET), true);
        competing.set_bound(at(2), decayed);
        competing.follow(&QueueReport {
            now: seconds(at(2)),
            elapsed: 0.001,
            round_trip: 0.04,
            queue: 0.0,
            target,
        });
        competing.set_bound(at(3), bound);
        assert_eq!(competing.rate() < bound, shortens);
        // The first reports of the next frame find X still low.
        let mut idle = model.clone();
        model.handle_sent(at(2), u64::MAX - 2, Bytes::new(PACKET), true);
        model.set_bound(at(2), decayed);
        assert_eq!(model.rate(), decayed);
        model.set_bound(at(3), bound);
        assert_eq!(model.frame_budget(at(3), deadline), budget);
        // After a pause of the application the path may have changed.
        idle.set_bound(at(400), decayed);
        assert_eq!(idle.rate(), decayed);
    }
}
