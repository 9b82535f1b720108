//! Connects this end to its peer: encrypted by an invitation, or in the clear at an address.

use std::io::IsTerminal as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::time::{Duration, UNIX_EPOCH};

use evenkeel_net::{Clock, Socket, local_addresses};
use evenkeel_secure::dtls::Role;
use evenkeel_secure::endpoint::{Candidate, IceCreds, IceServer, SecureConfig};
use evenkeel_secure::identity::Identity;
use evenkeel_secure::invitation::{Invitation, MAX_ADDRESSES, Purpose, RendezvousUrl, Reply};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

use crate::address::HeardSources;
use crate::cli::ConnectionArgs;
use crate::failure::{self, Failure};
use crate::media_server::{IceServerLink, Trickle};
use crate::outputs;
use crate::rendezvous::{MailboxEvent, RendezvousClient};
use crate::turn_carrier;
use crate::wiring;

/// The time within which an inviter must answer. A way that carries packets is found in a few round trips; the rest is for a
/// person who pastes a reply.
const JOIN_TIMEOUT: Duration = Duration::from_secs(120);

/// The time within which a media server must answer by UDP, after it answered the offer.
const SERVER_TIMEOUT: Duration = Duration::from_secs(20);

/// The way to the peer that the command line asks for.
pub(crate) enum Meeting<'a> {
    /// In the clear. The peer's address, if the command line has one.
    Plain(Option<&'a str>),
    /// Encrypted: this end invites.
    Invite,
    /// Encrypted: this end was invited.
    Join(Box<Invitation>),
}

impl<'a> Meeting<'a> {
    /// Reads the argument of `call`, `send` or `recv`, an end of this purpose. `plain` says that media go in the clear.
    pub(crate) fn of(
        argument: Option<&'a str>,
        plain: bool,
        purpose: Purpose,
    ) -> Result<Self, Failure> {
        let is_invitation = argument.is_some_and(Invitation::is_meant_by);
        match argument {
            Some(_) if is_invitation && plain => Err(Failure::usage(
                "an invitation is to an encrypted connection: leave out --plain",
            )),
            Some(text) if is_invitation => {
                let invitation: Invitation = text.parse().map_err(Failure::usage)?;
                let wanted = invitation.purpose().of_peer();
                if wanted != purpose {
                    return Err(Failure::usage(format!(
                        "this invitation is of evenkeel {}: join it with evenkeel {}",
                        command(invitation.purpose()),
                        command(wanted)
                    )));
                }
                Ok(Self::Join(Box::new(invitation)))
            }
            _ if plain => Ok(Self::Plain(argument)),
            None => Ok(Self::Invite),
            Some(address) => Err(Failure::usage(format!(
                "'{address}' is no invitation, and to an address media go in the clear: start evenkeel {} there and give the \
                 invitation that it prints, or add --plain at both ends",
                command(purpose.of_peer())
            ))),
        }
    }

    /// Returns the peer's address of the command line, in the clear.
    pub(crate) fn address(&self) -> Result<&'a str, Failure> {
        match self {
            Self::Plain(Some(address)) => Ok(address),
            _ => Err(Failure::usage(
                "--plain: media go to an address; give the other end's, as in 192.0.2.7:5004",
            )),
        }
    }

    /// Returns the sources of `--from`, which only packets in the clear need.
    pub(crate) fn heard(&self, from: Option<&str>) -> Result<Option<HeardSources>, Failure> {
        match from {
            Some(_) if !matches!(self, Self::Plain(_)) => Err(Failure::usage(
                "--from is for --plain: an encrypted connection hears nobody but its peer; leave it out",
            )),
            from => from.map(wiring::heard).transpose(),
        }
    }

    /// Binds the socket of an encrypted connection, any free port unless one is given; `None` in the clear.
    ///
    /// `option` names the address on the command line.
    pub(crate) fn encrypted(
        &self,
        purpose: Purpose,
        bind: Option<SocketAddr>,
        option: &str,
        clock: &Clock,
        args: &ConnectionArgs,
    ) -> Result<Option<(Socket, Encrypted)>, Failure> {
        if matches!(self, Self::Plain(_)) {
            return Ok(None);
        }
        let socket = bind_for_all(bind, option)?;
        let mut encrypted = match self {
            Self::Join(_) if args.rendezvous.is_some() => {
                return Err(Failure::usage(
                    "--rendezvous is for the end that invites, and its invitation names the host: leave it out here",
                ));
            }
            Self::Join(invitation) => Encrypted::join(invitation, &socket, clock)?,
            _ => Encrypted::invite(purpose, &socket, clock, args.rendezvous.as_ref())?,
        };
        encrypted.config.servers = servers(args, &socket, clock)?;
        Ok(Some((socket, encrypted)))
    }
}

/// Returns the command of an end of this purpose.
fn command(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Call => "call",
        Purpose::Send => "send",
        Purpose::Receive => "recv",
    }
}

/// The kind of the peer of an encrypted connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerKind {
    /// An end of this program, which shows the same words.
    Evenkeel,
    /// Browsers, one after the other.
    Browser,
    /// A media server, which passes pictures on.
    MediaServer,
}

/// What an end that was invited waits for.
#[derive(Debug)]
pub(crate) struct Join {
    /// The time within which the inviter must answer.
    pub(crate) timeout: Duration,
    /// The inviter's addresses, in words.
    pub(crate) addresses: String,
    /// True if this end's addresses reach the peer by a rendezvous or a media server.
    pub(crate) is_signalled: bool,
}

/// The way by which the two ends learn each other's addresses, beside a pasted line.
pub(crate) enum Signalling {
    Rendezvous(RendezvousClient),
    MediaServer(Trickle),
}

impl Signalling {
    /// Passes on the addresses of this end.
    pub(crate) fn leave(&self, reply: Reply) {
        match self {
            Self::Rendezvous(client) => client.leave(reply),
            Self::MediaServer(trickle) => trickle.send(reply.0),
        }
    }

    /// Returns what happened since the last call.
    pub(crate) fn poll(&self) -> Vec<MailboxEvent> {
        match self {
            Self::Rendezvous(client) => client.poll().collect(),
            Self::MediaServer(_) => Vec::new(),
        }
    }
}

/// An encrypted connection that is to be made.
pub(crate) struct Encrypted {
    pub(crate) config: SecureConfig,
    /// The invitation of an inviter, still without addresses.
    pub(crate) invitation: Option<Invitation>,
    /// What an end that was invited waits for.
    pub(crate) join: Option<Join>,
    pub(crate) signalling: Option<Signalling>,
    pub(crate) peer: PeerKind,
}

impl Encrypted {
    /// Prepares a connection that the offer of a browser begins. Until then nobody has the credentials.
    pub(crate) fn for_browsers(socket: &Socket, clock: &Clock) -> Result<Self, Failure> {
        let identity = Identity::generate(UNIX_EPOCH + clock.unix_time(clock.now()));
        let config = SecureConfig {
            candidates: candidates(socket.local_address())?,
            servers: Vec::new(),
            credentials: IceCreds::new(),
            peer_credentials: IceCreds::new(),
            peer_candidates: Vec::new(),
            peer_fingerprint: [0; 32].into(),
            identity: identity.map_err(Failure::runtime)?,
            encrypts_extensions: false,
            role: Role::Server,
            controls: false,
        };
        Ok(Self {
            config,
            invitation: None,
            join: None,
            signalling: None,
            peer: PeerKind::Browser,
        })
    }

    /// Prepares a connection to a media server that answered an offer.
    pub(crate) fn to_media_server(config: SecureConfig, trickle: Option<Trickle>) -> Self {
        let addresses = config.peer_candidates.iter();
        let addresses: Vec<_> = addresses.map(|it| it.addr().to_string()).collect();
        Self {
            config,
            invitation: None,
            join: Some(Join {
                timeout: SERVER_TIMEOUT,
                addresses: addresses.join(" or "),
                is_signalled: trickle.is_some(),
            }),
            signalling: trickle.map(Signalling::MediaServer),
            peer: PeerKind::MediaServer,
        }
    }

    fn invite(
        purpose: Purpose,
        socket: &Socket,
        clock: &Clock,
        rendezvous: Option<&RendezvousUrl>,
    ) -> Result<Self, Failure> {
        let identity = Identity::generate(UNIX_EPOCH + clock.unix_time(clock.now()));
        let identity = identity.map_err(Failure::runtime)?;
        let candidates = candidates(socket.local_address())?;
        let invitation = Invitation::new(purpose, &identity);
        let mut invitation = invitation.map_err(Failure::runtime)?;
        let config = invitation.for_inviter(identity, candidates);
        let client =
            rendezvous.and_then(|url| RendezvousClient::read(*clock, url, invitation.mailbox()));
        if let Some(url) = rendezvous {
            invitation = invitation.by(url.clone());
        }
        Ok(Self {
            config: config.map_err(Failure::runtime)?,
            invitation: Some(invitation),
            join: None,
            signalling: client.map(Signalling::Rendezvous),
            peer: PeerKind::Evenkeel,
        })
    }

    fn join(invitation: &Invitation, socket: &Socket, clock: &Clock) -> Result<Self, Failure> {
        let config = invitation.for_joiner(candidates(socket.local_address())?);
        let addresses = invitation.addresses().map(|address| address.to_string());
        let addresses: Vec<_> = addresses.collect();
        let rendezvous = invitation.rendezvous();
        let rendezvous =
            rendezvous.and_then(|url| RendezvousClient::write(*clock, url, invitation.mailbox()));
        Ok(Self {
            config: config.map_err(Failure::runtime)?,
            invitation: None,
            join: Some(Join {
                timeout: JOIN_TIMEOUT,
                addresses: addresses.join(" or "),
                is_signalled: rendezvous.is_some(),
            }),
            signalling: rendezvous.map(Signalling::Rendezvous),
            peer: PeerKind::Evenkeel,
        })
    }
}

/// Returns the command that follows an invitation.
pub(crate) fn joining(invitation: &Invitation) -> String {
    let command = command(invitation.purpose().of_peer());
    format!("evenkeel {command} {invitation}")
}

/// Prints an invitation, and as a QR code if a person looks on.
pub(crate) fn print(invitation: &Invitation, output_is_taken: bool) -> Result<(), Failure> {
    let is_watched = std::io::stdout().is_terminal() && !output_is_taken;
    if let Ok(code) = QrCode::new(invitation.to_string())
        && is_watched
    {
        outputs::say(code.render::<Dense1x2>().build())?;
    }
    outputs::tell(
        output_is_taken,
        "the other end joins with this line; give it to one person alone:",
    )?;
    outputs::tell(output_is_taken, joining(invitation))
}

/// Binds the socket of an encrypted connection, any free port unless one is given.
pub(crate) fn bind_for_all(bind: Option<SocketAddr>, option: &str) -> Result<Socket, Failure> {
    wiring::bind(bind.unwrap_or((Ipv6Addr::UNSPECIFIED, 0).into()), option)
}

/// Returns the servers that help through NATs.
pub(crate) fn servers(
    args: &ConnectionArgs,
    socket: &Socket,
    clock: &Clock,
) -> Result<Vec<IceServer>, Failure> {
    let servers = args.ice_servers.iter().map(|url| {
        let server = IceServer::parse(url, |host, port| resolve(socket, host, port));
        let server = server.map_err(|error| Failure::usage(format!("--ice-server: {error}")));
        reach(server?, socket, clock)
    });
    servers.collect()
}

/// Returns the servers that a media server names, except for those that this end cannot use.
pub(crate) fn servers_of(
    links: &[IceServerLink],
    socket: &Socket,
    clock: &Clock,
) -> Result<Vec<IceServer>, Failure> {
    let servers = links.iter().filter_map(|link| {
        let resolve = |host: &str, port| resolve(socket, host, port);
        IceServer::with_account(&link.url, link.account.clone(), resolve).ok()
    });
    servers.map(|server| reach(server, socket, clock)).collect()
}

/// Returns the first address of a host that the socket can send to.
fn resolve(socket: &Socket, host: &str, port: u16) -> Option<SocketAddr> {
    let host = host.trim_matches(['[', ']']);
    let mut found = (host, port).to_socket_addrs().ok()?;
    found.find(|address| socket.find_route(*address).is_ok())
}

/// Starts what carries datagrams to a server that is to be reached by TCP.
fn reach(mut server: IceServer, socket: &Socket, clock: &Clock) -> Result<IceServer, Failure> {
    if let Some(by_tcp) = server.by_stream {
        let carrier = turn_carrier::start(*clock, by_tcp, socket.local_address());
        server.address = carrier.map_err(|error| {
            Failure::runtime(format!(
                "--ice-server by TCP needs a port of the loopback interface: {error}"
            ))
        })?;
    }
    Ok(server)
}

/// Warns that media are not encrypted, unless they stay on this machine.
pub(crate) fn warn_in_the_clear(address: IpAddr) {
    if !address.is_loopback() {
        failure::warn(
            "media go in the clear (--plain): anyone on the path can read and change them; without --plain they are encrypted",
        );
    }
}

/// Returns the addresses at which a peer may reach a socket that is bound to `local`.
pub(crate) fn candidates(local: SocketAddr) -> Result<Vec<Candidate>, Failure> {
    let ips = if local.ip().is_unspecified() {
        let reached = local_addresses().into_iter();
        let reached = reached.filter(|address| !address.is_link_local());
        let mut ips: Vec<IpAddr> = reached.map(|address| address.ip).collect();
        // A machine without a network can still call itself.
        if ips.is_empty() {
            ips = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        }
        ips.retain(|ip| local.is_ipv6() || ip.is_ipv4());
        ips.truncate(MAX_ADDRESSES);
        ips
    } else {
        vec![local.ip()]
    };
    let candidate = |ip| Candidate::host(SocketAddr::new(ip, local.port()), "udp");
    let candidates = ips.into_iter().map(candidate);
    candidates.collect::<Result<_, _>>().map_err(|error| {
        Failure::usage(format!(
            "--bind {local}: a peer cannot reach it: {error}; name another address of this machine, or leave it out"
        ))
    })
}
