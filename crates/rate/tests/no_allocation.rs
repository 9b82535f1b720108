//! A model that has seen its path for some minutes allocates nothing for reports, frames and packets.

#[path = "../benches/flow/mod.rs"]
mod flow;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use evenkeel_rate::Mode;
use flow::{LinkFlow, LinkScenario, ReceiverReports};

/// Counts the allocations of each thread.
struct AllocationCounter;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: AllocationCounter = AllocationCounter;

// SAFETY: every call goes to the system's allocator unchanged, and the counter does not allocate.
unsafe impl GlobalAlloc for AllocationCounter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract, and `memory` is the system's.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Calls and allocations over some frames.
#[derive(Default)]
struct CallCounts {
    calls: u64,
    allocations: u64,
    /// Calls while the model competes.
    competing: u64,
}

fn run(flow: &mut LinkFlow, frames: u64) -> CallCounts {
    let mut counts = CallCounts::default();
    for _ in 0..frames {
        flow.run_frame(&mut |model, now, call| {
            let before = ALLOCATIONS.get();
            call.make(model, now);
            counts.allocations += ALLOCATIONS.get() - before;
            counts.calls += 1;
            counts.competing += u64::from(model.mode() == Mode::Compete);
        });
    }
    counts
}

struct WarmCase {
    what: &'static str,
    scenario: LinkScenario,
    competes: bool,
}

/// Frames in two minutes, which is longer than the memory of a base delay.
const TWO_MINUTES: u64 = 3_000;

#[test]
fn warm_model_allocates_nothing() {
    let rows = [
        WarmCase {
            what: "deliveries, 3 Mb/s",
            scenario: LinkScenario::alone(3.0, ReceiverReports::Deliveries),
            competes: false,
        },
        WarmCase {
            what: "deliveries, 25 Mb/s",
            scenario: LinkScenario::alone(25.0, ReceiverReports::Deliveries),
            competes: false,
        },
        WarmCase {
            what: "transit bounds, 3 Mb/s",
            scenario: LinkScenario::alone(3.0, ReceiverReports::TransitBounds),
            competes: false,
        },
        WarmCase {
            what: "beside TCP, 6 Mb/s",
            scenario: LinkScenario::beside_tcp(6.0),
            competes: true,
        },
    ];
    for row in rows {
        let mut flow = LinkFlow::new(&row.scenario);
        let cold = run(&mut flow, TWO_MINUTES);
        assert!(cold.allocations > 0, "{}: nothing is counted", row.what);
        let warm = run(&mut flow, TWO_MINUTES);
        println!(
            "{}: {} allocations, then {} in {} calls",
            row.what, cold.allocations, warm.allocations, warm.calls
        );
        assert_eq!(warm.allocations, 0, "{}", row.what);
        assert_eq!(warm.competing > 0, row.competes, "{}", row.what);
    }
}
