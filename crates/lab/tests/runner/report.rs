//! The report shows numbers, deviations and failures, and the test bed beside the simulator.

use evenkeel_lab::report;
use evenkeel_lab::result::{RunResult, Verdict};

use super::{RANDOM, Scratch, go, plan, written};

#[test]
fn the_report_has_every_result_and_tells_a_failure() {
    let scratch = Scratch::new("report");
    let out = scratch.0.join("out");
    let failing = RANDOM.replace("high = 10.0", "high = 0.001");
    let reason = "documented = \"the reason of {largest_difference_pct_fair}\"\nsource =";
    let notes = "notes = \"of {largest_difference_pct_fair}, {{so}}\"\nseeds";
    let excused = failing.replace("source =", reason).replace("seeds", notes);
    let question =
        "\n[[question]]\nasked = \"How far?\"\nanswer = \"By {largest_difference_pct_fair}.\"\n";
    let excused = excused + question;
    let experiments = vec![
        scratch.experiment("passes", RANDOM),
        scratch.experiment("fails", &failing),
        scratch.experiment("deviates", &excused),
    ];
    let plan = plan(experiments, &out, 2);
    let (results, _) = go(&plan);
    let verdicts: Vec<Verdict> = results.iter().map(RunResult::verdict).collect();
    assert_eq!(
        verdicts,
        [Verdict::Pass, Verdict::Fail, Verdict::Documented]
    );
    let reason = results[2].checks[0].documented.as_deref().unwrap();
    let value = reason.strip_prefix("the reason of ").unwrap();
    assert!(value.parse::<f64>().unwrap() > 0.001);
    let page = written(&out, &plan.experiments);
    assert!(page.contains(
        "Experiments: 3. Checks: 3, of which pass: 1, documented deviations: 1, fail: 1."
    ));
    assert!(!page.contains("Seeds: "));
    assert!(page.contains(reason) && page.contains(&format!("<p>of {value}, {{so}}</p>")));
    assert!(page.contains(&format!("<h3>How far?</h3>\n<p>By {value}.</p>")));
    assert!(page.contains("&lt;angle brackets&gt;") && !page.contains("<angle brackets>"));
    assert_eq!(page.matches("<svg").count(), 3);
}

#[test]
fn a_report_of_other_seeds_than_the_files_says_so() {
    let scratch = Scratch::new("seeds");
    let out = scratch.0.join("out");
    let mut plan = plan(vec![scratch.experiment("e", RANDOM)], &out, 1);
    plan.seeds = Some(1);
    go(&plan);
    let page = written(&out, &plan.experiments);
    assert!(page.contains("Seeds: 1; what the text says of them is of the file’s 3."));
}

#[test]
fn a_folder_without_results_has_no_report() {
    let scratch = Scratch::new("nothing");
    let experiment = scratch.experiment("e", RANDOM);
    assert_eq!(report::write(&scratch.0, &[experiment]).unwrap(), None);
    assert!(!scratch.0.join("report.html").exists());
}

#[test]
fn a_real_half_stands_behind_the_virtual_one_with_the_simulators_values_beside_its_own() {
    let scratch = Scratch::new("halves");
    let out = scratch.0.join("out");
    let text = RANDOM.replace("[[panel]]", "[real]\nmoderate_to = \"4%\"\n\n[[panel]]");
    let experiment = scratch.experiment("e", &text);
    // The simulator stands in for the test bed.
    let halves = vec![experiment.real().unwrap().unwrap(), experiment.clone()];
    go(&plan(halves, &out, 1));
    let page = written(&out, &[experiment]);
    let sections = ["id=\"e\"", "id=\"e-real\""].map(|id| page.find(id).unwrap());
    assert!(sections[0] < sections[1]);
    assert!(page[sections[1]..].contains("<th>Test bed</th><th>Simulator</th>"));
    let (simulated, real) = page.split_at(sections[1]);
    let cells = |section: &str| {
        let row = section.split("</code></td><td>").nth(1).unwrap().to_owned();
        row.split("</td><td>")
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (simulated, real) = (cells(simulated), cells(real));
    assert_ne!(real[0], simulated[0]);
    assert_eq!(real[1..3], simulated[0..2]);
}
