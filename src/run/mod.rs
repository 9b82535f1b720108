//! The skeleton of demo, call, send and recv: start, files, page, ends, progress, summary, exit status.

mod call_endpoint;
mod call_process;
mod capture;
mod connection;
mod display;
mod live;
mod monitor;
mod network_watch;
mod peer_watch;
mod reference;
mod replies;
mod snapshot;
mod stall;
mod summary;
mod warning;
mod web_session;

use std::sync::Arc;

use evenkeel_codec::source::Format;
use evenkeel_media::policy::PolicyConfig;
use evenkeel_net::Clock;

use self::call_process::{CallProcess, Surroundings};
use self::monitor::{Monitor, MonitorConfig};
use self::reference::References;
use self::replies::Replies;
use crate::cli::{PictureArgs, RunArgs};
use crate::failure::Failure;
use crate::inputs::{self, Pictures};
use crate::outputs::{self, NamedFile, Outputs};
use crate::page::{Controls, PageInfo};
use crate::stop::Stop;
use crate::web::WebServerConfig;
use crate::wiring::{self, Stream};

pub(crate) use self::call_endpoint::DatagramFilter;
pub(crate) use self::call_process::CallProcessConfig;
pub(crate) use self::connection::{Connection, LocalAddresses};
pub(crate) use self::monitor::LinkView;
pub(crate) use self::warning::AwaitedReceiver;
pub(crate) use self::web_session::{Trickled, WebPeer};

/// A run that has begun. A command adds its own parts, and then [`watch`](Self::watch)es its ends.
pub(crate) struct CallRun<'a> {
    args: &'a RunArgs,
    pub(crate) clock: Clock,
    pub(crate) stop: Stop,
    /// The emulated link between two ends, if the run has one.
    pub(crate) link: Option<LinkView>,
    /// Applies what a viewer of the page changes, if the run has a link.
    pub(crate) controls: Option<Controls>,
    /// The receiver without which the run ends, if there is one.
    pub(crate) receiver: Option<AwaitedReceiver>,
    /// The signalling by which browsers join the first end, if they may.
    pub(crate) web: Option<WebServerConfig>,
}

/// Pictures to send, with their stream and their policy.
pub(crate) struct Video {
    pub(crate) source: Pictures,
    pub(crate) format: Format,
    pub(crate) stream: Stream,
    pub(crate) policy: PolicyConfig,
}

impl<'a> CallRun<'a> {
    /// Catches Ctrl-C and starts the clock; returns an error if the summary of the run would be empty.
    pub(crate) fn start(args: &'a RunArgs) -> Result<Self, Failure> {
        let stop = Stop::on_interrupt()?;
        outputs::summarised(args)?;
        Ok(Self {
            args,
            clock: Clock::start(),
            stop,
            link: None,
            controls: None,
            receiver: None,
            web: None,
        })
    }

    /// Refuses to write over a file that the run reads. `written` names the files of the command in addition to
    /// those of every run.
    pub(crate) fn spare(
        &self,
        read: &[NamedFile<'_>],
        written: &[NamedFile<'_>],
    ) -> Result<(), Failure> {
        let written = written.iter().copied();
        outputs::spare(
            read,
            outputs::run_files(self.args).into_iter().chain(written),
        )
    }

    /// Opens the source of a run that sends with one codec; `written` as in [`spare`](Self::spare).
    pub(crate) fn video(
        &self,
        picture: &PictureArgs,
        written: &[NamedFile<'_>],
    ) -> Result<Video, Failure> {
        let source = inputs::source(picture, self.args, &self.stop)?;
        self.spare(&[inputs::source_file(picture)], written)?;
        let format = source.format();
        Ok(Video {
            stream: wiring::stream(picture.codec(), &[], &format)?,
            policy: wiring::policy(picture, &format),
            source,
            format,
        })
    }

    /// Runs the ends until the run is over, and writes its summary. If an end sends, it is the first; if one
    /// receives, it is the last. Two ends are each other's peers.
    pub(crate) fn watch(
        self,
        outputs: Outputs,
        info: &PageInfo,
        seed: u64,
        mut ends: Vec<CallProcessConfig>,
    ) -> Result<(), Failure> {
        let signalling = ends[0].encrypted.as_mut();
        let signalling = signalling.and_then(|encrypted| encrypted.signalling.take());
        let invites = ends[0].encrypted.as_ref();
        let invites = invites.is_some_and(|encrypted| encrypted.invitation.is_some());
        let page = outputs::page(self.args, info, self.controls, outputs.json_is_said())?;
        let deadline = ends[0].policy.deadline;
        let last = ends.len() - 1;
        let captured: Vec<_> = ends.iter().map(|_| References::default()).collect();
        let page_of = |is_shown: bool| page.as_ref().filter(|_| is_shown).map(Arc::clone);
        let start = |(index, end): (usize, CallProcessConfig)| {
            let surroundings = Surroundings {
                clock: self.clock,
                stop: self.stop.clone(),
                captured: captured[index].clone(),
                originals: match last {
                    0 => References::default(),
                    _ => captured[last - index].clone(),
                },
                sent_page: page_of(index == 0),
                received_page: page_of(index == last),
            };
            Ok((end.name, CallProcess::start(end, surroundings)?))
        };
        let ends = ends.into_iter().enumerate().map(start);
        let ends = ends.collect::<Result<Vec<_>, Failure>>()?;
        let web = self.web.map(|web| {
            let connection = Arc::downgrade(&ends[0].1.connection);
            web.start(connection, outputs.json_is_said())
        });
        // Browsers are served until the run is over.
        let _web = web.transpose()?;
        // Replies come to standard input, unless pictures do.
        let reads_replies = invites && info.source != "-";
        let config = MonitorConfig {
            signalling,
            replies: reads_replies.then(Replies::start).flatten(),
            clock: self.clock,
            stop: self.stop,
            page,
            outputs,
            link: self.link,
            seed,
            deadline,
            receiver: self.receiver,
        };
        Monitor::new(config, self.args, ends).run()
    }
}
