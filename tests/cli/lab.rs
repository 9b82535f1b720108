//! `lab`: experiments by name, and results as JSON.

use super::*;

#[test]
fn experiment_errors_name_option_and_remedy() {
    refuses("lab run", &["--all"]);
    refuses("lab run no-such", &["no-such", "lab list"]);
    refuses("lab report --out src", &["src", "lab run", "--out"]);
    refuses(
        "lab run sigcom-fig9",
        &["there is sigcomm-fig09", "lab list"],
    );
    refuses("lab run sigcomm-fig19 --set rtt=200", &["rtt=200", "50ms"]);
    refuses("lab run sigcomm-fig19 --seeds 0", &["--seeds", "0"]);
    refuses("lab run sigcomm-a1 --bless", &["--golden <DIR>"]);
    // Found before anything is run.
    refuses(
        "lab run sigcomm-a1 --out Cargo.toml",
        &["Cargo.toml", "--out"],
    );
    refuses(
        "lab list --experiments no-such-folder",
        &["no-such-folder", "--experiments"],
    );
}

#[test]
fn failed_check_is_status_1_beside_json_results() {
    let out = Temporary::new("lab");
    let lab = |more: &str| {
        let output = run(&format!(
            "lab run sigcomm-fig19 --out {} --json {more}",
            out.path
        ));
        let results = json(&output);
        let count = results.as_array().map_or(0, Vec::len);
        assert_eq!(count, 1, "an experiment runs once");
        (output.status.code(), results[0].clone())
    };
    // Named twice.
    let (status, result) = lab("sigcomm-fig19");
    assert_eq!(status, Some(0));
    assert_eq!(result["id"], "sigcomm-fig19");
    // Far too little loss for the paper's figures.
    let (status, result) = lab("--set lost_one_in=1000");
    assert_eq!(status, Some(1), "{result}");
    assert_eq!(result["settings"][0], "lost_one_in=1000");
}
