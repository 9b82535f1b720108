//! The parameters of the path model, each with its source.

/// What tunes the model. Every named case of `experiments/path-model.toml` passes with any one of them at half and at
/// twice its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Queueing delay that a flow of 3 Mb/s aims at, in seconds. Below a frame interval, above the jitter of a wired
    /// path (RFC 8868 §4.5.2 uses 5 ms).
    pub queue_target: f64,
    /// A frame leaves at this multiple of its share, so that its spread at arrival shows the bottleneck's rate. Two packet
    /// rates are told apart best where one is twice the other (Jain and Dovrolis, SIGCOMM 2002).
    pub burst_gain: f64,
    /// The share of the rate given up once a round trip while the queue exceeds its target (BBRv3 drains 10 % of a
    /// round trip in eight: 1.3 %; Swift at most 50 %).
    pub backoff: f64,
    /// The share of the link's rate that every flow adds in a second while the queue is below its target.
    pub increase: f64,
    /// Exponential growth in a second while bursts arrive as they left, so that the link has room for their pace.
    pub growth: f64,
    /// A burst that arrives stretched by more than this share met the bottleneck.
    pub stretch: f64,
    /// Evidence of cross traffic that makes the flow compete, in seconds of queue times seconds.
    pub alarm: f64,
    /// How long a flow competes before it tests the path again, in seconds: twice the longest cycle of a TCP on a long,
    /// deep queue; and half of how long a base delay is remembered.
    pub hold: f64,
    /// What a frame's measurement keeps of those before: one of seven frames is new.
    pub memory: f64,
    /// How many mean shortfalls of the delivery rate a frame leaves unused.
    pub risk: f64,
}

impl Params {
    /// The parameters of a call.
    pub const CALL: Self = Self {
        queue_target: 0.007,
        burst_gain: 2.0,
        backoff: 0.03,
        increase: 0.18,
        growth: 4.5,
        stretch: 0.1,
        alarm: 0.035,
        hold: 30.0,
        memory: 0.85,
        risk: 2.3,
    };
}

impl Default for Params {
    fn default() -> Self {
        Self::CALL
    }
}
