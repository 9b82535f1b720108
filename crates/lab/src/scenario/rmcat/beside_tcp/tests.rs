//! Tests of a grid of one path, its cells and its refusals.

use super::*;
use crate::trial;

fn beside_tcp(more: &str) -> BesideTcp {
    let mut table: toml::Table = toml::from_str(
        r#"variants = ["sack"]
           counts = [1]
           round_trips = ["60ms"]
           queues = ["50ms"]
           orders = ["before", "after", "with"]
           equal_share = "1Mb/s"
           jitter = "1ms"
           alone = "4s"
           together = "20s"
           settling = "8s"
           afterwards = "6s"
           fair = [0.4, 2.0]
           recovered_within = "10s"
           lone = { rates = ["1Mb/s"], queues = ["300ms"], length = "10s" }"#,
    )
    .unwrap();
    table.extend(toml::from_str::<toml::Table>(more).unwrap());
    table.try_into().unwrap()
}

#[test]
fn grid_without_a_dimension_is_refused() {
    assert_eq!(beside_tcp("").verify(), Ok(()));
    for (wrong, key) in [
        ("variants = []", "variants"),
        ("counts = [0]", "counts"),
        ("round_trips = []", "round_trips"),
        (r#"queues = ["0s"]"#, "queue"),
        ("orders = []", "orders"),
        (r#"alone = "4.1s""#, "alone"),
        (r#"settling = "20s""#, "settling"),
        ("fair = [2.0, 0.4]", "fair"),
    ] {
        let refused = beside_tcp(wrong).verify();
        assert_eq!(refused.map_err(|error| error.key), Err(key));
    }
}

#[test]
fn every_cell_of_a_small_grid_is_measured() {
    let grid = beside_tcp("");
    let findings = trial::findings(&grid);
    assert_eq!(findings.ambiguous(), None);
    let value = |name: &str| findings.value(name);
    for order in ["before", "after", "with"] {
        let share = value(&format!("call_over_tcp_sack_1_60ms_50ms_{order}"));
        assert!(share > 0.0 && share.is_finite(), "{findings:?}");
        assert_eq!(value(&format!("call_over_tcp_median_{order}")), share);
        let seconds = value(&format!("lone_again_s_sack_1_60ms_50ms_{order}"));
        assert!((0.0..=6.0).contains(&seconds), "{seconds} s");
        let percent = value(&format!("competing_pct_sack_1_60ms_50ms_{order}"));
        assert!((0.0..=100.0).contains(&percent), "{percent} %");
    }
    assert!(value("tfrc_over_tcp_least") <= value("tfrc_over_tcp_median_sack"));
    assert_eq!(value("competing_s_lone"), 0.0);
    assert_eq!(value("lone_calls_s"), 10.0);
    let rows: Vec<_> = findings.group("call_over_tcp_sack_1").collect();
    assert_eq!((rows.len(), rows[0].points.len()), (1, 1));
}
