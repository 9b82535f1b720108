//! The addresses that a peer finds after its offer (trickle ICE, RFC 8840 §9), as WHIP carries them.

use super::parse::{MAX_CANDIDATE, read_ice_text};
use super::{IceCredentials, MAX_CANDIDATES, MAX_SESSION_LEN, SdpError};

/// A part of a description: further candidates, or new credentials where ICE restarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IceFragment {
    /// The credentials to which the candidates belong, if the fragment has them.
    pub credentials: Option<IceCredentials>,
    /// The candidates, each as in `a=candidate:` without these words.
    pub candidates: Vec<String>,
}

impl IceFragment {
    /// Reads a body of `application/trickle-ice-sdpfrag`.
    ///
    /// # Errors
    ///
    /// Returns the first line that is invalid. The text has at most [`MAX_SESSION_LEN`] bytes.
    pub fn parse(text: &str) -> Result<Self, SdpError> {
        if text.len() > MAX_SESSION_LEN {
            return Err(SdpError::TooLong(MAX_SESSION_LEN));
        }
        let (mut ufrag, mut password) = (None, None);
        let mut candidates = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let attribute = line.trim_ascii().strip_prefix("a=").unwrap_or_default();
            let (name, value) = attribute.split_once(':').unwrap_or((attribute, ""));
            let read = |least| {
                let remedy = "write letters, digits, + and /, as in the offer";
                let given = || format!("of {} bytes", value.len());
                let refused = || SdpError::line(index + 1, "ICE credentials", &given(), remedy);
                read_ice_text(value, least).ok_or_else(refused)
            };
            match name {
                "ice-ufrag" => ufrag = Some(read(4)?),
                "ice-pwd" => password = Some(read(22)?),
                "candidate"
                    if candidates.len() < MAX_CANDIDATES && value.len() <= MAX_CANDIDATE =>
                {
                    candidates.push(value.to_owned());
                }
                _ => {}
            }
        }
        let credentials = ufrag.zip(password);
        Ok(Self {
            credentials: credentials.map(|(ufrag, password)| IceCredentials { ufrag, password }),
            candidates,
        })
    }
}
