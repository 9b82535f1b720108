//! What a packet costs at each link, on one core: `item/s` are link transmissions a second, and a
//! thousand over the millions of them is the nanoseconds that a packet-hop takes.
//!
//! `cargo bench -p evenkeel-sim`

use divan::Bencher;
use divan::counter::ItemsCount;
use evenkeel_link::{LinkConfig, QueueLimit, Random};
use evenkeel_sim::{
    Access, Outcome, Pattern, Shape, Simulation, Sink, Source, TcpReceiver, TcpSender, TfrcConfig,
    TfrcReceiver, TfrcSender, Traffic, tcp,
};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

fn main() {
    divan::main();
}

/// A dumbbell of `flows` places. The bottleneck has 1 Mb/s a flow and a queue of a tenth of a second;
/// base round trips are 60 to 120 ms.
fn shape(flows: usize, bottleneck_bits_per_sec: f64) -> Shape {
    let rate = Rate::from_bits_per_sec(bottleneck_bits_per_sec);
    let bottleneck = LinkConfig {
        rate,
        delay: Duration::from_millis(20),
        queue: QueueLimit::Time(Duration::from_millis(100)),
        ..LinkConfig::default()
    };
    let access = (0..flows).map(|flow| {
        Access::even(LinkConfig {
            rate: Rate::from_bits_per_sec(1e8),
            delay: Duration::from_micros(5_000 + (flow as u64 * 7_919) % 15_000),
            queue: QueueLimit::Packets(1_000),
            ..LinkConfig::default()
        })
    });
    Shape::dumbbell([bottleneck; 2], access).expect("valid")
}

fn tfrc(flow: usize) -> [Traffic; 2] {
    let config = TfrcConfig {
        start: Instant::from_micros(flow as u64 * 997 % 1_000_000),
        ..TfrcConfig::default()
    };
    [
        Traffic::from(TfrcSender::new(config)),
        Traffic::from(TfrcReceiver::new(tfrc::ReceiverConfig::default())),
    ]
}

fn tcp(flow: usize) -> [Traffic; 2] {
    let config = tcp::Config::default();
    let start = Instant::from_micros(flow as u64 * 997 % 1_000_000);
    let sender = TcpSender::new(&config, start, Instant::MAX).expect("valid");
    let receiver = TcpReceiver::new(&config).expect("valid");
    [Traffic::from(sender), Traffic::from(receiver)]
}

fn datagrams(flow: usize) -> [Traffic; 2] {
    let pattern = Pattern::Constant {
        size: Bytes::new(1_000),
        rate: Rate::from_bits_per_sec(1e6),
    };
    let start = Instant::from_micros(flow as u64 * 997 % 1_000_000);
    [
        Traffic::from(Source::new(pattern, start, Instant::MAX, Random::new(1, 0)).expect("valid")),
        Traffic::from(Sink::default()),
    ]
}

fn simulation(
    flows: usize,
    bottleneck_bits_per_sec: f64,
    ends: impl Fn(usize) -> [Traffic; 2],
) -> Simulation<Traffic> {
    let shape = shape(flows, bottleneck_bits_per_sec);
    let mut sim = Simulation::new(&shape.topology, 1);
    for (flow, place) in shape.places.iter().enumerate() {
        let [sender, receiver] = ends(flow);
        sim.add_flow(&place.forward, &place.reverse, sender, receiver);
    }
    sim
}

/// Runs for some two million transmissions after two seconds in which the flows find their rates.
fn measure(bencher: Bencher<'_, '_>, flows: usize, make: impl Fn() -> Simulation<Traffic> + Sync) {
    let run = |sim: &mut Simulation<Traffic>| {
        let span = 2_000_000 / 400 / flows as u64;
        let until = sim.now() + Duration::from_secs(span.max(1));
        assert_eq!(sim.run_until(until), Outcome::Reached);
    };
    let prepare = || {
        let mut sim = make();
        sim.run_until(Instant::from_secs(2));
        sim
    };
    let mut probe = prepare();
    let before = probe.transmissions();
    run(&mut probe);
    let transmissions = probe.transmissions() - before;
    bencher
        .counter(ItemsCount::new(transmissions))
        .with_inputs(prepare)
        .bench_local_refs(run);
}

const FLOWS: [usize; 4] = [10, 100, 1_000, 10_000];

#[divan::bench(args = FLOWS, sample_count = 5)]
fn datagrams_hop(bencher: Bencher<'_, '_>, flows: usize) {
    measure(bencher, flows, || {
        simulation(flows, flows as f64 * 1.05e6, datagrams)
    });
}

#[divan::bench(args = FLOWS, sample_count = 5)]
fn tfrc_hop(bencher: Bencher<'_, '_>, flows: usize) {
    measure(bencher, flows, || {
        simulation(flows, flows as f64 * 1e6, tfrc)
    });
}

#[divan::bench(args = FLOWS, sample_count = 5)]
fn tcp_hop(bencher: Bencher<'_, '_>, flows: usize) {
    measure(bencher, flows, || {
        simulation(flows, flows as f64 * 1e6, tcp)
    });
}

/// Half of the flows TCP, half TFRC; 32 is the scenario of `sigcomm` figures 8 to 10.
#[divan::bench(args = [32, 128], sample_count = 5)]
fn tcp_beside_tfrc_hop(bencher: Bencher<'_, '_>, flows: usize) {
    let ends = |flow| if flow % 2 == 0 { tcp(flow) } else { tfrc(flow) };
    measure(bencher, flows, || {
        simulation(flows, flows as f64 * 1e6, ends)
    });
}
