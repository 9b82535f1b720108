//! Configures sockets, sessions and the sending policy by the command line.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};

use evenkeel_codec::Codec;
use evenkeel_codec::source::Format;
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::{PolicyConfig, Rules};
use evenkeel_media::reassemble::{Payload, Payloads};
use evenkeel_media::rtp_codec::RtpCodec as _;
use evenkeel_net::{BindError, Clock, Socket};
use evenkeel_rtp::packet::sdp::jsep::NegotiatedVideo;
use evenkeel_rtp::session::{self, FeedbackMode, ReceiveConfig, RepairConfig, SendConfig};
use tfrc::units::Rate;

use crate::address::{self, HeardSources};
use crate::cli::{PictureArgs, RunArgs};
use crate::failure::Failure;
use crate::units;

/// RTP's registered port (RFC 3551 §8), which is the default port of a peer.
pub(crate) const DEFAULT_PORT: u16 = 5_004;

/// The default address of an end of a call in the clear.
pub(crate) const DEFAULT_BIND: SocketAddr =
    SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), DEFAULT_PORT);

/// The direction of media at this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Sends,
    Receives,
    Both,
}

/// The media of a call in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    /// The codec with which the call begins.
    pub(crate) codec: Codec,
    pub(crate) payloads: Payloads,
}

/// Binds the given port, or any free one, from which to send to `peer`.
pub(crate) fn bind_towards(
    address: Option<SocketAddr>,
    peer: SocketAddr,
) -> Result<Socket, Failure> {
    let address = address.unwrap_or_else(|| any_port_towards(peer));
    let socket = bind(address, "--bind")?;
    socket.find_route(peer).map_err(|error| {
        let local = socket.local_address();
        Failure::usage(format!(
            "no way from {local} to {peer}: {error}; name an address of this machine and of the peer's family in --bind, \
             or leave it out, and check the peer's address and the network"
        ))
    })?;
    Ok(socket)
}

/// Binds a port; `option` names it on the command line.
pub(crate) fn bind(address: SocketAddr, option: &str) -> Result<Socket, Failure> {
    Socket::bind(address).map_err(|error| refused(&error, option))
}

/// Binds a port as [`bind`] does; a group is joined for the sources that are heard alone, if any are named.
pub(crate) fn bind_from(
    address: SocketAddr,
    sources: Option<&HeardSources>,
    option: &str,
) -> Result<Socket, Failure> {
    let sources = sources.filter(|_| address.ip().is_multicast());
    let sources = sources.into_iter().flat_map(|sources| &sources.0);
    let sources: Vec<_> = sources.map(SocketAddr::ip).collect();
    Socket::bind_from(address, &sources).map_err(|error| refused(&error, option))
}

/// Returns the failure for a port that the system refuses, with its remedy.
pub(crate) fn refused(error: &BindError, option: &str) -> Failure {
    let remedy = match error {
        BindError::PortInUse(_) => "end the program that has it, or name another port",
        BindError::NoSuchAddress(address) if address.is_ipv6() => {
            "name one of this machine, or [::] for all"
        }
        BindError::NoSuchAddress(_) => "name one of this machine, or 0.0.0.0 for all",
        BindError::NotJoined(_, error) if error.kind() == io::ErrorKind::Unsupported => {
            "name a group of IPv4 and a source of IPv4, as in 232.1.2.3:5004 --from 192.0.2.7"
        }
        BindError::NotJoined(..) => {
            "add a route to it, or name its interface, as in [ff15::1%eth0]:5004"
        }
        BindError::NotPermitted(_) => "name a port from 1024 on",
        BindError::Other(..) => "name another",
    };
    Failure::usage(format!("{option} {error}; {remedy}"))
}

/// Returns the seed of an end on a network. An attacker that can guess the identifiers drawn from it can forge the
/// peer's packets (RFC 3550 §8.1, RFC 7022), and a receiver would take a second run for the first.
pub(crate) fn network_seed(seed: Option<u64>) -> u64 {
    seed.unwrap_or_else(|| RandomState::new().hash_one(()))
}

/// The feedback of a call without `--feedback`: arrivals, from which the path model is computed.
pub(crate) const CALL_FEEDBACK: FeedbackMode = FeedbackMode::Ccfb;

/// Returns the session of one end: video under TFRC.
pub(crate) fn session(
    name: &str,
    role: Role,
    codec: Codec,
    peer: Option<SocketAddr>,
    seed: u64,
    clock: &Clock,
) -> session::Config {
    // Each end has its own random numbers, so that none depends on its peer's draws.
    let own = name.bytes().fold(seed, |seed, byte| {
        seed.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    let mut config = session::Config::new(format!("{name}@evenkeel"), own);
    config.peer = peer;
    config.wallclock = clock.ntp_of_zero();
    if role != Role::Receives {
        config.send = Some(SendConfig {
            feedback: CALL_FEEDBACK,
            // Only Evenkeel answers a call.
            leave_out_sequence_numbers: role == Role::Both,
            ..SendConfig::new(codec.payload_type())
        });
    }
    if role != Role::Sends {
        config.receive = Some(ReceiveConfig {
            repair: Some(RepairConfig::PAYLOAD_TYPE),
            feedback: CALL_FEEDBACK,
            ..ReceiveConfig::new(codec.payload_type())
        });
    }
    config
}

/// Follows what both ends negotiated: formats of reports, extensions and payload types.
pub(crate) fn follow_negotiated(session: &mut session::Config, video: &NegotiatedVideo) {
    session.reduced_size = video.reduced_size;
    // Peers of other makers do not know this extension.
    session.extension_id = None;
    if let Some(id) = video.transport_sequence_id {
        session.transport_sequence_id = id;
    }
    if let Some(send) = &mut session.send {
        send.payload_type = video.payload_type;
        send.feedback = video.feedback.unwrap_or(CALL_FEEDBACK);
        // A foreign receiver takes a number that is left out for a loss.
        send.leave_out_sequence_numbers = false;
    }
    if let Some(receive) = &mut session.receive {
        receive.payload_type = video.payload_type;
        receive.feedback = video.feedback.unwrap_or(CALL_FEEDBACK);
        receive.reports = video.feedback.is_some();
        receive.repair = None;
    }
}

/// Sets the feedback that receivers send, if one is given.
pub(crate) fn set_feedback(session: &mut session::Config, feedback: Option<FeedbackMode>) {
    let Some(feedback) = feedback else {
        return;
    };
    if let Some(send) = &mut session.send {
        send.feedback = feedback;
        send.leave_out_sequence_numbers |= feedback == FeedbackMode::Sack;
    }
    if let Some(receive) = &mut session.receive {
        receive.feedback = feedback;
    }
}

/// Sets the options of the run and of the pictures that concern feedback, and repair packets for any of these
/// fillers. Refuses options that contradict each other.
pub(crate) fn set_options(
    session: &mut session::Config,
    run: &RunArgs,
    picture: &PictureArgs,
    fillers: &[Filler],
) -> Result<(), Failure> {
    set_feedback(session, run.feedback);
    for &filler in fillers {
        set_filler(session, filler)?;
    }
    require_arrivals(session, picture)
}

/// Refuses `--random-loss` if reports have no arrivals.
fn require_arrivals(session: &session::Config, picture: &PictureArgs) -> Result<(), Failure> {
    let Some(send) = session.send.as_ref().filter(|_| picture.random_loss) else {
        return Ok(());
    };
    let wrong = if send.fixed_rate.is_some() {
        "a rate that --fixed-rate sets follows no loss; leave one of them out".to_owned()
    } else if picture.policy != Rules::Evenkeel {
        format!(
            "frames of --policy {} follow every loss; choose --policy evenkeel",
            picture.policy.name()
        )
    } else if !matches!(send.feedback, FeedbackMode::Ccfb | FeedbackMode::Twcc) {
        format!(
            "--feedback {} reports no arrivals; choose --feedback ccfb or twcc",
            send.feedback.name()
        )
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("--random-loss: {wrong}")))
}

/// Gives the session repair packets to send, if `--filler` asks for any.
fn set_filler(session: &mut session::Config, filler: Filler) -> Result<(), Failure> {
    let Some(send) = &mut session.send else {
        return Ok(());
    };
    if filler == Filler::None {
        return Ok(());
    }
    // Transport-wide numbers count media and repair packets together.
    if send.feedback == FeedbackMode::Ccfb {
        send.feedback = FeedbackMode::Twcc;
    }
    if !send.feedback.counts_two_sources() {
        return Err(Failure::usage(format!(
            "--filler {}: --feedback {} reports on media alone; choose --feedback tfrc or twcc",
            filler.name(),
            send.feedback.name()
        )));
    }
    send.repair = Some(RepairConfig {
        payload_type: RepairConfig::PAYLOAD_TYPE,
        ssrc: None,
    });
    Ok(())
}

/// Chooses the sources of media and repair packets before the session would, for a description to name.
pub(crate) fn name_sources(session: &mut session::Config) {
    let drawn = RandomState::new().hash_one(session.seed);
    if let Some(repair) = session.send.as_mut().and_then(|send| send.repair.as_mut()) {
        session.ssrc = Some(drawn as u32);
        repair.ssrc = Some((drawn >> 32) as u32);
    }
}

/// Returns the stream of pictures of this format by `codec`, which may change to the `others` during the run. Each
/// codec must be able to carry the format.
pub(crate) fn stream(codec: Codec, others: &[Codec], format: &Format) -> Result<Stream, Failure> {
    let payload = |codec: Codec| {
        let payload = codec.payload((format.width, format.height));
        payload.ok_or_else(|| Failure::usage(codec.possible_sizes()))
    };
    let others = others
        .iter()
        .map(|&other| Ok((other.payload_type(), payload(other)?)));
    let others = others.collect::<Result<_, Failure>>()?;
    let payloads = Payloads::new(payload(codec)?, others);
    Ok(Stream { codec, payloads })
}

/// Returns the codecs besides this one that can carry pictures of this format. There are none beside DV, which is
/// decoded only to a mosaic, and DV is never among them.
pub(crate) fn other_codecs(codec: Codec, format: &Format) -> Vec<Codec> {
    let size = (format.width, format.height);
    let others = Codec::ALL.into_iter().filter(|&other| other != codec);
    others
        .filter(|other| codec.codes_pictures() && other.codes_pictures())
        .filter(|other| other.nearest_size(size) == size)
        .collect()
}

/// Lets the session receive these codecs too.
pub(crate) fn accept(session: &mut session::Config, others: &[Codec]) {
    if let Some(receive) = &mut session.receive {
        receive.alternatives = others.iter().map(|codec| codec.payload_type()).collect();
    }
}

/// Lets an end receive each codec whose packets say all that a decoder needs, whatever it sends itself.
pub(crate) fn accept_any(stream: &mut Stream, session: &mut session::Config) {
    let Some(receive) = &mut session.receive else {
        return;
    };
    for (codec, payload) in [(Codec::Mjpeg, Payload::Jpeg), (Codec::H264, Payload::H264)] {
        let payload_type = codec.payload_type();
        stream.payloads.add(payload_type, payload);
        if payload_type != receive.payload_type {
            receive.alternatives.push(payload_type);
        }
    }
}

/// Returns the sending buffer's policy for a source.
pub(crate) fn policy(picture: &PictureArgs, format: &Format) -> PolicyConfig {
    PolicyConfig {
        deadline: picture.deadline,
        rules: picture.policy,
        filler: picture.filler,
        random_loss: picture.random_loss,
        max_rate: picture.max_rate.unwrap_or(Rate::INFINITY),
        ..PolicyConfig::new(format.frame_rate.interval())
    }
}

/// Resolves `ADDR` or `ADDR:PORT` of one host.
pub(crate) fn peer(text: &str) -> Result<SocketAddr, Failure> {
    peer_at(text, DEFAULT_PORT)
}

/// Resolves `ADDR` or `ADDR:PORT` of one host, with this port unless one is given.
pub(crate) fn peer_at(text: &str, port: u16) -> Result<SocketAddr, Failure> {
    let peer = destination(text, port)?;
    if peer.ip().is_multicast() {
        return Err(Failure::usage(format!(
            "'{text}' is no peer but a group of hosts, to which only evenkeel send sends; name one host"
        )));
    }
    Ok(peer)
}

/// Resolves `ADDR` or `ADDR:PORT` of a host or a group, with RTP's port unless one is given.
pub(crate) fn peer_or_group(text: &str) -> Result<SocketAddr, Failure> {
    destination(text, DEFAULT_PORT)
}

/// Resolves `--from`: the addresses of a host, at one port or at any.
pub(crate) fn heard(text: &str) -> Result<HeardSources, Failure> {
    resolve(text, 0).map(HeardSources)
}

fn destination(text: &str, port: u16) -> Result<SocketAddr, Failure> {
    let peer = resolve(text, port)?[0];
    if peer.port() == 0 {
        return Err(Failure::usage(format!(
            "'{text}' is no peer at port 0, where nobody answers; give the port where it listens"
        )));
    }
    Ok(peer)
}

/// Returns the addresses of `ADDR` or `ADDR:PORT`, of which there is at least one.
fn resolve(text: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    let wrong = |why: String| {
        Failure::usage(format!(
            "'{text}' is no peer: {why}; write an address or a name, and its port if need be"
        ))
    };
    if let Some(port) = units::no_port(text) {
        return Err(Failure::usage(format!(
            "'{text}' is no peer: port `{port}` is no number from 1 to 65535"
        )));
    }
    let (host, given) = address::split(text);
    let port = given.unwrap_or(port);
    if let Some(address) = address::literal(host, port).map_err(wrong)? {
        return Ok(vec![address]);
    }
    let found = (host, port).to_socket_addrs();
    let found: Vec<_> = found.map_err(|error| wrong(error.to_string()))?.collect();
    if found.is_empty() {
        return Err(wrong("the name has no address".into()));
    }
    Ok(found)
}

/// Returns true if a text names a group of hosts, to which nothing can be encrypted.
pub(crate) fn is_group(text: &str) -> bool {
    let (host, _) = address::split(text);
    let address = address::literal(host, DEFAULT_PORT).ok().flatten();
    address.is_some_and(|address| address.ip().is_multicast())
}

/// Returns any free port of the peer's family.
pub(crate) fn any_port_towards(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
    } else {
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_seed_differs_each_time_unless_given() {
        assert_eq!(network_seed(Some(7)), 7);
        assert_ne!(network_seed(None), network_seed(None));
    }
}
