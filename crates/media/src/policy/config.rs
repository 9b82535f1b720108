//! What a policy is told: the deadline and what it is made of, and by whose rules.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::filler::Filler;

/// What the policy is told when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyConfig {
    /// γ: from capture to display, at the latest.
    pub deadline: Duration,
    /// t_pbuf: how long the receiver may hold a frame after its last packet.
    pub playout: Duration,
    /// The time from one capture to the next.
    pub frame_interval: Duration,
    /// By which rules frames are made and sent.
    pub rules: Rules,
    /// What fills X where frames leave some of it.
    pub filler: Filler,
    /// Losses that no lower rate avoids are not counted as congestion. Departs from RFC 5348 §5.2, and needs reports of
    /// arrivals.
    pub random_loss: bool,
}

/// The rules of the sending buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// Ours.
    #[default]
    Evenkeel,
    /// Equations 6.3 and 6.4 of the thesis and nothing else, to compare with.
    Thesis,
}

impl Rules {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Evenkeel, Self::Thesis];

    /// The name that the program knows them by.
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

/// No policy has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRules;

impl fmt::Display for UnknownRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ours, theirs] = Rules::ALL.map(Rules::name);
        write!(f, "a policy is `{ours}` or `{theirs}`")
    }
}

impl std::error::Error for UnknownRules {}

impl PolicyConfig {
    /// The delay up to which conversation is not disturbed (ITU-T G.114; γ of the thesis, §6.3.2).
    pub const DEADLINE: Duration = Duration::from_millis(150);
    /// The deadline is not lengthened beyond this.
    pub const LONGEST_DEADLINE: Duration = Duration::from_secs(2);
    /// What playout holds a middling frame for, so that nearly all are in time: the spread of frame
    /// delays in the closed-loop tests of this crate is 5 to 15 ms on paths that the deadline binds.
    pub const PLAYOUT: Duration = Duration::from_millis(16);

    /// The thesis's deadline, for frames that come at this interval.
    pub const fn new(frame_interval: Duration) -> Self {
        Self {
            deadline: Self::DEADLINE,
            playout: Self::PLAYOUT,
            frame_interval,
            rules: Rules::Evenkeel,
            filler: Filler::None,
            random_loss: false,
        }
    }
}
