//! The comparison takes cells with a flow of TFRC and refuses others.

use super::*;
use crate::experiment::Experiment;

fn compare(case: &str) -> Result<FeedbackCompare, Impossible> {
    let text =
        format!("formats = [\"ccfb\"]\ntimescale = \"1s\"\ntolerance = 0.03\ncase = [{case}]");
    let mut compare: FeedbackCompare = toml::from_str(&text).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let read = |id: &str| {
        let experiment = Experiment::load(&folder.join(format!("{id}.toml")), &[]).ok()?;
        Some(experiment.definition.scenario.into_scenario())
    };
    compare.load(&folder, &read)?;
    compare.verify()?;
    Ok(compare)
}

#[test]
fn cells_without_a_flow_of_tfrc_are_left_out() {
    let compare = compare(r#"{ of = "sigcomm-tab25" }"#).unwrap();
    assert_eq!(compare.case[0].cells, [1, 3, 5, 7]);
    // At the receiver, there again, and by one format.
    assert_eq!(compare.cells(), 4 * 3);
}

#[test]
fn a_flow_whose_losses_are_foretold_is_compared_in_each_condition() {
    let compare = compare(r#"{ of = "sigcomm-fig18" }"#).unwrap();
    assert_eq!(compare.case[0].cells, (0..18).collect::<Vec<_>>());
    let stage = compare.case[0].stage(17, 1).unwrap();
    let compared = stage.members.iter().filter(|member| is_tfrc(member));
    assert_eq!(compared.count(), 1);
    assert_eq!(stage.members.len(), 1 + 16);
}

#[test]
fn a_flow_alone_is_compared_where_its_losses_change() {
    for (of, cells, changes) in [
        ("sigcomm-fig02", 1, 3),
        ("sigcomm-fig19", 2, 2),
        ("sigcomm-fig21", 19, 2),
    ] {
        let compare = compare(&format!("{{ of = \"{of}\" }}")).unwrap();
        assert_eq!(compare.case[0].cells.len(), cells, "{of}");
        let stage = compare.case[0].stage(cells - 1, 1).unwrap();
        assert_eq!((stage.members.len(), stage.losses.len()), (1, changes));
        assert!(stage.losses.is_sorted_by_key(|(at, _)| *at), "{of}");
    }
}

#[test]
fn what_has_no_bottleneck_or_no_such_cell_is_refused() {
    for (case, key) in [
        (r#"{ of = "sigcomm-a1" }"#, "of"),
        (r#"{ of = "sigcomm-fig22" }"#, "of"),
        (r#"{ of = "nothing" }"#, "of"),
        (r#"{ of = "sigcomm-tab25", cells = [0] }"#, "cells"),
        (r#"{ of = "sigcomm-tab25", repeat = 0 }"#, "repeat"),
    ] {
        assert_eq!(compare(case).unwrap_err().key, key, "{case}");
    }
}

#[test]
fn ratios_are_those_of_the_cells() {
    let compare = compare(r#"{ of = "sigcomm-fig08", stands_for = ["twin"] }"#).unwrap();
    let mut findings = Findings::default();
    for (name, value) in [
        ("kbps_tfrc_sigcomm-fig08_0", 100.0),
        ("kbps_tfrc_sigcomm-fig08_1", 10.0),
        ("kbps_ccfb_sigcomm-fig08_0", 110.0),
        ("kbps_ccfb_sigcomm-fig08_1", 9.0),
        ("cov_tfrc_sigcomm-fig08_0", 0.0),
        ("cov_tfrc_sigcomm-fig08_1", 0.2),
        ("cov_ccfb_sigcomm-fig08_0", 0.0),
        ("cov_ccfb_sigcomm-fig08_1", 0.1),
    ] {
        findings.derive(name, value);
    }
    compare.derive(&mut findings);
    assert!((findings.value("kbps_ccfb_over_tfrc_twin") - 1.0).abs() < 1e-12);
    assert_eq!(findings.value("cov_ccfb_over_tfrc_mean"), 0.5);
}

#[test]
fn a_case_differs_if_chance_does_not_reach_from_it_to_what_is_allowed() {
    let of = r#"{ of = "sigcomm-fig08", cells = [0] }, { of = "sigcomm-tab25", cells = [1] }"#;
    let compare = compare(of).unwrap();
    for (half, [off, rougher]) in [(1.0, [1.0, 1.0]), (6.0, [0.0, 1.0]), (30.0, [0.0, 0.0])] {
        let mut findings = Findings::default();
        let mut derive = |name: &str, mean, half| {
            let half_width = Some(half);
            findings.derive(name, Estimate { mean, half_width });
        };
        for case in ["sigcomm-fig08_0", "sigcomm-tab25_1"] {
            derive(&format!("kbps_tfrc_{case}"), 100.0, 0.0);
            derive(&format!("cov_tfrc_{case}"), 100.0, 0.0);
        }
        derive("kbps_ccfb_sigcomm-fig08_0", 108.0, half);
        derive("kbps_ccfb_sigcomm-tab25_1", 97.5, 0.1);
        derive("cov_ccfb_sigcomm-fig08_0", 120.0, half);
        derive("cov_ccfb_sigcomm-tab25_1", 90.0, half);
        compare.derive(&mut findings);
        let counted =
            ["off", "rougher"].map(|what| findings.value(&format!("cases_of_ccfb_{what}")));
        assert_eq!(counted, [off, rougher], "{half}");
        // The other's is narrow.
        assert_eq!(findings.value("cases_of_ccfb_shown"), 1.0);
        let widest = findings.value("widest_of_ccfb");
        assert!((widest - half / 100.0).abs() < 1e-9, "{widest}");
    }
}

#[test]
fn how_smooth_a_steady_flow_is_counts_for_no_mean() {
    let text = r#"{ of = "sigcomm-fig08", cells = [0] }, { of = "sigcomm-tab25", cells = [1] }"#;
    let compare = compare(text).unwrap();
    let mut findings = Findings::default();
    for (name, value) in [
        ("cov_tfrc_sigcomm-fig08_0", 0.0001),
        ("cov_ccfb_sigcomm-fig08_0", 0.0003),
        ("cov_tfrc_sigcomm-tab25_1", 0.2),
        ("cov_ccfb_sigcomm-tab25_1", 0.21),
    ] {
        findings.derive(name, value);
    }
    compare.derive(&mut findings);
    let [steady, mean] =
        ["sigcomm-fig08", "mean"].map(|what| findings.value(&format!("cov_ccfb_over_tfrc_{what}")));
    assert!(
        (steady - 3.0).abs() < 1e-9 && (mean - 1.05).abs() < 1e-9,
        "{steady} {mean}"
    );
}
