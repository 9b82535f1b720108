//! Two connected str0m peers, before any packet crosses the simulated network.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::bwe::Bitrate;
use str0m::media::MediaKind;
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc};

/// The SSRC of the video, and that of its retransmissions.
pub(crate) const SSRC: [u32; 2] = [42, 44];
/// The estimate before the first feedback, in bits per second: that of libwebrtc.
pub(crate) const INITIAL_RATE: u64 = 300_000;
/// Packets that are kept for retransmission.
const SEND_BUFFER: usize = 4_000;
/// ICE and DTLS need a few round trips of a millisecond.
const MOST_ROUND_TRIPS: u32 = 4_000;

/// One peer.
pub(crate) struct RtcPeer {
    pub(crate) rtc: Rtc,
    pub(crate) address: SocketAddr,
    pub(crate) outgoing: VecDeque<Vec<u8>>,
    /// When it wants to be asked next.
    pub(crate) due: Instant,
}

impl RtcPeer {
    fn new(host: u8, sends: bool, now: Instant) -> Self {
        let crypto = Arc::new(str0m::crypto::from_feature_flags());
        let mut config = Rtc::builder()
            .set_rtp_mode(true)
            .set_send_buffer_video(SEND_BUFFER)
            .set_crypto_provider(crypto);
        if sends {
            config = config.enable_bwe(Some(Bitrate::bps(INITIAL_RATE)));
        }
        Self {
            rtc: config.build(now),
            address: (Ipv4Addr::new(192, 0, 2, host), 5_004).into(),
            outgoing: VecDeque::new(),
            due: now,
        }
    }

    /// Lets time pass up to `now`.
    pub(crate) fn advance(&mut self, now: Instant, event: impl FnMut(Event)) {
        let passed = self.rtc.handle_input(Input::Timeout(now));
        passed.expect("a timeout is valid at any time");
        self.drain(event);
    }

    /// Hands over a datagram.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        source: SocketAddr,
        datagram: &[u8],
        event: impl FnMut(Event),
    ) {
        let contents = datagram
            .try_into()
            .expect("a peer sends what a peer parses");
        let receive = Receive {
            proto: Protocol::Udp,
            source,
            destination: self.address,
            contents,
        };
        let received = self.rtc.handle_input(Input::Receive(now, receive));
        received.expect("datagrams of the other peer are valid");
        self.drain(event);
    }

    /// Takes everything out that is ready.
    pub(crate) fn drain(&mut self, mut event: impl FnMut(Event)) {
        loop {
            match self.rtc.poll_output().expect("the connection is alive") {
                Output::Timeout(due) => {
                    self.due = due;
                    return;
                }
                Output::Transmit(transmit) => self.outgoing.push_back(transmit.contents.to_vec()),
                Output::Event(happened) => event(happened),
            }
        }
    }
}

/// A sender that would like to have `desired` bits per second, its receiver, and the time at which both are
/// connected.
pub(crate) fn connect(desired: f64) -> ([RtcPeer; 2], Instant) {
    #[expect(
        clippy::disallowed_methods,
        reason = "str0m takes no other instants; only their differences count"
    )]
    let mut now = Instant::now();
    let [mut sender, mut receiver] =
        [(1, true), (2, false)].map(|(host, sends)| RtcPeer::new(host, sends, now));
    introduce(&mut sender, &mut receiver);
    introduce(&mut receiver, &mut sender);
    for (peer, is_active) in [(&mut sender, true), (&mut receiver, false)] {
        let mut api = peer.rtc.direct_api();
        api.set_ice_controlling(is_active);
        api.start_dtls(is_active).expect("DTLS starts once");
    }
    for _ in 0..MOST_ROUND_TRIPS {
        if sender.rtc.is_connected() && receiver.rtc.is_connected() {
            break;
        }
        now += Duration::from_millis(1);
        sender.advance(now, drop);
        receiver.advance(now, drop);
        deliver(now, &mut sender, &mut receiver);
        deliver(now, &mut receiver, &mut sender);
    }
    assert!(sender.rtc.is_connected() && receiver.rtc.is_connected());
    declare(&mut sender, &mut receiver);
    sender
        .rtc
        .bwe()
        .set_desired_bitrate(Bitrate::bps(desired as u64));
    sender.drain(drop);
    receiver.drain(drop);
    ([sender, receiver], now)
}

/// Gives one peer the candidate, the fingerprint and the credentials of the other one.
fn introduce(peer: &mut RtcPeer, other: &mut RtcPeer) {
    let candidate = |address| Candidate::host(address, "udp").expect("a host address");
    peer.rtc.add_local_candidate(candidate(peer.address));
    peer.rtc.add_remote_candidate(candidate(other.address));
    let api = other.rtc.direct_api();
    let fingerprint = api.local_dtls_fingerprint().clone();
    let credentials = api.local_ice_credentials();
    let mut api = peer.rtc.direct_api();
    api.set_remote_fingerprint(fingerprint);
    api.set_remote_ice_credentials(credentials);
}

fn deliver(now: Instant, from: &mut RtcPeer, to: &mut RtcPeer) {
    for datagram in std::mem::take(&mut from.outgoing) {
        to.receive(now, from.address, &datagram, drop);
    }
}

/// One video stream with retransmissions and transport-wide feedback.
fn declare(sender: &mut RtcPeer, receiver: &mut RtcPeer) {
    let (mid, [ssrc, repair]) = ("vid".into(), SSRC.map(Into::into));
    let mut api = sender.rtc.direct_api();
    api.declare_media(mid, MediaKind::Video);
    api.declare_stream_tx(ssrc, Some(repair), mid, None);
    let mut api = receiver.rtc.direct_api();
    api.declare_media(mid, MediaKind::Video);
    api.expect_stream_rx(ssrc, Some(repair), mid, None);
    api.enable_twcc_feedback();
}
