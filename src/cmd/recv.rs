//! `evenkeel recv`: receives the stream of `evenkeel send`.

use std::net::{Ipv6Addr, SocketAddr};

use evenkeel_codec::Codec;
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::reassemble::Payload;
use evenkeel_rtp::packet::sdp::{Description, Profile};
use evenkeel_secure::endpoint::PEER;
use evenkeel_secure::invitation::{Invitation, Purpose};

use crate::cli::RecvArgs;
use crate::description;
use crate::failure::Failure;
use crate::inputs;
use crate::media_server::{MediaServer, ServerProtocol};
use crate::meeting::{self, Meeting};
use crate::outputs::{self, Outputs};
use crate::page::Mode;
use crate::run::{CallProcessConfig, CallRun, DatagramFilter};
use crate::units;
use crate::wiring::{self, Role, Stream};

pub(crate) fn run(args: &RecvArgs) -> Result<(), Failure> {
    let run = CallRun::start(&args.run)?;
    run.spare(
        &[("--sdp", args.sdp.as_deref())],
        &[("--record", args.record.as_deref())],
    )?;
    let purpose = Purpose::Receive;
    let (invitation, bind) = match args.bind.as_deref() {
        Some(text) if Invitation::is_meant_by(text) => (Some(text), None),
        Some(text) => {
            let wrong = |why| Failure::usage(format!("BIND '{text}': {why}"));
            (None, Some(units::address(text).map_err(wrong)?))
        }
        None => (None, None),
    };
    let is_group = bind.is_some_and(|bind| bind.ip().is_multicast());
    let described = args.sdp.as_deref().map(description::read).transpose()?;
    let description = described.as_ref().map(|described| &described.description);
    let is_encrypted = description.map(|description| description.profile == Profile::Savpf);
    if is_encrypted == Some(true) && args.connection.plain {
        return Err(Failure::usage(
            "--sdp describes an encrypted stream, of UDP/TLS/RTP/SAVPF: leave out --plain",
        ));
    }
    let is_plain =
        args.connection.plain || is_group || is_encrypted == Some(false) && invitation.is_none();
    let meeting = Meeting::of(invitation, is_plain, purpose)?;
    let mut from = meeting.heard(args.from.as_deref())?;
    let seed = wiring::network_seed(args.seed);
    let server = args
        .whep
        .as_deref()
        .map(|url| MediaServer::new(ServerProtocol::Whep, url, &args.server));
    let server = server.transpose()?;
    let codec = match server {
        Some(_) => Codec::H264,
        None => Codec::Mjpeg,
    };
    let mut session = wiring::session("recv", Role::Receives, codec, None, seed, &run.clock);
    let stream = match &described {
        Some(described) => description::follow(described, &mut session),
        None if server.is_some() => Stream {
            codec,
            payloads: Payload::H264.into(),
        },
        None => {
            let payloads = Payload::Jpeg.into();
            let mut stream = Stream { codec, payloads };
            wiring::accept_any(&mut stream, &mut session);
            stream
        }
    };
    let frame_rate = description.and_then(|description| description.frame_rate);
    let frame_rate = frame_rate.and_then(inputs::frame_rate);
    wiring::set_feedback(&mut session, args.run.feedback);
    let sink = outputs::sink(args.record.as_deref(), stream.codec, frame_rate)?;
    let outputs = Outputs::open(&args.run, args.record.as_deref())?;
    let mut server_session = None;
    let encrypted = match server {
        Some(server) => {
            let socket = meeting::bind_for_all(bind, "BIND")?;
            let joined = server.join(&socket, &run.clock, &args.connection, &mut session, None)?;
            server_session = Some(joined.1);
            Some((socket, joined.0))
        }
        None => meeting.encrypted(purpose, bind, "BIND", &run.clock, &args.connection)?,
    };
    let (socket, in_group, encrypted) = match encrypted {
        Some((socket, encrypted)) => {
            session.peer = Some(PEER);
            (socket, false, Some(encrypted))
        }
        None => {
            let local = listening_address(bind, description);
            from = from.or_else(|| description::sources(description?, local));
            let socket = wiring::bind_from(local, from.as_ref(), "BIND")?;
            meeting::warn_in_the_clear(local.ip());
            (socket, local.ip().is_multicast(), None)
        }
    };
    let end = CallProcessConfig {
        name: "recv",
        socket,
        encrypted,
        filter: DatagramFilter {
            only: from,
            in_group,
        },
        session,
        policy: PolicyConfig::new(frame_rate.unwrap_or(inputs::DEFAULT_FRAME_RATE).interval()),
        stream,
        source: None,
        sink: Some(sink),
    };
    let info = outputs::page_info(Mode::Recv, None, None);
    let ended = run.watch(outputs, &info, seed, vec![end]);
    drop(server_session);
    ended
}

/// Returns where to listen. Of an address that the sender describes only a group counts: a host's may be that of a
/// translator before this machine.
fn listening_address(bind: Option<SocketAddr>, description: Option<&Description>) -> SocketAddr {
    let port = description.map(|description| description.port);
    let port = port.filter(|&port| port > 0);
    let port = port.unwrap_or(wiring::DEFAULT_PORT);
    let mut local = bind.unwrap_or((Ipv6Addr::UNSPECIFIED, port).into());
    if let Some(Description { address, .. }) = description
        && local.ip().is_unspecified()
        && address.is_multicast()
    {
        local.set_ip(*address);
    }
    local
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_names_port_and_group_only() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let described = |address: &str| {
            let address = at(address);
            Description::new(address.ip(), address.ip(), address.port(), 26)
        };
        for (bind, description, local) in [
            (None, None, "[::]:5004"),
            (None, Some("192.0.2.7:6500"), "[::]:6500"),
            (None, Some("192.0.2.7:0"), "[::]:5004"),
            (None, Some("239.1.2.3:6500"), "239.1.2.3:6500"),
            (
                Some("0.0.0.0:7000"),
                Some("239.1.2.3:6500"),
                "239.1.2.3:7000",
            ),
            (
                Some("192.0.2.7:7000"),
                Some("239.1.2.3:6500"),
                "192.0.2.7:7000",
            ),
        ] {
            let description = description.map(described);
            let listening = listening_address(bind.map(at), description.as_ref());
            assert_eq!(listening, at(local));
        }
    }
}
