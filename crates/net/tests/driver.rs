//! Endpoints on their own threads, over the loopback interface. Waits are bounded; nothing asserts
//! that anything takes less time than it may.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_net::{Clock, Driver, DriverError, Handle, Socket};
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use std::collections::VecDeque;
use std::net::SocketAddr;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};

/// How long a test waits for what must happen before it fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// 1,500 bytes less the headers of IPv4 and UDP.
const LARGEST_OF_ETHERNET: usize = 1_472;

/// Sends what it is given, keeps what it gets, and may want to be woken.
#[derive(Default)]
struct Mailbox {
    to_send: VecDeque<(SocketAddr, Ecn, Vec<u8>)>,
    received: Vec<(Ecn, Vec<u8>)>,
    late_arrivals: u32,
    wake: Option<Wake>,
    timeouts: u32,
}

enum Wake {
    /// A datagram to this address at each of these instants.
    Every(Duration, Instant, SocketAddr),
    /// A deadline that is never met.
    Stuck,
}

impl Endpoint for Mailbox {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        self.late_arrivals += u32::from(datagram.arrival > now);
        self.received
            .push((datagram.ecn, datagram.payload.to_vec()));
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.timeouts += 1;
        if let Some(Wake::Every(interval, next, to)) = &mut self.wake
            && *next <= now
        {
            *next = now + *interval;
            self.to_send.push_back((*to, Ecn::NotEct, vec![0; 100]));
        }
    }

    fn poll_transmit(&mut self, _now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        let (destination, ecn, payload) = self.to_send.pop_front()?;
        buf[..payload.len()].copy_from_slice(&payload);
        Some(Transmit {
            destination,
            len: payload.len(),
            ecn,
        })
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        match self.wake.as_ref()? {
            Wake::Every(_, next, _) => Some((*next, Reason::Departure)),
            Wake::Stuck => Some((Instant::ZERO, Reason::Feedback)),
        }
    }
}

fn start(clock: Clock, mailbox: Mailbox) -> Handle<Mailbox> {
    let socket = Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    Driver::spawn(clock, socket, mailbox).unwrap()
}

/// Waits until `condition` holds of the endpoint.
fn wait_for(
    clock: Clock,
    handle: &Handle<Mailbox>,
    condition: impl Fn(&Mailbox) -> bool + Clone + Send + 'static,
) {
    let deadline = clock.now() + PATIENCE;
    loop {
        let condition = condition.clone();
        if handle.call(move |mailbox, _| condition(mailbox)).unwrap() {
            return;
        }
        assert!(clock.now() < deadline, "it never happened");
        clock.sleep_until(clock.now() + Duration::from_millis(1));
    }
}

#[test]
fn datagrams_arrive_whole_in_order_and_with_their_marks() {
    let clock = Clock::start();
    let receiver = start(clock, Mailbox::default());
    let sender = start(clock, Mailbox::default());
    let to = receiver.local_address();
    // Runs of equal sizes, a shorter end of a run, a growth, changes of mark, more than a budget.
    let sent: Vec<(Ecn, Vec<u8>)> = (0..300usize)
        .map(|i| {
            let size = [1_200, 1_200, 1_200, 700, 1, 1_400, 1_400, 9_000][i % 8];
            let ecn = if i % 50 < 25 { Ecn::Ect0 } else { Ecn::NotEct };
            (ecn, vec![i as u8; size])
        })
        .collect();
    let expected = sent.clone();
    sender
        .post(move |mailbox, _| {
            let addressed = sent.into_iter().map(|(ecn, payload)| (to, ecn, payload));
            mailbox.to_send.extend(addressed);
        })
        .unwrap();
    wait_for(clock, &receiver, |mailbox| mailbox.received.len() == 300);

    let sent = sender.stats().unwrap().sent;
    assert_eq!((sent.datagrams, sent.failed), (300, 0));
    assert!(sent.calls <= 300);
    assert_eq!(receiver.stats().unwrap().received, 300);
    let mailbox = receiver.stop().unwrap();
    assert!(
        mailbox.received == expected,
        "something was changed on the way"
    );
    assert_eq!(mailbox.late_arrivals, 0);
}

#[test]
fn equal_datagrams_leave_in_few_calls() {
    let clock = Clock::start();
    let socket = Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let segments = socket.max_segments() as u64;
    let sender = Driver::spawn(clock, socket, Mailbox::default()).unwrap();
    let receiver = start(clock, Mailbox::default());
    let to = receiver.local_address();
    // Two looks at the socket lie between the first and the last of them, and cut no call short.
    const COUNT: usize = 264;
    let queue = move |mailbox: &mut Mailbox, _| {
        mailbox
            .to_send
            .extend((0..COUNT).map(|_| (to, Ecn::NotEct, vec![7; LARGEST_OF_ETHERNET])));
    };
    sender.call(queue).unwrap();
    wait_for(clock, &receiver, |mailbox| mailbox.received.len() == COUNT);
    // So many of that size fit into one call.
    let most = segments.min((65_507 / LARGEST_OF_ETHERNET) as u64);
    let calls = sender.stats().unwrap().sent.calls;
    assert_eq!(calls, (COUNT as u64).div_ceil(most));
}

#[test]
fn a_refused_datagram_is_counted_and_ends_nothing() {
    let clock = Clock::start();
    let receiver = start(clock, Mailbox::default());
    let sender = start(clock, Mailbox::default());
    let to = receiver.local_address();
    let queue = move |mailbox: &mut Mailbox, _| {
        // An IPv4 socket reaches no IPv6 address.
        let nowhere = "[2001:db8::1]:9".parse().unwrap();
        mailbox
            .to_send
            .push_back((nowhere, Ecn::NotEct, vec![0; 10]));
        mailbox.to_send.push_back((to, Ecn::NotEct, vec![1; 10]));
    };
    sender.call(queue).unwrap();
    wait_for(clock, &receiver, |mailbox| mailbox.received.len() == 1);
    let sent = sender.stats().unwrap().sent;
    assert_eq!((sent.datagrams, sent.failed), (1, 1));
}

#[test]
fn a_peer_that_is_gone_ends_nothing() {
    let clock = Clock::start();
    let gone = Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = gone.local_address();
    drop(gone);
    let receiver = start(clock, Mailbox::default());
    let sender = start(clock, Mailbox::default());
    let to = receiver.local_address();
    for round in 0..5 {
        let queue = move |mailbox: &mut Mailbox, _| {
            mailbox.to_send.push_back((nobody, Ecn::NotEct, vec![0]));
            mailbox.to_send.push_back((to, Ecn::NotEct, vec![1]));
        };
        sender.call(queue).unwrap();
        wait_for(clock, &receiver, move |mailbox| {
            mailbox.received.len() == round + 1
        });
    }
}

#[test]
fn a_goodbye_posted_before_the_stop_still_leaves() {
    let clock = Clock::start();
    let receiver = start(clock, Mailbox::default());
    let sender = start(clock, Mailbox::default());
    let to = receiver.local_address();
    let goodbye = move |mailbox: &mut Mailbox, _| {
        mailbox
            .to_send
            .push_back((to, Ecn::NotEct, b"bye".to_vec()));
    };
    sender.post(goodbye).unwrap();
    assert!(sender.stop().unwrap().to_send.is_empty());
    wait_for(clock, &receiver, |mailbox| mailbox.received.len() == 1);
}

#[test]
fn departures_are_woken_for_and_their_lateness_is_counted() {
    let clock = Clock::start();
    let receiver = start(clock, Mailbox::default());
    let every = Wake::Every(
        Duration::from_millis(2),
        clock.now(),
        receiver.local_address(),
    );
    let sender = start(
        clock,
        Mailbox {
            wake: Some(every),
            ..Mailbox::default()
        },
    );
    wait_for(clock, &receiver, |mailbox| mailbox.received.len() >= 10);
    let stats = sender.stats().unwrap();
    assert!(stats.departures.count() >= 10);
    assert!(stats.departures.max() > Duration::ZERO);
}

#[test]
fn an_idle_endpoint_sleeps() {
    let clock = Clock::start();
    let handle = start(clock, Mailbox::default());
    clock.sleep_until(clock.now() + Duration::from_millis(50));
    // The first round, the wake-up of this command, and one that it may leave behind.
    assert!(handle.stats().unwrap().rounds <= 3);
}

#[test]
fn a_deadline_that_stays_in_the_past_does_not_spin() {
    let clock = Clock::start();
    let begin = clock.now();
    let handle = start(
        clock,
        Mailbox {
            wake: Some(Wake::Stuck),
            ..Mailbox::default()
        },
    );
    wait_for(clock, &handle, |mailbox| mailbox.timeouts > 20);
    // Each command may cost two rounds; the rest are a millisecond apart at least.
    let rounds = handle.stats().unwrap().rounds;
    let elapsed = clock.now().saturating_since(begin).as_millis() as u64;
    let commands = elapsed + 2;
    assert!(
        rounds <= elapsed + 2 * commands + 3,
        "{rounds} in {elapsed} ms"
    );
}

#[test]
fn a_panic_on_the_thread_is_reported_as_its_end() {
    let handle = start(Clock::start(), Mailbox::default());
    let answer = handle.call(|_, _| panic!("a test's panic"));
    assert_eq!(answer, Err::<(), _>(DriverError::Gone));
    assert!(matches!(handle.stop(), Err(DriverError::Gone)));
}

#[test]
fn a_sender_that_nobody_answers_does_not_look_at_its_socket() {
    let clock = Clock::start();
    let receiver = start(clock, Mailbox::default());
    let sender = start(clock, Mailbox::default());
    let to = receiver.local_address();
    sender
        .call(move |mailbox, now| {
            let often = Duration::from_micros(100);
            mailbox.wake = Some(Wake::Every(often, now + often, to));
        })
        .unwrap();
    wait_for(clock, &receiver, |mailbox| mailbox.received.len() >= 200);
    let stats = sender.stats().unwrap();
    assert!(
        stats.sent.calls >= 200 && stats.receive_calls <= 10,
        "{} calls to receive",
        stats.receive_calls
    );
}

#[test]
fn a_sender_that_spins_still_hears_what_comes() {
    let clock = Clock::start();
    let socket = Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let spinner = Driver::spawn_spinning(clock, socket, Mailbox::default()).unwrap();
    let other = start(clock, Mailbox::default());
    let (here, there) = (spinner.local_address(), other.local_address());
    spinner
        .call(move |mailbox, now| {
            // Sooner than any sleep would end: it is always late.
            mailbox.wake = Some(Wake::Every(Duration::from_micros(1), now, there));
        })
        .unwrap();
    other
        .call(move |mailbox, _| mailbox.to_send.push_back((here, Ecn::NotEct, vec![1])))
        .unwrap();
    wait_for(clock, &spinner, |mailbox| mailbox.received.len() == 1);
}
