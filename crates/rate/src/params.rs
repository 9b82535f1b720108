//! The parameters of the path model, each with its source.

/// What tunes the model. The tests of this crate hold each at half and at twice its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Queueing delay that a flow of 3 Mb/s aims at, in seconds: two packets of Ethernet's size at that rate.
    pub queue_target: f64,
    /// A frame leaves faster than at the flow's rate by this share of it, so that its spread at arrival shows the bottleneck:
    /// packet trains measure capacity where they are sent well above the available rate (Jain and Dovrolis, SIGCOMM 2002).
    pub burst_excess: f64,
    /// The common control interval of all flows, in seconds: the longest round trip of a conversation (ITU-T G.114, 150 ms
    /// each way). Shorter round trips give no more reactions, so that they give no larger share.
    pub round: f64,
    /// The share of the rate that is given up once a round while the queue is at its target; beyond it in proportion
    /// (Swift, SIGCOMM 2020 §3.1).
    pub backoff: f64,
    /// The share of the link's capacity by which a flow that has all of it grows in a second while there is no queue (additive
    /// increase; Chiu and Jain, 1989); one with a share of it grows by the root of that share.
    pub increase: f64,
    /// A burst that arrives stretched by more than this share has met the bottleneck. Packets of Ethernet's size beside a
    /// burst of ten stretch it by as much.
    pub stretch: f64,
    /// A frame's delay counts as far as it exceeds so many times the mean deviation of frames. Of an exponential
    /// distribution 5 % lie beyond three means.
    pub noise: f64,
    /// How long a queue of two targets that is not the flow's own must stand before the flow competes, in seconds: a few round
    /// trips of the flows that could still drain it.
    pub alarm: f64,
    /// How long a flow competes before it tests the path again, and how long a loss counts as evidence, in seconds: longer than
    /// a cycle of TCP on most paths. A base delay is remembered for twice as long.
    pub hold: f64,
    /// How many mean shortfalls of the delivery rate a frame leaves unused: 10 % of exponential ones are beyond 2.3.
    pub risk: f64,
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
    };
}

impl Default for Params {
    fn default() -> Self {
        Self::CALL
    }
}
