//! `evenkeel call`: two people, each end sends and receives.

use std::net::{Ipv6Addr, SocketAddr};

use evenkeel_net::Socket;
use evenkeel_secure::endpoint::PEER;
use evenkeel_secure::invitation::Purpose;

use crate::cli::CallArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::meeting::{self, Encrypted, Meeting};
use crate::outputs::{self, Outputs};
use crate::page::Mode;
use crate::run::{CallProcessConfig, CallRun, DatagramFilter, Video};
use crate::web::{BrowserCalls, BrowserCallsConfig, TlsIdentity, WebServerConfig};
use crate::wiring::{self, Role};

/// Who may join.
enum OtherEnd<'a> {
    /// One end, by an invitation or at an address.
    One(Meeting<'a>),
    /// Browsers, one at a time, by the server at this address.
    Browsers(SocketAddr),
}

pub(crate) fn run(args: &CallArgs) -> Result<(), Failure> {
    let mut run = CallRun::start(&args.run)?;
    let mut picture = args.picture.clone();
    let (other, only) = if let Some(web) = args.web {
        picture.require_h264("--web")?;
        (OtherEnd::Browsers(web), None)
    } else {
        let meeting = Meeting::of(args.peer.as_deref(), args.connection.plain, Purpose::Call)?;
        let only = meeting.heard(args.from.as_deref())?;
        (OtherEnd::One(meeting), only)
    };
    let record = args.record.as_deref();
    let mut video = run.video(&picture, &[("--record", record)])?;
    let sink = outputs::sink(record, video.stream.codec, None)?;
    let outputs = Outputs::open(&args.run, record)?;
    let (socket, encrypted, peer) = match &other {
        OtherEnd::One(meeting) => reach_one(args, &run, meeting)?,
        OtherEnd::Browsers(web) => {
            let (socket, encrypted) = await_browsers(args, *web, &mut run, &video)?;
            (socket, Some(encrypted), PEER)
        }
    };
    // Both ends may be bound to [::]:5004 and have one seed. Without the peer in the name they would draw one SSRC and
    // take each other for an echo (RFC 3550 §8.2).
    let name = format!("{}-{peer}", socket.local_address());
    let seed = wiring::network_seed(picture.seed);
    let codec = video.stream.codec;
    let mut session = wiring::session(&name, Role::Both, codec, Some(peer), seed, &run.clock);
    if let OtherEnd::One(_) = other {
        wiring::accept_any(&mut video.stream, &mut session);
        let fillers = [picture.filler];
        wiring::set_options(&mut session, &args.run, &picture, &fillers)?;
    }
    if let Some(send) = &mut session.send {
        send.give_up = args.give_up;
    }
    let info = outputs::page_info(Mode::Call, Some(&picture), Some(&video.format));
    let end = CallProcessConfig {
        name: "call",
        socket,
        encrypted,
        filter: DatagramFilter {
            only,
            ..DatagramFilter::default()
        },
        session,
        policy: video.policy,
        stream: video.stream,
        source: Some(inputs::fixed_feed(&picture, video.source)),
        sink: Some(sink),
    };
    run.watch(outputs, &info, picture.seed(), vec![end])
}

/// Opens the way to the one other end, and returns its address.
fn reach_one(
    args: &CallArgs,
    run: &CallRun<'_>,
    meeting: &Meeting<'_>,
) -> Result<(Socket, Option<Encrypted>, SocketAddr), Failure> {
    let (purpose, connection) = (Purpose::Call, &args.connection);
    if let Some((socket, encrypted)) =
        meeting.encrypted(purpose, args.bind, "--bind", &run.clock, connection)?
    {
        return Ok((socket, Some(encrypted), PEER));
    }
    let peer = wiring::peer(meeting.address()?)?;
    let bind = args.bind.unwrap_or(wiring::DEFAULT_BIND);
    let socket = wiring::bind_towards(Some(bind), peer)?;
    meeting::warn_in_the_clear(peer.ip());
    Ok((socket, None, peer))
}

/// Opens the server by which browsers join, one at a time.
fn await_browsers(
    args: &CallArgs,
    web: SocketAddr,
    run: &mut CallRun<'_>,
    video: &Video,
) -> Result<(Socket, Encrypted), Failure> {
    let bind = args.bind.unwrap_or((Ipv6Addr::UNSPECIFIED, 0).into());
    let socket = wiring::bind(bind, "--bind")?;
    let mut encrypted = Encrypted::for_browsers(&socket, &run.clock)?;
    encrypted.config.servers = meeting::servers(&args.connection, &socket, &run.clock)?;
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(TlsIdentity::read(certificate, key)?),
        _ if web.ip().is_loopback() => None,
        _ => Some(TlsIdentity::make(&run.clock, web)?),
    };
    let calls = BrowserCalls::new(BrowserCallsConfig {
        clock: run.clock,
        servers: encrypted.config.servers.clone(),
        fingerprint: encrypted.config.identity.fingerprint(),
        format: video.format,
        policy: video.policy,
        give_up: args.give_up,
    });
    run.web = Some(WebServerConfig::bind(web, &args.room, tls, calls)?);
    Ok((socket, encrypted))
}
