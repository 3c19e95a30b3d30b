//! A handshake that we have begun: T1, and what is repeated (RFC 9260 §5.1).

use bytes::Bytes;
use tresse_wire::PacketWriter;

use crate::time::Time;

/// A handshake that we have begun.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opening {
    /// T1-init or T1-cookie, as the state says.
    t1: Option<Time>,
    attempts: u32,
    /// Extension to ask for after a stale cookie (RFC 9260 §5.2.6).
    preservative_ms: u32,
    /// A stale cookie is retried once.
    stale_retried: bool,
    /// When the INIT or COOKIE ECHO was first sent, while a sample from it is valid (Karn).
    sent_once: Option<Time>,
    /// The application has asked for the end already.
    to_be_closed: bool,
}

/// The cookie that COOKIE ECHO brings, and what goes with it.
#[derive(Debug)]
pub(super) struct EchoedCookie {
    cookie: Bytes,
    /// An ERROR to bundle with it: unrecognised parameters of the INIT ACK.
    error: Option<Vec<u8>>,
    sent: Time,
    /// How often it was repeated.
    repeats: u32,
}

impl Opening {
    /// INIT or COOKIE ECHO leaves for the first time.
    pub(super) fn sent(self, now: Time) -> Opening {
        Opening { sent_once: Some(now), ..self }
    }

    /// INIT ACK has come: from now on COOKIE ECHO is repeated.
    pub(super) fn answered(self, now: Time) -> Opening {
        Opening { attempts: 0, ..self }.sent(now)
    }

    /// It begins again after a stale cookie, for which this much more life is asked; `None` if it has done so before.
    pub(super) fn after_stale(self, preservative_ms: u32) -> Option<Opening> {
        let Opening { to_be_closed, stale_retried, .. } = self;
        let again =
            Opening { preservative_ms, stale_retried: true, to_be_closed, ..Opening::default() };
        (!stale_retried).then_some(again)
    }

    /// T1 has expired, which counts as an attempt or not: how many there were.
    pub(super) fn on_t1(&mut self, counts: bool) -> u32 {
        self.attempts += u32::from(counts);
        self.sent_once = None;
        self.attempts
    }

    /// What is sent takes another way than before: its answer is no sample of that.
    pub(super) fn forget_sample(&mut self) {
        self.sent_once = None;
    }

    /// When what is now answered was sent, if once.
    pub(super) const fn sample(&self) -> Option<Time> {
        self.sent_once
    }

    /// The Suggested Cookie Life-Span Increment to ask for, in milliseconds; 0 for none.
    pub(super) const fn preservative_ms(&self) -> u32 {
        self.preservative_ms
    }

    /// The application has asked for the end.
    pub(super) fn ask_to_close(&mut self) {
        self.to_be_closed = true;
    }

    /// It has.
    pub(super) const fn is_to_be_closed(&self) -> bool {
        self.to_be_closed
    }

    /// When T1 expires.
    pub(super) const fn deadline(&self) -> Option<Time> {
        self.t1
    }

    /// T1 has expired, and no longer runs.
    pub(super) fn take_due(&mut self, now: Time) -> bool {
        self.t1.take_if(|at| *at <= now).is_some()
    }

    /// T1 runs until then.
    pub(super) fn repeat_at(&mut self, at: Time) {
        self.t1 = Some(at);
    }

    /// It runs no longer than that.
    pub(super) fn repeat_before(&mut self, latest: Time) {
        self.t1 = self.t1.map(|at| at.min(latest));
    }
}

impl EchoedCookie {
    /// It leaves now, with these error causes.
    pub(super) fn new(now: Time, cookie: &[u8], error: Option<Vec<u8>>) -> EchoedCookie {
        EchoedCookie { cookie: Bytes::copy_from_slice(cookie), error, sent: now, repeats: 0 }
    }

    /// It leaves again.
    pub(super) fn repeat(&mut self, now: Time) {
        self.sent = now;
        self.repeats = self.repeats.saturating_add(1);
    }

    /// Data may ride behind it (RFC 9260 §5.1 C): not once two were not answered, for they may be too large for the
    /// path, of which nothing is known yet.
    pub(super) const fn may_bring_data(&self) -> bool {
        self.repeats < 2
    }

    /// When it left last.
    pub(super) const fn sent(&self) -> Time {
        self.sent
    }

    /// Its chunks.
    pub(super) fn write(&self, writer: &mut PacketWriter<'_>) {
        writer.cookie_echo(&self.cookie);
        if let Some(causes) = &self.error {
            writer.error(causes);
        }
    }

    /// Bytes of memory beside its own.
    pub(super) fn memory(&self) -> usize {
        self.cookie.len() + self.error.as_ref().map_or(0, Vec::capacity)
    }
}
