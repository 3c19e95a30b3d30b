//! Sends one direction of one flow.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tresse::{Association, SendError, SendOptions, StreamId};
use tresse_core::Rng;

use super::{Amount, Flow};
use crate::clock;
use crate::handed::Handed;
use crate::payload::{Builder, Header};
use crate::protocol::DATA;

/// Echoes are asked for this often at most.
const ECHO_INTERVAL: u64 = 1_000_000;

/// One direction of one flow.
pub(super) struct Source {
    pub(super) flow: Flow,
    /// Its place in the request.
    pub(super) place: u16,
    /// This side is the client.
    pub(super) client: bool,
    pub(super) seed: u64,
    pub(super) duration: Duration,
    /// Ask for echoes.
    pub(super) echoing: bool,
    /// Is told of each message.
    pub(super) handed: Arc<Handed>,
}

/// What goes on while it sends.
struct Sending {
    association: Association,
    stopped: watch::Receiver<bool>,
    builder: Builder,
    /// When it began, on the clock of [`clock::monotonic_nanos`].
    started: u64,
    last_echo: u64,
    amount: Amount,
}

impl Source {
    /// A generator of its own for each use, so that what one draws changes nothing for others.
    fn rng(&self, purpose: u8) -> Rng {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_be_bytes());
        seed[8..10].copy_from_slice(&self.flow.id.to_be_bytes());
        seed[10..12].copy_from_slice(&[u8::from(self.client), purpose]);
        Rng::from_seed(seed)
    }

    /// Sends until the time is over or a stop is asked for.
    pub(super) async fn run(
        self,
        association: Association,
        stopped: watch::Receiver<bool>,
    ) -> Result<Amount, SendError> {
        let mut sending = Sending {
            association,
            stopped,
            builder: Builder::new(self.flow.max_message),
            started: clock::monotonic_nanos(),
            last_echo: 0,
            amount: Amount::default(),
        };
        if !self.flow.load(self.client).is_active() {
            return Ok(sending.amount);
        }
        let end = u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX);
        let mut rng = self.rng(0);
        match &self.flow.onoff {
            None => {
                self.send(&mut sending, &mut rng, 0..end).await?;
            }
            Some(onoff) => {
                let mut times = self.rng(1);
                let mut moments = onoff.moments(&mut times);
                while let Some(on) = moments.next().filter(|on| *on < end) {
                    let off = moments.next().unwrap_or(u64::MAX).min(end);
                    if !self.send(&mut sending, &mut rng, on..off).await? {
                        break;
                    }
                }
            }
        }
        Ok(sending.amount)
    }

    /// Sends frames while the flow is on; false if a stop was asked for.
    async fn send(
        &self,
        sending: &mut Sending,
        rng: &mut Rng,
        on: std::ops::Range<u64>,
    ) -> Result<bool, SendError> {
        let load = *self.flow.load(self.client);
        let mut due = on.start;
        loop {
            if due >= on.end || !sending.sleep_until(due).await {
                return Ok(due >= on.end);
            }
            if sending.now() >= on.end {
                return Ok(true);
            }
            let size = load.frame(rng);
            if !self.frame(sending, rng, size).await? {
                return Ok(false);
            }
            due = match load.is_saturated() {
                true => sending.now(),
                // What is late is sent at once.
                false => due.saturating_add(load.interval(rng)),
            };
        }
    }

    /// Sends a frame as one or more messages; false if a stop was asked for.
    async fn frame(
        &self,
        sending: &mut Sending,
        rng: &mut Rng,
        mut left: usize,
    ) -> Result<bool, SendError> {
        while left > 0 {
            let size = left.min(self.flow.max_message);
            left -= size;
            let now = clock::monotonic_nanos();
            let echo = self.echoing && now - sending.last_echo >= ECHO_INTERVAL;
            if echo {
                sending.last_echo = now;
            }
            let index = sending.amount.messages;
            let header = Header { index, sent_at: now, echo, more: left > 0, flow: self.place };
            let message = sending.builder.message(&header, size);
            let length = message.len();
            let unordered = self.flow.unordered > 0.0 && rng.next_f64() < self.flow.unordered;
            let options = SendOptions { ppid: DATA, unordered, ..SendOptions::default() };
            let stream = StreamId(self.flow.stream);
            tokio::select! {
                biased;
                sent = sending.association.send_with(stream, message, options) => sent?,
                _ = sending.stopped.wait_for(|stop| *stop) => return Ok(false),
            }
            self.handed.add(length);
            sending.amount.messages += 1;
            sending.amount.bytes += length as u64;
            sending.amount.frames += u64::from(left == 0);
        }
        // The branch above is looked at only while sending has to wait.
        Ok(!*sending.stopped.borrow())
    }
}

impl Sending {
    /// Nanoseconds since the beginning.
    fn now(&self) -> u64 {
        clock::monotonic_nanos().saturating_sub(self.started)
    }

    /// Waits for a moment; false if a stop was asked for.
    async fn sleep_until(&mut self, due: u64) -> bool {
        let now = self.now();
        if due <= now {
            return true;
        }
        let wake = Instant::now() + Duration::from_nanos(due - now);
        tokio::select! {
            () = sleep_until(wake) => true,
            _ = self.stopped.wait_for(|stop| *stop) => false,
        }
    }
}
