//! Streams of video by TFRC and by UDP through one bottleneck, by themselves or beside TCP. (`vod` §4.)

mod compare;
mod network;
mod real;
mod record;
mod sample;

use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::network::{Tcp, TcpVariant, Tfrc, require_packet_from};
use crate::real::Real;
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_jitter, require_window};
use crate::units::{BitRate, Size, Time};
use record::Record;
use sample::{Stream, TcpFlow};

/// Parameters: a cell is a combination of one of each list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VideoOnDemand {
    /// What is shown.
    movies: Vec<Movie>,
    /// Edition and t_RTO of the streams by `tfrc`; those by `tfrc3448` have their edition.
    #[serde(default)]
    tfrc: Tfrc,
    /// What the streams are sent by.
    transports: Vec<Transport>,
    /// d2: the one-way delay of the shared link. Those of all others, d1 and d3, are zero.
    d2: Vec<Time>,
    /// The queue of the shared link: first in, first out, in packets.
    buffers: Vec<u32>,
    /// The TCP flows, but for their variant.
    tcp: Tcp,
    /// Which TCP.
    variants: Vec<TcpVariant>,
    /// How many streams there are.
    streams: Vec<usize>,
    /// How many TCP flows there are beside them.
    tcps: Vec<usize>,
    /// The rate of the shared link.
    rate: BitRate,
    /// Of every data packet, on the wire.
    packet: Size,
    /// When the packets of a frame are ready.
    pace: Pace,
    /// How far senders are late at random, in packet times of the shared link.
    jitter: f64,
    /// From and to when packets count by their departure. Each flow starts within the first second.
    measured: [Time; 2],
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Movie {
    /// Made up: its rate changes quickly. Every seed has a movie of its own.
    Fast,
    /// Made up: its rate changes slowly.
    Slow,
    /// Three real clips one after the other, again and again, as our encoder coded them.
    Clips,
}

/// [`evenkeel_sim::Pace`] as experiments name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Pace {
    /// Evenly from one frame to the next.
    Even,
    /// As soon as the frame is.
    Burst,
}

/// What a stream is sent by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Transport {
    /// TFRC as of RFC 5348, unless told.
    Tfrc,
    /// TFRC as of RFC 3448, the paper's.
    Tfrc3448,
    /// UDP at the stream's own pace.
    Udp,
}

/// A combination: a cell.
#[derive(Clone, Copy, Debug)]
struct Case {
    movie: Movie,
    transport: Transport,
    d2: Duration,
    buffer: u32,
    variant: TcpVariant,
    streams: usize,
    tcps: usize,
}

/// The time after the last departure that counts, for packets under way: longer than any queue here.
const DRAIN_TIME: Duration = Duration::from_secs(2);
/// All flows start within it.
const STARTS: Duration = Duration::from_secs(1);
/// What the paper holds streams to (after ITU-T Y.1541): the mean delay in seconds, and the loss.
const MOST_IPTD: f64 = 1.0;
const MOST_IPLR: f64 = 1e-3;

impl Scenario for VideoOnDemand {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require(!self.movies.is_empty(), "movies", "one or more")?;
        require(!self.transports.is_empty(), "transports", "one or more")?;
        require(!self.d2.is_empty(), "d2", "one or more")?;
        let queues = !self.buffers.is_empty() && self.buffers.iter().all(|packets| *packets > 0);
        require(queues, "buffers", "one or more, each at least 1")?;
        require(!self.variants.is_empty(), "variants", "one or more")?;
        let some = |counts: &[usize], least| {
            !counts.is_empty() && counts.iter().all(|count| (least..=1_000).contains(count))
        };
        require(
            some(&self.streams, 1),
            "streams",
            "one or more from 1 to 1000",
        )?;
        require(some(&self.tcps, 0), "tcps", "one or more from 0 to 1000")?;
        self.tcp.verify()?;
        require_packet_from(Bytes::new(1_344), self.packet)?;
        require_jitter(self.jitter)?;
        require_window("measured", self.measured)
    }

    fn cells(&self) -> usize {
        let flows = self.streams.len() * self.tcps.len() * self.variants.len();
        self.movies.len() * self.transports.len() * self.d2.len() * self.buffers.len() * flows
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = self.case(job.cell);
        let window = self.measured.map(|time| Instant::ZERO + time.0);
        let mut record = Record::new(case.streams + case.tcps, window);
        let waiting = network::run(self, case, &mut record, job)?;
        let (streams, tcps) = record.flows.split_at(case.streams);
        let window = self.measured[1].0 - self.measured[0].0;
        let streams: Vec<Stream> = streams.iter().map(record::Flow::stream).collect();
        let tcps: Vec<TcpFlow> = tcps.iter().map(|flow| flow.tcp(window)).collect();
        let mut sample = self.sample_of(case, &streams, &tcps);
        let most = waiting.iter().copied().max().unwrap_or_default();
        self.put(&mut sample, case, "waiting_pkts", most as f64);
        Ok(sample)
    }

    fn real(&self) -> Option<&dyn Real> {
        Some(self)
    }

    fn derive(&self, findings: &mut Findings) {
        self.compare(findings);
        self.contrast(findings);
        if self.numbers_vary() {
            self.admit(findings);
        }
    }
}

impl VideoOnDemand {
    /// The cell of this number; the transport changes fastest, then the number of flows.
    fn case(&self, cell: usize) -> Case {
        let mut rest = cell;
        let mut place = |count: usize| {
            let place = rest % count;
            rest /= count;
            place
        };
        Case {
            transport: self.transports[place(self.transports.len())],
            tcps: self.tcps[place(self.tcps.len())],
            streams: self.streams[place(self.streams.len())],
            variant: self.variants[place(self.variants.len())],
            buffer: self.buffers[place(self.buffers.len())],
            d2: self.d2[place(self.d2.len())].0,
            movie: self.movies[place(self.movies.len())],
        }
    }

    fn tcp_of(&self, case: Case) -> Tcp {
        Tcp {
            variant: case.variant,
            ..self.tcp
        }
    }

    /// What tells a case from the others, but for its transport, its path and its numbers of flows.
    fn kinds(&self, case: Case) -> Vec<String> {
        let mut kinds = vec![name(case.movie)];
        if self.buffers.len() > 1 {
            kinds.push(format!("{}pkts", case.buffer));
        }
        if self.variants.len() > 1 {
            kinds.push(name(case.variant));
        }
        kinds
    }

    /// The same with its path, after the movie.
    fn labels(&self, case: Case) -> Vec<String> {
        let mut labels = self.kinds(case);
        if self.d2.len() > 1 {
            labels.insert(1, format!("{}ms", case.d2.as_millis()));
        }
        labels
    }

    /// How many flows there are of the kind whose number is varied.
    fn flows(&self, case: Case) -> Option<String> {
        if self.tcps.len() > 1 {
            Some(format!("{}tcp", case.tcps))
        } else {
            (self.streams.len() > 1).then(|| format!("{}streams", case.streams))
        }
    }

    fn numbers_vary(&self) -> bool {
        self.tcps.len() > 1 || self.streams.len() > 1
    }

    /// The name of a metric of a case.
    fn metric(&self, metric: &str, case: Case) -> String {
        format!("{metric}_{}_{}", name(case.transport), self.key(case))
    }

    fn key(&self, case: Case) -> String {
        let labels = self.labels(case).into_iter();
        let key: Vec<String> = labels.chain(self.flows(case)).collect();
        key.join("_")
    }

    /// Where a case is on the x axis of a figure: at its number of flows or at d2, in milliseconds.
    fn across(&self, case: Case) -> f64 {
        if self.tcps.len() > 1 {
            case.tcps as f64
        } else if self.streams.len() > 1 {
            case.streams as f64
        } else {
            case.d2.as_secs_f64() * 1e3
        }
    }
}

/// As it stands in an experiment's file.
fn name(value: impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;
    use std::collections::BTreeSet;

    pub(super) fn scenario() -> VideoOnDemand {
        toml::from_str(
            r#"movies = ["slow", "fast"]
               transports = ["tfrc", "udp"]
               d2 = ["20ms", "60ms"]
               buffers = [18, 37]
               tcp = { variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = false, receive_window = 20 }
               variants = ["reno", "sack"]
               streams = [1, 2, 3]
               tcps = [2]
               rate = "2Mb/s"
               packet = "1344B"
               pace = "even"
               jitter = 0.0
               measured = ["1s", "4s"]"#,
        )
        .unwrap()
    }

    fn impossible(change: impl FnOnce(&mut VideoOnDemand)) -> &'static str {
        let mut scenario = scenario();
        assert_eq!(scenario.verify(), Ok(()));
        change(&mut scenario);
        scenario.verify().unwrap_err().key
    }

    #[test]
    fn cells_are_every_combination_once_and_so_are_their_names() {
        let scenario = scenario();
        let names: BTreeSet<String> = (0..scenario.cells())
            .map(|cell| scenario.metric("iplr", scenario.case(cell)))
            .collect();
        assert_eq!(names.len(), 2 * 2 * 2 * 2 * 2 * 3);
        assert!(names.contains("iplr_udp_fast_60ms_18pkts_reno_3streams"));
    }

    #[test]
    fn names_tell_only_what_varies() {
        let mut scenario = scenario();
        scenario.d2.truncate(1);
        scenario.buffers.truncate(1);
        scenario.variants.truncate(1);
        scenario.streams.truncate(1);
        let metric = scenario.metric("iplr", scenario.case(0));
        assert_eq!(metric, "iplr_tfrc_slow");
    }

    #[test]
    fn what_no_run_could_have_is_refused() {
        assert_eq!(impossible(|s| s.movies.clear()), "movies");
        assert_eq!(impossible(|s| s.transports.clear()), "transports");
        assert_eq!(impossible(|s| s.d2.clear()), "d2");
        assert_eq!(impossible(|s| s.buffers[1] = 0), "buffers");
        assert_eq!(impossible(|s| s.variants.clear()), "variants");
        assert_eq!(impossible(|s| s.streams[2] = 0), "streams");
        assert_eq!(impossible(|s| s.tcps[0] = 1_001), "tcps");
        assert_eq!(
            impossible(|s| s.tcp.receive_window = Some(0)),
            "receive_window"
        );
        assert_eq!(impossible(|s| s.jitter = f64::NAN), "jitter");
        assert_eq!(impossible(|s| s.measured[1] = s.measured[0]), "measured");
        let header = Size(tfrc::units::Bytes::new(1_343));
        assert_eq!(impossible(|s| s.packet = header), "packet");
    }

    #[test]
    fn a_run_tells_of_streams_and_of_tcp() {
        let scenario = scenario();
        // TFRC, two TCP flows and two streams of the slow movie: together more than the link has.
        let job = trial::job(2);
        assert_eq!(scenario.case(2).streams, 2);
        let sample = scenario.run(job).unwrap();
        let findings = Findings::join(&[vec![sample]]);
        let of = |metric: &str| findings.value(&scenario.metric(metric, scenario.case(2)));
        // At least d2 and a packet's time on the wire.
        assert!(of("iptd_mean_s") > 0.0253 && of("iptd_max_s") > of("iptd_mean_s"));
        assert!((0.0..0.2).contains(&of("iplr")));
        assert!((0.0..=2.0).contains(&of("meeting")));
        let tcp = of("tcp_kbps");
        assert!((100.0..1_000.0).contains(&tcp), "{tcp} kb/s");
        assert!(of("tcp_iplr") > 0.0);
    }
}
