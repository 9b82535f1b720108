//! `evenkeel call`: two people, each end sends and receives.

use std::net::{Ipv6Addr, SocketAddr};

use evenkeel_codec::Codec;
use evenkeel_secure::endpoint::PEER;
use evenkeel_secure::invitation::Purpose;

use crate::cli::{CallArgs, CodecChoice};
use crate::failure::Failure;
use crate::inputs;
use crate::meeting::{self, Encrypted, Meeting};
use crate::outputs::{self, Outputs};
use crate::page::Mode;
use crate::run::{CallProcessConfig, CallRun, Hearing};
use crate::web::{BrowserCalls, BrowserCallsConfig, TlsIdentity, WebServerConfig};
use crate::wiring::{self, Role};

pub(crate) fn run(args: &CallArgs) -> Result<(), Failure> {
    if let Some(web) = args.web {
        return run_for_browsers(args, web);
    }
    let run = CallRun::start(&args.run)?;
    let purpose = Purpose::Call;
    let meeting = Meeting::of(args.peer.as_deref(), args.connection.plain, purpose)?;
    let from = meeting.heard(args.from.as_deref())?;
    let record = args.record.as_deref();
    let mut video = run.video(&args.picture, &[("--record", record)])?;
    let sink = outputs::sink(record, video.stream.codec, None)?;
    let outputs = Outputs::open(&args.run, record)?;
    let encrypted =
        meeting.encrypted(purpose, args.bind, "--bind", &run.clock, &args.connection)?;
    let (socket, peer, encrypted) = match encrypted {
        Some((socket, encrypted)) => (socket, PEER, Some(encrypted)),
        None => {
            let peer = wiring::peer(meeting.address()?)?;
            let bind = args.bind.unwrap_or(wiring::DEFAULT_BIND);
            let socket = wiring::bind_towards(Some(bind), peer)?;
            meeting::warn_in_the_clear(peer.ip());
            (socket, peer, None)
        }
    };
    // Both ends may be bound to [::]:5004 and have one seed. Without the peer in the name they would draw one SSRC and
    // take each other for an echo (RFC 3550 §8.2).
    let name = format!("{}-{peer}", socket.local_address());
    let seed = wiring::network_seed(args.picture.seed);
    let codec = video.stream.codec;
    let mut session = wiring::session(&name, Role::Both, codec, Some(peer), seed, &run.clock);
    wiring::accept_any(&mut video.stream, &mut session);
    if let Some(send) = &mut session.send {
        send.give_up = args.give_up;
    }
    let fillers = [args.picture.filler];
    wiring::set_options(&mut session, &args.run, &args.picture, &fillers)?;
    let info = outputs::page_info(Mode::Call, Some(&args.picture), Some(&video.format));
    let end = CallProcessConfig {
        name: "call",
        socket,
        encrypted,
        hearing: Hearing {
            only: from,
            ..Hearing::default()
        },
        session,
        policy: video.policy,
        stream: video.stream,
        source: Some(inputs::fixed_feed(&args.picture, video.source)),
        sink: Some(sink),
    };
    run.watch(outputs, &info, args.picture.seed(), vec![end])
}

/// Runs a call that browsers join, one at a time.
fn run_for_browsers(args: &CallArgs, web: SocketAddr) -> Result<(), Failure> {
    let mut run = CallRun::start(&args.run)?;
    let mut picture = args.picture.clone();
    // The only codec that browsers have, too.
    picture.codec = CodecChoice::One(Codec::H264);
    let record = args.record.as_deref();
    let video = run.video(&picture, &[("--record", record)])?;
    let sink = outputs::sink(record, video.stream.codec, None)?;
    let outputs = Outputs::open(&args.run, record)?;
    let bind = args.bind.unwrap_or((Ipv6Addr::UNSPECIFIED, 0).into());
    let socket = wiring::bind(bind, "--bind")?;
    let encrypted = Encrypted::for_browsers(&socket, &run.clock)?;
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(TlsIdentity::read(certificate, key)?),
        _ if web.ip().is_loopback() => None,
        _ => Some(TlsIdentity::make(&run.clock, web)?),
    };
    let calls = BrowserCalls::new(BrowserCallsConfig {
        clock: run.clock,
        candidates: encrypted.config.candidates.clone(),
        fingerprint: encrypted.config.identity.fingerprint(),
        format: video.format,
        policy: video.policy,
        give_up: args.give_up,
    });
    run.web = Some(WebServerConfig::bind(web, &args.room, tls, calls)?);
    let seed = wiring::network_seed(picture.seed);
    let codec = video.stream.codec;
    let session = wiring::session("call", Role::Both, codec, Some(PEER), seed, &run.clock);
    let info = outputs::page_info(Mode::Call, Some(&picture), Some(&video.format));
    let end = CallProcessConfig {
        name: "call",
        socket,
        encrypted: Some(encrypted),
        hearing: Hearing::default(),
        session,
        policy: video.policy,
        stream: video.stream,
        source: Some(inputs::fixed_feed(&picture, video.source)),
        sink: Some(sink),
    };
    run.watch(outputs, &info, picture.seed(), vec![end])
}
