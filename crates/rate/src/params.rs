//! The parameters of the path model, each with its source.

/// The tuning of the model. The tests of this crate run each parameter at half and at twice its value.
///
/// The other constants of this crate are no parameters:
///
/// | They are | Constants |
/// |---|---|
/// | Bounds of memory and of arithmetic | `MAX_PACKETS`, `MAX_DELIVERIES`, `MAX_OVERTAKEN`, `MAX_RANGES`, `MAX_RECENT`, `MAX_CANDIDATES`, `MAX_SIZE`, `HIGHEST_RATE`, `LEAST_SPREAD`, `LEAST_SHARE`, `VISIBLE_STRETCH`, `MIN_CUT_FACTOR`, `MIN_SHARE_CUT_FACTOR`, `MAX_RISE_FRACTION`, `MAX_REPORT_ELAPSED` |
/// | Protocols and packets | `NOFEEDBACK_ROUND_TRIPS`, `MAX_UNPROVEN_GROWTH`, `APPLICATION_LIMITED_USAGE`, `OVERDUE_REPORTS`, `MAX_DRIFT`, `TOLERANCE`, `LEAST_RATE`, `LEAST_RATE_TOLERANCE`, `LEAST_TARGET_RATE`, `MIN_FRAME_FRACTION`, `FULL_USAGE_FRACTION` |
/// | The design of trials of random losses | `TRIAL_RATE`, `TRIAL_SHARE` |
/// | Units and statistics | `REFERENCE_RATE`, `LN_4`, `SHOWING_LOSSES` |
/// | Lengths of means, in frames or reports | `RATE_INTERVALS`, `KEPT_INTERVALS`, `RECENT_INTERVALS`, `SHORT_MEMORY`, `SHORTFALL_FRAMES`, `NOISE_FRAMES`, `REPORT_INTERVAL_SAMPLES`, `SHARE_GAIN`, `USUAL_GAIN`, `EVENNESS_GAIN`, `USAGE_GAIN` |
/// | Thresholds within the range of a parameter | of `queue_target`: `MAX_COUNTED_TARGETS`, `ADDITIVE_GROWTH_FRACTION`, `DRAINED_FRACTION`, `FLAT_FRACTION`, `TOLERATED_NOISE_FRACTION`; of `round`: `UNEXPLAINED_ROUNDS`, `LEAST_RATE_ROUNDS`, `EXPECTED_DRAIN_FACTOR`, `STEADY_FRACTION`, `FLAT_TIME`, `FLAT_ROUND_TRIPS`, `QUIET_TIME`; of `burst_excess`: `MAX_BURST_INTERVAL`, `SHARE_CEILING`; of `hold`: `PAST_PEAK_FRACTION`; of `risk`: `MIN_RISK_FACTOR` |
///
/// Each mean and threshold held in the same tests at half and at twice its value, a factor by its distance from one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Target of the queueing delay at the law's reference rate, in seconds: about two packets of Ethernet's size.
    pub queue_target: f64,
    /// Share of the rate by which a frame leaves faster, so that its spread at arrival shows the bottleneck. Packet trains
    /// measure capacity where they leave well above the available rate (Jain and Dovrolis, SIGCOMM 2002).
    pub burst_excess: f64,
    /// The control interval that all flows have in common, in seconds: the longest round trip of a conversation (ITU-T
    /// G.114). Shorter round trips give no more reactions, and so no larger share.
    pub round: f64,
    /// Share of the rate that a back-off gives up while the queue is at its target. A longer queue costs proportionally more
    /// (Swift, SIGCOMM 2020 §3.1).
    pub backoff: f64,
    /// Growth of a lone flow without a queue, in shares of the link's capacity per second (additive increase; Chiu and Jain,
    /// 1989). A flow with a share of the link grows by the root of that share.
    pub increase: f64,
    /// Stretch beyond which a burst has filled the bottleneck. One packet of other flows in a burst of ten stretches the burst
    /// by this much.
    pub stretch: f64,
    /// Multiple of the frames' mean deviation that is taken for noise. An exponential distribution exceeds three means in 5 %
    /// of its samples.
    pub noise: f64,
    /// Time for which a queue of two targets that is not the flow's own must stand before the flow competes, in seconds: a few
    /// round trips of the flows that could still drain the queue.
    pub alarm: f64,
    /// Time for which a flow competes before it tests the path again, in seconds. The time exceeds a cycle of TCP on most
    /// paths. A loss counts as evidence for this time, and a base delay for twice as long.
    pub hold: f64,
    /// Multiple of the mean shortfall of the service rate that a frame leaves unused. An exponential distribution exceeds this
    /// multiple in 10 % of its samples.
    pub risk: f64,
    /// Share of the link above which the flow counts as alone on the link. The rest leaves room for errors of the measurement.
    pub alone_share: f64,
    /// Least share of the rate that frames have while a queue drains. It lowers the quality of some frames and
    /// leaves none out.
    pub drain_floor: f64,
}

impl Params {
    /// The parameters of a call.
    pub const CALL: Self = Self {
        queue_target: 0.007,
        burst_excess: 1.0,
        round: 0.3,
        backoff: 0.03,
        increase: 0.18,
        stretch: 0.1,
        noise: 3.0,
        alarm: 5.0,
        hold: 30.0,
        risk: 2.3,
        alone_share: 0.7,
        drain_floor: 0.4,
    };
}

impl Default for Params {
    fn default() -> Self {
        Self::CALL
    }
}
