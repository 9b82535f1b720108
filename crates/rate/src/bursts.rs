//! What a frame's burst shows of the bottleneck.
//!
//! A frame leaves as a burst at a multiple of the flow's rate. Where the bottleneck serves this flow more slowly, the
//! burst arrives stretched, and its bytes over its spread at arrival are the rate at which the bottleneck served it
//! (packet-train dispersion). The measurement costs no delay: the frame would have to wait for its last packet anyway.

use alloc::collections::VecDeque;

use crate::Params;

/// A burst whose packets all became known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Burst {
    number: u64,
    packets: u32,
    /// When its first and its last packet left and arrived.
    sent: [f64; 2],
    arrived: [f64; 2],
    /// Bytes after the first packet.
    bytes: f64,
}

impl Burst {
    fn begin(number: u64, sent: f64, arrived: f64) -> Self {
        Self {
            number,
            packets: 1,
            sent: [sent; 2],
            arrived: [arrived; 2],
            bytes: 0.0,
        }
    }

    fn extend(&mut self, sent: f64, arrived: f64, size: f64) {
        // A packet that was overtaken belongs to no spread.
        if sent >= self.sent[1] && arrived >= self.arrived[1] {
            self.sent[1] = sent;
            self.arrived[1] = arrived;
            self.bytes += size;
            self.packets += 1;
        }
    }

    fn spread_sent(&self) -> f64 {
        self.sent[1] - self.sent[0]
    }

    fn spread_arrived(&self) -> f64 {
        self.arrived[1] - self.arrived[0]
    }

    fn is_measurable(&self) -> bool {
        self.packets >= 2 && self.spread_arrived() > 0.0
    }
}

/// Sums over bursts in which those of before fade.
#[derive(Clone, Copy, Debug, Default)]
struct Faded {
    sent: f64,
    arrived: f64,
    bytes: f64,
    count: f64,
}

impl Faded {
    fn add(&mut self, burst: &Burst, memory: f64) {
        self.sent = self.sent * memory + burst.spread_sent();
        self.arrived = self.arrived * memory + burst.spread_arrived();
        self.bytes = self.bytes * memory + burst.bytes;
        self.count = self.count * memory + 1.0;
    }
}

/// The bursts of late and what they show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bursts {
    current: Burst,
    /// Over two frames, and over as many as the parameter says: a fall counts at once, a rise when it is confirmed.
    short: Faded,
    long: Faded,
    recent: VecDeque<Burst>,
    /// The mean of what bursts were served less than the long mean, as a share of it.
    shortfall: f64,
    noise: f64,
    /// What the last three bursts were stretched by, newest last, and how far they deviate from their neighbours' mean.
    stretches: [f64; 3],
    stretch_noise: f64,
}

/// What a short mean keeps of the bursts before.
const SHORT_MEMORY: f64 = 0.5;
/// The same for the mean shortfall: a second of frames.
const SHORTFALL_MEMORY: f64 = 0.96;
/// Bursts of so many frame intervals say what share of the link is ours.
const RECENT: f64 = 4.0;

impl Bursts {
    /// A packet of `size` bytes of a burst arrived.
    pub(crate) fn observe(&mut self, packet: &crate::sent::SentPacket, arrived: f64, params: &Params, noise: f64) {
        self.noise = noise;
        if self.current.packets == 0 || self.current.number != packet.burst {
            self.close(params);
            self.current = Burst::begin(packet.burst, packet.at, arrived);
        } else {
            self.current.extend(packet.at, arrived, packet.size);
        }
        if packet.ends_burst {
            self.close(params);
        }
    }

    fn close(&mut self, params: &Params) {
        let burst = core::mem::take(&mut self.current);
        if !burst.is_measurable() {
            return;
        }
        self.short.add(&burst, SHORT_MEMORY);
        if self.long.arrived > 0.0 {
            let mean = self.long.bytes / self.long.arrived;
            let is_stretched = burst.spread_sent() < (1.0 - params.stretch) * burst.spread_arrived();
            let served = burst.bytes / burst.spread_arrived().max(1e-6);
            let shortfall = if is_stretched { (1.0 - served / mean).clamp(0.0, 1.0) } else { 0.0 };
            self.shortfall += (shortfall - self.shortfall) * (1.0 - SHORTFALL_MEMORY);
        }
        let [before, middle, after] = self.stretches;
        self.stretch_noise += ((middle - f64::midpoint(before, after)).abs() - self.stretch_noise) / 50.0;
        self.stretches = [middle, after, burst.spread_arrived() - burst.spread_sent()];
        self.long.add(&burst, params.memory);
        self.recent.push_back(burst);
    }

    /// Forgets bursts that no longer say what share of the link is ours.
    pub(crate) fn expire(&mut self, latest_arrival: f64, interval: f64) {
        while self.recent.front().is_some_and(|b| b.arrived[1] < latest_arrival - RECENT * interval) {
            self.recent.pop_front();
        }
    }

    /// The spread at arrival that is no noise.
    fn certain(&self, faded: &Faded) -> f64 {
        let noise = crate::model::env("SPREADN", 0.0) * self.stretch_noise * faded.count;
        (faded.arrived - noise).max(faded.arrived / 4.0).max(1e-6)
    }

    /// True once a burst was measured.
    pub(crate) fn has_measured(&self) -> bool {
        self.short.arrived > 0.0
    }

    /// The rate at which bursts are served, bytes per second.
    pub(crate) fn service_rate(&self) -> f64 {
        (self.short.bytes / self.short.arrived.max(1e-6)).min(self.long.bytes / self.long.arrived.max(1e-6))
    }

    /// Spread sent over spread arrived: below one, the bottleneck stretched them.
    pub(crate) fn evenness(&self) -> f64 {
        if self.has_measured() {
            (self.short.sent / self.certain(&self.short)).min(self.long.sent / self.certain(&self.long)).min(1.5)
        } else {
            1.0
        }
    }

    /// What a packet of this size takes at the bottleneck; 1 s before a burst was measured.
    pub(crate) fn serialisation(&self, size: f64) -> f64 {
        if self.long.arrived > 0.0 { size * self.long.arrived / self.long.bytes } else { 1.0 }
    }

    /// The mean of what bursts were served less than their mean rate, as a share of it.
    pub(crate) fn shortfall(&self) -> f64 {
        self.shortfall
    }

    /// The pace and the service rate of the recent bursts, and between which arrivals those were.
    pub(crate) fn recent(&self) -> Option<(f64, f64, [f64; 2])> {
        let (first, last) = (self.recent.front()?, self.recent.back()?);
        let sum = |of: fn(&Burst) -> f64| self.recent.iter().map(of).sum::<f64>();
        let bytes = sum(|b| b.bytes);
        let pace = bytes / sum(Burst::spread_sent).max(1e-6);
        let served = bytes / sum(Burst::spread_arrived);
        Some((pace, served, [first.arrived[0], last.arrived[1]]))
    }
}
