//! One test on one association, seen from one side.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tresse::{Association, Closed, Endpoint, Profile, ReceivedMessage, SendError, StreamId};

use super::agreed::{Agreed, Came};
use super::flow::FlowResult;
use super::outcome::Failure;
use super::protocol::{self, Control};
use super::report::{Interval, ReceiverReport, SenderReport, Summary, text};
use super::test::{DelayKind, Test};

/// How often the user has asked to end.
#[derive(Clone, Debug)]
pub(crate) struct Interrupts(watch::Receiver<u32>);

impl Interrupts {
    /// Counts Ctrl-C, and on Unix also a request to terminate.
    pub(crate) fn listen() -> Interrupts {
        let (sender, receiver) = watch::channel(0);
        tokio::spawn(async move {
            // Kept from one signal to the next, so that none is missed in between.
            let Ok(mut signals) = Signals::new() else { return };
            while signals.next().await.is_some() {
                sender.send_modify(|n| *n += 1);
            }
        });
        Interrupts(receiver)
    }

    /// Waits until it was asked this many times; for ever if nobody can ask any more.
    pub(crate) async fn at_least(&self, times: u32) {
        if self.0.clone().wait_for(|n| *n >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Option<()> {
        tokio::select! {
            signal = self.interrupt.recv() => signal,
            signal = self.terminate.recv() => signal,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) -> Option<()> {
        tokio::signal::ctrl_c().await.ok()
    }
}

/// Where text goes, and whether there is any.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
    /// Tells tests apart, such as "[3] ".
    pub(crate) prefix: String,
}

impl Output {
    pub(crate) fn line(&self, line: &str) {
        if !self.json {
            print(&format!("{}{line}", self.prefix));
        }
    }
}

/// One test on one association.
pub(crate) struct Session {
    pub(crate) endpoint: Endpoint,
    pub(crate) association: Association,
    pub(crate) profile: Arc<Profile>,
    pub(crate) test: Test,
    pub(crate) delay: DelayKind,
    pub(crate) output: Output,
    pub(crate) interrupts: Interrupts,
    pub(crate) timeout: Duration,
    pub(crate) agreed: Agreed,
    /// Time between two lines of figures.
    pub(crate) interval: Duration,
    /// What came before the server's answer: streams have no order among them.
    pub(crate) early: Mutex<VecDeque<ReceivedMessage>>,
}

/// What a test gave; parts are missing when it failed.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) sent: Option<SenderReport>,
    pub(crate) received: Option<ReceiverReport>,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) stopped: bool,
    pub(crate) flows: Vec<FlowResult>,
}

impl Session {
    pub(crate) fn failed(&self, closed: &Closed) -> Failure {
        Failure::closed(closed, &self.profile)
    }

    /// The failure behind a message that was not accepted.
    pub(crate) fn send_failed(&self, error: &SendError) -> Failure {
        match error {
            SendError::Closed(closed) => self.failed(closed),
            other => Failure::Failed(other.to_string()),
        }
    }

    pub(crate) async fn tell(&self, control: &Control) -> Result<(), Failure> {
        protocol::send(&self.association, control).await.map_err(|e| self.send_failed(&e))
    }

    /// The next message.
    pub(crate) async fn recv(&self) -> Result<ReceivedMessage, Failure> {
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match early {
            Some(message) => Ok(message),
            None => self.association.recv().await.map_err(|closed| self.failed(&closed)),
        }
    }

    /// The first control message. What comes before it waits for [`recv`](Self::recv).
    pub(crate) async fn first_control(&self) -> Result<ReceivedMessage, Failure> {
        loop {
            let received = self.association.recv().await.map_err(|closed| self.failed(&closed))?;
            if received.stream == StreamId(0) {
                return Ok(received);
            }
            self.early.lock().unwrap_or_else(PoisonError::into_inner).push_back(received);
        }
    }

    /// Ends an association that is of no use any more. The ABORT spares the peer its timers.
    pub(crate) async fn give_up(&self, why: &Failure) {
        self.association.abort(why.to_string());
        let _ = tokio::time::timeout(Duration::from_millis(500), self.association.closed()).await;
    }

    /// Prints the end of the test.
    pub(crate) fn print(&self, side: &'static str, peer: String, outcome: &Outcome) {
        self.summary(side, peer, outcome, None);
        let refused = outcome.sent.as_ref().map_or(0, |sent| sent.mtu_probes_refused);
        let delay = Some(self.delay);
        for line in text(outcome.sent.as_ref(), outcome.received.as_ref(), delay) {
            self.output.line(&line);
        }
        for line in self.came().lines(refused) {
            self.output.line(&line);
        }
        for flow in &outcome.flows {
            self.output.line(&flow.line());
        }
    }

    fn came(&self) -> Came {
        Came::of(&self.association.metrics(), self.agreed)
    }

    /// Prints the JSON document, if it is wanted.
    pub(crate) fn summary(
        &self,
        side: &'static str,
        peer: String,
        outcome: &Outcome,
        error: Option<&Failure>,
    ) {
        if !self.output.json {
            return;
        }
        print_json(&Summary {
            tresse: env!("CARGO_PKG_VERSION"),
            side,
            peer,
            profile: &self.profile.name,
            test: Some(&self.test),
            delay_kind: Some(self.delay),
            interleaving: Some(self.agreed.interleaving),
            ecn: Some(self.agreed.ecn),
            mtu_search: self.agreed.mtu_search,
            came: self.came(),
            stopped: outcome.stopped,
            error: error.map(ToString::to_string),
            sent: outcome.sent.as_ref(),
            received: outcome.received.as_ref(),
            intervals: &outcome.intervals,
            flows: &outcome.flows,
        });
    }
}

/// Prints one JSON document on one line.
pub(crate) fn print_json(summary: &Summary<'_>) {
    if let Ok(text) = serde_json::to_string(summary) {
        print(&text);
    }
}

/// Prints a line. The test goes on whatever comes of it.
fn print(line: &str) {
    tresse_console::say::print(format_args!("{line}\n"));
}
