//! Formats results in iperf3's shape, with fields of our own under `end.tfrc`.

use std::net::SocketAddr;
use std::time::UNIX_EPOCH;

use evenkeel_lab::machine;
use evenkeel_net::Lateness;
use evenkeel_perf::{ClientError, Count, Direction, Mode, Terms};
use serde_json::{Value, json};
use tfrc::units::Rate;

use super::intervals;
use super::report::{Begun, End, PerfReport};
use super::tally::{self, Half, Row, Rows};
use crate::units::millis;

/// Returns the whole object.
pub(super) fn report(report: &PerfReport) -> Value {
    let terms = &report.begun.terms;
    let mut end = json!({
        "streams": report.ends.iter().flat_map(end_streams).collect::<Vec<_>>(),
        "cpu_utilization_percent": { "host_total": report.processor * 100.0 },
        "tfrc": tfrc(report),
    });
    for direction in &report.ends {
        // iperf3 uses this name for the second direction of --bidir, and the usual name for the only direction of
        // -R.
        let suffix = if direction.forward || terms.direction == Direction::Reverse {
            ""
        } else {
            "_bidir_reverse"
        };
        let sum = |rows: &Option<Rows>| rows.as_ref().map(|rows| row(&rows.sum));
        let (mut sent, received) = (sum(&direction.sent), sum(&direction.received));
        // Losses in a sender's row are known only at the end.
        if let (Some(sent), Some(received)) = (&mut sent, &received) {
            for key in ["jitter_ms", "lost_packets", "lost_percent"] {
                sent[key] = received[key].clone();
            }
        }
        let both = [("sum", received.as_ref().or(sent.as_ref()))];
        let each = [
            ("sum_sent", sent.as_ref()),
            ("sum_received", received.as_ref()),
        ];
        for (key, row) in both.into_iter().chain(each) {
            if let Some(row) = row {
                end[format!("{key}{suffix}")] = row.clone();
            }
        }
    }
    let mut start = start();
    start["connecting_to"] = host(report.server);
    begun(&mut start, &report.begun);
    let mut value = json!({
        "start": start,
        "intervals": report.intervals.iter().map(|rows| interval(rows)).collect::<Vec<_>>(),
        "end": end,
    });
    if let Some(error) = report.error {
        value["error"] = json!(error.to_string());
    }
    value
}

/// Returns the object of a test that did not begin.
pub(super) fn no_test(server: SocketAddr, error: ClientError) -> Value {
    let mut start = start();
    start["connecting_to"] = host(server);
    json!({
        "start": start,
        "intervals": [],
        "end": {},
        "error": error.to_string(),
    })
}

/// The counts of a test at its server, for the server's object.
pub(super) struct Served<'a> {
    pub(super) begun: &'a Begun,
    /// The rows in the order of time.
    pub(super) intervals: Vec<Value>,
    /// The length of the test.
    pub(super) seconds: f64,
    /// The counts by flow.
    pub(super) counts: Vec<Count>,
    /// The used share of a core over that time.
    pub(super) processor: f64,
    /// True if the client ended the test.
    pub(super) agreed: bool,
}

/// Returns the object of a test at its server.
pub(super) fn served(served: &Served<'_>) -> Value {
    let mut start = start();
    start["accepted_connection"] = host(served.begun.ends[1]);
    begun(&mut start, served.begun);
    let counts: Vec<_> = served.counts.iter().map(|count| (*count, None)).collect();
    let (mut streams, mut end) = (Vec::new(), json!({}));
    for half in intervals::halves(served.begun.terms.direction) {
        let rows = tally::total(half, served.seconds, &counts);
        let (stream, sum) = match half {
            Half::Sent => ("sender", "sum_sent"),
            Half::Received => ("udp", "sum_received"),
        };
        streams.extend(rows.flows.iter().map(|flow| json!({ stream: row(flow) })));
        end[sum] = row(&rows.sum);
        end["sum"] = end[sum].clone();
    }
    end["streams"] = json!(streams);
    end["cpu_utilization_percent"] = json!({ "host_total": served.processor * 100.0 });
    end["tfrc"] = agreed(&served.begun.terms);
    let mut value = json!({ "start": start, "intervals": served.intervals, "end": end });
    if !served.agreed {
        value["error"] = json!("the client has gone");
    }
    value
}

fn host(address: SocketAddr) -> Value {
    json!({ "host": address.ip().to_canonical().to_string(), "port": address.port() })
}

fn start() -> Value {
    json!({
        "version": concat!("evenkeel ", env!("CARGO_PKG_VERSION")),
        "system_info": machine::describe(),
        "commit": env!("EVENKEEL_COMMIT"),
    })
}

/// Adds the fields that are known once a test began. All flows share one socket, so iperf3's socket is a flow's
/// number.
fn begun(start: &mut Value, begun: &Begun) {
    let Begun { ends, terms, .. } = begun;
    let [local, remote] = ends.map(|end| (end.ip().to_canonical().to_string(), end.port()));
    let connected = (1..=terms.flows).map(|flow| {
        json!({
            "socket": flow,
            "local_host": local.0,
            "local_port": local.1,
            "remote_host": remote.0,
            "remote_port": remote.1,
        })
    });
    let rate = terms.rate.map_or(0.0, Rate::bits_per_sec);
    start["connected"] = connected.collect();
    start["cookie"] = json!(format!("{:016x}", begun.nonce));
    start["timestamp"] = json!({
        "time": httpdate::fmt_http_date(UNIX_EPOCH + begun.at),
        "timesecs": begun.at.as_secs(),
        "timemillisecs": begun.at.as_millis() as u64,
    });
    start["target_bitrate"] = json!(rate);
    start["test_start"] = json!({
        "protocol": match terms.mode { Mode::Fixed => "UDP", _ => "TFRC" },
        "num_streams": terms.flows,
        "blksize": terms.length,
        "omit": 0,
        "duration": terms.duration.as_secs_f64(),
        "bytes": 0,
        "blocks": 0,
        "reverse": u8::from(terms.direction == Direction::Reverse),
        "bidir": u8::from(terms.direction == Direction::Both),
        "target_bitrate": rate,
        "interval": begun.interval.as_secs_f64(),
    });
}

pub(super) fn interval(halves: &[Rows]) -> Value {
    let streams: Vec<Value> = halves
        .iter()
        .flat_map(|rows| &rows.flows)
        .map(row)
        .collect();
    let mut interval = json!({ "streams": streams });
    for (rows, name) in halves.iter().zip(["sum", "sum_bidir_reverse"]) {
        interval[name] = row(&rows.sum);
    }
    interval
}

/// Returns a row; iperf3 has loss and jitter where packets are received.
fn row(row: &Row) -> Value {
    let mut value = json!({
        "start": row.start,
        "end": row.end,
        "seconds": row.seconds(),
        "bytes": row.bytes(),
        "bits_per_second": row.bits_per_second(),
        "packets": row.packets(),
        "omitted": false,
        "sender": row.half == Half::Sent,
    });
    if let Some(flow) = row.flow {
        value["socket"] = json!(flow + 1);
    }
    if row.half == Half::Received {
        value["jitter_ms"] = json!(millis(row.count.jitter));
        value["lost_packets"] = json!(row.count.packets_lost);
        value["lost_percent"] = json!(row.lost_percent());
        value["marked_packets"] = json!(row.count.packets_marked);
        value["out_of_order"] = json!(row.count.out_of_order);
    }
    if let (Half::Sent, Some(path)) = (row.half, row.path) {
        value["allowed_bits_per_second"] = json!(path.allowed_rate.bits_per_sec());
        value["rtt_ms"] = json!(path.rtt.map(millis));
        value["loss_event_rate"] = json!(path.loss_event_rate.get());
    }
    value
}

fn end_streams(end: &End) -> Vec<Value> {
    let flows = |rows: &Option<Rows>| {
        rows.as_ref()
            .map(|rows| rows.flows.clone())
            .unwrap_or_default()
    };
    let (sent, received) = (flows(&end.sent), flows(&end.received));
    let both = |flow| {
        let mut stream = json!({});
        for (key, rows) in [("sender", &sent), ("udp", &received)] {
            if let Some(of) = rows.get(flow) {
                stream[key] = row(of);
            }
        }
        stream
    };
    (0..sent.len().max(received.len())).map(both).collect()
}

/// Returns the terms that both ends follow.
fn agreed(terms: &Terms) -> Value {
    json!({
        "mode": match terms.mode {
            Mode::Rfc5348 => "rfc5348",
            Mode::Rfc3448 => "rfc3448",
            Mode::SmallPackets => "sp",
            Mode::Fixed => "none",
        },
        "feedback": terms.feedback.name(),
        "packet_size": terms.segment_size,
        "ecn": terms.ecn,
        "burst_us": terms.burst.as_micros() as u64,
        "nofeedback_floor_ms": millis(terms.min_nofeedback),
        "reports": {
            "quarters": terms.reports.quarters,
            "session_bandwidth_bps": terms.reports.session_bandwidth.map(Rate::bits_per_sec),
            "piggy_backed": terms.reports.piggy_backed,
        },
    })
}

fn tfrc(report: &PerfReport) -> Value {
    let departures = &report.driver.departures;
    let send_times = &report.driver.send_times;
    let micros = |times: &Lateness, q| times.quantile(q).as_nanos() as f64 / 1e3;
    let mut tfrc = agreed(&report.begun.terms);
    tfrc["departures"] = json!({
        "count": departures.count(),
        "late_p50_us": micros(departures, 0.5),
        "late_p99_us": micros(departures, 0.99),
        "late_max_us": micros(departures, 1.0),
    });
    tfrc["warnings"] = json!(report.warnings);
    tfrc["trace_lines_lost"] = json!(report.events_lost);
    tfrc["system"] = json!({
        "send_calls": report.driver.sent.calls,
        "send_p50_us": micros(send_times, 0.5),
        "send_p99_us": micros(send_times, 0.99),
        "receive_calls": report.driver.receive_calls,
        "datagrams_sent": report.driver.sent.datagrams,
        "datagrams_refused": report.driver.sent.failed,
        "datagrams_too_long": report.driver.sent.too_long,
        "datagrams_unreachable": report.driver.sent.unreachable,
        "rounds": report.driver.rounds,
    });
    tfrc
}
