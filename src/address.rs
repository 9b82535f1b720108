//! Parses addresses of the command line: IPv4 and IPv6, with a port or without, with an interface or without.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs as _};

/// Splits `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT` into the host and the port.
pub(crate) fn split(text: &str) -> (&str, Option<u16>) {
    if let Some(inner) = text.strip_prefix('[')
        && let Some((host, rest)) = inner.split_once(']')
    {
        match rest.strip_prefix(':').map(str::parse) {
            Some(Ok(port)) => return (host, Some(port)),
            None if rest.is_empty() => return (host, None),
            _ => return (text, None),
        }
    }
    // The end of an IPv6 address may look like a port.
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (text, None),
        },
        _ => (text, None),
    }
}

/// Parses an address, as in `192.0.2.7`, `2001:db8::7` or `fe80::7%eth0`; `None` if `host` may be a name.
///
/// # Errors
///
/// Returns what is wrong with its interface.
pub(crate) fn literal(host: &str, port: u16) -> Result<Option<SocketAddr>, String> {
    let (ip, interface) = match host.split_once('%') {
        Some((ip, interface)) => (ip, Some(interface)),
        None => (host, None),
    };
    let Ok(ip) = ip.parse::<IpAddr>() else {
        return Ok(None);
    };
    match (ip.to_canonical(), interface) {
        (IpAddr::V6(ip), Some(interface)) => {
            let number = interface_number(interface).ok_or_else(|| {
                format!("this machine has no interface `{interface}`: `ip link` lists them")
            })?;
            Ok(Some(SocketAddrV6::new(ip, port, 0, number).into()))
        }
        (IpAddr::V4(_), Some(_)) => {
            Err("an IPv4 address names no interface: leave out what follows `%`".into())
        }
        (IpAddr::V6(ip), None) if is_of_a_link(ip) => Err(format!(
            "each link has addresses like this one: add the interface, as in [{ip}%eth0]:5004"
        )),
        (ip, None) => Ok(Some(SocketAddr::new(ip, port))),
    }
}

/// Returns true for the addresses of hosts and groups that reach no farther than an interface or its link
/// (RFC 4291 §2.5.6, §2.7).
fn is_of_a_link(ip: Ipv6Addr) -> bool {
    ip.is_unicast_link_local() || matches!(ip.segments()[0] & 0xff0f, 0xff01 | 0xff02)
}

/// Returns the number of an interface, which `name` may also be.
fn interface_number(name: &str) -> Option<u32> {
    if let Ok(number) = name.parse() {
        return Some(number).filter(|&number| number > 0);
    }
    // The system's resolver knows interfaces by name, where an address is of one link.
    let mut of_link = (format!("fe80::%{name}"), 0).to_socket_addrs().ok()?;
    match of_link.next()? {
        SocketAddr::V6(address) => Some(address.scope_id()),
        SocketAddr::V4(_) => None,
    }
}

/// The addresses that an end hears, as `--from` names them. Port 0 means any port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeardSources(pub(crate) Vec<SocketAddr>);

impl HeardSources {
    /// Returns true if a datagram from `source` is heard.
    pub(crate) fn contain(&self, source: SocketAddr) -> bool {
        self.0.iter().any(|heard| {
            let mut source = source;
            if heard.port() == 0 {
                source.set_port(0);
            }
            *heard == source
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_come_apart() {
        for (text, host, port) in [
            ("192.0.2.7", "192.0.2.7", None),
            ("192.0.2.7:80", "192.0.2.7", Some(80)),
            ("host.example:80", "host.example", Some(80)),
            ("::1", "::1", None),
            ("fe80::1%eth0", "fe80::1%eth0", None),
            ("[::1]", "::1", None),
            ("[::1]:80", "::1", Some(80)),
            ("[fe80::1%eth0]:80", "fe80::1%eth0", Some(80)),
            ("[::1]80", "[::1]80", None),
            ("host:http", "host:http", None),
            ("", "", None),
        ] {
            assert_eq!(split(text), (host, port), "{text}");
        }
    }

    #[test]
    fn address_is_of_its_family_and_interface() {
        let v6 = |ip: &str, scope| SocketAddrV6::new(ip.parse().unwrap(), 9, 0, scope).into();
        let v4 = SocketAddr::from(([192, 0, 2, 7], 9));
        for (host, address) in [
            ("192.0.2.7", v4),
            ("::ffff:192.0.2.7", v4),
            ("2001:db8::7", v6("2001:db8::7", 0)),
            ("fe80::7%3", v6("fe80::7", 3)),
            ("ff02::7%3", v6("ff02::7", 3)),
            ("ff15::7", v6("ff15::7", 0)),
        ] {
            assert_eq!(literal(host, 9), Ok(Some(address)), "{host}");
        }
        for name in ["host", "", "host%3"] {
            assert_eq!(literal(name, 9), Ok(None), "{name}");
        }
        for (host, why) in [
            ("fe80::7", "%eth0"),
            ("ff02::7", "%eth0"),
            ("fe80::7%0", "no interface `0`"),
            ("fe80::7%no-such", "no interface `no-such`"),
            ("192.0.2.7%eth0", "leave out"),
        ] {
            let error = literal(host, 9).expect_err(host);
            assert!(error.contains(why), "{host}: {error}");
        }
    }

    #[test]
    fn interface_has_a_name_and_a_number() {
        let loopback = if cfg!(target_os = "linux") {
            "lo"
        } else {
            "lo0"
        };
        let [by_name, by_number] = [loopback, "1"].map(|name| format!("fe80::7%{name}"));
        assert_eq!(literal(&by_name, 9), literal(&by_number, 9));
    }

    #[test]
    fn source_is_heard_at_its_port_or_at_any() {
        let at = |text: &str| -> SocketAddr { text.parse().unwrap() };
        let heard = HeardSources(vec![at("192.0.2.7:0"), at("[fe80::7%3]:5004")]);
        for source in ["192.0.2.7:1", "192.0.2.7:5004", "[fe80::7%3]:5004"] {
            assert!(heard.contain(at(source)), "{source}");
        }
        for source in [
            "192.0.2.8:1",
            "[fe80::7%3]:5005",
            "[fe80::7%4]:5004",
            "[::1]:0",
        ] {
            assert!(!heard.contain(at(source)), "{source}");
        }
    }
}
