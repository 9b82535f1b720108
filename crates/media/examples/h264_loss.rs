//! A call of H.264 under packet loss, with repair packets and without.
//!
//! The table is in docs/notebook/2026-11-28-pictures-under-loss-and-at-their-targets.md.

#[path = "../tests/two_ends/mod.rs"]
mod two_ends;
#[path = "../tests/h264_call/world.rs"]
mod world;

use evenkeel_media::filler::Filler;

use self::world::{Outcome, Setting, run};

const SEEDS: [u64; 3] = [1, 2, 3];

fn main() {
    println!(
        "| Lost | Filler | Shown | Longest gap | PSNR in time | of what is shown | Frozen (undecodable) | Keyframes (asked for) |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for loss in [0.001, 0.01, 0.02, 0.05] {
        for filler in [Filler::None, Filler::Fec] {
            let runs = SEEDS.map(|seed| {
                run(&Setting {
                    seconds: 63,
                    seed,
                    ..Setting::new(loss, filler)
                })
            });
            let gap = runs.iter().map(|run| run.longest_gap).max();
            let share = runs.iter().map(Outcome::shown_share).sum::<f64>() / runs.len() as f64;
            let decibels = |of: fn(&Outcome) -> &[f64]| {
                let all = runs.iter().flat_map(of).copied().collect::<Vec<f64>>();
                all.iter().sum::<f64>() / all.len() as f64
            };
            let sum = |of: fn(&Outcome) -> usize| runs.iter().map(of).sum::<usize>();
            println!(
                "| {} % | {} | {:.1} % | {} ms | {:.1} dB | {:.1} dB | {} ({}) | {} ({}) |",
                loss * 100.0,
                filler.name(),
                100.0 * share,
                gap.unwrap_or_default().as_millis(),
                decibels(|run| &run.in_time),
                decibels(|run| &run.psnr),
                sum(|run| run.frozen),
                sum(|run| run.undecodable),
                sum(|run| run.keyframes),
                sum(|run| run.requests),
            );
        }
    }
}
