//! Which connections there are, and when.

use crate::tcp::{Config, ConfigError};
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// Connections of one agent at the same time; more are refused.
pub const MAX_CONNECTIONS: u16 = 1_024;

/// Bursts of connections that each fetch one file, with random times in between.
#[derive(Clone, Debug, PartialEq)]
pub struct WebConfig {
    /// How each connection behaves; its length is drawn from `file`.
    pub tcp: Config,
    /// The smallest and the largest file, all sizes equally likely.
    pub file: [Bytes; 2],
    /// Connections that start together.
    pub burst: u16,
    /// The mean of the exponential time between bursts.
    pub gap: Duration,
    /// From where that is counted.
    pub gap_from: GapFrom,
    /// When the first burst starts, but for `first_gap`.
    pub start: Instant,
    /// A gap comes before the first burst.
    pub first_gap: bool,
    /// No burst starts from then on; those under way end as they would.
    pub stop: Instant,
}

/// What makes bursts wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapFrom {
    /// The start of the last: a Poisson process, which does not mind how full the network is.
    Start,
    /// The end of the last: a reader, who waits for the page.
    End,
}

/// Short TCP flows of RFC 8868 §5.1: 30 to 50 KB, a mean of 10 s from one to the next; a connection at
/// a time, which stands for one of RFC 8867's flows.
impl Default for WebConfig {
    fn default() -> Self {
        Self {
            tcp: Config::default(),
            file: [30_000, 50_000].map(Bytes::new),
            burst: 1,
            gap: Duration::from_secs(10),
            gap_from: GapFrom::End,
            start: Instant::ZERO,
            first_gap: false,
            stop: Instant::MAX,
        }
    }
}

/// A value that no web traffic can have, by the name of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebConfigError {
    /// `tcp`, or the smallest `file` is empty.
    #[error("{0}")]
    Tcp(ConfigError),
    /// The smallest `file` is larger than the largest.
    #[error("file: the smallest size is above the largest")]
    File,
    /// `burst` is zero or above [`MAX_CONNECTIONS`].
    #[error("burst is not between 1 and {} connections", MAX_CONNECTIONS)]
    Burst,
    /// `gap` is zero.
    #[error("gap is 0; bursts take some time to follow each other")]
    Gap,
}

impl WebConfig {
    /// Finds the first value that no web traffic can have.
    pub fn check(&self) -> Result<(), WebConfigError> {
        let [least, most] = self.file;
        let tcp = Config {
            length: Some(least),
            ..self.tcp.clone()
        };
        tcp.check().map_err(WebConfigError::Tcp)?;
        if least > most {
            return Err(WebConfigError::File);
        }
        if !(1..=MAX_CONNECTIONS).contains(&self.burst) {
            return Err(WebConfigError::Burst);
        }
        if self.gap.is_zero() {
            return Err(WebConfigError::Gap);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_named() {
        let check = |change: fn(&mut WebConfig)| {
            let mut config = WebConfig::default();
            change(&mut config);
            config.check().err()
        };
        assert_eq!(check(|_| ()), None);
        assert_eq!(check(|c| c.burst = 0), Some(WebConfigError::Burst));
        assert_eq!(check(|c| c.burst = 2_000), Some(WebConfigError::Burst));
        assert_eq!(check(|c| c.gap = Duration::ZERO), Some(WebConfigError::Gap));
        assert_eq!(check(|c| c.file.swap(0, 1)), Some(WebConfigError::File));
        let tcp = Some(WebConfigError::Tcp(ConfigError::Length));
        assert_eq!(check(|c| c.file[0] = Bytes::ZERO), tcp);
    }
}
