//! `evenkeel send`: one way, to `evenkeel recv` or to any RTP receiver.

use std::net::SocketAddr;

use evenkeel_codec::Codec;
use evenkeel_rtp::packet::sdp::Profile;
use evenkeel_secure::endpoint::PEER;
use evenkeel_secure::invitation::{Invitation, Purpose};

use crate::cli::SendArgs;
use crate::description;
use crate::failure::Failure;
use crate::inputs;
use crate::media_server::{MediaServer, ServerProtocol};
use crate::meeting::{self, Meeting};
use crate::outputs::{self, Outputs};
use crate::page::Mode;
use crate::run::{AwaitedReceiver, CallProcessConfig, CallRun, DatagramFilter};
use crate::wiring::{self, Role};

pub(crate) fn run(args: &SendArgs) -> Result<(), Failure> {
    let mut run = CallRun::start(&args.run)?;
    let purpose = Purpose::Send;
    let dest = args.dest.as_deref();
    let names_host = dest.is_some_and(|dest| !Invitation::is_meant_by(dest));
    let is_plain = args.connection.plain
        || args.sdp.is_some() && names_host
        || dest.is_some_and(wiring::is_group);
    let meeting = Meeting::of(dest, is_plain, purpose)?;
    let peer = match meeting {
        Meeting::Plain(_) => wiring::peer_or_group(meeting.address()?)?,
        _ => PEER,
    };
    if peer.ip().is_multicast() {
        require_group_options(args, peer)?;
    }
    let server = args
        .whip
        .as_deref()
        .map(|url| MediaServer::new(ServerProtocol::Whip, url, &args.server));
    let server = server.transpose()?;
    let mut picture = args.picture.clone();
    if server.is_some() {
        picture.require_h264("--whip")?;
    }
    let video = run.video(&picture, &[("--sdp", args.sdp.as_deref())])?;
    let outputs = Outputs::open(&args.run, None)?;
    let seed = wiring::network_seed(args.picture.seed);
    let codec = video.stream.codec;
    let mut session = wiring::session("send", Role::Sends, codec, Some(peer), seed, &run.clock);
    let mut server_session = None;
    let encrypted = match server {
        Some(server) => {
            let socket = meeting::bind_for_all(args.bind, "--bind")?;
            let format = Some(&video.format);
            let joined =
                server.join(&socket, &run.clock, &args.connection, &mut session, format)?;
            server_session = Some(joined.1);
            Some((socket, joined.0))
        }
        None => meeting.encrypted(purpose, args.bind, "--bind", &run.clock, &args.connection)?,
    };
    let (socket, encrypted) = match encrypted {
        Some((socket, encrypted)) => (socket, Some(encrypted)),
        None => {
            let socket = wiring::bind_towards(args.bind, peer)?;
            meeting::warn_in_the_clear(peer.ip());
            (socket, None)
        }
    };
    if peer.ip().is_multicast() {
        socket
            .set_multicast(peer, args.ttl)
            .map_err(|error| Failure::usage(format!("DEST {peer}: {error}; name another group")))?;
    }
    if let Some(send) = &mut session.send {
        send.fixed_rate = args.fixed_rate;
        send.give_up = args.give_up;
        send.fallback = true;
    }
    let fillers = [args.picture.filler];
    wiring::set_options(&mut session, &args.run, &args.picture, &fillers)?;
    if let Some(path) = &args.sdp {
        wiring::name_sources(&mut session);
        let deadline = video.policy.deadline;
        let mut description = description::describe(&session, codec, &video.format, peer, deadline);
        description.ttl = args.ttl;
        if encrypted.is_some() {
            description.profile = Profile::Savpf;
        }
        description::write(path, &description)?;
    }
    run.receiver = Some(AwaitedReceiver {
        name: match &encrypted {
            None => peer.to_string(),
            Some(_) if server_session.is_some() => "the media server".into(),
            Some(_) => "the other end".into(),
        },
        give_up: args.give_up,
    });
    let info = outputs::page_info(Mode::Send, Some(&picture), Some(&video.format));
    let end = CallProcessConfig {
        name: "send",
        socket,
        encrypted,
        filter: DatagramFilter::default(),
        session,
        policy: video.policy,
        stream: video.stream,
        source: Some(inputs::fixed_feed(&picture, video.source)),
        sink: None,
    };
    let ended = run.watch(outputs, &info, args.picture.seed(), vec![end]);
    drop(server_session);
    ended
}

/// Refuses options that need reports: the members of a group send none, as many would flood the sender.
fn require_group_options(args: &SendArgs, group: SocketAddr) -> Result<(), Failure> {
    let wrong = if args.fixed_rate.is_none() {
        "sets no rate by reports; give --fixed-rate RATE, for a network that carries it"
    } else if args.picture.codec() == Codec::H264 {
        "asks for no key frame, with which H.264 begins and goes on after a loss; choose --codec mjpeg"
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("DEST {group}: a group {wrong}")))
}
