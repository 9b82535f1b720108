//! Where p is computed.

use std::fmt;
use std::str::FromStr;

/// Where p and X_recv are computed, and so what receivers report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FeedbackMode {
    /// At the receiver, which reports them (RFC 5348).
    #[default]
    Tfrc,
    /// At the sender, from which packets came, when and with which mark: RFC 8888. Any receiver that
    /// speaks it will do.
    Ccfb,
    /// As before, from transport-wide feedback, as WebRTC endpoints send it; it knows no ECN.
    Twcc,
    /// As before, from a bit a packet and X_recv: the `light` paper's SACK vector.
    Sack,
    /// At the receiver as with [`Tfrc`](Self::Tfrc), told in APP packets that leave with reception reports,
    /// R with sender reports: the `hdtv` paper's. Without reduced-size RTCP
    /// ([`Config::reduced_size`](crate::session::Config::reduced_size)) at RTCP's times alone, as there.
    App,
}

impl FeedbackMode {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Tfrc, Self::Ccfb, Self::Twcc, Self::Sack, Self::App];

    /// True if p is computed from reports of what came, where media is sent.
    pub const fn tells_arrivals(self) -> bool {
        matches!(self, Self::Ccfb | Self::Twcc | Self::Sack)
    }

    /// The name by which commands and experiments ask for it.
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
    /// True if repair packets can be counted with the media: by the receiver itself, or by transport-wide
    /// numbers. Other reports name packets by the numbers of one source.
    pub const fn counts_two_sources(self) -> bool {
        matches!(self, Self::Tfrc | Self::Twcc)
    }
}

/// No kind of feedback has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFeedback(pub String);

impl fmt::Display for UnknownFeedback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = FeedbackMode::ALL.map(FeedbackMode::name).join(", ");
        write!(f, "'{}' is no feedback format; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownFeedback {}

/// Reads [`FeedbackMode::name`].
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
