//! `evenkeel rendezvous`: keeps the sealed replies of joiners until their inviters have read them.

use std::net::TcpListener;

use evenkeel_net::Clock;
use tfrc::time::Duration;

use crate::cli::RendezvousArgs;
use crate::failure::Failure;
use crate::http::HttpServer;
use crate::outputs;
use crate::rendezvous::{CONNECTION_LIMITS, router};
use crate::stop::Stop;

/// The time between two looks at whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &RendezvousArgs) -> Result<(), Failure> {
    let stop = Stop::on_interrupt()?;
    let clock = Clock::start();
    let bind = args.bind;
    let listener = TcpListener::bind(bind).map_err(|error| {
        Failure::usage(format!(
            "--bind {bind}: {error}; name an address of this machine and a free port, as 0.0.0.0:8088"
        ))
    })?;
    let address = listener.local_addr().map_err(Failure::runtime)?;
    let routes = router(clock);
    let _server = HttpServer::start("rendezvous", listener, None, routes, CONNECTION_LIMITS)
        .map_err(Failure::runtime)?;
    outputs::say(format_args!(
        "a rendezvous listens at {address}; an end that invites names it: evenkeel call --rendezvous http://HOST:{}",
        address.port()
    ))?;
    while !stop.is_asked() {
        clock.sleep_until(clock.now() + STOP_INTERVAL);
    }
    Ok(())
}
