//! What a simulation holds is bounded by the packets under way, not by how long it runs.

use evenkeel_link::{LinkConfig, QueueLimit};
use evenkeel_sim::{
    Access, Outcome, Shape, Simulation, TcpReceiver, TcpSender, TfrcConfig, TfrcReceiver,
    TfrcSender, Traffic, tcp,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

/// Counts what is allocated, and the most that ever was.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(held, Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract, and `memory` is the system's.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Eight flows of TCP and eight of TFRC through 10 Mb/s, whose queue is always in use.
fn simulation() -> Simulation<Traffic> {
    let bottleneck = LinkConfig {
        rate: Rate::from_bits_per_sec(1e7),
        delay: Duration::from_millis(20),
        queue: QueueLimit::Time(Duration::from_millis(100)),
        ..LinkConfig::default()
    };
    let access = Access::even(LinkConfig {
        rate: Rate::from_bits_per_sec(1e8),
        delay: Duration::from_millis(5),
        queue: QueueLimit::Packets(1_000),
        ..LinkConfig::default()
    });
    let shape = Shape::dumbbell([bottleneck; 2], [access; 16]).expect("a dumbbell is connected");
    let mut sim = Simulation::new(&shape.topology, 1);
    for (place, flow) in shape.places.iter().zip(0..) {
        let start = Instant::from_millis(flow * 61);
        let [sender, receiver] = if flow % 2 == 0 {
            let config = tcp::Config::default();
            [
                TcpSender::new(&config, start, Instant::MAX)
                    .expect("valid")
                    .into(),
                TcpReceiver::new(&config).expect("valid").into(),
            ]
        } else {
            let config = TfrcConfig {
                start,
                ..TfrcConfig::default()
            };
            [
                Traffic::from(TfrcSender::new(config)),
                TfrcReceiver::new(tfrc::ReceiverConfig::default()).into(),
            ]
        };
        sim.add_flow(&place.forward, &place.reverse, sender, receiver);
    }
    sim
}

#[test]
fn a_run_of_ten_times_the_length_needs_no_more_memory() {
    let mut sim = simulation();
    let mut peak_until = |secs| {
        assert_eq!(sim.run_until(Instant::from_secs(secs)), Outcome::Reached);
        PEAK.load(Relaxed)
    };
    let (short, long) = (peak_until(30), peak_until(300));
    // A list that is full doubles once more now and then. The run moves 300 MB of packets.
    assert!(long < short + short / 4, "{short} bytes, then {long}");
    assert!(long < 2_000_000, "{long} bytes");
}
