//! Cases that are refused, and what runs of the others say.

use super::*;
use crate::trial;

fn rmcat(bottleneck: &str, more: &str, flow: &str) -> Result<Rmcat, toml::de::Error> {
    toml::from_str(&format!(
        r#"tcp = {{ variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = true }}
               jitter = "5ms"
               [[case]]
               name = "a"
               queue = "300ms"
               bottleneck = {bottleneck}
               {more}
               flow = [{flow}]"#
    ))
}

const LINK: &str = r#"[[["0s", "1Mb/s"], ["5s", "0.5Mb/s"]]]"#;
const CALL: &str = r#"{ name = "S1", kind = "call-sizes", stop = "10s", delay = "50ms" }"#;

fn run(rmcat: &Rmcat) -> Findings {
    trial::findings_of(rmcat, [0])
}

#[test]
fn what_no_run_could_have_is_refused() {
    assert_eq!(rmcat(LINK, "", CALL).unwrap().verify(), Ok(()));
    let pause = CALL.replace("stop", r#"pause = ["2s", "20s"], stop"#);
    let tcp = r#"{ name = "T", kind = "tcp", stop = "9s", pause = ["2s", "3s"], delay = "1ms" }"#;
    let hop = CALL.replace("stop", "hop = 1, stop");
    let tcp_at_most =
        r#"{ name = "T", kind = "tcp", stop = "9s", delay = "1ms", max_rate = "1Mb/s" }"#;
    let tiny = CALL.replace("stop", "picture = [4, 16], stop");
    let scene = CALL.replace(r#"-sizes","#, r#"", picture = [16, 16],"#);
    for (bottleneck, more, flow, key) in [
        ("[]", "", CALL, "bottleneck"),
        (LINK, "ecn = true", CALL, "ecn"),
        (LINK, "", "", "flow"),
        (LINK, "", &hop, "hop"),
        (LINK, "", &pause, "pause"),
        (LINK, "", tcp, "pause"),
        (LINK, r#"measured = ["5s", "10s"]"#, CALL, "measured"),
        (LINK, "", tcp_at_most, "max_rate"),
        (LINK, "", &scene, "picture"),
        (LINK, "", &tiny, "picture"),
        (r#"[{ trace = "none.down" }]"#, "", CALL, "trace"),
        (r#"[{ generated = "x" }]"#, "", CALL, "generated"),
    ] {
        let refused = rmcat(bottleneck, more, flow).unwrap().verify();
        assert_eq!(refused.map_err(|error| error.key), Err(key));
    }
    let two = format!("[{0}, {0}]", &LINK[1..LINK.len() - 1]);
    let backward = format!("backward = {}", &LINK[1..LINK.len() - 1]);
    let refused = rmcat(&two, &backward, CALL).unwrap().verify();
    assert_eq!(refused.map_err(|error| error.key), Err("backward"));
}

#[test]
fn measured_frames_and_link_use_are_shares() {
    let measured = r#"measured = ["2s", "9s"]"#;
    let findings = run(&rmcat(LINK, measured, CALL).unwrap());
    let value = |name: &str| findings.value(name);
    let in_time = value("frames_in_time_S1_a");
    let whole = value("frames_whole_S1_a");
    assert!((0.8..=1.0).contains(&in_time), "{findings:?}");
    assert!((in_time..=1.0).contains(&whole), "{findings:?}");
    let arrival = value("frame_arrival_p50_ms_S1_a");
    assert!((50.0..150.0).contains(&arrival), "{arrival} ms");
    assert!((0.5..=1.0).contains(&value("link_use_a")), "{findings:?}");
    // There is no recording that could be absent.
    assert!(value("is_recorded_a").is_nan());
}

#[test]
fn call_over_cellular_links_both_ways_stays_within_their_deliveries() {
    let flow = CALL.replace("stop", r#"max_rate = "30Mb/s", stop"#);
    let more = r#"measured = ["2s", "9s"]
            backward = { generated = "ATT-LTE-driving-2016.down" }"#;
    let link = r#"[{ generated = "TMobile-LTE-short.up" }]"#;
    let mut rmcat = rmcat(link, more, &flow).unwrap();
    rmcat.case[0].queue = QueueSize::Size(Size(tfrc::units::Bytes::new(150_000)));
    assert_eq!(rmcat.verify(), Ok(()));
    let findings = run(&rmcat);
    let used = findings.value("link_use_a");
    assert!((0.05..=1.0).contains(&used), "{used}");
    // More than RFC 8867 lets a call have.
    assert!(findings.value("rate_kbps_S1_a") > 1_600.0, "{findings:?}");
}

#[test]
fn small_pictures_fit_a_slow_link() {
    let slow = r#"[[["0s", "60kb/s"]]]"#;
    let whole = |flow: &str| {
        let measured = r#"measured = ["4s", "9s"]"#;
        let mut rmcat = rmcat(slow, measured, flow).unwrap();
        rmcat.case[0].queue = QueueSize::Size(Size(tfrc::units::Bytes::new(20_000)));
        run(&rmcat).value("frames_whole_S1_a")
    };
    let small = CALL.replace("stop", "picture = [16, 16], stop");
    let [small, usual] = [&small, CALL].map(whole);
    assert!(small > 0.9 && usual < 0.6, "{small}, {usual}");
}

#[test]
fn a_call_follows_its_path_and_its_packets_are_conserved() {
    let findings = run(&rmcat(LINK, "", CALL).unwrap());
    let value = |name: &str| findings.value(name);
    assert!(
        (0.6..=1.0).contains(&value("utilisation_a")),
        "{findings:?}"
    );
    assert!((0.0..0.1).contains(&value("loss_S1_a")), "{findings:?}");
    let most = value("queueing_max_ms_S1_a");
    // 300 ms at 1 Mb/s are 600 ms at half of that, and the call backs off before the queue is full.
    assert!((40.0..=600.0).contains(&most), "{most} ms");
    assert!(value("frames_shown_S1_a") > 230.0, "{findings:?}");
}

#[test]
fn data_against_the_others_meets_the_limit_of_the_way_back() {
    // A call would take its rate back where its reports meet the queue of S1.
    let back = r#"{ name = "S2", kind = "tfrc", backward = true, stop = "10s", delay = "50ms" }"#;
    let flows = format!("{CALL}, {back}");
    let limited = rmcat(LINK, r#"backward = [["0s", "0.3Mb/s"]]"#, &flows).unwrap();
    let rate = run(&limited).value("rate_kbps_S2_a");
    assert!((150.0..=300.0).contains(&rate), "{rate} kb/s");
    let free = rmcat(LINK, "", &flows).unwrap();
    assert!(run(&free).value("rate_kbps_S2_a") > 1_000.0);
}

#[test]
fn jitter_delays_and_reorders_nothing() {
    let audio = r#"{ name = "A", kind = "audio", stop = "10s", delay = "50ms" }"#;
    let findings = run(&rmcat(LINK, "", audio).unwrap());
    let [p50, most] = ["queueing_p50_ms_A_a", "queueing_max_ms_A_a"].map(|m| findings.value(m));
    // A packet takes 0.72 or 1.44 ms; |N(0, 5 ms)| has its median at 3.37 ms and ends at 15 ms.
    assert!((3.0..5.5).contains(&p50), "{p50} ms");
    assert!((10.0..=16.5).contains(&most), "{most} ms");
    assert_eq!(findings.value("loss_A_a"), 0.0);
}
