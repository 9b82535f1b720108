//! `evenkeel vod`: serves or plays a title over TFRC.

mod frames;
mod play;
mod serve;

use tfrc::time::{Duration, Instant};

use crate::cli::{VodArgs, VodCommand, VodRunArgs};
use crate::failure::Failure;
use crate::stop::Stop;

pub(crate) fn run(args: &VodArgs) -> Result<(), Failure> {
    match &args.command {
        VodCommand::Serve(args) => serve::run(args),
        VodCommand::Play(args) => play::run(args),
    }
}

/// The time between two checks of an end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The time between two printed lines.
const LINE: Duration = Duration::from_secs(1);

/// The times at which a run checks, prints and ends.
struct Rounds {
    stop: Stop,
    end: Option<Instant>,
    next_line: Instant,
}

impl Rounds {
    fn new(now: Instant, args: &VodRunArgs) -> Result<Self, Failure> {
        Ok(Self {
            stop: Stop::on_interrupt()?,
            end: args.seconds.map(|seconds| now + seconds),
            next_line: now + LINE,
        })
    }

    fn is_over(&self, now: Instant) -> bool {
        self.stop.is_asked() || self.end.is_some_and(|end| now >= end)
    }

    /// Returns true once a second.
    fn is_line_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next_line;
        if is_due {
            self.next_line += LINE;
        }
        is_due
    }
}
