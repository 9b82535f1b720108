//! The data of the page: about the run once, then about its state some ten times a second.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::knobs::{self, Knobs};

/// The run, as shown in the page's header.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PageInfo {
    /// The source of the pictures, in words: "built-in scene", a file's name, a camera's.
    pub(crate) source: String,
    /// Width of the picture in pixels, where this end has the source.
    pub(crate) width: Option<u32>,
    /// Height of the picture in pixels, where this end has the source.
    pub(crate) height: Option<u32>,
    /// Pictures a second, where this end has the source.
    pub(crate) fps: Option<f64>,
    /// The seed of the pictures, where this end has the source. A string in JSON, because a browser's numbers end
    /// at 2^53.
    #[serde(serialize_with = "as_string")]
    pub(crate) seed: Option<u64>,
    /// The words of the command that repeats this run.
    pub(crate) words: Vec<String>,
    /// The subcommand, which decides which pictures there are.
    pub(crate) mode: Mode,
    /// The codecs, policies and fillers that can be chosen on the page.
    pub(crate) choices: BTreeMap<&'static str, Vec<&'static str>>,
    /// The configured deadline γ in milliseconds, before any stretching.
    pub(crate) deadline_ms: f64,
    /// The most that this end sends, bits a second, if it was limited.
    pub(crate) max_rate_bps: Option<f64>,
}

impl PageInfo {
    /// Returns the information as JSON, with the knobs' ranges if there are `knobs`, so that sliders end where the
    /// checks do.
    pub(super) fn with_limits(&self, knobs: bool) -> String {
        #[derive(Serialize)]
        struct WithLimits<'a> {
            #[serde(flatten)]
            info: &'a PageInfo,
            knobs: bool,
            limits: BTreeMap<&'static str, [f64; 2]>,
        }
        let limits = knobs::LIMITS
            .iter()
            .map(|limit| (limit.field, [limit.min, limit.max]))
            .collect();
        to_json(&WithLimits {
            info: self,
            knobs,
            limits,
        })
    }
}

/// The running subcommand, which decides which pictures and charts have content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// Both ends and the link between them.
    Demo,
    /// One end of a call, which sends and receives.
    Call,
    /// The receiving end of a one-way stream.
    Recv,
    /// The sending end of a one-way stream.
    Send,
}

/// The limit of the sender's rate at present, shown as a badge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) enum SenderState {
    /// No packet of the peer, or no feedback, has arrived yet.
    #[default]
    #[serde(rename = "waiting")]
    Waiting,
    /// No loss event yet: the rate doubles once a round trip.
    #[serde(rename = "slow start")]
    SlowStart,
    /// The throughput equation gives the rate.
    #[serde(rename = "congestion avoidance")]
    CongestionAvoidance,
    /// The nofeedback timer has expired since the last feedback: the rate halves.
    #[serde(rename = "nofeedback")]
    NoFeedback,
    /// The peer sent BYE.
    #[serde(rename = "peer gone")]
    PeerGone,
    /// Sending has stopped, because no packet arrived for the time of `--give-up`.
    #[serde(rename = "given up")]
    GivenUp,
}

/// The session at one time. Counts run from the start of the run; a number that does not exist at this end is `None`.
/// In JSON an unknown number is null, and the page leaves it out.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Sample {
    /// Seconds since the start of the run.
    pub(crate) t_s: f64,
    /// The words that both ends show, once the connection is encrypted.
    pub(crate) words: Option<String>,
    /// The line by which the other end joins, if this end invites and waits.
    pub(crate) invitation: Option<String>,
    /// The allowed rate *X*, bits a second.
    pub(crate) x_bps: Option<f64>,
    /// The receive rate *X_recv* last reported, bits a second.
    pub(crate) x_recv_bps: Option<f64>,
    /// The rate sent in the last second, bits a second.
    pub(crate) throughput_bps: Option<f64>,
    /// The filler in that rate, bits a second.
    pub(crate) filler_bps: Option<f64>,
    /// The mean throughput of one TCP flow beside the call, bits a second, if there is one.
    pub(crate) tcp_bps: Option<f64>,
    /// The link's rate, bits a second, where this process emulates the link.
    pub(crate) link_bps: Option<f64>,
    /// The filtered round-trip time *R*, milliseconds.
    pub(crate) rtt_ms: Option<f64>,
    /// The longest wait of a packet in the link's queue in the last second, milliseconds, where this process emulates
    /// the link. With the base round trip it makes about *R*, which is measured at the end of each frame.
    pub(crate) queue_ms: Option<f64>,
    /// The loss event rate *p*, in [0, 1].
    pub(crate) p: Option<f64>,
    /// Median time from capture to display of the frames of the last second, milliseconds.
    pub(crate) frame_delay_ms: Option<f64>,
    /// The 95th percentile of that time.
    pub(crate) frame_delay_p95_ms: Option<f64>,
    /// PSNR of the last frame shown against the original, where this process has both.
    pub(crate) psnr_db: Option<f64>,
    /// The size that the encoder now aims at, bytes a frame.
    pub(crate) target_bytes: Option<u64>,
    /// Pictures that were not captured in time, because the source or the encoder was too slow. This and the following
    /// counts are `None` where this process does not have their end.
    pub(crate) frames_missed: Option<u64>,
    /// Frames sent.
    pub(crate) frames_sent: Option<u64>,
    /// Frames displayed, including the late and the damaged ones.
    pub(crate) frames_shown: Option<u64>,
    /// Frames displayed, by codec.
    pub(crate) shown: BTreeMap<&'static str, u64>,
    /// Frames complete only after their playout time.
    pub(crate) frames_late: Option<u64>,
    /// Frames displayed although the network lost a part.
    pub(crate) frames_damaged: Option<u64>,
    /// Frames displayed with a part concealed.
    pub(crate) frames_concealed: Option<u64>,
    /// Frames of which some part arrived and that were not displayed, so that the picture before stayed.
    pub(crate) frames_frozen: Option<u64>,
    /// Frames that the sender gave up.
    pub(crate) frames_discarded: Option<u64>,
    /// Frames given up, by reason.
    pub(crate) discarded: BTreeMap<&'static str, u64>,
    /// The limit of the sender's rate.
    pub(crate) state: SenderState,
    /// The sending buffer's present deadline, milliseconds: above [`PageInfo::deadline_ms`] it is
    /// stretched. `None` where this end sends nothing.
    pub(crate) deadline_ms: Option<f64>,
    /// Losses per packet that TFRC does not count, which departs from RFC 5348 §5.2; `None` without `--random-loss`.
    pub(crate) tolerated_loss: Option<f64>,
    /// Datagrams ignored, by kind.
    pub(crate) ignored: BTreeMap<&'static str, u64>,
    /// The last warnings of the run, the newest at the end.
    pub(crate) warnings: Vec<String>,
    /// The command that repeats the run with its present settings; the page adds it.
    pub(crate) command: String,
    /// The link and the sender's choice; empty where this process does not emulate the link.
    pub(crate) knobs: Knobs,
}

/// Returns the JSON of a value of this module. Its maps have string keys and its numbers no failing serialiser, so
/// this cannot fail; an infinite or undefined number becomes `null`.
pub(super) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings, numbers and maps with string keys serialise")
}

#[expect(clippy::ref_option, reason = "serde calls it so")]
fn as_string<S: Serializer>(value: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_number_is_null() {
        let sample = Sample {
            x_bps: Some(f64::INFINITY),
            rtt_ms: Some(f64::NAN),
            ..Sample::default()
        };
        let json: serde_json::Value = serde_json::from_str(&to_json(&sample)).unwrap();
        assert!(
            json["x_bps"].is_null()
                && json["p"].is_null()
                && json["rtt_ms"].is_null()
                && json["link_bps"].is_null()
        );
        assert_eq!(json["t_s"], 0.0);
        assert_eq!(json["state"], "waiting");
    }

    #[test]
    fn the_seed_survives_a_browsers_numbers() {
        let info = PageInfo {
            source: "scene".into(),
            width: Some(640),
            height: Some(480),
            fps: Some(25.0),
            seed: Some(u64::MAX),
            words: vec!["evenkeel".into(), "demo".into()],
            mode: Mode::Demo,
            choices: BTreeMap::new(),
            deadline_ms: 150.0,
            max_rate_bps: None,
        };
        let json: serde_json::Value = serde_json::from_str(&info.with_limits(true)).unwrap();
        assert_eq!(json["seed"], u64::MAX.to_string());
        assert_eq!(json["mode"], "demo");
        assert_eq!(json["limits"]["loss_pct"][1], 100.0);
    }
}
