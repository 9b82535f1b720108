//! The link as its users see it: instants worked by hand.

mod properties;

use evenkeel_link::{
    CoDelConfig, DeliveryTrace, Discipline, DropReason, Event, FqCoDelConfig, Jitter, Link,
    LinkConfig, Loss, Packet, PieConfig, QueueLimit, RedConfig, Reordering, Schedule,
};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

const SIZE: Bytes = Bytes::new(1_000);

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// 1 Mb/s, so that a packet of 1000 bytes takes 8 ms, and 10 ms of delay.
fn config() -> LinkConfig {
    LinkConfig {
        rate: Rate::from_bits_per_sec(1e6),
        delay: Duration::from_millis(10),
        ..LinkConfig::default()
    }
}

/// Takes out all that will ever come, with the instant at which it was due.
fn drain<P: Packet>(link: &mut Link<P>) -> Vec<(Instant, P)> {
    let mut outputs = Vec::new();
    while let Some(due) = link.poll_timeout() {
        if due > Instant::ZERO {
            assert!(link.poll_output(due - Duration::from_nanos(1)).is_none());
        }
        outputs.push((due, link.poll_output(due).expect("it is due")));
    }
    outputs
}

/// The same for a link on which packets fall behind: it also asks to be polled when none comes out.
fn drain_reordered(link: &mut Link<u64>) -> Vec<(Instant, u64)> {
    let mut outputs = Vec::new();
    while let Some(due) = link.poll_timeout() {
        outputs.extend(link.poll_output(due).map(|packet| (due, packet)));
    }
    outputs
}

fn packet_numbers(outputs: &[(Instant, u64)]) -> Vec<u64> {
    outputs.iter().map(|(_, number)| *number).collect()
}

#[test]
fn what_leaves_by_a_time_is_told_without_taking_it_out() {
    let mut link = Link::new(config(), 1);
    for number in 0..3 {
        link.handle_packet(ms(0), number, SIZE);
    }
    // The last comes out at 34 ms, and is not on the wire before the second is through.
    link.poll_output(ms(17));
    let leaving = |until| link.leaving(ms(until)).copied().collect::<Vec<i32>>();
    assert_eq!(leaving(17), []);
    assert_eq!(leaving(25), [0]);
    assert_eq!(leaving(40), [0, 1, 2]);
    assert_eq!(drain(&mut link).len(), 3);
}

#[test]
fn packets_come_out_after_their_turn_their_bits_and_the_delay() {
    let mut link = Link::new(config(), 1);
    // Two at once, one while the second is on the wire, one after the wire is idle.
    for (number, at) in [0, 0, 12, 40].into_iter().enumerate() {
        link.handle_packet(ms(at), number, SIZE);
    }
    let expected = [(ms(18), 0), (ms(26), 1), (ms(34), 2), (ms(58), 3)];
    assert_eq!(drain(&mut link), expected);
}

#[test]
fn a_caller_that_comes_late_finds_every_instant_as_it_was() {
    let mut link = Link::new(config(), 1);
    link.keep_events(ms(0));
    for number in 0..4 {
        link.handle_packet(ms(0), number, SIZE);
    }
    let mut outputs = Vec::new();
    while let Some(number) = link.poll_output(ms(1_000)) {
        outputs.push(number);
    }
    assert_eq!(outputs, [0, 1, 2, 3]);
    let transmitted: Vec<(Instant, Duration)> = std::iter::from_fn(|| link.poll_event())
        .filter_map(|event| match event {
            Event::Transmitted { at, waited, .. } => Some((at, waited)),
            _ => None,
        })
        .collect();
    let expected = [8, 16, 24, 32].map(|end| (ms(end), Duration::from_millis(end - 8)));
    assert_eq!(transmitted, expected);
}

#[test]
fn a_packet_read_late_is_served_when_it_came() {
    let mut link = Link::new(config(), 1);
    // Somebody polls at 100 ms and then reads a packet that the kernel stamped with 20 ms.
    assert_eq!(link.poll_output(ms(100)), None);
    link.handle_packet(ms(20), 0, SIZE);
    assert_eq!(link.poll_timeout(), Some(ms(38)));
    // One that came while the wire was busy waits for it, although the wire is idle by now.
    assert_eq!(link.poll_output(ms(100)), Some(0));
    link.handle_packet(ms(24), 1, SIZE);
    assert_eq!(link.poll_timeout(), Some(ms(46)));
    // An arrival before the last one counts as simultaneous.
    link.handle_packet(ms(3), 2, SIZE);
    assert_eq!(drain(&mut link), [(ms(46), 1), (ms(54), 2)]);
}

#[test]
fn the_mean_rate_over_a_million_packets_is_exact() {
    let config = LinkConfig {
        rate: Rate::from_bits_per_sec(7e6),
        delay: Duration::ZERO,
        ..config()
    };
    let mut link = Link::new(config, 1);
    let mut last = Instant::ZERO;
    link.handle_packet(Instant::ZERO, (), SIZE);
    for _ in 1..1_000_000 {
        // The next arrives while this one is on the wire, so that the link is never idle.
        link.handle_packet(last, (), SIZE);
        last = link.poll_timeout().expect("one is on the wire");
        link.poll_output(last).expect("it is due");
    }
    last = link.poll_timeout().expect("the last");
    // 8e9 bits at 7 Mb/s take 1142.857142857142... s; the last bit is through in the next
    // nanosecond.
    assert_eq!(last, Instant::from_nanos(1_142_857_142_858));
}

#[test]
fn a_rate_change_takes_effect_on_the_bits_that_have_not_left() {
    let mut link = Link::new(config(), 1);
    link.handle_packet(ms(0), 0, SIZE);
    link.handle_packet(ms(0), 1, SIZE);
    // 500 bytes of the first are left; at 4 Mb/s they take 1 ms, and the second 2 ms.
    link.set_rate(ms(4), Rate::from_bits_per_sec(4e6));
    assert_eq!(link.rate(), Rate::from_bits_per_sec(4e6));
    assert_eq!(drain(&mut link), [(ms(15), 0), (ms(17), 1)]);
}

#[test]
fn an_outage_holds_packets_back_and_its_end_lets_them_go() {
    let mut link = Link::new(config(), 1);
    link.handle_packet(ms(0), 0, SIZE);
    link.set_rate(ms(4), Rate::ZERO);
    link.handle_packet(ms(5), 1, SIZE);
    assert_eq!(link.poll_timeout(), None);
    assert_eq!(link.queue_delay(ms(6)), Duration::MAX);
    link.set_rate(ms(1_000), Rate::from_bits_per_sec(1e6));
    assert_eq!(drain(&mut link), [(ms(1_014), 0), (ms(1_022), 1)]);
}

#[test]
fn a_shorter_delay_does_not_let_a_packet_overtake() {
    let mut link = Link::new(config(), 1);
    link.handle_packet(ms(0), 0, SIZE);
    link.set_delay(ms(8), Duration::ZERO);
    link.handle_packet(ms(8), 1, Bytes::new(125));
    assert_eq!(drain(&mut link), [(ms(18), 0), (ms(18), 1)]);
}

#[test]
fn a_trace_sets_the_pace_until_a_rate_does() {
    let mut link = Link::new(config(), 1);
    link.set_trace(ms(100), DeliveryTrace::parse("5\n20\n").expect("valid"));
    for number in 0..4 {
        link.handle_packet(ms(101), number, Bytes::new(1_500));
    }
    assert_eq!(link.poll_output(ms(115)), Some(0));
    assert_eq!(link.poll_output(ms(130)), Some(1));
    assert_eq!(link.poll_timeout(), Some(ms(135)));
    // The third is through since 125 ms; the fourth need not wait for 140 ms.
    link.set_rate(ms(131), Rate::from_bits_per_sec(12e6));
    assert_eq!(drain(&mut link), [(ms(135), 2), (ms(142), 3)]);
}

/// Hands in packets of 1000 bytes at time zero until one is dropped; gives how many were not.
fn admitted(link: &mut Link<u64>, at: Instant) -> u64 {
    let dropped = link.counters().dropped.packets;
    (0..)
        .find(|_| {
            link.handle_packet(at, 0, SIZE);
            link.counters().dropped.packets > dropped
        })
        .expect("the queue is bounded")
}

#[test]
fn each_limit_holds_exactly_what_it_says_besides_the_packet_on_the_wire() {
    let limits = [
        (QueueLimit::Bytes(Bytes::new(5_000)), 5),
        (QueueLimit::Bytes(Bytes::new(5_999)), 5),
        (QueueLimit::Packets(5), 5),
        (QueueLimit::Packets(0), 0),
        (QueueLimit::Time(Duration::from_millis(40)), 5),
        (QueueLimit::Time(Duration::from_micros(39_999)), 4),
        (QueueLimit::Time(Duration::ZERO), 0),
    ];
    for (queue, waiting) in limits {
        let mut link = Link::new(LinkConfig { queue, ..config() }, 1);
        assert_eq!(admitted(&mut link, ms(0)), 1 + waiting, "{queue:?}");
        assert_eq!(link.queue_bytes(ms(0)), Bytes::new(1_000 * waiting));
        let waits = Duration::from_millis(8 * (1 + waiting));
        assert_eq!(link.queue_delay(ms(0)), waits);
    }
}

#[test]
fn a_queue_limited_in_time_follows_the_rate_but_not_to_nothing() {
    let queue = QueueLimit::Time(Duration::from_millis(40));
    let mut link = Link::new(LinkConfig { queue, ..config() }, 1);
    link.set_rate(ms(0), Rate::from_bits_per_sec(2e6));
    assert_eq!(admitted(&mut link, ms(0)), 11);
    // What waits stays, and nothing joins until it is below the new limit of 5.
    link.set_rate(ms(0), Rate::from_bits_per_sec(1e6));
    assert_eq!(admitted(&mut link, ms(0)), 0);
    assert_eq!(admitted(&mut link, ms(6 * 8)), 1);
    // An outage keeps the buffer as it was before.
    link.set_rate(ms(1_000), Rate::ZERO);
    assert_eq!(admitted(&mut link, ms(1_000)), 6);
}

#[test]
fn no_configuration_makes_the_link_hold_without_bound() {
    let endless = LinkConfig {
        delay: Duration::MAX,
        queue: QueueLimit::Packets(u64::MAX),
        ..LinkConfig::default()
    };
    let mut link = Link::new(endless, 1);
    for _ in 0..300_000 {
        link.handle_packet(ms(0), (), Bytes::new(1));
    }
    assert!(link.counters().dropped.packets > 0);
    let mut link = Link::new(endless, 1);
    link.keep_events(ms(0));
    for _ in 0..300 {
        link.handle_packet(ms(0), (), Bytes::new(1 << 20));
    }
    assert_eq!(link.counters().held.bytes, Bytes::new(256 << 20));
    let last = std::iter::from_fn(|| link.poll_event()).last();
    assert!(matches!(
        last,
        Some(Event::Dropped {
            reason: DropReason::Capacity,
            ..
        })
    ));
}

#[test]
fn a_schedule_changes_what_it_names() {
    let mut link: Link<()> = Link::new(config(), 1);
    let schedule = Schedule::parse("1, 2M\n2,, 30, 1%").expect("valid");
    for change in schedule.changes() {
        change.apply(Instant::ZERO + change.at, &mut link);
    }
    assert_eq!(link.rate(), Rate::from_bits_per_sec(2e6));
    assert_eq!(link.delay(), Duration::from_millis(30));
    assert_eq!(link.loss(), Loss::Bernoulli(0.01));
}

#[test]
fn jitter_stays_within_its_bounds_and_reaches_far_into_them() {
    let sigma = Duration::from_millis(5);
    let bounds = [
        (Jitter::Normal(sigma), Duration::from_millis(15)),
        (Jitter::Uniform(sigma), sigma),
    ];
    for (jitter, bound) in bounds {
        let config = LinkConfig { jitter, ..config() };
        let mut link = Link::new(config, 1);
        let mut largest = Duration::ZERO;
        for number in 0..2_000 {
            // So far apart that no packet waits for another.
            let at = ms(100 * number);
            link.handle_packet(at, (), SIZE);
            let due = link.poll_timeout().expect("on the wire");
            link.poll_output(due).expect("it is due");
            let extra = (due - at) - Duration::from_millis(18);
            assert!(extra <= bound, "{jitter:?}: {extra:?}");
            largest = largest.max(extra);
        }
        assert!(largest > bound.mul_f64(0.9), "{jitter:?}: {largest:?}");
    }
}

#[test]
fn a_packet_that_falls_behind_is_overtaken_and_a_doubled_one_comes_twice() {
    let reordering = Reordering {
        probability: 0.2,
        delay: Duration::from_millis(100),
    };
    let mut link = Link::new(
        LinkConfig {
            reordering,
            ..config()
        },
        1,
    );
    for number in 0..20_u64 {
        link.handle_packet(ms(8 * number), number, SIZE);
    }
    let mut numbers = packet_numbers(&drain_reordered(&mut link));
    assert!(!numbers.is_sorted(), "{numbers:?}");
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..20));

    let duplication = LinkConfig {
        duplication: 1.0,
        ..config()
    };
    let mut link = Link::new(duplication, 1);
    link.handle_packet(ms(0), 7_u64, SIZE);
    assert_eq!(drain(&mut link), [(ms(18), 7), (ms(18), 7)]);
    assert_eq!(link.counters().duplicated.packets, 1);
}

#[test]
fn a_listed_packet_is_lost() {
    let mut link = Link::new(config(), 1);
    link.lose(ms(0), [1, 3]);
    for number in 0..5_u64 {
        link.handle_packet(ms(20 * number), number, SIZE);
    }
    assert_eq!(packet_numbers(&drain(&mut link)), [0, 2, 4]);
    assert_eq!(link.counters().lost.packets, 2);
}

#[test]
fn another_discipline_takes_over_what_waits_in_the_order_in_which_it_came() {
    let disciplines = [
        Discipline::FqCoDel(FqCoDelConfig::default()),
        Discipline::CoDel(CoDelConfig::default()),
        Discipline::Red(RedConfig::between(5.0, 15.0)),
        Discipline::Pie(PieConfig::default()),
        Discipline::DropTail,
    ];
    let mut link = Link::new(config(), 1);
    for number in 0..40 {
        link.handle_packet(ms(0), number, SIZE);
    }
    let mut out = Vec::new();
    for (change, discipline) in disciplines.into_iter().enumerate() {
        // A packet takes 8 ms: one has left, one is on the wire.
        let now = ms(10 * (change as u64 + 1));
        out.extend(std::iter::from_fn(|| link.poll_output(now)));
        let before = link.queue_bytes(now);
        link.set_discipline(now, discipline);
        assert_eq!(link.queue_bytes(now), before, "{discipline:?}");
    }
    out.extend(drain(&mut link).into_iter().map(|(_, number)| number));
    assert_eq!(out, (0..40).collect::<Vec<_>>());
    assert_eq!(link.counters().dropped.packets, 0);
}

#[test]
fn a_link_of_early_departures_may_change_its_discipline() {
    let mut link = Link::new(config(), 1);
    link.depart_early();
    for number in 0..10 {
        link.handle_packet(ms(0), number, SIZE);
    }
    let codel = CoDelConfig {
        target: Duration::ZERO,
        interval: Duration::from_millis(1),
        ..CoDelConfig::default()
    };
    link.set_discipline(ms(20), Discipline::CoDel(codel));
    drain(&mut link);
    assert!(link.counters().dropped.packets > 0);
}
