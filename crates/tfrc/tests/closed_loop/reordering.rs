//! Reordering without congestion: the hdtv paper saw it (1.3 % of packets) and asked for it to be told
//! from loss.

use tfrc::units::Rate;
use tfrc::{ReceiverConfig, SenderConfig};

use crate::conditions::{Conditions, Loss, Source};
use crate::path::Path;
use crate::{BOTH, link, lossy, ms, over_link, secs, show};

fn learning() -> ReceiverConfig {
    ReceiverConfig {
        reordering: true,
        ..ReceiverConfig::default()
    }
}

fn path_of(conditions: Conditions, source: Source, receiver: ReceiverConfig) -> Path {
    Path::with_ends(conditions, source, SenderConfig::default(), receiver)
}

/// 1.3 % of packets are overtaken, by up to ten others.
fn reordered(conditions: Conditions) -> Conditions {
    Conditions {
        overtaken: 0.013,
        ..conditions
    }
}

#[test]
fn without_loss_a_path_that_reorders_is_filled() {
    for (rate, rtt) in [(3.0, 60), (30.0, 5), (100.0, 100)] {
        let run = |config| {
            let conditions = reordered(link(rate, ms(rtt)));
            let mut path = path_of(conditions, Source::Backlogged, config);
            path.run(secs(10));
            let measured = path.run(secs(20));
            show("after 10 s", &path, &measured);
            println!("largest p {}", measured.max_p);
            (path, measured)
        };
        let (path, measured) = run(learning());
        assert!(measured.max_p < 1e-6, "{measured:?}");
        let sent = Rate::from_bytes_per_sec(measured.sent_bytes as f64 / 20.0);
        assert!(sent / path.conditions.rate > 0.99, "{sent}");
        // Twice what arrives is allowed: it is the link that holds the rate.
        assert!(over_link(&path, &measured) > 1.9, "{measured:?}");
        let (_, unlearned) = run(ReceiverConfig::default());
        assert!(unlearned.max_p > 1e-6, "{unlearned:?}");
    }
}

#[test]
fn loss_on_a_path_that_reorders_is_found_to_five_percent() {
    for (loss, rtt) in [0.001, 0.01, 0.05]
        .into_iter()
        .flat_map(|loss| [20, 60, 200].map(|rtt| (loss, rtt)))
    {
        let run = |config| {
            let conditions = reordered(lossy(Loss::Bernoulli(loss), ms(rtt)));
            let mut path = path_of(conditions, Source::Greedy, config);
            // The run is long enough that its intervals come from the loss, not from the start.
            path.run(secs(10).max(ms(rtt) * 500));
            let measured = path.run(secs(60));
            measured.true_interval / measured.interval
        };
        let (learned, unlearned) = (run(learning()), run(ReceiverConfig::default()));
        println!("loss {loss}, {rtt} ms: p over the truth {learned:.3}, unlearned {unlearned:.3}");
        assert!((0.95..=1.05).contains(&learned), "{learned}");
    }
}

#[test]
fn where_nothing_is_reordered_every_decision_is_the_same() {
    let paths = [
        link(3.0, ms(60)),
        lossy(Loss::Every(100), ms(60)),
        lossy(Loss::Bernoulli(0.05), ms(20)),
    ];
    for (conditions, source) in paths
        .into_iter()
        .flat_map(|conditions| BOTH.map(|source| (conditions, source)))
    {
        let run = |config| {
            let mut path = path_of(conditions, source, config);
            path.run(secs(30));
            path.traces
        };
        assert_eq!(run(learning()), run(ReceiverConfig::default()));
    }
}
