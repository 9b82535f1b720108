//! A call on its own thread, which passes its frames and events to other threads.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use evenkeel_media::call::{Call, CallEvent};
use evenkeel_media::event::NotShown;
use evenkeel_media::frame::ReceivedFrame;
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use tfrc::time::Instant;

use super::display::DisplayOutcome;
use crate::address::HeardSources;

/// The most frames that wait for the display. A further one is dropped, because a late display would delay the next
/// frames too.
const FRAME_CAPACITY: usize = 4;
/// The most events that wait for the monitor: some seconds of them.
const EVENT_CAPACITY: usize = 8_192;

/// The datagrams that an end hears, and whether it answers.
#[derive(Default)]
pub(crate) struct DatagramFilter {
    /// The only sources that are heard, if `--from` names them.
    pub(crate) only: Option<HeardSources>,
    /// Nothing is sent. A group may have any number of members, and no bound on the sum of their reports holds that a
    /// member could keep without hearing the others' (RFC 3550 §6.2).
    pub(crate) in_group: bool,
}

/// The endpoint that the driver drives: a [`Call`], and the channels out of it.
pub(crate) struct CallEndpoint {
    /// The call itself.
    pub(crate) call: Call,
    filter: DatagramFilter,
    /// The datagrams from sources that are not heard.
    pub(crate) unheard: u64,
    /// The time of the last datagram that was heard.
    pub(crate) heard_at: Option<Instant>,
    frames: SyncSender<ReceivedFrame>,
    outcomes: Receiver<DisplayOutcome>,
    events: SyncSender<CallEvent>,
}

/// The outputs of an endpoint.
pub(crate) struct Outlets {
    /// The frames, each at its playout time.
    pub(crate) frames: Receiver<ReceivedFrame>,
    /// What became of the frames, sent back to the endpoint.
    pub(crate) outcomes: SyncSender<DisplayOutcome>,
    /// The events of the session and the media.
    pub(crate) events: Receiver<CallEvent>,
}

impl CallEndpoint {
    /// Creates an endpoint around a call.
    pub(crate) fn new(call: Call, filter: DatagramFilter) -> (Self, Outlets) {
        let (frames, due) = sync_channel(FRAME_CAPACITY);
        let (events, happened) = sync_channel(EVENT_CAPACITY);
        // The channel holds the frames that wait, and the one at the decoder.
        let (displayed, outcomes) = sync_channel(FRAME_CAPACITY + 1);
        (
            Self {
                call,
                filter,
                unheard: 0,
                heard_at: None,
                frames,
                outcomes,
                events,
            },
            Outlets {
                frames: due,
                outcomes: displayed,
                events: happened,
            },
        )
    }

    fn hand_out(&mut self, now: Instant) {
        for outcome in self.outcomes.try_iter() {
            match outcome {
                DisplayOutcome::Shown { took } => self.call.frame_displayed(took),
                DisplayOutcome::Undecodable(timestamp) => {
                    self.call
                        .reference_lost(now, timestamp, NotShown::Undecodable);
                }
            }
        }
        while let Some(frame) = self.call.poll_frame(now) {
            if let Err(TrySendError::Full(frame)) = self.frames.try_send(frame) {
                self.call
                    .reference_lost(now, frame.timestamp, NotShown::Behind);
            }
        }
        while let Some(event) = self.call.poll_event() {
            let _ = self.events.try_send(event);
        }
    }
}

impl Endpoint for CallEndpoint {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        let mut only = self.filter.only.iter();
        if only.all(|sources| sources.contain(datagram.source)) {
            self.heard_at = Some(now);
            self.call.handle_datagram(now, datagram);
        } else {
            self.unheard += 1;
        }
        self.hand_out(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.call.handle_timeout(now);
        self.hand_out(now);
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        let mut transmit = self.call.poll_transmit(now, buf);
        while self.filter.in_group && transmit.is_some() {
            transmit = self.call.poll_transmit(now, buf);
        }
        if transmit.is_none() {
            self.hand_out(now);
        }
        transmit
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        self.call.poll_timeout()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::net::SocketAddr;
    use std::time::Duration;

    use evenkeel_codec::source::{Format, FrameRate, Scene, Source as _};
    use evenkeel_codec::{Codec, VideoEncoder};
    use evenkeel_media::event::EventKind;
    use evenkeel_media::frame::EncodedFrame;
    use evenkeel_media::policy::PolicyConfig;
    use evenkeel_media::reassemble::Payload;
    use evenkeel_rtp::packet::rtp::media_time;
    use evenkeel_rtp::session::{Config, Ignored, ReceiveConfig, SendConfig};
    use tfrc::Ecn;

    const INTERVAL: Duration = Duration::from_millis(100);

    fn address(end: u8) -> SocketAddr {
        ([10, 0, 0, end], 5_004).into()
    }

    fn call(end: u8) -> Call {
        let mut config = Config::new("end", u64::from(end));
        config.peer = Some(address(3 - end));
        match end {
            1 => config.send = Some(SendConfig::new(97)),
            _ => config.receive = Some(ReceiveConfig::new(97)),
        }
        let policy = PolicyConfig::new(INTERVAL);
        Call::new(Instant::ZERO, config, policy, Payload::H264)
    }

    /// A source of small pictures, ten a second, with its encoder.
    struct Camera {
        scene: Scene,
        encoder: Box<dyn VideoEncoder>,
    }

    impl Camera {
        fn new() -> Self {
            let format = Format {
                width: 64,
                height: 48,
                frame_rate: FrameRate::new(10, 1).expect("ten a second"),
            };
            Self {
                scene: Scene::new(format, 1).expect("possible size"),
                encoder: Codec::H264.encoder(INTERVAL),
            }
        }

        /// Hands the next picture to a call that sends, if the call has a size for it.
        fn capture(&mut self, now: Instant, sender: &mut Call) {
            let picture = self.scene.next().expect("endless").expect("endless");
            if let Some(target) = sender.frame_target(now) {
                let coded = self.encoder.encode(&picture, &target);
                let frame = EncodedFrame {
                    captured: now,
                    timestamp: media_time(now, 90_000),
                    picture: coded.expect("possible size").expect("room for it").picture,
                };
                sender.push_frame(now, frame).expect("well formed");
            }
        }
    }

    #[test]
    fn only_named_sources_are_heard() {
        let only = Some(HeardSources(vec![([10, 0, 0, 1], 0).into()]));
        let filter = DatagramFilter {
            only,
            in_group: false,
        };
        let (mut endpoint, _outlets) = CallEndpoint::new(call(2), filter);
        for (host, heard, unheard) in [(1, 1, 0), (3, 1, 1), (1, 2, 1)] {
            let datagram = Datagram {
                source: address(host),
                arrival: Instant::ZERO,
                ecn: Ecn::NotEct,
                payload: &[0x80],
            };
            endpoint.handle_datagram(Instant::ZERO, datagram);
            let statistics = endpoint.call.session().statistics();
            let counted = (statistics.ignored(Ignored::TooShort), endpoint.unheard);
            assert_eq!(counted, (heard, unheard), "from {host}");
        }
    }

    #[test]
    fn member_of_a_group_reports_nothing() {
        for in_group in [false, true] {
            let filter = DatagramFilter {
                only: None,
                in_group,
            };
            let (mut endpoint, _outlets) = CallEndpoint::new(call(2), filter);
            let (mut sender, mut camera) = (call(1), Camera::new());
            let (mut there, mut buf, mut sent) = (Way::default(), [0; 2_048], 0);
            for step in 0..2_000 {
                let now = Instant::from_millis(step);
                if step % 100 == 0 {
                    camera.capture(now, &mut sender);
                }
                there.carry(now, &mut sender, address(1), &mut endpoint);
                while endpoint.poll_transmit(now, &mut buf).is_some() {
                    sent += 1;
                }
            }
            let statistics = endpoint.call.session().statistics();
            assert!(statistics.packets_received > 0);
            assert_eq!(sent == 0, in_group, "{sent} datagrams");
        }
    }

    /// The datagrams in flight to an end.
    #[derive(Default)]
    struct Way(VecDeque<(Instant, Vec<u8>)>);

    impl Way {
        /// Takes the datagrams that leave `from` now, and delivers to `to` those that left ten milliseconds ago.
        fn carry(
            &mut self,
            now: Instant,
            from: &mut impl Endpoint,
            source: SocketAddr,
            to: &mut impl Endpoint,
        ) {
            let mut buf = [0; 2_048];
            while let Some(transmit) = from.poll_transmit(now, &mut buf) {
                let due = now + Duration::from_millis(10);
                self.0.push_back((due, buf[..transmit.len].to_vec()));
            }
            while self.0.front().is_some_and(|(due, _)| *due <= now) {
                let (_, payload) = self.0.pop_front().expect("the first");
                let datagram = Datagram {
                    source,
                    arrival: now,
                    ecn: tfrc::Ecn::NotEct,
                    payload: &payload,
                };
                to.handle_datagram(now, datagram);
            }
        }
    }

    #[test]
    fn dropped_and_undecodable_frames_are_followed_by_keyframes() {
        let mut camera = Camera::new();
        let mut decoder = Codec::H264.decoder();
        let mut sender = call(1);
        let (mut endpoint, outlets) = CallEndpoint::new(call(2), DatagramFilter::default());
        let (mut there, mut back) = (Way::default(), Way::default());
        let (mut shown, mut reasons) = (Vec::new(), Vec::new());
        for step in 0..9_000_u64 {
            let now = Instant::from_millis(step);
            if step % 100 == 0 {
                camera.capture(now, &mut sender);
            }
            sender.handle_timeout(now);
            endpoint.handle_timeout(now);
            there.carry(now, &mut sender, address(1), &mut endpoint);
            back.carry(now, &mut endpoint, address(2), &mut sender);
            // The display stops for the fourth second, and its decoder refuses one picture of the seventh.
            let stands = (3_000..4_000).contains(&step);
            for frame in outlets
                .frames
                .try_iter()
                .take(if stands { 0 } else { FRAME_CAPACITY })
            {
                if step / 1_000 == 6 && !reasons.contains(&NotShown::Undecodable) {
                    decoder = Codec::H264.decoder();
                }
                match decoder.decode(&frame.picture) {
                    Ok(_) => shown.push(step),
                    // The channel is full if the endpoint does not read it.
                    Err(_) => {
                        let refused = DisplayOutcome::Undecodable(frame.timestamp);
                        let _ = outlets.outcomes.try_send(refused);
                    }
                }
            }
            reasons.extend(outlets.events.try_iter().filter_map(|event| match event {
                CallEvent::Media(event) => match event.kind {
                    EventKind::Dropped { reason, .. } => Some(reason),
                    _ => None,
                },
                CallEvent::Session(_) => None,
            }));
        }
        let count = |reason| reasons.iter().filter(|told| **told == reason).count();
        assert!(count(NotShown::Behind) > 0, "{reasons:?}");
        assert_eq!(count(NotShown::Undecodable), 1, "{reasons:?}");
        for second in [2, 5, 8] {
            let of_it = shown.iter().filter(|step| **step / 1_000 == second).count();
            assert!(of_it >= 9, "second {second}: {shown:?}");
        }
    }
}
