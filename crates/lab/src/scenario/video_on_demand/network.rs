//! Figure 2 of the paper: many senders, two routers, many receivers.

use evenkeel_link::{Jitter, LinkConfig, QueueLimit, Random};
use evenkeel_sim::{
    End, FRAME_RATE, FrameTrace, Pace, Simulation, Sink, TcpReceiver, TcpSender, TfrcConfig,
    TfrcReceiver, Topology, Traffic, TsStream, VideoSender, VideoTransport,
};
use tfrc::time::{Duration, Instant};
use tfrc::units::duration_from_secs;
use tfrc::{ReceiverConfig, SenderConfig};

use super::record::Record;
use super::{Case, DRAIN_TIME, Movie, STARTS, Transport, VideoOnDemand};
use crate::error::{RunError, broken};
use crate::job::Job;
use crate::network::{Edition, Tfrc, advance, link};

/// Half an hour, so that streams of one movie are seldom at one scene.
const FRAMES: usize = 30 * 60 * FRAME_RATE as usize;

/// Runs a case. Gives how many datagrams wait in each stream's sender when the window ends.
pub(super) fn run(
    scenario: &VideoOnDemand,
    case: Case,
    record: &mut Record,
    job: Job<'_>,
) -> Result<Vec<u64>, RunError> {
    let mut net = Topology::new();
    let [left, right] = [net.add_node(), net.add_node()];
    let bottleneck = LinkConfig {
        queue: QueueLimit::Packets(case.buffer.into()),
        ..link(scenario.rate.0, case.d2)
    };
    let wrong = |error: evenkeel_sim::TopologyError| broken(&error);
    let there = net.add_link(left, right, bottleneck).map_err(wrong)?;
    let back = net.add_link(right, left, bottleneck).map_err(wrong)?;
    let packet_time = (scenario.packet.0 / scenario.rate.0).as_secs_f64();
    let access = LinkConfig {
        jitter: match duration_from_secs(scenario.jitter * packet_time) {
            Duration::ZERO => Jitter::None,
            most => Jitter::Uniform(most),
        },
        ..LinkConfig::default()
    };
    let mut paths = Vec::new();
    for _ in 0..case.streams + case.tcps {
        let host = net.add_node();
        let first = net.add_link(host, left, access).map_err(wrong)?;
        paths.push(net.path(&[first, there]).map_err(wrong)?);
    }
    let reverse = net.path(&[back]).map_err(wrong)?;

    let mut sim: Simulation<Traffic> = Simulation::new(&net, job.seed);
    let movie = movie(case.movie, job.seed)?;
    let pace = match scenario.pace {
        super::Pace::Even => Pace::Even,
        super::Pace::Burst => Pace::Burst,
    };
    let mut flows = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let (after, first_frame) = begin(job.seed, index, &movie);
        let start = Instant::ZERO + after;
        let [sender, receiver] = if index < case.streams {
            let stream = TsStream::new(movie.clone(), first_frame, start, pace);
            video(stream, case.transport, scenario)
        } else {
            tcp(scenario, case, start)?
        };
        flows.push(sim.add_flow(path, &reverse, sender, receiver));
    }
    let end = Instant::ZERO + scenario.measured[1].0;
    advance(&mut sim, end, job, record)?;
    let waiting = flows
        .iter()
        .filter_map(|flow| match sim.agent(*flow, End::Sender) {
            Traffic::VideoSender(sender) => Some(sender.queued(end)),
            _ => None,
        });
    let waiting = waiting.collect();
    advance(&mut sim, end + DRAIN_TIME, job, record)?;
    Ok(waiting)
}

/// When a flow starts, and with which frame, if it is a stream.
pub(super) fn begin(seed: u64, index: usize, movie: &FrameTrace) -> (Duration, usize) {
    let mut random = Random::new(seed, 1 + index as u64);
    let after = STARTS.mul_f64(random.unit());
    (
        after,
        (random.unit() * movie.frames().len() as f64) as usize,
    )
}

/// What is shown, with this seed.
pub(super) fn movie(movie: Movie, seed: u64) -> Result<FrameTrace, RunError> {
    match movie {
        Movie::Fast => evenkeel_sim::Movie::FAST
            .shoot(FRAMES, seed)
            .map_err(|error| broken(&error)),
        Movie::Slow => evenkeel_sim::Movie::SLOW
            .shoot(FRAMES, seed)
            .map_err(|error| broken(&error)),
        Movie::Clips => {
            FrameTrace::parse(include_str!("clips.csv")).map_err(|error| broken(&error))
        }
    }
}

fn video(stream: TsStream, transport: Transport, scenario: &VideoOnDemand) -> [Traffic; 2] {
    let rules = match transport {
        Transport::Udp => {
            let udp = VideoTransport::Udp(scenario.packet.0);
            let sender = VideoSender::new(stream, Instant::MAX, udp);
            return [sender.into(), Sink::default().into()];
        }
        Transport::Tfrc => scenario.tfrc,
        Transport::Tfrc3448 => Tfrc {
            edition: Edition::Rfc3448,
            ..scenario.tfrc
        },
    };
    let tfrc = VideoTransport::Tfrc(TfrcConfig {
        packet_size: scenario.packet.0,
        tfrc: rules.follow(SenderConfig::default()),
        ..TfrcConfig::default()
    });
    let receiver = rules.follows(ReceiverConfig::default());
    [
        VideoSender::new(stream, Instant::MAX, tfrc).into(),
        TfrcReceiver::new(receiver).into(),
    ]
}

fn tcp(scenario: &VideoOnDemand, case: Case, start: Instant) -> Result<[Traffic; 2], RunError> {
    let config = scenario.tcp_of(case).config(scenario.packet.0);
    let sender = TcpSender::new(&config, start, Instant::MAX);
    let receiver = TcpReceiver::new(&config);
    Ok([
        sender.map_err(|error| broken(&error))?.into(),
        receiver.map_err(|error| broken(&error))?.into(),
    ])
}
