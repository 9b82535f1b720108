//! The state of both ends and the link at one moment, for the report, the terminal and the page.

use std::collections::BTreeMap;

use evenkeel_link::{Loss, QueueLimit};
use evenkeel_media::report::State;
use evenkeel_net::{LinkSnapshot, RelayHandle};
use evenkeel_rtp::session::{Ignored, Path, RateSource, Statistics};
use tfrc::time::Duration;
use tfrc::units::Bytes;

use super::call_process::CallProcess;
use crate::choices::Choice;
use crate::failure::Failure;
use crate::page::Knobs;
use crate::tcp::{TcpFlows, Totals};
use crate::units::millis;

/// The name of datagrams that an encrypted connection refuses: in the clear, forged, or of nobody's.
pub(super) const NOT_AUTHENTIC: &str = "not_authentic";

/// The decisions of a sender's policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) deadline: Duration,
    pub(super) stretched: bool,
    /// The shortest deadline that the path permits, once it was measured.
    pub(super) least_deadline: Option<Duration>,
    /// Losses per packet that TFRC does not count, with `--random-loss`.
    pub(super) tolerated_loss: Option<f64>,
}

/// The state of both ends and the link at one moment.
#[derive(Default)]
pub(super) struct Snapshot {
    /// The state for the report.
    pub(super) state: State,
    /// The path of the first end, if it sends and has measured one.
    pub(super) path: Option<Path>,
    pub(super) rate_source: Option<RateSource>,
    pub(super) sending: Option<Sending>,
    /// Datagrams that the ends ignored, by kind.
    pub(super) ignored: BTreeMap<&'static str, u64>,
    pub(super) link: Option<LinkSnapshot>,
    /// The TCP flows beside the call, in the link.
    pub(super) tcp: Option<Totals>,
}

impl Snapshot {
    /// Reads the state of the first end, which sends, of the last, which receives, and of the link.
    pub(super) fn take(
        ends: &[(&'static str, CallProcess)],
        relay: Option<&RelayHandle<TcpFlows>>,
    ) -> Result<Self, Failure> {
        let mut snapshot = Self {
            link: relay
                .map(RelayHandle::snapshot)
                .transpose()
                .map_err(Failure::runtime)?
                .map(|relay| relay.forward),
            tcp: relay
                .map(|relay| relay.call(TcpFlows::totals))
                .transpose()
                .map_err(Failure::runtime)?,
            ..Self::default()
        };
        for (index, (_, end)) in ends.iter().enumerate() {
            let (path, rate_source, statistics, unheard, refused, sending, receives) = end
                .connection
                .call(|connection, _| {
                    let refused = connection.refused();
                    let endpoint = connection.endpoint();
                    let call = &endpoint.call;
                    let sending = call.sender().map(|sender| Sending {
                        deadline: sender.policy().deadline(),
                        stretched: sender.policy().stretched().is_some(),
                        least_deadline: sender.policy().least_deadline(),
                        tolerated_loss: sender.policy().tolerated_loss(),
                    });
                    let path = call.session().path().map(|path| Path {
                        allowed_rate: call.sender().map_or(path.allowed_rate, |sender| {
                            sender.policy().available_rate(&path)
                        }),
                        ..path
                    });
                    (
                        path,
                        call.session().rate_source(),
                        call.session().statistics().clone(),
                        endpoint.unheard,
                        refused,
                        sending,
                        call.receiver().is_some(),
                    )
                })
                .map_err(Failure::runtime)?;
            snapshot.count_ignored(&statistics, unheard);
            if refused > 0 {
                *snapshot.ignored.entry(NOT_AUTHENTIC).or_default() += refused;
            }
            if index == 0 && sending.is_some() {
                (snapshot.path, snapshot.sending) = (path, sending);
                snapshot.rate_source = rate_source;
                snapshot.state.sent = Some(Bytes::new(statistics.bytes_sent));
                snapshot.state.filler_sent = Some(Bytes::new(statistics.repair_bytes_sent));
            }
            if index + 1 == ends.len() && receives {
                snapshot.state.received = Some(Bytes::new(statistics.bytes_received));
                snapshot.state.packets_received = statistics.packets_received;
                snapshot.state.packets_lost = statistics.packets_lost;
                snapshot.state.packets_recovered = statistics.packets_recovered;
            }
        }
        snapshot.state.allowed_rate = snapshot.path.map(|path| path.allowed_rate);
        snapshot.state.loss_event_rate = snapshot.path.map(|path| path.loss_event_rate.get());
        snapshot.state.link_rate = snapshot.link.map(|link| link.rate);
        Ok(snapshot)
    }

    fn count_ignored(&mut self, statistics: &Statistics, unheard: u64) {
        for kind in Ignored::ALL {
            let count = match kind {
                Ignored::WrongSource => statistics.ignored(*kind) + unheard,
                kind => statistics.ignored(*kind),
            };
            if count > 0 {
                *self.ignored.entry(kind.name()).or_default() += count;
            }
        }
    }

    /// Returns the link, its TCP flows and the sender's choice in the form of the page's sliders. The delay is the
    /// base round trip. The result is empty without a link.
    pub(super) fn knobs(&self, choice: Option<Choice>) -> Knobs {
        let Some(link) = &self.link else {
            return Knobs::default();
        };
        Knobs {
            rate_bps: Some(link.rate.bits_per_sec()),
            delay_ms: Some(millis(link.delay) * 2.0),
            queue_ms: match link.queue {
                QueueLimit::Time(time) => Some(millis(time)),
                QueueLimit::Bytes(bytes) => Some(bytes.as_f64() / link.rate.bytes_per_sec() * 1e3),
                QueueLimit::Packets(_) => None,
            },
            loss_pct: Some(probability(link.loss) * 100.0),
            tcp: self.tcp.map(|tcp| tcp.flows),
            codec: choice.map(|choice| choice.codec),
            policy: choice.map(|choice| choice.rules),
            filler: choice.map(|choice| choice.filler),
        }
    }
}

/// Returns the share of packets that a loss model drops.
fn probability(loss: Loss) -> f64 {
    match loss {
        // The share that a policer drops depends on the load.
        Loss::None | Loss::Periodic(0) | Loss::Policer(_) => 0.0,
        Loss::Bernoulli(share) => share,
        Loss::Periodic(every) => 1.0 / every as f64,
        Loss::GilbertElliott(model) => model.mean_loss().unwrap_or(0.0),
    }
}
