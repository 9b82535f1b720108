//! The network of the thesis's test bed (`thesis` figure 5.1), with the emulator between its routers.
//!
//! ```text
//!  A ──┐                               ┌── C
//!      R1 ── la ═ emulator ═ lb ── R2 ─┤
//!  B ──┘                               └── D
//! ```
//!
//! TFRC goes from A to C, TCP from B to D. Everything but the emulated link is as fast as the machine.

use evenkeel_link::LinkConfig;
use evenkeel_net::{Clock, Router, RouterConfig, RouterError, RouterHandle, Watch};

use crate::host::{Host, HostError};

/// The hosts and the emulator. Dropping it takes everything down.
#[derive(Debug)]
pub struct Dumbbell {
    /// Taken down first: its interfaces are the hosts'.
    router: RouterHandle,
    /// Sends TFRC.
    pub a: Host,
    /// Sends TCP.
    pub b: Host,
    /// Receives TFRC, at [`Dumbbell::C`].
    pub c: Host,
    /// Receives TCP, at [`Dumbbell::D`].
    pub d: Host,
    _routers: [Host; 3],
}

impl Dumbbell {
    /// The address of C.
    pub const C: &'static str = "10.0.3.2";
    /// The address of D.
    pub const D: &'static str = "10.0.4.2";

    /// Builds it, with these links between the routers, from R1 to R2 and back.
    pub fn build(
        clock: Clock,
        links: [LinkConfig; 2],
        seed: u64,
        watch: Watch,
    ) -> Result<Self, HostError> {
        let (r1, r2) = (Host::new("r1", true)?, Host::new("r2", true)?);
        let middle = Host::new("link", false)?;
        r1.connect(("right", R1), &middle, ("la", "02:00:00:00:01:02"))?;
        r2.connect(("left", R2), &middle, ("lb", "02:00:00:00:02:02"))?;
        r1.ip("addr add 10.0.0.1/24 dev right")?;
        r2.ip("addr add 10.0.0.2/24 dev left")?;
        // No question for an address shall get lost on the emulated link.
        r1.ip(&format!(
            "neigh add 10.0.0.2 lladdr {R2} dev right nud permanent"
        ))?;
        r2.ip(&format!(
            "neigh add 10.0.0.1 lladdr {R1} dev left nud permanent"
        ))?;
        let attach = |name: &str, number: u8, router: &Host| {
            let host = Host::new(name, false)?;
            let address = |end: u8| format!("02:00:00:01:{number:02}:{end:02}");
            let interface = format!("to-{name}");
            host.connect(("eth0", &address(2)), router, (&interface, &address(1)))?;
            host.ip(&format!("addr add 10.0.{number}.2/24 dev eth0"))?;
            router.ip(&format!("addr add 10.0.{number}.1/24 dev {interface}"))?;
            host.ip(&format!("route add default via 10.0.{number}.1"))?;
            Ok(host)
        };
        let (a, b) = (attach("a", 1, &r1)?, attach("b", 2, &r1)?);
        let (c, d) = (attach("c", 3, &r2)?, attach("d", 4, &r2)?);
        for network in [3, 4] {
            r1.ip(&format!("route add 10.0.{network}.0/24 via 10.0.0.2"))?;
        }
        for network in [1, 2] {
            r2.ip(&format!("route add 10.0.{network}.0/24 via 10.0.0.1"))?;
        }
        middle.go_before_others();
        let router = middle.run(move || {
            let interfaces = ["la", "lb"].map(str::to_owned);
            let config = RouterConfig {
                interfaces,
                links,
                seed,
            };
            Router::spawn(clock, &config, Some(watch))
        })?;
        let router = router.map_err(|error| match error {
            RouterError::Start(error) => HostError::System("emulator", error),
            port @ RouterError::Port(_) => HostError::Failed("emulator".into(), port.to_string()),
        })?;
        Ok(Self {
            router,
            a,
            b,
            c,
            d,
            _routers: [r1, r2, middle],
        })
    }

    /// The emulator.
    pub fn router(&self) -> &RouterHandle {
        &self.router
    }
}

/// Hardware addresses of the routers on the emulated link.
const R1: &str = "02:00:00:00:01:01";
const R2: &str = "02:00:00:00:02:01";
