//! Formats rows as iperf3 prints them.

use evenkeel_net::SendCounters;

use super::tally::{Half, Row, Rows};
use crate::units::millis;

/// The number of flows above which only their sum is printed; the JSON has all.
const MAX_LINES: usize = 16;

/// Returns the heading above rows of one half.
pub(super) fn heading(half: Half) -> &'static str {
    match half {
        Half::Sent => {
            "[ ID]   Interval           Transfer      Bitrate          Packets    X             R          p"
        }
        Half::Received => {
            "[ ID]   Interval           Transfer      Bitrate          Jitter      Lost/Total packets"
        }
    }
}

/// Returns the packets that the system refused to send, with the reasons; `None` if it sent all.
pub(super) fn refused(sent: &SendCounters) -> Option<String> {
    let SendCounters {
        failed,
        too_long,
        unreachable,
        ..
    } = *sent;
    let reasons = [
        (too_long, "longer than the interface takes: lower -l"),
        (
            unreachable,
            "without a way there: the interface was down, or nobody answered at the address",
        ),
        (
            failed - too_long - unreachable,
            "for want of room: the interface is slower than the flows",
        ),
    ];
    let reasons: Vec<String> = reasons
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| format!("{count} {reason}"))
        .collect();
    (failed > 0).then(|| {
        format!(
            "The system refused {failed} packets, {}",
            reasons.join("; ")
        )
    })
}

/// Returns a line for each flow, and their sum if there are several.
pub(super) fn lines(rows: &Rows) -> Vec<String> {
    let single = rows.flows.len() == 1;
    let shown = if rows.flows.len() > MAX_LINES {
        &[]
    } else {
        rows.flows.as_slice()
    };
    let sum = Some(&rows.sum).filter(|_| !single);
    shown.iter().chain(sum).map(line).collect()
}

/// Returns the sum of all flows as a line.
pub(super) fn sum(rows: &Rows) -> String {
    line(&rows.sum)
}

fn line(row: &Row) -> String {
    let id = row
        .flow
        .map_or("SUM".to_owned(), |flow| format!("{:3}", flow + 1));
    let head = format!(
        "[{id}] {:6.2}-{:<6.2} sec {:>13} {:>16}",
        row.start,
        row.end,
        bytes(row.bytes()),
        bits(row.bits_per_second()),
    );
    match (row.half, row.path) {
        (Half::Sent, Some(path)) => format!(
            "{head} {:>10}    {} {:>8.3} ms {:.2e}",
            row.packets(),
            bits(path.allowed_rate.bits_per_sec()),
            path.rtt.map_or(0.0, millis),
            path.loss_event_rate.get(),
        ),
        (Half::Sent, None) => format!("{head} {:>10}", row.packets()),
        (Half::Received, _) => format!(
            "{head} {:>8.3} ms  {}/{} ({:.2}%)",
            millis(row.count.jitter),
            row.count.packets_lost,
            row.packets(),
            row.lost_percent(),
        ),
    }
}

/// Formats bytes in powers of 1024, as iperf3 does.
fn bytes(bytes: u64) -> String {
    let (value, unit) = scaled(
        bytes as f64,
        1024.0,
        ["Bytes", "KBytes", "MBytes", "GBytes"],
    );
    format!("{value} {unit}")
}

/// Formats a rate in powers of 1000.
fn bits(rate: f64) -> String {
    let units = ["bits/sec", "Kbits/sec", "Mbits/sec", "Gbits/sec"];
    let (value, unit) = scaled(rate, 1000.0, units);
    format!("{value} {unit}")
}

/// Returns three digits and the fitting unit.
fn scaled(value: f64, base: f64, units: [&'static str; 4]) -> (String, &'static str) {
    let mut scaled = value;
    let mut unit = 0;
    while scaled >= base && unit + 1 < units.len() {
        scaled /= base;
        unit += 1;
    }
    let text = match scaled {
        small if small < 10.0 => format!("{small:.2}"),
        middle if middle < 100.0 => format!("{middle:.1}"),
        large => format!("{large:.0}"),
    };
    (text, units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_told_with_its_reasons() {
        let all_sent = SendCounters::default();
        assert_eq!(refused(&all_sent), None);
        let sent = SendCounters {
            failed: 5,
            too_long: 2,
            ..all_sent
        };
        assert_eq!(
            refused(&sent).unwrap(),
            "The system refused 5 packets, 2 longer than the interface takes: lower -l; 3 for want of room: \
             the interface is slower than the flows"
        );
    }

    #[test]
    fn quantities_have_three_digits() {
        assert_eq!(bytes(0), "0.00 Bytes");
        assert_eq!(bytes(1_310_720), "1.25 MBytes");
        assert_eq!(bits(12.34e6), "12.3 Mbits/sec");
        assert_eq!(bits(123.4e9), "123 Gbits/sec");
    }
}
