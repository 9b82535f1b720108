//! What the demo does beside the call itself.

use std::process::Stdio;

use crate::support::{Running, Scratch, evenkeel, number, summary};

#[test]
fn modelled_tcp_shares_the_demos_link_from_the_start() {
    let scratch = Scratch::new("demo-tcp");
    let json = scratch.file("json");
    let mut demo = evenkeel(&["demo", "--headless", "--rate", "2M", "--tcp", "2"]);
    demo.args(["--seconds", "6", "--warmup", "2"])
        .arg("--json")
        .arg(&json);
    let mut demo = Running::start(demo.stdout(Stdio::null()));
    assert!(demo.wait(20).success());
    let summary = summary(&json);
    assert_eq!(number(&summary, "tcp_flows"), 2.0);
    let (each, call) = (
        number(&summary, "tcp_throughput_bps"),
        number(&summary, "throughput_bps"),
    );
    println!("a TCP flow {each:.0} b/s, the call {call:.0} b/s");
    // Neither starves, and the link carries no more than it does.
    assert!(each > 100e3 && call > 100e3, "{each} and {call} b/s");
    assert!(2.0 * each + call <= 2.05e6, "{each} and {call} b/s");
}
