//! The address of a rendezvous: a host that both ends reach over HTTP.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use thiserror::Error;

/// A text that names no rendezvous.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "'{0}' is no address of a rendezvous: write http://HOST, https://HOST or either with :PORT, without a path, in {max} letters at most",
    max = RendezvousUrl::MAX_LEN
)]
pub struct RendezvousUrlError(String);

/// The scheme, host and port of a rendezvous.
///
/// The address has no path, query or user, so that an invitation of a stranger makes its reader send nothing but a sealed
/// reply to a path that only a rendezvous has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RendezvousUrl(String);

impl RendezvousUrl {
    /// The most bytes of an address, so that an invitation fits a line of a chat.
    pub const MAX_LEN: usize = 100;

    /// Returns the address, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RendezvousUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RendezvousUrl {
    type Err = RendezvousUrlError;

    fn from_str(text: &str) -> Result<Self, RendezvousUrlError> {
        let url = text.strip_suffix('/').unwrap_or(text);
        let rest = url.strip_prefix("https://");
        let authority = rest.or_else(|| url.strip_prefix("http://"));
        if url.len() <= Self::MAX_LEN && authority.is_some_and(is_host_and_port) {
            Ok(Self(url.into()))
        } else {
            let shown = text.chars().take(Self::MAX_LEN).collect();
            Err(RendezvousUrlError(shown))
        }
    }
}

/// Returns true for a name or an address, with or without a port.
fn is_host_and_port(authority: &str) -> bool {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|n| n > 0)
    };
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let is_host = match inner {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => {
            let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
            !host.is_empty() && host.bytes().all(is_of_name)
        }
    };
    is_host && port.is_none_or(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn address_has_scheme_host_and_port_alone() {
        for good in [
            "http://192.0.2.7:8088",
            "https://meet.example.org",
            "http://[2001:db8::7]:8088",
            "http://[::1]",
            "http://localhost:1",
        ] {
            assert_eq!(
                good.parse().map(|url: RendezvousUrl| url.0),
                Ok(good.into())
            );
            let slash: RendezvousUrl = format!("{good}/").parse().unwrap();
            assert_eq!(slash.as_str(), good);
        }
        let long = format!("http://{}", "a".repeat(RendezvousUrl::MAX_LEN));
        for bad in [
            "",
            "192.0.2.7:8088",
            "ftp://example.org",
            "HTTP://example.org",
            "http://",
            "http:///",
            "http://:8088",
            "http://host:",
            "http://host:0",
            "http://host:65536",
            "http://host:+80",
            "http://host/admin",
            "http://host//",
            "http://host?x",
            "http://host#x",
            "http://user@host",
            "http://::1",
            "http://[::1",
            "http://[::1]x",
            "http://[fe80::1%eth0]",
            "http://ho st",
            "http://hôte",
            "http://host\r\nx",
            &long,
        ] {
            let error = bad.parse::<RendezvousUrl>().unwrap_err().to_string();
            assert!(error.contains("https://HOST"), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_has_no_path(text in "https?://[a-z0-9.:@/?#\\[\\] \\-]{0,24}") {
            if let Ok(url) = text.parse::<RendezvousUrl>() {
                let (_, authority) = url.as_str().split_once("://").unwrap();
                prop_assert!(!authority.contains(['/', '?', '#', '@', ' ']));
                prop_assert_eq!(url.to_string().parse(), Ok(url));
            }
        }
    }
}
