//! One end of a call with its threads: socket and endpoint, capture, display.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use evenkeel_codec::StreamDecoder;
use evenkeel_codec::sink::Sink;
use evenkeel_codec::source::Program;
use evenkeel_media::call::{Call, CallEvent};
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::report::ShownFrame;
use evenkeel_net::Clock;
use evenkeel_net::Socket;
use evenkeel_net::{Driver, Handle};
use evenkeel_rtp::session;
use tfrc::time::Duration;

use super::call_endpoint::{CallEndpoint, DatagramFilter};
use super::capture::{Capture, CaptureError, Coded};
use super::connection::Connection;
use super::display::Display;
use super::network_watch::NetworkWatch;
use super::peer_watch::PeerWatch;
use super::reference::References;
use super::stall::{Given, Stalls};
use crate::failure::Failure;
use crate::inputs::Feed;
use crate::meeting::Encrypted;
use crate::page::Page;
use crate::stop::Stop;
use crate::wiring::Stream;

/// The most figures of frames that wait for the monitor: seconds of them.
const FIGURE_CAPACITY: usize = 1_024;

/// The time that the end of a run waits for a source's next picture: a pipe or a stream may have stalled.
const SOURCE_TIMEOUT: Duration = Duration::from_secs(1);

/// The configuration of an end.
pub(crate) struct CallProcessConfig {
    /// The name of the end in traces.
    pub(crate) name: &'static str,
    pub(crate) socket: Socket,
    /// What encrypts the connection, unless it is in the clear.
    pub(crate) encrypted: Option<Encrypted>,
    pub(crate) filter: DatagramFilter,
    pub(crate) session: session::Config,
    pub(crate) policy: PolicyConfig,
    /// The media of both directions.
    pub(crate) stream: Stream,
    /// The pictures to send, if this end sends.
    pub(crate) source: Option<Feed>,
    /// The sink of pictures, if this end receives.
    pub(crate) sink: Option<Box<dyn Sink + Send>>,
}

/// The parts of the program that an end shares.
pub(super) struct Surroundings {
    pub(super) clock: Clock,
    pub(super) stop: Stop,
    /// The pictures that this end captures, for its peer in the same program.
    pub(super) captured: References,
    /// The pictures that its peer captures, if the peer is in the same program.
    pub(super) originals: References,
    /// The page that shows the pictures of this end's source.
    pub(super) sent_page: Option<Arc<Page>>,
    /// The page that shows the pictures that this end receives.
    pub(super) received_page: Option<Arc<Page>>,
}

/// A running end of a call.
pub(crate) struct CallProcess {
    pub(crate) connection: Arc<Handle<Connection>>,
    pub(crate) events: Receiver<CallEvent>,
    pub(crate) coded: Receiver<Coded>,
    pub(crate) shown: Receiver<ShownFrame>,
    pub(crate) stalls: Stalls,
    /// The watch of a connection that is encrypted.
    pub(super) peer: Option<PeerWatch>,
    /// The watch of this end's network, if the connection can follow a change of it.
    pub(super) network: Option<NetworkWatch>,
    clock: Clock,
    stop: Stop,
    capture: Option<JoinHandle<Result<(), CaptureError>>>,
    /// The program that gives the source its pictures, if there is one.
    program: Option<Program>,
    display: Option<JoinHandle<std::io::Result<()>>>,
}

impl CallProcess {
    /// Starts every thread of an end.
    pub(super) fn start(
        config: CallProcessConfig,
        surroundings: Surroundings,
    ) -> Result<Self, Failure> {
        let clock = surroundings.clock;
        let (session, policy, payloads) = (config.session, config.policy, config.stream.payloads);
        let make_call = move |now| Call::new(now, session.clone(), policy, payloads.clone());
        let (endpoint, outlets) = CallEndpoint::new(make_call(clock.now()), config.filter);
        let (connection, peer, network) = match config.encrypted {
            None => (Connection::plain(endpoint), None, None),
            Some(mut encrypted) => {
                let awaits_next = encrypted.invitation.is_some();
                let (now, local) = (clock.now(), config.socket.local_address());
                let network = NetworkWatch::new(now, local, &encrypted.config.candidates);
                let peer = PeerWatch::new(now, &mut encrypted);
                let connection = Connection::secure(
                    (now, clock.system_zero()),
                    encrypted.config,
                    awaits_next,
                    endpoint,
                    Box::new(make_call),
                );
                (connection, Some(peer), network)
            }
        };
        let connection =
            Arc::new(Driver::spawn(clock, config.socket, connection).map_err(Failure::runtime)?);
        let (coded_in, coded) = sync_channel(FIGURE_CAPACITY);
        let (shown_in, shown) = sync_channel(FIGURE_CAPACITY);
        let display = match config.sink {
            None => None,
            Some(sink) => Some(
                Display {
                    clock,
                    decoder: StreamDecoder::new(config.stream.codec),
                    frames: outlets.frames,
                    outcomes: outlets.outcomes,
                    originals: surroundings.originals,
                    shown: shown_in,
                    sink,
                    page: surroundings.received_page,
                }
                .start()
                .map_err(Failure::runtime)?,
            ),
        };
        let program = config
            .source
            .as_ref()
            .and_then(|feed| feed.source.program());
        let given = Given::default();
        let name = config.source.as_ref().map(|feed| feed.name.clone());
        let stalls = Stalls::new(clock.now(), name.map(|name| (name, given.clone())));
        let capture = match config.source {
            None => None,
            Some(feed) => Some(
                Capture {
                    clock,
                    stop: surroundings.stop.clone(),
                    feed,
                    given,
                    connection: Arc::downgrade(&connection),
                    captured: surroundings.captured,
                    coded: coded_in,
                    page: surroundings.sent_page,
                }
                .start()
                .map_err(Failure::runtime)?,
            ),
        };
        Ok(Self {
            connection,
            events: outlets.events,
            coded,
            shown,
            stalls,
            peer,
            network,
            clock,
            stop: surroundings.stop,
            capture,
            program,
            display,
        })
    }

    /// Returns true once the source has delivered its last picture, or either thread has failed.
    pub(crate) fn has_ended(&self) -> bool {
        self.capture.as_ref().is_some_and(JoinHandle::is_finished)
            || self.display.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Says goodbye to the peer and ends every thread. The first failure is the error.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.stop.ask();
        let captured = self.join_capture();
        // An endpoint whose thread has died sends no BYE; the call to stop it reports that it died.
        let _ = self.connection.call(Connection::close);
        // The capturing thread holds no handle of its own, so this is the last one: the endpoint's thread ends, and
        // with it the channel that the display waits on.
        let stopped =
            Arc::into_inner(self.connection).map_or(Ok(()), |handle| handle.stop().map(drop));
        let displayed = self.display.take().map_or(Ok(Ok(())), JoinHandle::join);
        captured
            .map_err(|_| Failure::runtime("the capturing thread panicked"))?
            .map_err(Failure::runtime)?;
        stopped.map_err(Failure::runtime)?;
        displayed
            .map_err(|_| Failure::runtime("the displaying thread panicked"))?
            .map_err(Failure::runtime)
    }

    /// Waits for the capturing thread, unless its source blocks: that thread ends with the process, and the program that
    /// the source waits for ends here.
    fn join_capture(&mut self) -> std::thread::Result<Result<(), CaptureError>> {
        let Some(capture) = self.capture.take() else {
            return Ok(Ok(()));
        };
        let deadline = self.clock.now() + SOURCE_TIMEOUT;
        while !capture.is_finished() {
            let now = self.clock.now();
            if now >= deadline {
                if let Some(program) = &self.program {
                    program.kill();
                }
                return Ok(Ok(()));
            }
            self.clock.sleep_until(now + SOURCE_TIMEOUT / 100);
        }
        capture.join()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{Choice, Choices};
    use crate::wiring::{self, Role};
    use evenkeel_codec::Codec;
    use evenkeel_codec::picture::Picture;
    use evenkeel_codec::source::{Format, FrameRate, Source, SourceError};
    use evenkeel_media::filler::Filler;
    use evenkeel_media::policy::Rules;
    use tfrc::units::Rate;

    /// A source of five grey pictures of 32x32 and then ever larger ones; H.264 can send every second size.
    struct Grows(usize);

    impl Source for Grows {
        fn format(&self) -> Format {
            Format {
                width: 32,
                height: 32,
                frame_rate: FrameRate::new(50, 1).expect("fifty a second"),
            }
        }

        fn next(&mut self) -> Result<Option<Picture>, SourceError> {
            self.0 += 1;
            let side = 32 + self.0.saturating_sub(5);
            Ok(Some(Picture::new(side, 32)))
        }
    }

    /// Returns the result of a call that sends this source.
    fn end_of(source: impl Source + Send + 'static, stop: Stop) -> Result<(), Failure> {
        let clock = Clock::start();
        let peer = Socket::bind(([127, 0, 0, 1], 0).into()).expect("a port");
        let peer_address = peer.local_address();
        let codec = Codec::H264;
        let format = source.format();
        let mut session = wiring::session("end", Role::Sends, codec, Some(peer_address), 1, &clock);
        if let Some(send) = &mut session.send {
            // No peer answers.
            send.fixed_rate = Some(Rate::from_bits_per_sec(1e6));
        }
        let choice = Choice {
            codec,
            rules: Rules::Evenkeel,
            filler: Filler::None,
        };
        let feed = Feed {
            name: "clip.y4m".into(),
            source: Box::new(source),
            choices: Arc::new(Choices::fixed(choice)),
        };
        let config = CallProcessConfig {
            name: "end",
            socket: Socket::bind(([127, 0, 0, 1], 0).into()).expect("a port"),
            encrypted: None,
            filter: DatagramFilter::default(),
            session,
            policy: PolicyConfig::new(format.frame_rate.interval()),
            stream: wiring::stream(codec, &[], &format).expect("a size that H.264 has"),
            source: Some(feed),
            sink: None,
        };
        let surroundings = Surroundings {
            clock,
            stop,
            captured: References::default(),
            originals: References::default(),
            sent_page: None,
            received_page: None,
        };
        let process = CallProcess::start(config, surroundings).expect("an end");
        let give_up = clock.now() + Duration::from_secs(20);
        while !process.has_ended() && clock.now() < give_up {
            clock.sleep_until(clock.now() + SOURCE_TIMEOUT / 100);
        }
        assert!(process.has_ended(), "no picture is sent, and nothing said");
        process.finish()
    }

    #[test]
    fn uncodable_pictures_end_the_call_with_one_line() {
        let failure = end_of(Grows(0), Stop::default()).expect_err("what was wrong");
        assert_eq!(failure.status(), 1);
        let said = failure.to_string();
        assert!(
            said.starts_with("cannot code") && said.contains("33x32"),
            "{said}"
        );
    }

    /// A pipe whose writer ends before it wrote a picture, by Ctrl-C if there is a `Stop`.
    struct Pipe(Option<Stop>);

    impl Source for Pipe {
        fn format(&self) -> Format {
            Grows(0).format()
        }

        fn next(&mut self) -> Result<Option<Picture>, SourceError> {
            self.0.iter().for_each(Stop::ask);
            Ok(None)
        }
    }

    #[test]
    fn empty_source_is_an_error_unless_interrupted() {
        let failure = end_of(Pipe(None), Stop::default()).expect_err("what was wrong");
        assert_eq!(failure.status(), 1);
        assert!(failure.to_string().contains("--source clip.y4m"));
        let stop = Stop::default();
        let ended = end_of(Pipe(Some(stop.clone())), stop);
        assert!(ended.is_ok(), "{ended:?}");
    }
}
