//! Bursts of frames measure the bottleneck (packet-train dispersion).
//!
//! A frame leaves as a burst at a multiple of the flow's rate. A bottleneck that serves the flow more slowly stretches the
//! burst, and the burst's bytes over its spread at arrival are the service rate. The measurement adds no delay, since a frame
//! waits for its last packet anyway.

use crate::Params;
use crate::number::smaller;
use crate::queue::SliceQueue;
use crate::sent::{DepartedFrame, SentPacket};

/// The packets of a frame that arrived in order.
#[derive(Clone, Copy, Debug)]
struct FrameBurst {
    number: u64,
    /// Times of departure and arrival of the first and the last packet.
    sent: [f64; 2],
    arrived: [f64; 2],
    /// Bytes after the first packet.
    bytes: f64,
}

impl FrameBurst {
    fn begin(number: u64, sent: f64, arrived: f64) -> Self {
        Self {
            number,
            sent: [sent; 2],
            arrived: [arrived; 2],
            bytes: 0.0,
        }
    }

    fn extend(&mut self, sent: f64, arrived: f64, size: f64) {
        // An overtaken packet would falsify the spread.
        if sent >= self.sent[1] && arrived >= self.arrived[1] {
            self.sent[1] = sent;
            self.arrived[1] = arrived;
            self.bytes += size;
        }
    }

    fn spread_sent(&self) -> f64 {
        self.sent[1] - self.sent[0]
    }

    fn spread_arrived(&self) -> f64 {
        self.arrived[1] - self.arrived[0]
    }

    fn is_measurable(&self) -> bool {
        self.bytes > 0.0 && self.spread_arrived() > 0.0
    }
}

/// Sums over bursts, in which older ones fade.
#[derive(Clone, Copy, Debug, Default)]
struct Faded {
    sent: f64,
    arrived: f64,
    bytes: f64,
}

impl Faded {
    fn add(&mut self, burst: &FrameBurst, memory: f64) {
        self.sent = self.sent * memory + burst.spread_sent();
        self.arrived = self.arrived * memory + burst.spread_arrived();
        self.bytes = self.bytes * memory + burst.bytes;
    }

    fn service_rate(&self) -> f64 {
        self.bytes / self.arrived
    }

    fn evenness(&self) -> f64 {
        self.sent / self.arrived
    }
}

/// Pace, service rate and time of the recent bursts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecentBursts {
    /// Pace at departure and service rate, bytes per second.
    pub(crate) pace: f64,
    pub(crate) served: f64,
    /// The first arrival and the last.
    pub(crate) span: [f64; 2],
}

/// The recent bursts and their means.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bursts {
    current: Option<FrameBurst>,
    /// Sums over two frames and over a round: the slower of both counts, so that a fall counts at once and a rise once
    /// confirmed.
    short: Faded,
    long: Faded,
    recent: SliceQueue<FrameBurst>,
    /// The mean share by which bursts were served more slowly than their mean.
    shortfall: f64,
}

/// Weight that the short sums keep of the bursts before.
const SHORT_MEMORY: f64 = 0.5;
/// The mean shortfall is over this many frames.
const SHORTFALL_FRAMES: f64 = 25.0;
/// Bursts of this many frame intervals show the flow's share of the link.
const RECENT_INTERVALS: f64 = 4.0;
/// Bound on the recent bursts: more of them show no more.
const MAX_RECENT: usize = 64;
/// Least spread of bursts, in seconds, below which all packets left at once.
const LEAST_SPREAD: f64 = 1e-6;

impl Bursts {
    /// Records a packet that arrived. Frames are `interval` seconds apart.
    pub(crate) fn observe(
        &mut self,
        packet: &SentPacket,
        arrived: f64,
        interval: f64,
        params: &Params,
    ) {
        if self
            .current
            .is_none_or(|burst| burst.number != packet.burst)
        {
            self.close(interval, params);
            self.current = Some(FrameBurst::begin(packet.burst, packet.at, arrived));
        } else if let Some(burst) = &mut self.current {
            burst.extend(packet.at, arrived, packet.size);
        }
        if packet.ends_burst {
            self.close(interval, params);
        }
    }

    /// Records a whole frame, whose first packet and last packet arrived at these times.
    pub(crate) fn observe_frame(
        &mut self,
        frame: &DepartedFrame,
        arrived: [f64; 2],
        interval: f64,
        params: &Params,
    ) {
        self.current = Some(FrameBurst {
            number: frame.number,
            sent: frame.sent,
            arrived,
            bytes: frame.bytes,
        });
        self.close(interval, params);
    }

    fn close(&mut self, interval: f64, params: &Params) {
        let Some(burst) = self.current.take().filter(FrameBurst::is_measurable) else {
            return;
        };
        self.short.add(&burst, SHORT_MEMORY);
        if self.long.arrived > 0.0 {
            let is_stretched =
                burst.spread_sent() < (1.0 - params.stretch) * burst.spread_arrived();
            let served = burst.bytes / burst.spread_arrived();
            let shortfall = (1.0 - served / self.long.service_rate()).clamp(0.0, 1.0);
            let shortfall = if is_stretched { shortfall } else { 0.0 };
            self.shortfall += (shortfall - self.shortfall) / SHORTFALL_FRAMES;
        }
        let memory = (1.0 - interval / params.round).max(SHORT_MEMORY);
        self.long.add(&burst, memory);
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_oldest(1);
        }
        self.recent.push(burst);
    }

    /// Forgets bursts that are too old to show the flow's share of the link.
    pub(crate) fn expire(&mut self, latest_arrival: f64, interval: f64) {
        let oldest = latest_arrival - RECENT_INTERVALS * interval;
        while self
            .recent
            .first()
            .is_some_and(|burst| burst.arrived[1] < oldest)
        {
            self.recent.pop_oldest(1);
        }
    }

    #[cfg(test)]
    pub(crate) fn recent_len(&self) -> usize {
        self.recent.len()
    }

    /// Forgets times of arrival, but not the stretch of bursts.
    pub(crate) fn forget_arrivals(&mut self) {
        self.current = None;
        self.recent.clear();
    }

    /// Returns the rate at which bursts are served, bytes per second; `None` before one was measured.
    pub(crate) fn service_rate(&self) -> Option<f64> {
        let is_known = self.short.arrived > 0.0;
        is_known.then(|| smaller(self.short.service_rate(), self.long.service_rate()))
    }

    /// Returns the service rate over a round, bytes per second; infinite before a burst was measured.
    pub(crate) fn mean_service_rate(&self) -> f64 {
        if self.long.arrived > 0.0 {
            self.long.service_rate()
        } else {
            f64::INFINITY
        }
    }

    /// Returns the spread at departure over the spread at arrival: below one, the bottleneck stretched the bursts.
    pub(crate) fn evenness(&self) -> f64 {
        if self.short.arrived > 0.0 {
            smaller(self.short.evenness(), self.long.evenness()).min(1.5)
        } else {
            1.0
        }
    }

    /// Returns the time that the bottleneck takes for a packet of this size, in seconds; constant before a burst
    /// was measured.
    #[inline]
    pub(crate) fn serialisation(&self, size: f64) -> f64 {
        if self.long.arrived > 0.0 {
            size / self.long.service_rate()
        } else {
            1.0
        }
    }

    /// Returns the mean share by which bursts are served more slowly than their mean.
    pub(crate) fn shortfall(&self) -> f64 {
        self.shortfall
    }

    /// Returns the recent bursts; `None` if there are none.
    pub(crate) fn recent(&self) -> Option<RecentBursts> {
        let (first, last) = (self.recent.first()?, self.recent.last()?);
        let sum = |of: fn(&FrameBurst) -> f64| self.recent.iter().map(of).sum::<f64>();
        let bytes = sum(|burst| burst.bytes);
        Some(RecentBursts {
            pace: bytes / sum(FrameBurst::spread_sent).max(LEAST_SPREAD),
            served: bytes / sum(FrameBurst::spread_arrived),
            span: [first.arrived[0], last.arrived[1]],
        })
    }
}
