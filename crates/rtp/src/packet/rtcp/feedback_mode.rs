//! The places at which p can be computed, and the report formats that follow.

use std::fmt;
use std::str::FromStr;

/// The end that computes p and X_recv, and thus the format of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FeedbackMode {
    /// The receiver computes and reports both (RFC 5348).
    #[default]
    Tfrc,
    /// The sender computes both from RFC 8888 reports of arrivals and ECN fields. Any receiver with RFC 8888 will
    /// do.
    Ccfb,
    /// The sender computes both from transport-wide feedback, as WebRTC endpoints send it; the format has no ECN.
    Twcc,
    /// The sender computes p from a bit a packet, and the receiver reports X_recv: the SACK vector of the `light`
    /// paper.
    Sack,
    /// The receiver computes both as with [`Tfrc`](Self::Tfrc), and sends them in APP packets (the `hdtv` paper).
    ///
    /// APP packets leave with reception reports, and R leaves with sender reports. Without reduced-size RTCP
    /// ([`Config::reduced_size`](crate::session::Config::reduced_size)) they leave only at RTCP's times, as in the
    /// paper.
    App,
}

impl FeedbackMode {
    /// All modes.
    pub const ALL: [Self; 5] = [Self::Tfrc, Self::Ccfb, Self::Twcc, Self::Sack, Self::App];

    /// Returns true if a sender of media computes p from reports of arrivals.
    pub const fn reports_arrivals(self) -> bool {
        matches!(self, Self::Ccfb | Self::Twcc | Self::Sack)
    }

    /// Returns true if a receiver needs send times to report: all others report on media of any RTP sender.
    pub const fn needs_send_times(self) -> bool {
        !matches!(self, Self::Ccfb | Self::Twcc)
    }

    /// Returns the name of the mode in commands and experiments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tfrc => "tfrc",
            Self::Ccfb => "ccfb",
            Self::Twcc => "twcc",
            Self::Sack => "sack",
            Self::App => "app",
        }
    }
}

impl FeedbackMode {
    /// Returns true if repair packets can be counted together with the media. The receiver can count both, and
    /// transport-wide numbers cover both; other reports name packets by the numbers of one source.
    pub const fn counts_two_sources(self) -> bool {
        matches!(self, Self::Tfrc | Self::Twcc)
    }
}

/// The error that no feedback mode has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFeedback(pub String);

impl fmt::Display for UnknownFeedback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = FeedbackMode::ALL.map(FeedbackMode::name).join(", ");
        write!(f, "'{}' is no feedback format; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownFeedback {}

/// Parses the names of [`FeedbackMode::name`].
impl FromStr for FeedbackMode {
    type Err = UnknownFeedback;

    fn from_str(name: &str) -> Result<Self, UnknownFeedback> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == name);
        found.ok_or_else(|| UnknownFeedback(name.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_are_named() {
        for mode in FeedbackMode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
        }
        let error = "nack".parse::<FeedbackMode>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "'nack' is no feedback format; there are tfrc, ccfb, twcc, sack, app"
        );
    }
}
