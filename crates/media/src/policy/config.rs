//! The configuration of a policy: deadline, playout and rules.

use std::str::FromStr;
use std::time::Duration;

use tfrc::units::Rate;

use crate::filler::Filler;

/// The configuration of a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyConfig {
    /// γ: the longest time from capture to display.
    pub deadline: Duration,
    /// t_pbuf: the time for which the receiver may hold a frame after its last packet.
    pub playout: Duration,
    /// The time from one capture to the next.
    pub frame_interval: Duration,
    /// The rules that size and send frames.
    pub rules: Rules,
    /// The filler for the part of X that frames leave.
    pub filler: Filler,
    /// True if losses that no lower rate avoids do not count as congestion. The option departs from RFC 5348 §5.2 and needs
    /// reports of arrivals.
    pub random_loss: bool,
    /// The most that media and X may have, whatever the path carries.
    pub max_rate: Rate,
}

/// The rules of the sending buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// The path model decides.
    #[default]
    Evenkeel,
    /// Equations 6.3 and 6.4 of the thesis decide alone, for comparison.
    Thesis,
}

impl Rules {
    /// All rules.
    pub const ALL: [Self; 2] = [Self::Evenkeel, Self::Thesis];

    /// Gives the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evenkeel => "evenkeel",
            Self::Thesis => "thesis",
        }
    }
}

impl FromStr for Rules {
    type Err = UnknownRules;

    fn from_str(name: &str) -> Result<Self, UnknownRules> {
        let mut all = Self::ALL.into_iter();
        all.find(|rules| rules.name() == name).ok_or(UnknownRules)
    }
}

/// The error that no policy has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a policy is `{}` or `{}`", Rules::Evenkeel.name(), Rules::Thesis.name())]
pub struct UnknownRules;

impl PolicyConfig {
    /// The delay up to which conversation is not disturbed (ITU-T G.114; γ of the thesis, §6.3.2).
    pub const DEADLINE: Duration = Duration::from_millis(150);
    /// The longest deadline in force.
    pub const LONGEST_DEADLINE: Duration = Duration::from_secs(2);
    /// The time for which playout holds a median frame, so that nearly all frames are in time. The spread of frame
    /// delays in the closed-loop tests of this crate is at most 15 ms on paths that the deadline binds.
    pub const PLAYOUT: Duration = Duration::from_millis(16);

    /// Creates the default configuration for frames of this interval, with the thesis's deadline.
    pub const fn new(frame_interval: Duration) -> Self {
        Self {
            deadline: Self::DEADLINE,
            playout: Self::PLAYOUT,
            frame_interval,
            rules: Rules::Evenkeel,
            filler: Filler::None,
            random_loss: false,
            max_rate: Rate::INFINITY,
        }
    }
}
