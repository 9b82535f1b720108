//! `evenkeel rendezvous`: keeps the sealed replies of joiners until their inviters have read them.

use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::time::Duration;

use evenkeel_net::Clock;
use futures_util::future::{self, Either};

use crate::cli::RendezvousArgs;
use crate::failure::Failure;
use crate::outputs;
use crate::page::server;
use crate::rendezvous::{CONNECTION_LIMITS, router};
use crate::stop::Stop;

/// The time between two looks at whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &RendezvousArgs) -> Result<(), Failure> {
    let stop = Stop::on_interrupt()?;
    let listener = listen(args.bind).map_err(|error| {
        let bind = args.bind;
        Failure::usage(format!(
            "--bind {bind}: {error}; name an address of this machine and a free port, as 0.0.0.0:8088"
        ))
    })?;
    let address = listener.local_addr().map_err(Failure::runtime)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(Failure::runtime)?;
    let port = address.port();
    outputs::say(format_args!(
        "a rendezvous listens at {address}; an end that invites names it: evenkeel call --rendezvous http://HOST:{port}"
    ))?;
    runtime.block_on(async {
        let serving = pin!(server::serve(
            listener,
            router(Clock::start()),
            CONNECTION_LIMITS
        ));
        let stopped = pin!(async {
            while !stop.is_asked() {
                tokio::time::sleep(STOP_INTERVAL).await;
            }
        });
        match future::select(serving, stopped).await {
            Either::Left((error, _)) => Err(Failure::runtime(error)),
            Either::Right(_) => Ok(()),
        }
    })
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}
