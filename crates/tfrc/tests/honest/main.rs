//! No honest receiver is called a liar, whatever its path does to packets and reports: loss, reordering by
//! up to two round trips, copies, a clock of its own. `cargo run --release -p tfrc --example honest_receivers`
//! does ten thousand runs.

mod run;

use run::{run, run_remembering};

#[test]
fn no_honest_receiver_is_accused() {
    for seed in 0..200 {
        let verdict = run(seed);
        assert!(!verdict.caught && !verdict.loses_marks, "seed {seed}");
        assert_eq!(verdict.never_sent, 0, "seed {seed}");
        assert!(verdict.counted <= verdict.came, "seed {seed}");
    }
}

#[test]
fn what_honest_receivers_measure_is_hardly_ever_cut() {
    let verdicts: Vec<_> = (0..200).map(run).collect();
    let rates: u64 = verdicts.iter().map(|verdict| verdict.rates).sum();
    let capped: u64 = verdicts.iter().map(|verdict| verdict.capped).sum();
    assert!(rates > 1_000 && capped * 500 < rates, "{capped} of {rates}");
}

/// Where it is not forgotten before it is reported.
#[test]
fn most_of_what_came_is_counted() {
    let verdicts: Vec<_> = (0..20).map(run_remembering::<2_048>).collect();
    let came: u64 = verdicts.iter().map(|verdict| verdict.came).sum();
    let counted: u64 = verdicts.iter().map(|verdict| verdict.counted).sum();
    assert!(
        came > 10_000 && counted * 10 > came * 8,
        "{counted} of {came}"
    );
}

/// Half of those that tell of marks have a path that marks.
#[test]
fn marks_of_the_path_are_counted() {
    let marked: u64 = (0..200).map(|seed| run(seed).marked).sum();
    assert!(marked > 200, "{marked}");
}
