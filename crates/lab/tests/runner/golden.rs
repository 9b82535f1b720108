//! A comparison with golden results names each metric that moved, appeared or went.

use evenkeel_lab::golden::{self, Change, GoldenError};

use super::{RANDOM, Scratch, go, plan};

#[test]
fn a_metric_that_moved_appeared_or_went_is_told_and_a_blessed_one_is_not() {
    let scratch = Scratch::new("golden");
    let experiment = scratch.experiment("random", RANDOM);
    let results = go(&plan(vec![experiment], &scratch.0.join("out"), 1)).0;
    let mut result = results.into_iter().next().unwrap();
    let folder = scratch.0.join("golden");
    assert!(matches!(
        golden::changes(&folder, &result),
        Err(GoldenError::Missing(_))
    ));
    result.metrics.insert("undefined".into(), None);
    result.metrics.insert("gone".into(), Some(1.5));
    golden::bless(&folder, &result).unwrap();
    assert_eq!(golden::changes(&folder, &result).unwrap(), []);

    result.metrics.remove("gone");
    result.metrics.insert("undefined".into(), Some(1.0));
    result.metrics.insert("new".into(), Some(2.0));
    let messages: Vec<String> = golden::changes(&folder, &result)
        .unwrap()
        .iter()
        .map(Change::to_string)
        .collect();
    assert_eq!(
        messages,
        [
            "random new: golden no such metric, now 2",
            "random undefined: golden not defined, now 1",
            "random gone: golden 1.5, now no such metric",
        ]
    );
    // The last of six digits.
    let name = "largest_difference_pct_fair";
    let value = result.metrics[name].unwrap();
    result
        .metrics
        .insert(name.into(), Some(value * (1.0 + 1e-5)));
    assert_eq!(golden::changes(&folder, &result).unwrap().len(), 4);
}
