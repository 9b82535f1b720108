//! Restricts the page to browsers whose user opened it.
//!
//! Any web site that a browser on this machine has open can reach a page on this machine. Two checks keep such
//! sites out. The **Host** must be an IP literal or `localhost`: a name that an attacker's DNS has rebound to this
//! address is neither. A request that changes something must come from this very **origin**.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, Uri, header};

use crate::http::{Token, single_header};

/// The header that every current browser sets, and no script of a page can set.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The reason for which a request is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// The Host is a name, or missing.
    #[error(
        "open this page by its IP address or as localhost: other names are refused, because a name can be made to point here by others"
    )]
    Host,
    /// The request has not the token of the page.
    #[error(
        "open the whole address that the program printed, with its token: this page can be reached from other machines"
    )]
    Token,
    /// A request that changes something came from another site.
    #[error("only the page itself may change the link: this request came from another site")]
    Origin,
    /// The body is not declared as JSON.
    #[error("post the knobs as application/json")]
    ContentType,
}

/// Checks a request of any kind.
pub(super) fn check_host(headers: &HeaderMap) -> Result<(), Refused> {
    let authority =
        single_header(headers, &header::HOST).and_then(|host| host.parse::<Authority>().ok());
    let literal = authority.is_some_and(|authority| {
        let host = authority.host();
        // A Host has no user information.
        !authority.as_str().contains('@')
            && (host.eq_ignore_ascii_case("localhost")
                || host.parse::<Ipv4Addr>().is_ok()
                || host
                    .strip_prefix('[')
                    .and_then(|rest| rest.strip_suffix(']'))
                    .is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok()))
    });
    if literal { Ok(()) } else { Err(Refused::Host) }
}

/// Checks that a request has the page's token, if the page has one.
pub(super) fn check_token(
    uri: &Uri,
    headers: &HeaderMap,
    token: Option<&Token>,
) -> Result<(), Refused> {
    let is_known = |token: &Token| token.is_in_query(uri) || token.is_in_cookie(headers);
    if token.is_none_or(is_known) {
        Ok(())
    } else {
        Err(Refused::Token)
    }
}

/// Checks a request that changes something, after [`check_host`].
///
/// A browser names the origin of every such request. A program that names none is no browser and acts for its user,
/// so `curl` may change the link. The content type must be `application/json` in any case, which a page of another
/// site cannot send without a preflight request.
pub(super) fn check_change(headers: &HeaderMap) -> Result<(), Refused> {
    if headers.contains_key(header::ORIGIN) {
        let host = single_header(headers, &header::HOST).ok_or(Refused::Host)?;
        let same = single_header(headers, &header::ORIGIN)
            .and_then(|origin| origin.strip_prefix("http://"))
            .is_some_and(|origin| origin.eq_ignore_ascii_case(host));
        if !same {
            return Err(Refused::Origin);
        }
    }
    if headers.contains_key(&SEC_FETCH_SITE)
        && single_header(headers, &SEC_FETCH_SITE) != Some("same-origin")
    {
        return Err(Refused::Origin);
    }
    let json = single_header(headers, &header::CONTENT_TYPE)
        .and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
    if json {
        Ok(())
    } else {
        Err(Refused::ContentType)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn host(host: &str) -> Result<(), Refused> {
        check_host(&headers(&[("host", host)]))
    }

    #[test]
    fn an_address_or_localhost_may_be_asked_for() {
        for good in [
            "127.0.0.1:8080",
            "localhost",
            "LocalHost:9000",
            "[::1]:8080",
            "[::1]",
            "192.168.1.5:80",
        ] {
            assert_eq!(host(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn a_name_that_may_be_rebound_is_refused() {
        for bad in [
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.1",
            "0x7f.0.0.1",
            "",
            "[::1",
            "::1",
            "a@127.0.0.1",
            "127.0.0.1:8080, evil.example",
        ] {
            assert_eq!(host(bad), Err(Refused::Host), "{bad}");
        }
        assert_eq!(check_host(&HeaderMap::new()), Err(Refused::Host));
        assert_eq!(
            check_host(&headers(&[("host", "localhost"), ("host", "localhost")])),
            Err(Refused::Host)
        );
    }

    fn change(extra: &[(&'static str, &str)]) -> Result<(), Refused> {
        let mut all = vec![
            ("host", "127.0.0.1:8080"),
            ("content-type", "application/json; charset=utf-8"),
        ];
        all.extend_from_slice(extra);
        check_change(&headers(&all))
    }

    #[test]
    fn page_and_local_script_may_change_the_link() {
        assert_eq!(
            change(&[
                ("origin", "http://127.0.0.1:8080"),
                ("sec-fetch-site", "same-origin")
            ]),
            Ok(())
        );
        assert_eq!(change(&[]), Ok(()));
    }

    #[test]
    fn another_site_or_port_or_scheme_may_not() {
        for origin in [
            "http://evil.example",
            "http://127.0.0.1",
            "http://127.0.0.1:3000",
            "http://localhost:8080",
            "https://127.0.0.1:8080",
            "null",
            "",
        ] {
            assert_eq!(
                change(&[("origin", origin)]),
                Err(Refused::Origin),
                "{origin}"
            );
        }
        for site in ["cross-site", "same-site", "none"] {
            assert_eq!(
                change(&[("sec-fetch-site", site)]),
                Err(Refused::Origin),
                "{site}"
            );
        }
    }

    #[test]
    fn a_form_of_another_site_cannot_declare_json() {
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=application/json",
        ] {
            let posted = headers(&[("host", "localhost"), ("content-type", kind)]);
            assert_eq!(check_change(&posted), Err(Refused::ContentType), "{kind}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_host_says_only_literals_pass(text in "[a-z0-9.:@\\[\\]-]{0,24}") {
            if host(&text).is_ok() {
                let name = text.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit())).map_or(text.as_str(), |(name, _)| name);
                let literal = name.trim_start_matches('[').trim_end_matches(']');
                prop_assert!(name == "localhost" || literal.parse::<std::net::IpAddr>().is_ok());
            }
        }
    }
}
