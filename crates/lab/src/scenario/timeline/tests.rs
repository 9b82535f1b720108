//! Parameters, and what a whole run makes of a path.

use super::*;
use crate::metrics::{BIN, Throughput};
use crate::real::RealProtocol;
use crate::trial;
use tfrc::time::Duration;
use tfrc::units::Bytes;

pub(super) fn scenario() -> Timeline {
    toml::from_str(
        r#"packet = "1000B"
           tcp = { variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = true }
           start_spread = "1s"
           jitter = 1.0
           shown = ["0s", "20s"]
           measured = ["10s", "20s"]
           drawn = "1s"
           ratio_timescales = ["1s"]
           settle = { after = "10s", over = "2s", low = 0.8, high = 1.2 }
           group = [
             { name = "TFRC", protocol = "tfrc", count = 1, start = "0s" },
             { name = "TCP", protocol = "tcp", count = 3, start = "5s", stop = "9s" },
           ]
           case = [
             { name = "a", rtt = "20ms", rate = "1Mb/s", queue = { drop-tail = { packets = 9 } } },
             { name = "b", rtt = "20ms", rate = "1Mb/s", queue = { drop-tail = { packets = 9 } }, counts = [2, 0] },
           ]"#,
    )
    .unwrap()
}

/// 2000 bytes a second until then, and 1000 from then on.
pub(super) fn halved_at(seconds: u64) -> Throughput {
    let mut flow = Throughput::new(Instant::ZERO, Instant::from_secs(20), BIN);
    for second in 0..20 {
        let bytes = if second < seconds { 2_000 } else { 1_000 };
        flow.add(Instant::from_secs(second), Bytes::new(bytes));
    }
    flow
}

/// One TFRC flow of packets of 1000 bytes for ten seconds on a case of this.
fn run(case: &str, tfrc: &str) -> Findings {
    let text = format!(
        r#"packet = "1000B"
           tcp = {{ variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = true }}
           tfrc = {{ {tfrc} }}
           start_spread = "0s"
           jitter = 0.0
           shown = ["0s", "10s"]
           measured = ["0s", "10s"]
           drawn = "1s"
           ratio_timescales = []
           also = ["queue", "loss-event-rate"]
           group = [{{ name = "TFRC", protocol = "tfrc", count = 1, start = "0s" }}]
           case = [{{ name = "a", rtt = "50ms", {case} }}]"#
    );
    let mut scenario: Timeline = toml::from_str(&text).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    scenario.load(&folder, &|_| None).unwrap();
    assert_eq!(scenario.verify(), Ok(()));
    trial::findings_of(&scenario, [0])
}

const WIDE: &str = r#"rate = "80Mb/s", queue = { drop-tail = { packets = 9999 } }"#;

#[test]
fn what_the_path_is_to_lose_it_loses() {
    let lost = |path: &str| {
        let findings = run(&format!("{WIDE}, path = {{ {path} }}"), "");
        findings.value("loss_rate_a")
    };
    assert!((lost("loss.periodic = 50") - 0.02).abs() < 0.001);
    assert!((lost("loss.bernoulli = '2%'") - 0.02).abs() < 0.01);
    let bursts = lost(
        "loss.gilbert-elliott = { to_bad = '1%', to_good = '25%', good_loss = '0%', bad_loss = '100%' }",
    );
    assert!((0.01..0.08).contains(&bursts), "{bursts}");
    // Two packets of some thousands, and the event that they are.
    let script = run(&format!("{WIDE}, path = {{ loss.packets = [40, 41] }}"), "");
    let lost = script.value("loss_rate_a");
    assert!(lost > 0.0 && lost < 0.002, "{lost}");
    assert!(script.value("p_mean_a") > 0.0);
}

#[test]
fn what_is_lost_on_the_way_back_is_missed_by_senders() {
    let run = |lost: &str| {
        run(
            &format!("{WIDE}, path = {{ loss.packets = [99999] }}{lost}"),
            "",
        )
    };
    let (without, with) = (run(""), run(r#", loss_back = { bernoulli = "95%" }"#));
    let [before, after] = [&without, &with].map(|of| of.value("throughput_kbps_tfrc_a"));
    assert!(after < before / 2.0, "{after} and {before} kb/s");
    // None of the data.
    assert_eq!(with.value("loss_rate_a"), 0.0);
    let mut scenario = scenario();
    for (losses, key) in [
        (Losses::Periodic(1), "periodic"),
        (Losses::Packets(vec![1]), "loss_back"),
    ] {
        scenario.case[1].loss_back = Some(losses);
        assert_eq!(scenario.verify().unwrap_err().key, key);
    }
}

#[test]
fn packets_that_fall_behind_are_losses_to_who_does_not_wait_for_them() {
    let late = format!("{WIDE}, path = {{ reordering = {{ share = '2%', by = '40ms' }} }}");
    let p = |tfrc: &str| run(&late, tfrc).value("p_mean_a");
    let (waits, does_not) = (p("reordering = true"), p("reordering = false"));
    assert!(waits < does_not / 2.0, "{waits} against {does_not}");
}

#[test]
fn what_arrives_twice_or_late_without_reordering_costs_nothing() {
    for path in ["duplication = '5%'", "jitter.normal = '2ms'"] {
        let findings = run(&format!("{WIDE}, path = {{ {path} }}"), "");
        // No more than one that fills its queue once.
        assert!(findings.value("p_mean_a") < 1e-6, "{path}");
    }
    let twice = run(&format!("{WIDE}, path = {{ duplication = '50%' }}"), "");
    let once = run(WIDE, "");
    let ratio = twice.value("throughput_kbps_tfrc_a") / once.value("throughput_kbps_tfrc_a");
    assert!(ratio > 1.2, "{ratio}");
}

#[test]
fn a_queue_that_marks_does_not_drop_what_may_be_marked() {
    let red = "red = { packets = 100, min = 5, max = 15, max_p = 0.1, gentle = true, ecn = true }";
    let case = format!("rate = '2Mb/s', queue = {{ {red} }}");
    let (marked, dropped) = (run(&case, "ecn = true"), run(&case, "ecn = false"));
    let rates = |findings: &Findings| ["mark_rate_a", "drop_rate_a"].map(|m| findings.value(m));
    let ([marks, _], [none, drops]) = (rates(&marked), rates(&dropped));
    assert!(marks > 0.0 && drops > 0.0, "{marks} {drops}");
    assert_eq!(none, 0.0);
    assert!(rates(&marked)[1] < drops);
}

#[test]
fn a_trace_sets_the_pace_on_average() {
    let case = "rate = { trace = 'steps.trace' }, queue = { drop-tail = { packets = 50 } }";
    let findings = run(case, "");
    let rate = findings.value("throughput_kbps_tfrc_a");
    // 1 Mb/s and 3 Mb/s by turns, two seconds each.
    assert!((1_000.0..2_050.0).contains(&rate), "{rate} kb/s");
    assert!(findings.value("queue_p95_ms_a") > 0.0);
}

#[test]
fn a_case_may_have_other_numbers_of_flows() {
    let scenario = scenario();
    assert!(scenario.verify().is_ok());
    let [a, b] = [0, 1].map(|case| scenario.members(&scenario.case[case], 1));
    assert_eq!((a.len(), b.len()), (4, 2));
    let spread = Duration::from_secs(1);
    assert!(
        a[1..]
            .iter()
            .all(|tcp| tcp.start - Instant::from_secs(5) < spread)
    );
    assert!(a[1..].iter().all(|tcp| tcp.stop == Instant::from_secs(9)));
    assert!(
        b.iter()
            .all(|tfrc| matches!(tfrc.speaks, Speaks::Long(Protocol::Tfrc, _)))
    );
}

#[test]
fn a_receiver_s_window_bounds_what_tcp_sends_and_is_the_kernel_s_on_a_test_bed() {
    let job = trial::job(0);
    let kbps = |window: Option<u32>| {
        let mut scenario = scenario();
        scenario.tcp.receive_window = window;
        scenario.tcp.delayed_ack = false;
        scenario.case[0].rtt = Time(Duration::from_millis(100));
        scenario.case[0].counts = Some(vec![0, 1]);
        scenario.group[1].stop = None;
        scenario.shown = scenario.measured;
        let measured = scenario.stage(0, 1).run(job).unwrap();
        measured.received[0].mean().bits_per_sec() / 1e3
    };
    // Five packets of 1000 bytes a round trip, which is 100 ms and the time of a packet on the wire.
    let bounded = kbps(Some(5));
    assert!((330.0..400.0).contains(&bounded), "{bounded} kb/s");
    assert!(kbps(None) > 1.5 * bounded);

    let mut scenario = scenario();
    let mut window = |packets| {
        scenario.tcp.receive_window = packets;
        let setup = Real::setup(&scenario, job).unwrap();
        let flows = setup.flows.into_iter();
        let mut windows = flows.filter_map(|flow| match flow.speaks {
            RealProtocol::Tcp(tcp) => Some(tcp.window),
            _ => None,
        });
        windows.next().unwrap()
    };
    assert_eq!(window(Some(5)), Some(Bytes::new(5_000)));
    assert_eq!(window(None), None);
}

#[test]
fn a_test_bed_s_receivers_report_what_the_simulator_s_do() {
    let mut scenario = scenario();
    scenario.group[0].feedback = Feedback::Ccfb;
    let setup = Real::setup(&scenario, trial::job(0)).unwrap();
    let reports = RealProtocol::Tfrc {
        feedback: Feedback::Ccfb,
        floor: None,
        reports: None,
    };
    assert_eq!(setup.flows[0].speaks, reports);
}

#[test]
fn a_flow_that_never_stops_is_drawn_to_the_end_and_measured_no_longer_for_it() {
    let of = |end: u64| {
        let mut scenario = scenario();
        let secs = |secs| Time(Duration::from_secs(secs));
        scenario.also = vec![Also::LossEventRate, Also::Gaps, Also::Queue, Also::Losses];
        scenario.settle = None;
        scenario.measured = [10, 12].map(secs);
        scenario.shown[1] = secs(end);
        trial::findings_of(&scenario, [0])
    };
    let [long, short] = [20, 12].map(of);
    let drawn = long.group("rates_a").next().unwrap();
    let last = drawn.points.last().unwrap();
    assert_eq!(last.x, 19.5);
    // It is alone by then, on 1 Mb/s.
    assert!(last.y.mean > 500.0, "{} kb/s", last.y.mean);
    // Among them are some that are not numbers.
    let metrics = |findings: &Findings| format!("{:?}", findings.metrics);
    assert_eq!(metrics(&long), metrics(&short));
}
