//! The lies that a receiver can tell.

use evenkeel_sim::FeedbackMode;
use serde::Deserialize;

/// What a receiver lies about, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Lie {
    /// None: what gains are counted from.
    Honest,
    /// p is zero; or all that was lost came.
    HideLosses,
    /// p is halved; or half of what was lost came.
    HideHalf,
    /// X_recv is three times what it is; or packets came within a third of the time, by a clock that
    /// runs slow.
    RaiseReceiveRate,
    /// X_recv is a thousand times what it is.
    Boast,
    /// Fifty packets came that are still to be sent.
    ClaimUnsent,
    /// What was sent within half a round trip came already.
    ClaimEarly,
    /// Packets came as they left, from the first on; and while a loss event lasts, as late as that allows.
    ClaimNoTime,
    /// All that a report tells came when it was made, and there is one in two round trips.
    ClaimTogether,
    /// A clock shows a tenth of the time that passes, and hundreds of reports a second have the sender follow it.
    RunClockSlow,
    /// Reports waited for half a round trip longer than they did.
    LengthenDelay,
    /// They waited for as much as a sender believes in each.
    ShortenRALittle,
    /// Every other one did for half a round trip longer.
    Alternate,
    /// A report without news is dated ahead by as much as clocks may jump, about once a second.
    FutureReport,
    /// Nothing is said of lost packets: reports pass over them.
    PassOver,
    /// A report that tells of a loss is not sent, nor are the two after it.
    Withhold,
    /// Each report is sent three times, and once more a second later.
    Replay,
    /// No packet was marked.
    EraseMarks,
    /// From its first loss on it says nothing, and before that shows it says BYE and comes back as another.
    BeginAgain,
}

impl Lie {
    /// As experiments and metrics name it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Honest => "honest",
            Self::HideLosses => "hide_losses",
            Self::HideHalf => "hide_half",
            Self::RaiseReceiveRate => "raise_receive_rate",
            Self::Boast => "boast",
            Self::ClaimUnsent => "claim_unsent",
            Self::ClaimEarly => "claim_early",
            Self::ClaimNoTime => "claim_no_time",
            Self::ClaimTogether => "claim_together",
            Self::RunClockSlow => "run_clock_slow",
            Self::LengthenDelay => "lengthen_delay",
            Self::ShortenRALittle => "shorten_r_a_little",
            Self::Alternate => "alternate",
            Self::FutureReport => "future_report",
            Self::PassOver => "pass_over",
            Self::Withhold => "withhold",
            Self::Replay => "replay",
            Self::EraseMarks => "erase_marks",
            Self::BeginAgain => "begin_again",
        }
    }

    /// Can it be told in this format?
    pub(super) fn fits(self, feedback: FeedbackMode) -> bool {
        match self {
            // What it tells is what `tfrc` tells, and believed as little.
            _ if feedback == FeedbackMode::App => false,
            // p and X_recv name no packets.
            Self::ClaimUnsent | Self::ClaimEarly | Self::PassOver => feedback != FeedbackMode::Tfrc,
            // The others tell no times.
            Self::ClaimNoTime | Self::ClaimTogether | Self::FutureReport | Self::RunClockSlow => {
                matches!(feedback, FeedbackMode::Ccfb | FeedbackMode::Twcc)
            }
            // The rates of other receivers follow from the arrivals that they report.
            Self::Boast => matches!(feedback, FeedbackMode::Tfrc | FeedbackMode::Sack),
            // The others know no marks.
            Self::EraseMarks => matches!(feedback, FeedbackMode::Tfrc | FeedbackMode::Ccfb),
            _ => true,
        }
    }
}
