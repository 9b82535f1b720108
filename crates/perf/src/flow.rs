//! One flow: an RTP session full of nothing.

use std::net::SocketAddr;

use evenkeel_rtp::endpoint::{Datagram, Reason, Transmit};
use evenkeel_rtp::ntp::NtpTime;
use evenkeel_rtp::packet::rtp::media_time;
use evenkeel_rtp::session::{
    Config, Event, Incoming, MediaInfo, MediaPacket, Path, ReceiveConfig, SendConfig, Session,
};
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

use crate::count::Count;
use crate::limit::{Limit, RateLimited};
use crate::terms::{Mode, Terms};

/// The first of the dynamic payload types (RFC 3551 §6): the payload means nothing.
const PAYLOAD_TYPE: u8 = 96;
/// Ticks of the media clock in a second.
const CLOCK_RATE: u32 = 90_000;
static ZERO_PAYLOAD: [u8; Terms::MAX_LENGTH as usize] = [0; Terms::MAX_LENGTH as usize];

/// How a flow is at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowState {
    /// What it has counted.
    pub count: Count,
    /// What its sender knows of the path, or knew when it stopped; `None` at a side that only receives.
    pub path: Option<Path>,
    /// What it sent while its stated rate alone held it back, if it has one.
    pub held: Option<RateLimited>,
}

/// What the flows of one test have in common, beside its terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Party {
    pub(crate) peer: SocketAddr,
    pub(crate) seed: u64,
    pub(crate) wallclock: NtpTime,
}

/// One side of a flow.
#[derive(Debug)]
pub(crate) struct Flow {
    session: Session,
    now: Instant,
    /// When it was found to have no control to send, unless something happened since.
    no_control: Option<Instant>,
    limit: Option<Limit>,
    /// Its rate is the stated one, whatever the path does.
    is_fixed: bool,
    payload: &'static [u8],
    /// When it may send first, and when no more; `None` for a side that only receives.
    sends: Option<(Instant, Instant)>,
    /// What the sender knew when it stopped: X falls while nothing is sent.
    path_at_end: Option<Path>,
    arrivals: Arrivals,
}

impl Flow {
    /// A flow that begins at `now`. If it `sends`, it does so from `start` on.
    pub(crate) fn new(
        now: Instant,
        terms: &Terms,
        ssrc: u32,
        party: Party,
        sends: Option<Instant>,
        receives: bool,
    ) -> Self {
        let mut config = Config::new("perf", party.seed);
        config.ssrc = Some(ssrc);
        config.peer = Some(party.peer);
        config.wallclock = party.wallclock;
        config.ecn = terms.ecn;
        let reports = terms.reports;
        config.bandwidth = reports.session_bandwidth.unwrap_or_else(|| {
            terms
                .rate
                .map_or(config.bandwidth, |rate| rate.max(config.bandwidth))
        });
        config.reduced_size = !reports.piggy_backed;
        if sends.is_some() {
            let mut send = SendConfig::new(PAYLOAD_TYPE);
            send.packet_size = Bytes::new(terms.length.into());
            send.tfrc = terms.sender();
            send.segment_size = Some(Bytes::new(terms.segment_size.into()));
            send.feedback = terms.feedback;
            // A number that is left out to test the receiver would count as a packet lost.
            send.verify = false;
            // Plain UDP for comparison overruns the path, if it is told to.
            send.circuit_breakers = false;
            send.fixed_rate = terms.rate.filter(|_| terms.mode == Mode::Fixed);
            config.send = Some(send);
        }
        if receives {
            let mut receive = ReceiveConfig::new(PAYLOAD_TYPE);
            receive.feedback = terms.feedback;
            receive.tfrc.standard = terms.standard();
            receive.tfrc.report_quarters = reports.quarters.into();
            receive.tfrc.small_packets = terms.mode == Mode::SmallPackets;
            config.receive = Some(receive);
        }
        let session = Session::new(now, config);
        let payload = &ZERO_PAYLOAD[..session.payload_capacity().min(ZERO_PAYLOAD.len())];
        Self {
            session,
            now,
            no_control: None,
            limit: terms.rate.map(|rate| Limit::new(rate, terms)),
            is_fixed: terms.mode == Mode::Fixed,
            payload,
            sends: sends.map(|start| (start, start + terms.duration)),
            path_at_end: None,
            arrivals: Arrivals::default(),
        }
    }

    /// A datagram of this flow's arrived. True if the session took it.
    pub(crate) fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) -> bool {
        self.now = now;
        self.no_control = None;
        match self.session.handle_datagram(now, datagram) {
            Incoming::Media(packet) => {
                self.arrivals.record(&packet);
                true
            }
            Incoming::Control | Incoming::Repair | Incoming::Dummy => true,
            Incoming::Ignored(_) => false,
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.no_control = None;
        self.session.handle_timeout(now);
    }

    /// Control that is due.
    pub(crate) fn poll_control(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        self.now = now;
        // Asked again before each packet of a burst, it would take a sixth of the sender's instructions.
        if self.no_control == Some(now) {
            return None;
        }
        let transmit = self.session.poll_transmit(now, buf);
        self.no_control = transmit.is_none().then_some(now);
        transmit
    }

    /// The next packet, if it may leave.
    pub(crate) fn poll_media(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        self.now = now;
        if self.next_departure()? > now {
            self.note_wait();
            return None;
        }
        let info = MediaInfo {
            timestamp: media_time(now, CLOCK_RATE),
            marker: false,
        };
        let transmit = self
            .session
            .write_media(now, &info, self.payload, buf)
            .ok()?;
        if let Some(limit) = &mut self.limit {
            limit.handle_sent(now, Bytes::from(transmit.len));
        }
        Some(transmit)
    }

    /// Tells the limit whether it is what the next departure waits for. A fixed rate is the stated one: nothing else
    /// holds the flow back.
    fn note_wait(&mut self) {
        let (Some(limit), Some((start, _))) = (&mut self.limit, self.sends) else {
            return;
        };
        let allowed = self.session.next_departure(self.now);
        let wanted = limit.next_departure(self.now).max(start);
        limit.handle_wait(self.is_fixed || allowed.is_some_and(|allowed| wanted >= allowed));
    }

    /// When to be called next, but for departures.
    pub(crate) fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        self.session.poll_timeout()
    }

    /// When the next packet may leave; `None` if none will.
    pub(crate) fn next_departure(&self) -> Option<Instant> {
        let (start, end) = self.sends?;
        if self.now >= end {
            return None;
        }
        let allowed = self.session.next_departure(self.now)?;
        let wanted = self
            .limit
            .as_ref()
            .map_or(start, |limit| limit.next_departure(self.now).max(start));
        Some(allowed.max(wanted)).filter(|departure| *departure < end)
    }

    /// How long departures may be put off for the sake of a common burst. Where TFRC sets the pace, half a round
    /// trip: permission to send that is not used within one is lost (RFC 5348 §4.6); where a stated rate does, as it says.
    pub(crate) fn patience(&self) -> Duration {
        let is_limited = self
            .limit
            .as_ref()
            .zip(self.session.next_departure(self.now))
            .is_some_and(|(limit, allowed)| limit.next_departure(self.now) >= allowed);
        let limit = self.limit.as_ref();
        match self.session.path().and_then(|path| path.rtt) {
            Some(rtt) if !is_limited => rtt / 2,
            _ => limit.map_or(Duration::MAX, |limit| limit.patience(self.now)),
        }
    }

    /// Sends no more.
    pub(crate) fn stop_sending(&mut self) {
        if self.sends.take().is_some() {
            self.path_at_end = self.session.path();
        }
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.session.poll_event()
    }

    pub(crate) fn state(&self) -> FlowState {
        let statistics = self.session.statistics();
        FlowState {
            count: Count {
                packets_sent: statistics.packets_sent,
                bytes_sent: statistics.bytes_sent,
                packets_received: statistics.packets_received,
                bytes_received: statistics.bytes_received,
                packets_lost: statistics.packets_lost,
                out_of_order: self.arrivals.out_of_order,
                packets_marked: statistics.packets_marked,
                jitter: Duration::from_micros(self.arrivals.jitter as u64),
                received_over: self.arrivals.time(),
            },
            path: self.path_at_end.or_else(|| self.session.path()),
            held: self.limit.as_ref().map(Limit::held),
        }
    }
}

/// What arrival times and sequence numbers tell.
#[derive(Debug, Default)]
struct Arrivals {
    highest: u64,
    out_of_order: u64,
    /// The first arrival and the last.
    span: Option<(Instant, Instant)>,
    /// Arrival less departure of the last packet, modulo 2^32 microseconds.
    transit: Option<u32>,
    /// Microseconds.
    jitter: f64,
}

impl Arrivals {
    /// What the arrivals span, in whole microseconds.
    fn time(&self) -> Duration {
        let span = self.span.map(|(first, last)| last.saturating_since(first));
        Duration::from_micros(span.unwrap_or_default().as_micros() as u64)
    }

    fn record(&mut self, packet: &MediaPacket<'_>) {
        self.out_of_order += u64::from(packet.sequence < self.highest);
        self.highest = self.highest.max(packet.sequence);
        let (first, last) = self.span.unwrap_or((packet.arrival, packet.arrival));
        self.span = Some((first, last.max(packet.arrival)));
        let Some(send_time) = packet.send_time else {
            return;
        };
        let transit = (packet.arrival.as_micros() as u32).wrapping_sub(send_time);
        if let Some(last) = self.transit.replace(transit) {
            let difference = transit.wrapping_sub(last).cast_signed().unsigned_abs();
            // RFC 3550 §6.4.1.
            self.jitter += (f64::from(difference) - self.jitter) / 16.0;
        }
    }
}
