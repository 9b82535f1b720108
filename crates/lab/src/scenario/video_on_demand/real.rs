//! Streams on a test bed: a server and a player each, beside the kernel's TCP.

use evenkeel_link::{LinkConfig, QueueLimit};
use evenkeel_sim::{Frame, FrameTrace};
use tfrc::time::Duration;

use super::sample::{Stream, TcpFlow};
use super::{STARTS, Transport, VideoOnDemand, network};
use crate::error::{RunError, broken};
use crate::findings::Sample;
use crate::job::Job;
use crate::metrics::{BIN, Throughput, lost_share};
use crate::real::{BedRecord, BedSetup, Played, Real, RealFlow, RealProtocol, RealTcp, RealTitle};

impl Real for VideoOnDemand {
    fn takes(&self, _: usize) -> Duration {
        self.measured[1].0
    }

    /// A player counts all that it gets, so streams start when measuring does; TCP starts with the run.
    fn setup(&self, job: Job<'_>) -> Result<BedSetup, RunError> {
        let case = self.case(job.cell);
        let is_uncontrolled = match case.transport {
            Transport::Tfrc => false,
            Transport::Udp => true,
            Transport::Tfrc3448 => return Err(broken(&"no server sends by RFC 3448")),
        };
        let movie = network::movie(case.movie, job.seed)?;
        let [from, to] = self.measured.map(|time| time.0);
        let mut flows = Vec::new();
        for index in 0..case.streams + case.tcps {
            let (after, first_frame) = network::begin(job.seed, index, &movie);
            let (start, speaks) = if index < case.streams {
                let frames = excerpt(&movie, first_frame, to - from)?;
                let title = RealTitle {
                    frames,
                    is_uncontrolled,
                };
                (from + after, RealProtocol::Title(title))
            } else {
                let tcp = RealTcp::new(&self.tcp_of(case), self.packet.0);
                (after, RealProtocol::Tcp(tcp))
            };
            flows.push(RealFlow {
                speaks,
                start,
                stop: None,
                away: Vec::new(),
            });
        }
        let link = LinkConfig {
            rate: self.rate.0,
            delay: case.d2,
            queue: QueueLimit::Packets(case.buffer.into()),
            ..LinkConfig::default()
        };
        Ok(BedSetup {
            links: [link; 2],
            packet: self.packet.0,
            flows,
            rate_change: None,
            shown: [from, to],
            measured: [from, to],
            bin: BIN,
            seed: job.seed,
        })
    }

    fn sample(&self, job: Job<'_>, seen: BedRecord) -> Sample {
        let case = self.case(job.cell);
        let streams: Vec<Stream> = seen.played.iter().map(Stream::from).collect();
        let tcps = seen.sent.iter().zip(&seen.received).skip(case.streams);
        let tcps: Vec<TcpFlow> = tcps.map(tcp_flow).collect();
        let mut sample = self.sample_of(case, &streams, &tcps);
        let mut put = |metric: &str, value: f64| self.put(&mut sample, case, metric, value);
        let streams = case.streams as f64;
        let stalls: u64 = seen.played.iter().map(|played| played.stalls).sum();
        put("stalls", stalls as f64 / streams);
        let stalled: f64 = seen.played.iter().map(|played| played.stalled).sum();
        put("stalled_s", stalled / streams);
        for (metric, late) in seen.late_us() {
            put(metric, late);
        }
        sample
    }
}

impl From<&Played> for Stream {
    fn from(played: &Played) -> Self {
        Self {
            iplr: played.iplr,
            iptd_mean: played.iptd_mean,
            iptd_max: played.iptd_max,
        }
    }
}

/// Of what came to the link and what left it.
fn tcp_flow((sent, received): (&Throughput, &Throughput)) -> TcpFlow {
    TcpFlow {
        iplr: lost_share(received.total().as_f64(), sent.total().as_f64()),
        kbps: received.mean().bits_per_sec() / 1e3,
    }
}

/// The frames from one on, for a time and a little more; after the last comes the first again.
fn excerpt(movie: &FrameTrace, first: usize, length: Duration) -> Result<FrameTrace, RunError> {
    let (frames, period) = (movie.frames(), movie.period());
    let first = first % frames.len();
    let zero = frames[first].at;
    let rounds = (0_u32..).map(|round| period.saturating_mul(round));
    let endless = rounds.flat_map(|round| frames.iter().map(move |frame| (round, *frame)));
    let from_first = endless.skip(first).map(|(round, frame)| Frame {
        at: round + frame.at - zero,
        ..frame
    });
    let wanted = from_first.take_while(|frame| frame.at < length + STARTS);
    FrameTrace::new(wanted.collect()).map_err(|error| broken(&error))
}

#[cfg(test)]
mod tests {
    use super::super::tests::scenario;
    use super::*;
    use crate::findings::Findings;
    use crate::scenario::contract::Scenario as _;
    use crate::trial;
    use tfrc::time::Instant;
    use tfrc::units::Bytes;

    fn setup(cell: usize) -> Result<BedSetup, RunError> {
        scenario().setup(trial::job(cell))
    }

    #[test]
    fn streams_start_with_the_measurement_and_tcp_with_the_run() {
        // By UDP, two streams of the slow movie beside two TCP flows.
        let setup = setup(3).unwrap();
        assert_eq!(setup.flows.len(), 4);
        for (index, flow) in setup.flows.iter().enumerate() {
            match &flow.speaks {
                RealProtocol::Title(title) => {
                    assert!(index < 2 && title.is_uncontrolled);
                    assert!((1_000..2_000).contains(&flow.start.as_millis()));
                    // Three seconds are measured.
                    assert!(title.frames.period() >= Duration::from_secs(3));
                }
                RealProtocol::Tcp(tcp) => {
                    assert!(index >= 2 && flow.start < STARTS);
                    assert_eq!(tcp.control, "reno");
                    assert_eq!(tcp.window, Some(Bytes::new(20 * 1_344)));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn an_excerpt_begins_at_once_and_goes_on_behind_the_end() {
        let frames = (0..4).map(|number| Frame {
            at: Duration::from_secs(number),
            kind: evenkeel_sim::FrameKind::Intra,
            size: Bytes::new(number),
        });
        let movie = FrameTrace::new(frames.collect()).unwrap();
        let part = excerpt(&movie, 3, Duration::from_secs(2)).unwrap();
        let counts: Vec<(u64, u64)> = part
            .frames()
            .iter()
            .map(|frame| (frame.at.as_secs(), frame.size.get()))
            .collect();
        assert_eq!(counts, [(0, 3), (1, 0), (2, 1)]);
    }

    #[test]
    fn what_players_counted_is_told_as_the_simulator_tells_it() {
        let scenario = scenario();
        let job = trial::job(2);
        let mut seen = BedRecord::new(&scenario.setup(job).unwrap());
        let played = |iplr, stalls| Played {
            iplr,
            iptd_mean: 0.5,
            iptd_max: 0.75 + iplr,
            stalls,
            stalled: 4.0,
        };
        seen.played = vec![played(0.0, 3), played(0.125, 0)];
        let at = Instant::from_secs(2);
        for flow in 2..4 {
            seen.sent[flow].add(at, Bytes::new(4_000));
            seen.received[flow].add(at, Bytes::new(3_000));
        }
        let findings = Findings::join(&[vec![scenario.sample(job, seen)]]);
        let of = |metric: &str| findings.value(&scenario.metric(metric, scenario.case(2)));
        assert_eq!(of("iplr"), 0.0625);
        assert_eq!(of("iptd_max_s"), 0.875);
        assert_eq!((of("stalls"), of("stalled_s")), (1.5, 4.0));
        // One of the two has no more loss than it may have.
        assert_eq!(of("meeting"), 1.0);
        // 3000 bytes in three seconds.
        assert_eq!((of("tcp_iplr"), of("tcp_kbps")), (0.25, 8.0));
    }

    #[test]
    fn what_no_server_sends_by_is_refused() {
        let mut scenario = scenario();
        scenario.transports = vec![Transport::Tfrc3448];
        assert_eq!(scenario.verify(), Ok(()));
        let job = trial::job(0);
        assert!(matches!(scenario.setup(job), Err(RunError::Failed(_))));
    }
}
