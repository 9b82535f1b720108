//! The URLs of a media server: what a person gives, and what answers refer to.

use ureq::http::Uri;
use ureq::http::uri::Scheme;

use crate::redaction::redacted;

/// The reason for which a text is no URL of a media server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ServerUrlError {
    #[error("write https://HOST/PATH, or http:// on a network that you trust")]
    NotHttp,
    #[error("leave out user and password: a media server takes --token")]
    HasUser,
    #[error(
        "an answer of {0} leads to http, where anyone could read the token; give an https URL that stays on https"
    )]
    Downgrade(String),
}

/// The absolute URL of an endpoint or of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerUrl(Uri);

impl ServerUrl {
    pub(super) fn parse(text: &str) -> Result<Self, ServerUrlError> {
        let uri: Uri = text.parse().map_err(|_| ServerUrlError::NotHttp)?;
        let is_http = [Some("http"), Some("https")].contains(&uri.scheme_str());
        let authority = uri.authority().ok_or(ServerUrlError::NotHttp)?;
        if authority.as_str().contains('@') {
            return Err(ServerUrlError::HasUser);
        }
        if is_http && !authority.host().is_empty() {
            Ok(Self(uri))
        } else {
            Err(ServerUrlError::NotHttp)
        }
    }

    /// Resolves what `Location` says, relative to this URL (RFC 3986 §5.2). A server resolves the dots of a path.
    pub(super) fn join(&self, reference: &str) -> Result<Self, ServerUrlError> {
        let (scheme, authority) = (self.0.scheme_str(), self.0.authority());
        let scheme = scheme.unwrap_or_default();
        let authority = authority.map_or("", |authority| authority.as_str());
        let (folder, _) = self.0.path().rsplit_once('/').unwrap_or_default();
        let before_path = reference.split(['/', '?', '#']).next();
        let has_scheme = before_path.is_some_and(|before| before.contains(':'));
        let whole = if has_scheme {
            reference.to_owned()
        } else if reference.starts_with("//") {
            format!("{scheme}:{reference}")
        } else if reference.starts_with('/') {
            format!("{scheme}://{authority}{reference}")
        } else if reference.starts_with('?') {
            format!("{scheme}://{authority}{}{reference}", self.0.path())
        } else {
            format!("{scheme}://{authority}{folder}/{reference}")
        };
        let joined = Self::parse(&whole)?;
        let stays_local = !self.is_secure() && joined.is_local();
        if (self.is_secure() || self.is_local()) && !joined.is_secure() && !stays_local {
            return Err(ServerUrlError::Downgrade(redacted(&self.to_string())));
        }
        Ok(joined)
    }

    /// Returns true if requests are encrypted.
    pub(super) fn is_secure(&self) -> bool {
        self.0.scheme() == Some(&Scheme::HTTPS)
    }

    /// Returns true if the server is this machine by name or address.
    pub(super) fn is_local(&self) -> bool {
        let host = self.0.host().unwrap_or_default();
        let ip = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

impl std::fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn location_is_resolved_relative_to_its_url() {
        let base = ServerUrl::parse("https://host:8889/live/room/whip?x=1").expect("a URL");
        for (reference, expected) in [
            ("/session/7", "https://host:8889/session/7"),
            ("7", "https://host:8889/live/room/7"),
            ("?y", "https://host:8889/live/room/whip?y"),
            ("//other/7", "https://other/7"),
            ("https://other:1/7", "https://other:1/7"),
        ] {
            let joined = base.join(reference).map(|url| url.to_string());
            assert_eq!(joined, Ok(expected.into()), "{reference}");
        }
        let downgrade = base.join("http://host/7");
        assert!(matches!(downgrade, Err(ServerUrlError::Downgrade(_))));
        let local = ServerUrl::parse("http://127.0.0.1:8889/whip").expect("a URL");
        assert!(local.join("http://localhost/7").is_ok());
        assert!(local.join("https://host/7").is_ok());
        let exposed = local.join("http://host/7");
        assert!(matches!(exposed, Err(ServerUrlError::Downgrade(_))));
        for wrong in ["ftp://host/7", "javascript:1", "//", "//user@host/", "a b"] {
            assert!(base.join(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn url_is_of_http_and_has_no_user() {
        for good in [
            "http://127.0.0.1:8889/live/whip",
            "https://[::1]/whip",
            "https://host",
        ] {
            assert!(ServerUrl::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "host/whip",
            "ftp://host",
            "/whip",
            "http:///whip",
            "rtsp://host/live",
        ] {
            assert_eq!(ServerUrl::parse(bad), Err(ServerUrlError::NotHttp), "{bad}");
        }
        let user = ServerUrl::parse("https://user:password@host/whip");
        assert_eq!(user, Err(ServerUrlError::HasUser));
    }

    proptest! {
        #[test]
        fn whatever_location_says_the_result_is_of_https(reference in ".{0,40}") {
            let base = ServerUrl::parse("https://host/whip").expect("a URL");
            if let Ok(joined) = base.join(&reference) {
                prop_assert!(joined.is_secure());
            }
        }
    }
}
