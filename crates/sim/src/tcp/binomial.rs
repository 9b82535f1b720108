//! Binomial congestion control: AIMD and its nonlinear relatives.
//!
//! Sources: Bansal and Balakrishnan, "Binomial Congestion Control Algorithms", INFOCOM 2001; `thesis` §2.5.2.
//!
//! A round trip without loss adds α / w^k to the window w, and a loss takes β · w^l. Under a steady rate
//! p of losses that balances at a window that grows as p^(-1/(k+l+1)). TCP's grows as p^(-1/2), so
//! k + l = 1 is the condition to be friendly to it; and as the mean window is near √(α / (β·p)) while
//! reductions are small, and TCP's near √(1.5 / p), so is α = 1.5 β.

/// What the window is raised to. With these, the rules need no more than a square root, which is the
/// same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// w^0
    Zero,
    /// w^(1/2)
    Half,
    /// w^1
    One,
}

impl Power {
    fn of(self, window: f64) -> f64 {
        match self {
            Self::Zero => 1.0,
            Self::Half => window.sqrt(),
            Self::One => window,
        }
    }
}

/// One of the family. Windows are in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binomial {
    /// How the increase falls with the window.
    pub k: Power,
    /// How the reduction grows with the window.
    pub l: Power,
    /// The increase in a round trip at a window of one packet; above 0.
    pub alpha: f64,
    /// The reduction at a window of one packet; above 0, and below 1 if `l` is [`Power::One`].
    pub beta: f64,
}

impl Binomial {
    /// One packet a round trip, half of the window after a loss: TCP's own rule (RFC 5681 §3.1).
    pub const TCP: Self = Self::aimd(1.0, 0.5);

    /// Square root increase and decrease, k = l = 1/2, as friendly to TCP as the model has it.
    pub const SQRT: Self = Self {
        k: Power::Half,
        l: Power::Half,
        alpha: 0.75,
        beta: 0.5,
    };

    /// Inverse increase, additive decrease, k = 1 and l = 0, as friendly to TCP as the model has it.
    pub const IIAD: Self = Self {
        k: Power::One,
        l: Power::Zero,
        alpha: 1.5,
        beta: 1.0,
    };

    /// AIMD(a, b): `a` packets a round trip, the fraction `b` of the window after a loss.
    ///
    /// In the deterministic model it is friendly to TCP if a = 3b / (2 - b) (Floyd, Handley and Padhye,
    /// "A Comparison of Equation-Based and AIMD Congestion Control", 2000).
    pub const fn aimd(a: f64, b: f64) -> Self {
        Self {
            k: Power::Zero,
            l: Power::One,
            alpha: a,
            beta: b,
        }
    }

    /// The window after an acknowledgement: as many of them as the window has packets are a round trip.
    pub(super) fn grow(self, cwnd: f64) -> f64 {
        cwnd + self.alpha / (self.k.of(cwnd) * cwnd)
    }

    /// What is left of `flight` packets after congestion.
    pub(super) fn on_congestion(self, flight: f64) -> f64 {
        flight - self.beta * self.l.of(flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip's growth from 16 packets by one acknowledgement of its 16, and what a loss leaves.
    fn steps(rule: Binomial) -> (f64, f64) {
        ((rule.grow(16.0) - 16.0) * 16.0, rule.on_congestion(16.0))
    }

    #[test]
    fn the_steps_from_sixteen_packets_are_those_worked_by_hand() {
        assert_eq!(steps(Binomial::TCP), (1.0, 8.0));
        assert_eq!(steps(Binomial::aimd(0.25, 0.125)), (0.25, 14.0));
        // 0.75 / 4 and 16 - 0.5 · 4.
        assert_eq!(steps(Binomial::SQRT), (0.187_5, 14.0));
        // 1.5 / 16 and 16 - 1.
        assert_eq!(steps(Binomial::IIAD), (0.093_75, 15.0));
    }
}
