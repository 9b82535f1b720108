//! The servers that an end asks for addresses, and how their URLs are written (RFC 7064, RFC 7065).

use std::net::SocketAddr;

use thiserror::Error;

/// The port of a URL that has none (RFC 8489 §8.1, RFC 8656 §4).
const DEFAULT_PORT: u16 = 3_478;

/// A STUN server, which reports an end's address behind NATs, or a TURN server, which relays packets.
#[derive(Clone, PartialEq, Eq)]
pub struct IceServer {
    /// The address of the server, or of what carries messages to it in a stream.
    pub address: SocketAddr,
    /// The address of the server itself if only a stream of TCP is to lead there (RFC 8656 §3.1). The caller then lets `address` be
    /// that of a socket, whose datagrams it carries to the server and back by a [`StreamWriter`](crate::turn_stream::StreamWriter)
    /// and a [`StreamReader`](crate::turn_stream::StreamReader). An empty datagram from there says that the stream began again.
    pub by_stream: Option<SocketAddr>,
    /// The credentials for TURN. Without them the server is asked for this end's address alone.
    pub account: Option<Account>,
}

/// An account at a server that relays packets (RFC 8489 §9.2).
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// The name of the user.
    pub user: String,
    /// The secret that the user shares with the server.
    pub password: String,
}

/// A text that is no URL of a usable server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the server {url} {fault}: give stun:HOST[:PORT] or turn:USER:PASSWORD@HOST[:PORT][?transport=tcp]"
)]
pub struct IceServerError {
    url: String,
    fault: &'static str,
}

impl IceServer {
    /// Reads `stun:HOST[:PORT]` or `turn:USER:PASSWORD@HOST[:PORT]`, with `?transport=udp` or, for TURN, `?transport=tcp`.
    /// `resolve` returns the address of a host and a port.
    ///
    /// # Errors
    ///
    /// Refuses another scheme or transport, a relay without an account, and a host that has no address. The error does
    /// not repeat the password.
    pub fn parse(
        url: &str,
        resolve: impl FnOnce(&str, u16) -> Option<SocketAddr>,
    ) -> Result<Self, IceServerError> {
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        // A password may contain an at sign and a question mark, and a host cannot.
        let (account, host) = match rest.rsplit_once('@') {
            Some((account, host)) => (Some(account), host),
            None => (None, rest),
        };
        let failed = |fault| {
            let url = safe_name(scheme, rest);
            IceServerError { url, fault }
        };
        let account = account.map(|account| account.split_once(':').unwrap_or((account, "")));
        if scheme == "turn" && account.is_some_and(|(_, password)| password.is_empty()) {
            return Err(failed("has no password"));
        }
        let account = account.map(|(user, password)| Account {
            user: user.to_owned(),
            password: password.to_owned(),
        });
        Self::at(scheme, host, account, resolve).map_err(failed)
    }

    /// Reads a URL without an account, `stun:HOST[:PORT]` or `turn:HOST[:PORT]` (RFC 7064, RFC 7065), as
    /// [`parse`](Self::parse) does. The account is given beside it, as WebRTC does.
    ///
    /// # Errors
    ///
    /// Refuses what [`parse`](Self::parse) refuses.
    pub fn with_account(
        url: &str,
        account: Option<Account>,
        resolve: impl FnOnce(&str, u16) -> Option<SocketAddr>,
    ) -> Result<Self, IceServerError> {
        let (scheme, host) = url.split_once(':').unwrap_or((url, ""));
        let failed = |fault| {
            let url = safe_name(scheme, host);
            IceServerError { url, fault }
        };
        Self::at(scheme, host, account, resolve).map_err(failed)
    }

    /// Returns the server at `HOST[:PORT][?transport=TRANSPORT]`, or what is wrong.
    fn at(
        scheme: &str,
        host: &str,
        account: Option<Account>,
        resolve: impl FnOnce(&str, u16) -> Option<SocketAddr>,
    ) -> Result<Self, &'static str> {
        let (host, query) = host.split_once('?').unwrap_or((host, "transport=udp"));
        let is_stream = match query {
            "transport=udp" => false,
            "transport=tcp" if scheme == "turn" => true,
            "transport=tcp" => return Err("asks for TCP, which only TURN uses"),
            _ => return Err("asks for another transport than UDP and TCP"),
        };
        match (scheme, &account) {
            ("stun", None) | ("turn", Some(_)) => {}
            ("stun", Some(_)) => return Err("has an account, which STUN does not use"),
            ("turn", None) => return Err("has no account"),
            _ => return Err("has another scheme than stun or turn"),
        }
        let (host, port) = split_port(host).ok_or("has a wrong port")?;
        let address = resolve(host, port).ok_or("has no address")?;
        Ok(Self {
            address,
            by_stream: is_stream.then_some(address),
            account,
        })
    }
}

/// Returns as much of a URL as surely has no password. What follows the user's colon may be one even where the host is missing.
fn safe_name(scheme: &str, rest: &str) -> String {
    match scheme {
        "stun" if !rest.contains('@') => format!("stun:{rest}"),
        "stun" => "stun:…".into(),
        "turn" if !rest.contains('@') && !rest.contains(':') => format!("turn:{rest}"),
        "turn" => match rest.split_once(':') {
            Some((user, _)) if !user.contains('@') => format!("turn:{user}:…"),
            _ => "turn:…".into(),
        },
        _ if scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) => scheme.into(),
        _ => "…".into(),
    }
}

/// Splits `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`.
fn split_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    match port.strip_prefix(':') {
        Some(port) => Some((host, port.parse().ok()?)),
        None => port.is_empty().then_some((host, DEFAULT_PORT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<IceServer, IceServerError> {
        IceServer::parse(url, |host, port| {
            let ip = host.parse().ok()?;
            Some(SocketAddr::new(ip, port))
        })
    }

    #[test]
    fn url_gives_address_and_account() {
        let cases = [
            ("stun:192.0.2.1", "192.0.2.1:3478", None),
            ("stun:192.0.2.1:19302", "192.0.2.1:19302", None),
            ("stun:[2001:db8::1]:5", "[2001:db8::1]:5", None),
            (
                "turn:u:p:@w@192.0.2.1",
                "192.0.2.1:3478",
                Some(("u", "p:@w")),
            ),
            ("turn:u:p?x@192.0.2.1", "192.0.2.1:3478", Some(("u", "p?x"))),
            (
                "turn:u:p@[2001:db8::1]?transport=udp",
                "[2001:db8::1]:3478",
                Some(("u", "p")),
            ),
        ];
        for (url, address, account) in cases {
            let server = parse(url).unwrap();
            assert_eq!(server.address, address.parse().unwrap(), "{url}");
            let found = server.account.as_ref();
            let found = found.map(|found| (found.user.as_str(), found.password.as_str()));
            assert_eq!(found, account, "{url}");
        }
    }

    #[test]
    fn transport_of_url_is_a_stream_for_tcp() {
        let by_stream = |url| parse(url).unwrap().by_stream;
        let server = Some(SocketAddr::from(([192, 0, 2, 1], 443)));
        assert_eq!(by_stream("turn:u:p@192.0.2.1:443?transport=tcp"), server);
        assert_eq!(by_stream("turn:u:p@192.0.2.1:443"), None);
    }

    #[test]
    fn wrong_url_is_named_without_its_password() {
        let cases = [
            ("http://x", "scheme"),
            ("", "scheme"),
            ("stun:", "no address"),
            ("stun:u:secret@192.0.2.1", "an account"),
            ("turn:192.0.2.1", "no account"),
            ("turn:secret@192.0.2.1", "no password"),
            ("turn:u:secret@192.0.2.1:70000", "port"),
            ("turn:u:secret@[::1", "port"),
            ("turn:u:secret@192.0.2.1?transport=tls", "transport"),
            ("stun:192.0.2.1?transport=tcp", "TCP"),
            ("turn:u:secret", "no account"),
            ("turn:u:a?secret@nowhere", "no address"),
            ("turn:u:a@secret", "no address"),
            ("turn:u@b:secret@nowhere", "no address"),
            ("turns:u:secret@192.0.2.1", "scheme"),
            ("secret@192.0.2.1", "scheme"),
            ("stun:u:secret@192.0.2.1?", "transport"),
        ];
        for (url, fault) in cases {
            let error = parse(url).err().unwrap().to_string();
            assert!(
                error.contains(fault) && !error.contains("secret"),
                "{error}"
            );
        }
    }
}
