//! The number of repair packets that a frame needs, by the loss of the path.

use evenkeel_rtp::packet::flexfec;

/// The measured loss of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PathLoss {
    /// The loss event rate p.
    pub(crate) events: f64,
    /// The share of packets lost, where it is reported; else 0.
    pub(crate) packets: f64,
}

impl PathLoss {
    /// Returns the share of packets lost, which is at least the loss event rate.
    fn share(self) -> f64 {
        self.packets.max(self.events).clamp(0.0, 1.0)
    }

    /// Returns the mean number of packets in a loss event.
    fn burst(self) -> f64 {
        if self.events > 0.0 {
            (self.packets / self.events).max(1.0)
        } else {
            1.0
        }
    }
}

/// Returns the number of repair packets for a frame of this many packets.
///
/// The number is the least with which at most the share `damage` of such frames has a hole, up to [`most`], and at
/// least the packets of a mean loss event. Packets beyond the span of repair packets have none.
pub(crate) fn wanted(packets: usize, loss: PathLoss, damage: f64) -> usize {
    let packets = packets.min(flexfec::MAX_SPAN);
    let most = most(packets);
    let enough = (0..=most).find(|&repairs| damaged(packets, repairs, loss.share()) <= damage);
    match enough.unwrap_or(most) {
        0 => 0,
        repairs => repairs.max(loss.burst().ceil() as usize).min(most),
    }
}

/// Returns the share of frames with a hole. Each packet is lost with this probability, and each repair packet
/// protects its group of packets.
fn damaged(packets: usize, repairs: usize, loss: f64) -> f64 {
    let kept = 1.0 - loss;
    let power = |n: usize| (0..n).fold(1.0, |product, _| product * kept);
    if repairs == 0 {
        return 1.0 - power(packets);
    }
    // A group survives the loss of one of its packets, the repair packet included.
    let part = packets.div_ceil(repairs);
    let whole = power(part + 1) + (part + 1) as f64 * loss * power(part);
    repairs as f64 * (1.0 - whole)
}

/// Returns the most repair packets of a frame: one for each two of its packets.
const fn most(packets: usize) -> usize {
    packets.div_ceil(2)
}

/// The share of frames that may have a hole although media made room for their repair packets.
pub(crate) const DAMAGED: f64 = 0.01;
/// The share of frames that may have a hole where repair packets take nothing from media.
pub(crate) const DAMAGED_IF_FREE: f64 = 0.001;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn loss(packets: f64) -> PathLoss {
        PathLoss {
            events: packets,
            packets: 0.0,
        }
    }

    #[test]
    fn repair_packets_follow_the_loss() {
        assert_eq!(wanted(10, loss(0.0), DAMAGED), 0);
        // The damage is 1 % of frames without repair packets.
        assert_eq!(wanted(10, loss(0.001), DAMAGED), 0);
        // 10 packets and one more: two of 11 are lost in 55 * 0.01² = 0.5 % of frames.
        assert_eq!(wanted(10, loss(0.01), DAMAGED), 1);
        // Two of 6, twice: 2 * 15 * 0.02² = 1.2 %; of 5, three times: 3 * 10 * 0.02² = 1.2 %;
        // of 4, four times: 4 * 6 * 0.02² = 0.96 %.
        assert_eq!(wanted(10, loss(0.02), DAMAGED), 4);
        assert_eq!(wanted(10, loss(0.5), DAMAGED), 5);
        assert_eq!(wanted(1, loss(0.05), DAMAGED), 1);
        assert_eq!(wanted(0, loss(0.05), DAMAGED), 0);
    }

    #[test]
    fn repair_packets_cover_a_burst_of_losses() {
        let bursts = PathLoss {
            events: 0.005,
            packets: 0.014,
        };
        assert_eq!(wanted(12, loss(0.014), DAMAGED), 2);
        assert_eq!(wanted(12, bursts, DAMAGED), 3);
    }
}
