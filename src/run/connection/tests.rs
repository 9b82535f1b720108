//! Tests of two connections that meet by an invitation, in virtual time.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::reassemble::Payload;
use evenkeel_net::Clock;
use evenkeel_rtp::session::{Config, ReceiveConfig, SendConfig};
use evenkeel_secure::endpoint::PEER;
use evenkeel_secure::identity::Identity;
use evenkeel_secure::invitation::{Invitation, Purpose};
use tfrc::Ecn;

use super::super::call_endpoint::DatagramFilter;
use super::*;

/// The delay of the path one way.
const DELAY: Duration = Duration::from_millis(20);

/// When a connection made its call.
type Made = Arc<Mutex<Vec<Instant>>>;

struct End {
    connection: Connection,
    made: Made,
    events: Vec<SecureEvent>,
}

struct World {
    /// The inviter and the joiner.
    ends: [End; 2],
    invitation: Invitation,
    zero: std::time::Instant,
    travelling: VecDeque<(Instant, usize, Vec<u8>)>,
    now: Instant,
}

fn address(end: usize) -> SocketAddr {
    let host = u8::try_from(end).expect("one of two");
    SocketAddr::from(([192, 0, 2, 1 + host], 5_004))
}

fn candidate(end: usize) -> Candidate {
    Candidate::host(address(end), "udp").expect("an address")
}

fn end(now: Instant, zero: std::time::Instant, config: SecureConfig, seed: u64) -> End {
    let mut session = Config::new("end", seed);
    session.peer = Some(PEER);
    session.send = Some(SendConfig::new(97));
    session.receive = Some(ReceiveConfig::new(97));
    let made = Made::default();
    let call = move |now| {
        let policy = PolicyConfig::new(Duration::from_millis(40));
        Call::new(now, session.clone(), policy, Payload::H264)
    };
    let (endpoint, _outlets) = CallEndpoint::new(call(now), DatagramFilter::default());
    let record = Arc::clone(&made);
    let make_call = Box::new(move |now| {
        record.lock().expect("nobody panicked").push(now);
        call(now)
    });
    let connection = Connection::secure((now, zero), config, seed == 1, endpoint, make_call);
    End {
        connection,
        made,
        events: Vec::new(),
    }
}

impl World {
    fn new() -> Self {
        let at = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let identity = Identity::generate(at).expect("random numbers");
        let invitation = Invitation::new(Purpose::Call, &identity).expect("random numbers");
        let invitation = invitation.at(&[candidate(0)]);
        let zero = Clock::start().system_zero();
        let inviter = invitation.for_inviter(identity, vec![candidate(0)]);
        let joiner = invitation.for_joiner(vec![candidate(1)]);
        let now = Instant::ZERO;
        Self {
            ends: [
                end(now, zero, inviter.expect("a key"), 1),
                end(now, zero, joiner.expect("a key"), 2),
            ],
            invitation,
            zero,
            travelling: VecDeque::new(),
            now,
        }
    }

    /// Lets the next joiner come in place of the last one.
    fn next_joiner(&mut self) {
        let config = self.invitation.for_joiner(vec![candidate(1)]);
        self.ends[1] = end(self.now, self.zero, config.expect("a key"), 3);
    }

    /// Runs for a time; a datagram is lost unless it `passes`.
    fn run(&mut self, time: Duration, passes: impl Fn(&[u8]) -> bool) {
        let until = self.now + time;
        let mut buf = [0; 2_048];
        while self.now < until {
            for (from, end) in self.ends.iter_mut().enumerate() {
                while let Some(transmit) = end.connection.poll_transmit(self.now, &mut buf) {
                    let datagram = &buf[..transmit.len];
                    if passes(datagram) {
                        let arrival = (self.now + DELAY, 1 - from, datagram.to_vec());
                        self.travelling.push_back(arrival);
                    }
                }
                end.events.extend(end.connection.take_events());
            }
            self.now += Duration::from_millis(5);
            let now = self.now;
            while let Some((_, to, payload)) = self.travelling.pop_front_if(|(at, ..)| *at <= now) {
                let datagram = Datagram {
                    source: address(1 - to),
                    arrival: now,
                    ecn: Ecn::NotEct,
                    payload: &payload,
                };
                self.ends[to].connection.handle_datagram(now, datagram);
            }
            for end in &mut self.ends {
                end.connection.handle_timeout(now);
            }
        }
    }

    fn are_open(&self) -> [bool; 2] {
        self.ends.each_ref().map(|end| end.connection.is_open())
    }
}

fn is_no_dtls(datagram: &[u8]) -> bool {
    !matches!(datagram.first(), Some(20..=63))
}

#[test]
fn end_without_servers_has_gathered_at_once() {
    for end in &mut World::new().ends {
        assert_eq!(end.connection.take_events(), [SecureEvent::Gathered]);
    }
}

/// An inviter may wait for hours, and its call has not lasted that long.
#[test]
fn call_begins_anew_when_the_peer_comes() {
    let mut world = World::new();
    world.run(Duration::from_secs(60), |_| false);
    let came = world.now;
    world.run(Duration::from_secs(5), |_| true);
    assert_eq!(world.are_open(), [true; 2]);
    for end in &world.ends {
        let made = end.made.lock().expect("nobody panicked").clone();
        assert_eq!(made.len(), 1, "{made:?}");
        assert!(made[0] >= came);
    }
}

#[test]
fn joiner_that_fails_gives_way_to_the_next() {
    let mut world = World::new();
    world.run(Duration::from_secs(40), is_no_dtls);
    assert_eq!(world.are_open(), [false; 2]);
    let failed = |event: &SecureEvent| matches!(event, SecureEvent::Failed(_));
    assert!(world.ends[0].events.iter().any(failed));
    world.next_joiner();
    world.run(Duration::from_secs(5), |_| true);
    assert_eq!(world.are_open(), [true; 2]);
}

#[test]
fn closed_call_tells_its_peer() {
    let mut world = World::new();
    world.run(Duration::from_secs(2), |_| true);
    let now = world.now;
    world.ends[0].connection.close(now);
    world.run(Duration::from_secs(1), |_| true);
    let events = &world.ends[1].events;
    assert!(events.contains(&SecureEvent::Closed), "{events:?}");
    assert_eq!(world.are_open(), [true, false]);
}
