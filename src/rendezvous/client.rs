//! The client of a rendezvous: the inviter waits for replies there, and the joiner leaves its own.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;

use evenkeel_net::Clock;
use evenkeel_secure::invitation::{Mailbox, RendezvousUrl, Reply, SEALED_REPLY_LEN};
use tfrc::time::Duration;
use ureq::Agent;
use ureq::http::{StatusCode, header};

use super::{MAILBOX_PATH, READ_TIMEOUT_S};
use crate::http_client::{agent, reason};

/// The time for which the client waits beyond that of a reader.
const ANSWER_TIMEOUT_S: u64 = 15;

/// The least time between two requests: a host may answer at once without a message.
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time between two requests to a host that fails.
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// The most replies that an inviter follows. A joiner has one, and a few more each time that its network changes.
const MAX_REPLIES: usize = 64;

/// The most replies of this end that wait to be left.
const MAX_WAITING: usize = 8;

/// A change at the rendezvous.
#[derive(Debug)]
pub(crate) enum MailboxEvent {
    /// A joiner left this reply.
    Reply(Reply),
    /// This end's reply lies in the mailbox.
    ReplyStored,
    /// The rendezvous does not serve, for this reason.
    Failed(String),
}

/// The client of a rendezvous. Its thread ends with it, once a request under way is answered.
pub(crate) struct RendezvousClient {
    events: Receiver<MailboxEvent>,
    /// The replies to leave, if this end was invited.
    replies: Option<SyncSender<Reply>>,
    _wanted: Arc<()>,
}

impl RendezvousClient {
    /// Waits for replies to an invitation of this end.
    pub(crate) fn read(clock: Clock, url: &RendezvousUrl, mailbox: Mailbox) -> Option<Self> {
        Self::start(clock, url, mailbox, None, MailboxThread::read)
    }

    /// Leaves the replies of this end, which was invited.
    pub(crate) fn write(clock: Clock, url: &RendezvousUrl, mailbox: Mailbox) -> Option<Self> {
        let (sender, replies) = sync_channel(MAX_WAITING);
        let write = move |thread: MailboxThread| thread.write(&replies);
        Self::start(clock, url, mailbox, Some(sender), write)
    }

    fn start(
        clock: Clock,
        url: &RendezvousUrl,
        mailbox: Mailbox,
        replies: Option<SyncSender<Reply>>,
        run: impl FnOnce(MailboxThread) + Send + 'static,
    ) -> Option<Self> {
        let (sender, events) = channel();
        let wanted = Arc::new(());
        let state = MailboxThread {
            clock,
            agent: agent(
                std::time::Duration::from_secs(READ_TIMEOUT_S + ANSWER_TIMEOUT_S),
                None,
            ),
            rendezvous: url.to_string(),
            url: format!("{url}{MAILBOX_PATH}{}", mailbox.name()),
            mailbox,
            events: sender,
            wanted: Arc::downgrade(&wanted),
            is_failing: false,
        };
        let thread = thread::Builder::new().name("rendezvous".into());
        thread.spawn(move || run(state)).ok()?;
        Some(Self {
            events,
            replies,
            _wanted: wanted,
        })
    }

    /// Leaves this reply in place of the one before. It is dropped if many wait already.
    pub(crate) fn leave(&self, reply: Reply) {
        if let Some(replies) = &self.replies {
            let _ = replies.try_send(reply);
        }
    }

    /// Returns what happened since the last call.
    pub(crate) fn poll(&self) -> impl Iterator<Item = MailboxEvent> {
        self.events.try_iter()
    }
}

/// The state of a client's thread.
struct MailboxThread {
    clock: Clock,
    agent: Agent,
    rendezvous: String,
    /// The URL of the mailbox.
    url: String,
    mailbox: Mailbox,
    events: Sender<MailboxEvent>,
    /// Dead once nobody wants an answer any more.
    wanted: Weak<()>,
    /// True since a failure that was reported, until a success.
    is_failing: bool,
}

impl MailboxThread {
    fn is_wanted(&self) -> bool {
        self.wanted.strong_count() > 0
    }

    fn read(mut self) {
        let mut tag = None;
        let mut interval = REQUEST_INTERVAL;
        let mut replies = 0;
        while self.is_wanted() && replies < MAX_REPLIES {
            let next = self.clock.now() + interval;
            match self.ask(&mut tag) {
                Ok(found) => {
                    self.is_failing = false;
                    interval = REQUEST_INTERVAL;
                    if let Some(reply) = found {
                        replies += 1;
                        self.report(MailboxEvent::Reply(reply));
                    }
                }
                Err(why) => {
                    self.fail(&why);
                    interval = (interval * 2).min(MAX_RETRY_INTERVAL);
                }
            }
            self.clock.sleep_until(next);
        }
    }

    /// Waits for a message with another tag than the last one; returns the reply in it.
    fn ask(&self, tag: &mut Option<String>) -> Result<Option<Reply>, String> {
        let mut request = self.agent.get(&self.url);
        if let Some(tag) = tag {
            request = request.header(header::IF_NONE_MATCH, &*tag);
        }
        let mut answer = request.call().map_err(|error| reason(&error))?;
        match answer.status() {
            StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED => return Ok(None),
            StatusCode::OK => {}
            status => return Err(of_status(status)),
        }
        let new_tag = answer.headers().get(header::ETAG);
        *tag = new_tag.and_then(|tag| Some(tag.to_str().ok()?.to_owned()));
        let body = answer.body_mut().with_config();
        let sealed = body.limit(SEALED_REPLY_LEN as u64).read_to_vec();
        let reply = self.mailbox.open(&sealed.map_err(|error| reason(&error))?);
        let foreign = "somebody without the invitation wrote into the mailbox";
        reply.map(Some).ok_or_else(|| foreign.into())
    }

    fn write(mut self, replies: &Receiver<Reply>) {
        while let Ok(reply) = replies.recv() {
            // A later reply has the addresses of the earlier ones.
            let reply = replies.try_iter().last().unwrap_or(reply);
            let mut interval = REQUEST_INTERVAL;
            while self.is_wanted() {
                match self.put(&reply) {
                    Ok(()) => {
                        self.is_failing = false;
                        self.report(MailboxEvent::ReplyStored);
                        break;
                    }
                    Err(why) => {
                        self.fail(&why);
                        self.clock.sleep_until(self.clock.now() + interval);
                        interval = (interval * 2).min(MAX_RETRY_INTERVAL);
                    }
                }
            }
        }
    }

    fn put(&self, reply: &Reply) -> Result<(), String> {
        let answer = self
            .agent
            .put(&self.url)
            .content_type("application/octet-stream")
            .send(&self.mailbox.seal(reply)[..]);
        match answer.map_err(|error| reason(&error))?.status() {
            status if status.is_success() => Ok(()),
            status => Err(of_status(status)),
        }
    }

    /// Reports a failure, but none that follows another.
    fn fail(&mut self, why: &str) {
        if !self.is_failing {
            self.is_failing = true;
            self.report(MailboxEvent::Failed(format!("{}: {why}", self.rendezvous)));
        }
    }

    fn report(&self, event: MailboxEvent) {
        // Nobody may want it any more.
        let _ = self.events.send(event);
    }
}

fn of_status(status: StatusCode) -> String {
    format!("it answers '{status}': check that `evenkeel rendezvous` runs at this address")
}
