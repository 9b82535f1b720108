//! Watches a run: gathers what the parts hand out, and tells the terminal, the page and the files.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use evenkeel_media::call::CallEvent;
use evenkeel_media::report::{CallReport, Summary};
use evenkeel_net::Clock;
use evenkeel_net::{LinkEvent, RelayHandle};
use evenkeel_rtp::session::RateSource;
use serde_json::{Value, json};
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use crate::call_process::CallProcess;
use crate::choices::Choices;
use crate::cli::RunArgs;
use crate::failure::Failure;
use crate::live::{AtHand, Live, Snapshot};
use crate::outputs::{self, Outputs};
use crate::page::Page;
use crate::stop::Stop;
use crate::tcp::{Measured, TcpFlows};
use crate::trace;
use crate::units::millis;
use crate::warning;

/// How often the state is sampled, for the page and the means.
const TICK: Duration = Duration::from_millis(100);
/// Ticks from one line on the terminal to the next.
const TICKS_A_LINE: u32 = 10;

/// The emulated link, if there is one.
pub(crate) struct LinkView {
    pub(crate) relay: Arc<RelayHandle<TcpFlows>>,
    pub(crate) events: Receiver<LinkEvent>,
    /// What the senders do.
    pub(crate) choices: Arc<Choices>,
}

/// A run under way.
pub(crate) struct Monitor {
    clock: Clock,
    stop: Stop,
    /// The ends at hand, the one that sends first.
    ends: Vec<(&'static str, CallProcess)>,
    link: Option<LinkView>,
    page: Option<Arc<Page>>,
    outputs: Outputs,
    until: Option<Instant>,
    seed: u64,
    deadline: Duration,
    report: CallReport,
    tcp: Measured,
    live: Live,
    receiver: Option<warning::Receiver>,
    /// Why it is over, once nothing is sent any more.
    lost: Option<Failure>,
    /// What was warned of, once each.
    warnings: Vec<Cow<'static, str>>,
}

/// What a monitor is given beside the ends.
pub(crate) struct Watch<'a> {
    pub(crate) clock: Clock,
    pub(crate) stop: Stop,
    pub(crate) page: Option<Arc<Page>>,
    pub(crate) outputs: Outputs,
    pub(crate) run: &'a RunArgs,
    pub(crate) seed: u64,
    /// The configured deadline, within which frames are in time.
    pub(crate) deadline: Duration,
    /// Whom the run ends without.
    pub(crate) receiver: Option<warning::Receiver>,
}

impl Monitor {
    /// A monitor of these ends, and of the link between them if it is ours.
    pub(crate) fn new(
        watch: Watch<'_>,
        ends: Vec<(&'static str, CallProcess)>,
        link: Option<LinkView>,
    ) -> Self {
        let now = watch.clock.now();
        Self {
            clock: watch.clock,
            stop: watch.stop,
            ends,
            link,
            page: watch.page,
            outputs: watch.outputs,
            until: watch.run.seconds.map(|time| now + time),
            seed: watch.seed,
            deadline: watch.deadline,
            report: CallReport::new(now + watch.run.warmup(), watch.deadline),
            tcp: Measured::new(now + watch.run.warmup()),
            live: Live::new(now),
            receiver: watch.receiver,
            lost: None,
            warnings: Vec::new(),
        }
    }

    /// Watches until it is over, then ends everything in order and writes the summary.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let watched = self.watch();
        // Whatever went wrong: the peer is told goodbye, and files get their ends.
        let finished = self.finish();
        watched.and(finished)
    }

    fn watch(&mut self) -> Result<(), Failure> {
        let mut next = self.clock.now();
        let mut ticks = 0;
        while !self.is_over() {
            next = (next + TICK).max(self.clock.now());
            self.clock.sleep_until(next);
            self.gather()?;
            ticks += 1;
            if ticks % TICKS_A_LINE == 0 {
                outputs::tell(self.outputs.json_is_said(), self.live.line())?;
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let out_of_time = self.until.is_some_and(|until| self.clock.now() >= until);
        let is_lost = self.lost.is_some();
        out_of_time
            || is_lost
            || self.stop.is_asked()
            || self.ends.iter().any(|(_, end)| end.has_ended())
    }

    /// Takes in all that happened since the last tick, and samples the state.
    fn gather(&mut self) -> Result<(), Failure> {
        self.gather_events()?;
        let now = self.clock.now();
        for (_, end) in &mut self.ends {
            for text in end.stalls.poll(now) {
                eprintln!("evenkeel: {text}");
            }
        }
        let snapshot = Snapshot::take(&self.ends, self.link.as_ref().map(|link| &*link.relay))?;
        self.report.handle_state(now, &snapshot.state);
        if let Some(totals) = snapshot.tcp {
            self.tcp.handle_totals(totals);
        }
        self.live.handle_snapshot(now, snapshot);
        if let Some(link) = &self.link {
            self.live.handle_choice(link.choices.get());
        }
        if let Some(page) = &self.page {
            page.publish(&self.live.sample());
        }
        Ok(())
    }

    fn gather_events(&mut self) -> Result<(), Failure> {
        for (name, end) in &mut self.ends {
            // First what was shown, so that a goodbye ends the gap after it.
            for shown in end.shown.try_iter() {
                self.live.handle_shown(&shown);
                self.report.handle_shown(&shown);
            }
            for event in end.events.try_iter() {
                self.report.handle_event(&event);
                self.live.handle_event(&event);
                end.stalls.handle_event(&event);
                if let CallEvent::Session(event) = &event
                    && let Some(receiver) = &self.receiver
                    && let Some(why) = receiver.lost(&event.kind)
                {
                    self.warnings.push(why.clone().into());
                    self.lost = Some(Failure::runtime(why));
                } else if let Some(text) = warning::of(&event)
                    && !self.warnings.contains(&text)
                {
                    eprintln!("evenkeel: warning: {text}");
                    self.warnings.push(text);
                }
                if let Some(file) = &mut self.outputs.trace {
                    let described = match &event {
                        CallEvent::Session(event) => trace::session(&event.kind),
                        CallEvent::Media(event) => trace::media(&event.kind),
                    };
                    file.write(event.at(), name, &described)
                        .map_err(Failure::runtime)?;
                }
            }
            for coded in end.coded.try_iter() {
                self.report.handle_coded(coded.at, coded.size_error);
            }
        }
        if let Some(link) = &self.link {
            for LinkEvent { direction, event } in link.events.try_iter() {
                if let Some(file) = &mut self.outputs.trace {
                    let (at, described) = trace::link(&event);
                    let part = trace::direction(direction);
                    file.write(at, part, &described).map_err(Failure::runtime)?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.stop.ask();
        let mut ended = self.gather_events();
        let lost = self.lost.take().map_or(Ok(()), Err);
        let mut summary = as_json(&self.report.summary(), self.live.at_hand(), self.seed);
        summary["deadline_ms"] = json!(millis(self.deadline));
        summary["deadline_in_force_ms"] = json!(self.live.deadline().map(millis));
        summary["tolerated_loss"] = json!(self.live.tolerated_loss());
        summary["ignored"] = json!(self.live.sample().ignored);
        summary["rate_from"] = json!(self.live.rate_source().map(RateSource::name));
        summary["warnings"] = json!(self.warnings);
        let (flows, throughput) = self.tcp.means();
        summary["tcp_flows"] = json!(flows);
        summary["tcp_throughput_bps"] = json!(throughput.map(Rate::bits_per_sec));
        for (_, end) in self.ends {
            ended = ended.and(end.finish());
        }
        if let Some(trace) = self.outputs.trace {
            ended = ended.and(trace.finish().map_err(Failure::runtime));
        }
        let told = match self.outputs.json {
            None => Ok(()),
            Some(None) => outputs::say(summary),
            Some(Some(mut file)) => writeln!(file, "{summary:#}").map_err(Failure::runtime),
        };
        ended.and(told).and(lost)
    }
}

/// The summary under its documented keys; what was not at hand is null.
fn as_json(summary: &Summary, at_hand: AtHand, seed: u64) -> Value {
    let [sent, received] =
        [at_hand.sends, at_hand.receives].map(|is| move |frames: u64| is.then_some(frames));
    json!({
        "x_mean_bps": summary.x_mean.map(Rate::bits_per_sec),
        "link_mean_bps": summary.link_mean.map(Rate::bits_per_sec),
        "x_over_link": summary.x_over_link,
        "media_over_x": summary.media_over_x,
        "throughput_bps": summary.throughput.map(Rate::bits_per_sec),
        "rtt_p50_ms": summary.rtt_p50_ms,
        "loss_event_rate": summary.loss_event_rate,
        "packet_loss_pct": summary.packet_loss_pct,
        "filler_bps": summary.filler.map(Rate::bits_per_sec),
        "packets_recovered": summary.packets_recovered,
        "frames_captured": sent(summary.frames_captured),
        "frames_sent": sent(summary.frames_sent),
        "frames_discarded": sent(summary.frames_discarded),
        "frames_shown": received(summary.frames_shown),
        "frames_in_time": at_hand.link.then_some(summary.frames_in_time),
        "frames_late": received(summary.frames_late),
        "frames_damaged": received(summary.frames_damaged),
        "frames_concealed": received(summary.frames_concealed),
        // As it was called before what the network lost was told apart.
        "frames_corrupt": received(summary.frames_concealed),
        "frames_frozen": received(summary.frames_frozen),
        "frame_delay_p50_ms": summary.frame_delay_p50_ms,
        "frame_delay_p95_ms": summary.frame_delay_p95_ms,
        "longest_gap_ms": summary.longest_gap_ms,
        "psnr_mean_db": summary.psnr_mean_db,
        "psnr_p5_db": summary.psnr_p5_db,
        "size_error_p50_pct": summary.size_error_p50_pct,
        "size_error_p95_pct": summary.size_error_p95_pct,
        "seed": seed,
        "commit": env!("EVENKEEL_COMMIT"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_were_damaged_concealed_and_frozen_have_keys_of_their_own() {
        let summary = Summary {
            frames_damaged: 1,
            frames_concealed: 2,
            frames_frozen: 3,
            ..Summary::default()
        };
        let both = AtHand {
            sends: true,
            receives: true,
            link: true,
        };
        let json = as_json(&summary, both, 1);
        let keys = [
            "frames_damaged",
            "frames_concealed",
            "frames_corrupt",
            "frames_frozen",
        ];
        assert_eq!(keys.map(|key| json[key].as_u64()), [1, 2, 2, 3].map(Some));
    }

    /// 0 says that it was looked for.
    #[test]
    fn frames_that_this_end_does_not_have_are_not_counted() {
        let zeros = Summary::default();
        let of = |sends, receives| {
            let at_hand = AtHand {
                sends,
                receives,
                ..AtHand::default()
            };
            as_json(&zeros, at_hand, 1)
        };
        let sender = of(true, false);
        assert_eq!(
            (&sender["frames_sent"], &sender["frames_shown"]),
            (&json!(0), &Value::Null)
        );
        let receiver = of(false, true);
        assert_eq!(
            (&receiver["frames_sent"], &receiver["frames_shown"]),
            (&Value::Null, &json!(0))
        );
        // Neither knows when the other captured a picture, or showed it.
        assert!(sender["frames_in_time"].is_null() && receiver["frames_in_time"].is_null());
        let both = AtHand {
            sends: true,
            receives: true,
            link: true,
        };
        assert_eq!(as_json(&zeros, both, 1)["frames_in_time"], 0);
    }
}
