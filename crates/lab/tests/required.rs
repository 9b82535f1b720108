//! Metrics that readers of the results count on: a name that an experiment no longer gives is an error.

use std::{collections::BTreeMap, path::Path};

use evenkeel_lab::experiment::Experiment;

/// What metrics of each experiment begin with; behind it may stand the cell.
const REQUIRED: &[(&str, &str)] = &[
    (
        "sigcomm-fig02",
        "p_mean_before_6 p_cov_before_6 largest_step_after_9_pct",
    ),
    ("sigcomm-fig03", "cov_without cov_with_"),
    ("sigcomm-fig04", "cov_without cov_with_"),
    (
        "sigcomm-fig05",
        "largest_difference_pct measured_largest_difference_pct",
    ),
    ("sigcomm-fig06", "tcp_normalised_mean utilisation_min"),
    ("sigcomm-fig07", "tcp_spread tfrc_spread"),
    ("sigcomm-fig08", "cov_tfrc cov_tcp"),
    ("sigcomm-fig09", "equivalence_tcp_tfrc cov_tfrc cov_tcp"),
    ("sigcomm-fig10", "equivalence_tcp_tfrc cov_tfrc cov_tcp"),
    ("sigcomm-fig11", "loss_rate"),
    ("sigcomm-fig12", "loss_rate equivalence"),
    ("sigcomm-fig13", "loss_rate cov_tfrc cov_tcp"),
    ("sigcomm-fig14", "utilisation drop_rate"),
    ("sigcomm-fig24", "utilisation drop_rate"),
    ("sigcomm-fig26", "utilisation drop_rate"),
    ("sigcomm-fig27", "utilisation drop_rate"),
    ("sigcomm-tab25", "utilisation drop_rate"),
    ("sigcomm-fig28", "queue_amplitude_tcp queue_amplitude_tfrc"),
    (
        "sigcomm-fig15",
        "tfrc_over_tcp cov_tfrc cov_tcp equivalence",
    ),
    (
        "sigcomm-fig16",
        "tfrc_over_tcp cov_tfrc cov_tcp equivalence",
    ),
    (
        "sigcomm-fig17",
        "tfrc_over_tcp cov_tfrc cov_tcp equivalence",
    ),
    ("sigcomm-fig18", "error_mean error_sd"),
    (
        "sigcomm-fig19",
        "increase_before_discount_pkts_per_rtt increase_with_discount_pkts_per_rtt",
    ),
    ("sigcomm-fig20", "rtts_to_halve"),
    ("sigcomm-fig21", "rtts_to_halve"),
    ("sigcomm-fig22", "peak_pkts drop_rate"),
    ("sigcomm-fig23", "peak_pkts drop_rate"),
    ("sigcomm-a1", "increase_simple increase_equation_1"),
    ("sigcomm-a3", "largest_deviation_pct"),
    (
        "thesis-fig5-3",
        "utilisation cov_1s ratio_median_0.15s ratio_median_0.25s ratio_median_1s ratio_median_10s",
    ),
    (
        "thesis-fig5-4",
        "utilisation cov_1s ratio_median_0.15s ratio_median_0.25s ratio_median_1s ratio_median_10s",
    ),
    (
        "thesis-fig5-5",
        "utilisation cov_1s ratio_median_0.15s ratio_median_0.25s ratio_median_1s ratio_median_10s",
    ),
    (
        "thesis-fig5-6",
        "ipi_p50_us ipi_p99_us ipi_whole_ms_pct ipi_back_to_back_pct",
    ),
    (
        "thesis-fig5-7",
        "share_tfrc ratio_median_1s_tfrc ratio_median_1s_tcp",
    ),
    (
        "thesis-fig5-8",
        "share_tfrc ratio_median_1s_tfrc ratio_median_1s_tcp",
    ),
    (
        "thesis-fig5-9",
        "share_tfrc ratio_median_1s_tfrc ratio_median_1s_tcp",
    ),
    ("thesis-fig5-10", "share_tfrc_over_fair settles_s"),
    ("thesis-fig5-11", "settles_s"),
    ("thesis-fig5-12", "settles_s"),
    ("thesis-fig5-13", "settles_s p_mean"),
    ("thesis-fig5-14", "settles_s p_mean"),
    ("thesis-fig5-15", "settles_s p_mean"),
    ("thesis-fig5-16", "settles_s p_mean"),
    (
        "thesis-fig5-17",
        "cov_0.2s_tfrc cov_0.2s_tcp cov_0.4s_tfrc cov_0.4s_tcp cov_0.5s_tfrc cov_0.5s_tcp cov_0.8s_tfrc cov_0.8s_tcp cov_1s_tfrc cov_1s_tcp cov_2s_tfrc cov_2s_tcp cov_4s_tfrc cov_4s_tcp cov_5s_tfrc cov_5s_tcp cov_8s_tfrc cov_8s_tcp cov_10s_tfrc cov_10s_tcp",
    ),
    ("thesis-fig5-18", "throughput cov_1s"),
    ("thesis-fig5-19", "throughput cov_1s"),
    ("thesis-fig5-20", "throughput cov_1s"),
    ("thesis-fig5-21", "share_tfrc rate_floor"),
    ("thesis-fig5-22", "rate_dip_pct"),
    ("thesis-fig5-23", "rate_dip_pct"),
    ("thesis-fig5-24", "rate_dip_pct"),
    ("thesis-fig5-25", "rate_dip_pct"),
    ("thesis-fig7-2", "utilisation_of_x"),
    ("thesis-fig7-3", "buffer_p95_kb buffer_growth_kb"),
    ("thesis-fig7-4", "buffer_p95_kb buffer_growth_kb"),
    ("thesis-fig7-5", "buffer_p95_kb buffer_growth_kb"),
    ("thesis-fig7-6", "frames_discarded_pct longest_gap_ms"),
    ("thesis-fig7-7", "frames_discarded_pct longest_gap_ms"),
    ("thesis-fig7-8", "frames_discarded_pct longest_gap_ms"),
    ("thesis-fig7-9", "utilisation_of_x"),
    ("thesis-fig7-13", "rate_cov"),
    ("thesis-fig7-14", "rate_cov filler_share_pct"),
    ("thesis-fig7-16", "psnr_mean_db"),
    ("thesis-fig7-17", "size_error_p50_pct size_error_p95_pct"),
    ("thesis-fig7-18", "size_error_p50_pct size_error_p95_pct"),
    ("suitability-map", "in_time_pct late_pct psnr_mean_db"),
    (
        "tcp-map",
        "call_over_tcp_ tfrc_over_tcp_ lone_again_s_ competing_s_",
    ),
    (
        "vod-tab1",
        "iplr_tfrc iplr_udp iptd_mean_s_tfrc iptd_mean_s_udp iptd_max_s_tfrc iptd_max_s_udp",
    ),
    (
        "vod-fig3",
        "iplr_tfrc iplr_udp iptd_mean_s_tfrc iptd_mean_s_udp meeting_tfrc meeting_udp",
    ),
    (
        "vod-fig4",
        "iplr_tfrc iplr_udp iptd_mean_s_tfrc iptd_mean_s_udp meeting_tfrc meeting_udp",
    ),
    (
        "vod-fig5",
        "iplr_tfrc iptd_mean_s_tfrc tcp_iplr_tfrc tcp_kbps_tfrc",
    ),
    (
        "vod-fig6",
        "iplr_tfrc iptd_mean_s_tfrc tcp_iplr_tfrc tcp_kbps_tfrc",
    ),
    (
        "hdtv-fig5",
        "p_mean_final_ p_mean_standard_ p_mean_waits_ allowed_mbps_final_ allowed_mbps_standard_ allowed_mbps_waits_",
    ),
    (
        "hdtv-fig5-flows",
        "p_mean_0.2pct p_mean_1.3pct throughput_kbps_tfrc_ throughput_kbps_tcp_",
    ),
    ("hdtv-feedback", "least_interval_us rate_kbps_ cov_1s_"),
    (
        "filler",
        "x_kbps_ filler_kbps_ frames_corrupt_pct_ in_time_pct_ psnr_mean_db_ ssim_mean_",
    ),
    (
        "loss-resilience",
        "psnr_mean_db_ ssim_mean_ frames_corrupt_pct_ recovered_pct_fec_ in_time_pct_",
    ),
    ("light-tab5", "bytes_ reports_per_packet_"),
    ("light-tab6", "steps_ cycles_"),
    ("feedback-compare", "kbps_ cov_"),
    ("feedback-cost", "overhead_pct_ interval_ms_ report_bytes_"),
];

fn experiment(id: &str) -> Experiment {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    Experiment::load(&folder.join(format!("{id}.toml")), &[]).expect("a sound experiment")
}

/// A run fails without what its file requires, so it is enough that the file does.
#[test]
fn every_experiment_requires_the_metrics_that_it_is_known_for() {
    for (id, names) in REQUIRED {
        let requires = experiment(id).definition.requires;
        let names: Vec<&str> = names.split(' ').collect();
        assert_eq!(requires, names, "{id}");
    }
}

/// The cases of RFC 8867.
const CASES: [&str; 11] = [
    "5-1",
    "5-2",
    "5-3",
    "5-4",
    "5-5",
    "5-6",
    "5-7",
    "5-8",
    "6-2",
    "6-2-drops",
    "6-3",
];

/// What a call is held to wherever it is measured, with the bounds of the files' checks.
const FAMILIES: [(&str, f64, f64); 6] = [
    ("converges_s_", 0.0, 10.0),
    ("frame_delay_p95_ms_", 0.0, 400.0),
    ("lowest_10s_kbps_", 150.0, f64::INFINITY),
    ("of_possible_", 0.8, f64::INFINITY),
    ("least_over_most_", 0.333, f64::INFINITY),
    ("jain_", 0.9, 1.0),
];

/// Files of RFC 8867's cases say it by their checks, which fail a run that does not give them.
#[test]
fn every_case_of_rfc_8867_checks_delay_and_loss() {
    for case in CASES {
        let checks = experiment(&format!("rmcat-{case}")).definition.checks;
        for name in ["queueing_p95_ms_", "loss_"] {
            let known = checks.iter().any(|check| check.name.starts_with(name));
            assert!(known, "rmcat-{case}: {name}");
        }
    }
}

/// Checks of a family that stood only where they pass would hide where a call fails. Plain TFRC is beside
/// the calls to compare them with: it is not held everywhere.
#[test]
fn every_case_of_rfc_8867_checks_a_call_where_it_fails() {
    for case in CASES {
        let id = format!("rmcat-{case}");
        let checks = experiment(&id).definition.checks;
        let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../../experiments/golden/{id}.json"));
        let golden = std::fs::read(golden).expect("a golden result");
        let golden: BTreeMap<String, f64> = serde_json::from_slice(&golden).expect("metrics");
        for (name, value) in golden {
            let fails = FAMILIES.iter().any(|(family, low, high)| {
                name.starts_with(family) && !(*low..=*high).contains(&value)
            });
            let known = checks.iter().any(|check| check.name == name);
            let is_call = !name.ends_with("greedy");
            assert!(!(fails && is_call) || known, "{id}: {name} = {value}");
        }
    }
}
