//! Parses quantities of the command line: `3M`, `60ms`, `30kB`, `640x480`, `2%`.
//!
//! Every parser names the expected form and shows an example, because clap prints the text unchanged.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use tfrc::time::Duration;
use tfrc::units::{Bytes, Rate, duration_from_secs};

use evenkeel_codec::source::{FrameRate, MAX_SIDE};
use evenkeel_link::{QueueLimit, parse_quantity};
use evenkeel_media::policy::PolicyConfig;

use crate::address;

/// The fastest link or stream that the program accepts: 100 Gb/s.
const MAX_BITS_PER_SEC: f64 = 100e9;
/// The longest delay that the program accepts.
const MAX_DELAY_SECS: f64 = 60.0;
/// The shortest deadline that the program accepts: a shorter one is an error of the unit, as in `0.15` for `0.15s`.
const MIN_DEADLINE: Duration = Duration::from_millis(20);
/// The largest queue that the program accepts: 1 GB, or as many packets as make that.
const MAX_QUEUE_BYTES: f64 = 1e9;

/// Returns the value, or an error that states the range.
fn within(value: f64, possible: RangeInclusive<f64>, range: &str) -> Result<f64, String> {
    let is_possible = possible.contains(&value);
    is_possible
        .then_some(value)
        .ok_or_else(|| format!("out of range: {range}"))
}

/// Parses a bit rate: `3M`, `800k`, `2.5Mb/s`, `3000000`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let plain = text
        .trim()
        .trim_end_matches("b/s")
        .trim_end_matches("bps")
        .trim_end_matches("bit/s");
    let bits = parse_quantity(
        plain,
        &[
            ("k", 1e3),
            ("K", 1e3),
            ("m", 1e6),
            ("M", 1e6),
            ("g", 1e9),
            ("G", 1e9),
            ("", 1.0),
        ],
    )
    .ok_or("not a bit rate: write 800k, 3M or 1.5G")?;
    let range = "a rate lies between 1k and 100G bits per second";
    within(bits, 1e3..=MAX_BITS_PER_SEC, range).map(Rate::from_bits_per_sec)
}

/// Parses a time: `60ms`, `1.5s`, `250us`; a bare number is milliseconds.
pub(crate) fn delay(text: &str) -> Result<Duration, String> {
    let secs = seconds(text).ok_or("not a time: write 60ms, 1.5s or 250us")?;
    let range = "a delay lies between 0 and 60 s";
    within(secs, 0.0..=MAX_DELAY_SECS, range).map(duration_from_secs)
}

/// Parses a deadline, from capture to display: `150ms`, `0.3s`; a bare number is milliseconds.
pub(crate) fn deadline(text: &str) -> Result<Duration, String> {
    let secs = seconds(text).ok_or("not a time: write 150ms or 0.3s")?;
    let deadline = duration_from_secs(secs);
    let possible = MIN_DEADLINE..=PolicyConfig::LONGEST_DEADLINE;
    if !possible.contains(&deadline) {
        return Err(format!(
            "out of range: a deadline lies between {}ms and {}s, as 150ms does",
            MIN_DEADLINE.as_millis(),
            PolicyConfig::LONGEST_DEADLINE.as_secs()
        ));
    }
    Ok(deadline)
}

/// Parses a length of a run: `90s`, `5m`, `1h`; a bare number is seconds.
pub(crate) fn run_time(text: &str) -> Result<Duration, String> {
    let units = [
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("", 1.0),
    ];
    let secs =
        parse_quantity(text.trim(), &units).ok_or("not a length of time: write 60, 90s or 5m")?;
    within(secs, 0.1..=31_536_000.0, "write between 0.1s and 8760h").map(duration_from_secs)
}

/// Parses a length of a run that may be zero.
pub(crate) fn run_time_or_zero(text: &str) -> Result<Duration, String> {
    if matches!(text.trim(), "0" | "0s" | "0ms") {
        Ok(Duration::ZERO)
    } else {
        run_time(text)
    }
}

/// Parses a queue: `50ms` at the link's current rate, `30kB`, or `20p` packets.
pub(crate) fn queue(text: &str) -> Result<QueueLimit, String> {
    let text = text.trim();
    let wrong =
        || "not a queue: write 50ms (at the link's rate), 30kB, or 20p (packets)".to_owned();
    if let Some(count) = text.strip_suffix('p') {
        let count: u32 = count.trim().parse().map_err(|_| wrong())?;
        return match count {
            1..=1_000_000 => Ok(QueueLimit::Packets(count.into())),
            _ => Err("out of range: a queue holds between 1 and 1000000 packets".into()),
        };
    }
    if text.ends_with('B') {
        let least = QueueLimit::LEAST_BYTES.get();
        let bytes = parse_quantity(text, &[("kB", 1e3), ("KB", 1e3), ("MB", 1e6), ("B", 1.0)])
            .ok_or_else(wrong)?;
        return if (least as f64..=MAX_QUEUE_BYTES).contains(&bytes) {
            Ok(QueueLimit::Bytes(Bytes::new(bytes as u64)))
        } else {
            Err(format!(
                "out of range: a queue holds between {least}B (one packet) and 1000MB"
            ))
        };
    }
    let time = seconds(text).ok_or_else(wrong)?;
    let time = within(
        time,
        1e-3..=MAX_DELAY_SECS,
        "a queue lasts between 1ms and 60s",
    )?;
    Ok(QueueLimit::Time(duration_from_secs(time)))
}

/// Parses a share of packets: `2%` or `0.02`.
pub(crate) fn loss(text: &str) -> Result<f64, String> {
    let share = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|p| p / 100.0),
        None => text.trim().parse::<f64>(),
    }
    .map_err(|_| "not a share of packets: write 2% or 0.02")?;
    let bare = format!("a share without % is at most 1; write {}%", text.trim());
    let is_percent = text.trim().ends_with('%') || !(0.0..=100.0).contains(&share);
    let range = if is_percent {
        "a loss lies between 0% and 100%, as 2% or 0.02 do"
    } else {
        &bare
    };
    within(share, 0.0..=1.0, range)
}

/// Parses a local address with its port: `0.0.0.0:5004`, `[fe80::7%eth0]:5004`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let (host, port) = address::split(text);
    let address = match port {
        Some(port) => address::literal(host, port)?,
        None => None,
    };
    address.ok_or_else(|| match no_port(text) {
        Some(port) => format!("port `{port}` is no number from 0, any free one, to 65535"),
        None => "not an address and a port: write [::]:5004 or 0.0.0.0:5004".into(),
    })
}

/// Parses the name of a room, which is a part of an address: `call`, `studio-2`.
pub(crate) fn room(text: &str) -> Result<String, String> {
    let is_right = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_name = (1..=64).contains(&text.len()) && text.bytes().all(is_right);
    let remedy = "not a room's name: write 1 to 64 letters, digits, - and _, as in studio-2";
    is_name
        .then(|| text.to_owned())
        .ok_or_else(|| remedy.into())
}

/// Parses a local address without its port: `::`, `192.0.2.7`, `fe80::7%eth0`.
pub(crate) fn host(text: &str) -> Result<SocketAddr, String> {
    let address = address::literal(text, 0)?;
    address.ok_or_else(|| "not an address: write ::, 192.0.2.7 or fe80::7%eth0".into())
}

/// Returns the text instead of the port in `HOST:PORT`, if it is no port. An IPv6 address with a port has brackets.
pub(crate) fn no_port(text: &str) -> Option<&str> {
    let (host, port) = text.rsplit_once(':')?;
    let is_host = host.ends_with(']') || !host.contains(':');
    (is_host && port.parse::<u16>().is_err()).then_some(port)
}

/// Parses a picture size: `640x480`.
pub(crate) fn size(text: &str) -> Result<(usize, usize), String> {
    let parse = || {
        let (width, height) = text.trim().split_once(['x', 'X'])?;
        Some((width.parse::<usize>().ok()?, height.parse::<usize>().ok()?))
    };
    let (width, height) = parse().ok_or("not a picture size: write 640x480")?;
    // The codec decides which of these sizes it can send.
    let possible = 1..=MAX_SIDE;
    if !possible.contains(&width) || !possible.contains(&height) {
        return Err(format!(
            "out of range: each side lies between 1 and {MAX_SIDE} pixels"
        ));
    }
    Ok((width, height))
}

/// Parses frames per second: `25`, `29.97` (which means 30000/1001), or `30000/1001`.
pub(crate) fn fps(text: &str) -> Result<FrameRate, String> {
    let fraction = || {
        let text = text.trim();
        if let Some((numerator, denominator)) = text.split_once('/') {
            return FrameRate::new(numerator.parse().ok()?, denominator.parse().ok()?);
        }
        match text {
            "23.976" => FrameRate::new(24_000, 1_001),
            "29.97" => FrameRate::new(30_000, 1_001),
            "59.94" => FrameRate::new(60_000, 1_001),
            decimal => {
                let thousandths = decimal.parse::<f64>().ok()? * 1e3;
                FrameRate::new(thousandths.round() as u32, 1_000)
            }
        }
    };
    match fraction() {
        Some(rate) if (0.5..=240.0).contains(&rate.per_second()) => Ok(rate),
        _ => Err("not a frame rate between 0.5 and 240: write 25, 29.97 or 30000/1001".into()),
    }
}

/// Returns a time in milliseconds for JSON.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn seconds(text: &str) -> Option<f64> {
    parse_quantity(
        text.trim(),
        &[("ms", 1e-3), ("us", 1e-6), ("s", 1.0), ("", 1e-3)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bits_per_second() {
        assert_eq!(rate("3M").unwrap(), Rate::from_bits_per_sec(3e6));
        assert_eq!(rate("3m").unwrap(), rate("3M").unwrap());
        assert_eq!(rate("1.5g").unwrap(), rate("1.5G").unwrap());
        assert_eq!(rate("800 kb/s").unwrap(), Rate::from_bits_per_sec(8e5));
        assert_eq!(rate("1500000").unwrap(), Rate::from_bits_per_sec(1.5e6));
        for wrong in ["", "fast", "-3M", "0", "nan", "inf", "1e30", "3MB"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bare_delay_is_milliseconds_bare_run_time_seconds() {
        assert_eq!(delay("60").unwrap(), Duration::from_millis(60));
        assert_eq!(delay("1.5s").unwrap(), Duration::from_millis(1_500));
        assert_eq!(delay("250us").unwrap(), Duration::from_micros(250));
        assert_eq!(run_time("5m").unwrap(), Duration::from_secs(300));
        assert_eq!(run_time("20").unwrap(), Duration::from_secs(20));
        assert!(delay("-1ms").is_err());
        assert!(run_time("0").is_err());
    }

    #[test]
    fn deadlines_lie_between_20_ms_and_2_s() {
        for (text, millis) in [("20ms", 20), ("300", 300), ("0.3s", 300), ("2s", 2_000)] {
            assert_eq!(deadline(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["0", "0.15", "19.9ms", "2001ms", "-150ms"] {
            let error = deadline(text).unwrap_err();
            assert!(error.contains("between 20ms and 2s"), "{text}: {error}");
        }
        for text in ["", "soon", "inf", "nan"] {
            let error = deadline(text).unwrap_err();
            assert!(error.contains("write 150ms"), "{text}: {error}");
        }
    }

    #[test]
    fn queues_come_in_time_bytes_and_packets() {
        assert_eq!(
            queue("50ms").unwrap(),
            QueueLimit::Time(Duration::from_millis(50))
        );
        assert_eq!(
            queue("30kB").unwrap(),
            QueueLimit::Bytes(Bytes::new(30_000))
        );
        assert_eq!(queue("20p").unwrap(), QueueLimit::Packets(20));
        assert_eq!(
            queue("1500B").unwrap(),
            QueueLimit::Bytes(QueueLimit::LEAST_BYTES)
        );
        for wrong in ["0p", "1499B", "0ms", "lots", "99999999p", "-5ms"] {
            assert!(queue(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_port_is_named() {
        assert_eq!(address("[::]:0").unwrap(), ([0; 8], 0).into());
        for (text, port) in [
            ("127.0.0.1:99999", "99999"),
            ("[::1]:-1", "-1"),
            ("localhost:http", "http"),
        ] {
            assert_eq!(no_port(text), Some(port));
            assert!(address(text).unwrap_err().contains(port));
        }
        let mapped = address("[::ffff:127.0.0.1]:9").unwrap();
        assert_eq!(mapped, ([127, 0, 0, 1], 9).into());
        for text in ["fe80::99999", "::1", "[::1]", "host:5004", "host"] {
            assert_eq!(no_port(text), None, "{text}");
        }
        assert!(address("localhost").unwrap_err().contains("0.0.0.0:5004"));
    }

    #[test]
    fn size_has_two_sides_within_bounds() {
        assert_eq!(size("640x480").unwrap(), (640, 480));
        assert_eq!(size("3840x2160").unwrap(), (3840, 2160));
        for wrong in ["640", "0x480", "8193x16", "axb", "640x"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn frame_rates_may_be_fractions() {
        assert_eq!(
            fps("29.97").unwrap(),
            FrameRate::new(30_000, 1_001).unwrap()
        );
        assert_eq!(fps("25").unwrap().per_second(), 25.0);
        assert_eq!(fps("30/2").unwrap().per_second(), 15.0);
        for wrong in ["0", "-5", "1000", "1/0", "film"] {
            assert!(fps(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn loss_is_a_share() {
        assert_eq!(loss("2%").unwrap(), 0.02);
        assert_eq!(loss("0.02").unwrap(), 0.02);
        assert!(loss("101%").is_err());
        assert!(loss("5").unwrap_err().contains("write 5%"));
        assert!(!loss("500").unwrap_err().contains("500%"));
        assert!(loss("nan").is_err());
    }
}
