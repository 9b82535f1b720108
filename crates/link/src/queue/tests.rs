//! A queue names settings that let nothing through and gives the discipline that it was given.

use super::*;
use tfrc::time::Duration;

const RATE: Rate = Rate::from_bytes_per_sec(1_000.0);

#[test]
fn settings_that_let_nothing_through_are_named() {
    let fq_codel = FqCoDelConfig::default();
    let pie = PieConfig::default();
    let problem = |discipline: Discipline| discipline.problem().unwrap_or_default();
    assert_eq!(problem(Discipline::FqCoDel(fq_codel)), "");
    assert_eq!(problem(Discipline::Pie(pie)), "");
    let queues = FqCoDelConfig {
        queues: 0,
        ..fq_codel
    };
    assert!(problem(Discipline::FqCoDel(queues)).contains("queues is 0"));
    let quantum = FqCoDelConfig {
        quantum: Bytes::ZERO,
        ..fq_codel
    };
    assert!(problem(Discipline::FqCoDel(quantum)).contains("quantum is 0"));
    let update = PieConfig {
        update: Duration::from_micros(999),
        ..pie
    };
    assert!(problem(Discipline::Pie(update)).contains("at least 1ms"));
}

#[test]
fn a_queue_tells_the_discipline_that_it_was_given() {
    let codel = CoDelConfig {
        target: Duration::from_millis(7),
        ecn: true,
        ..CoDelConfig::default()
    };
    let disciplines = [
        Discipline::DropTail,
        Discipline::Red(RedConfig::between(4.0, 9.0)),
        Discipline::CoDel(codel),
        Discipline::FqCoDel(FqCoDelConfig {
            codel,
            quantum: Bytes::new(300),
            queues: 16,
        }),
        Discipline::Pie(PieConfig {
            target: Duration::from_millis(20),
            ecn: true,
            ..PieConfig::default()
        }),
    ];
    for discipline in disciplines {
        let queue = Queue::<Of>::new(QueueLimit::Packets(9), discipline, RATE, 1);
        assert_eq!(queue.discipline(), discipline);
    }
}

/// A packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Of(u64);

impl Packet for Of {
    fn flow(&self) -> u64 {
        self.0
    }
}

fn push(queue: &mut Queue<Of>, counters: &mut LinkCounters, flow: u64, size: u64) {
    let waiting = Waiting {
        packet: Of(flow),
        size: Bytes::new(size),
        arrival: Instant::ZERO,
    };
    counters.received(waiting.size);
    queue.push(waiting, false, counters);
}

/// How many of a thousand packets of `size` bytes a queue takes.
fn fits(limit: QueueLimit, size: u64) -> usize {
    let mut queue = Queue::new(limit, Discipline::DropTail, RATE, 1);
    let mut counters = LinkCounters::default();
    for _ in 0..1_000 {
        push(&mut queue, &mut counters, 1, size);
    }
    queue.backlog.fifo.waiting.len()
}

#[test]
fn each_limit_is_exact() {
    assert_eq!(fits(QueueLimit::Bytes(Bytes::new(500)), 100), 5);
    assert_eq!(fits(QueueLimit::Bytes(Bytes::new(499)), 100), 4);
    assert_eq!(fits(QueueLimit::Packets(7), 100), 7);
    assert_eq!(fits(QueueLimit::Packets(0), 100), 0);
    assert_eq!(fits(QueueLimit::Time(Duration::from_millis(500)), 100), 5);
    assert_eq!(fits(QueueLimit::Time(Duration::from_millis(499)), 100), 4);
}

#[test]
fn an_unlimited_rate_admits_to_a_time_limited_queue() {
    let limit = QueueLimit::Time(Duration::from_millis(1));
    assert!(limit.holds(1, Bytes::new(1_500), Rate::INFINITY));
}

#[test]
fn flow_queueing_keeps_its_limit_also_when_a_large_packet_comes_to_small_ones() {
    let config = Discipline::FqCoDel(FqCoDelConfig::default());
    let limit = QueueLimit::Bytes(Bytes::new(10_000));
    let (mut queue, mut counters) = (Queue::new(limit, config, RATE, 1), LinkCounters::default());
    for flow in 0..20 {
        for _ in 0..5 {
            push(&mut queue, &mut counters, flow, 100);
        }
    }
    assert_eq!(queue.bytes(), Bytes::new(10_000));
    for flow in 20..30 {
        push(&mut queue, &mut counters, flow, 1_500);
        assert!(queue.bytes() <= Bytes::new(10_000), "{}", queue.bytes());
    }
}
