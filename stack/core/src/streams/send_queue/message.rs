//! A message that waits in the queue, and one that is leaving.

use std::net::IpAddr;

use bytes::Bytes;
use tresse_wire::{Fsn, Mid, Ppid, StreamId};

use super::policy::Policy;
use crate::event::{Message, SendFailure};
use crate::time::Time;

/// A message that waits.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) stream: StreamId,
    pub(super) unordered: bool,
    pub(super) sack_immediately: bool,
    pub(super) ppid: Ppid,
    pub(super) context: u32,
    pub(super) key: Option<u16>,
    /// The address that it goes to.
    pub(super) destination: Option<IpAddr>,
    pub(super) policy: Policy,
    /// End of its lifetime.
    pub(super) until: Time,
    /// The whole message.
    pub(super) payload: Bytes,
}

/// A message that is leaving.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) message: Queued,
    /// Its number in the order of arrival.
    pub(super) number: u64,
    /// 0 and without meaning in an unordered DATA chunk.
    pub(super) mid: Mid,
    /// Which fragment is next.
    pub(super) fsn: Fsn,
    /// Bytes that have left.
    pub(super) taken: usize,
}

impl Queued {
    /// It was not delivered; `sent` says whether a part of it had left.
    pub(super) fn failure(&self, sent: bool) -> SendFailure {
        let message = Message {
            stream: self.stream,
            ppid: self.ppid,
            unordered: self.unordered,
            payload: self.payload.clone(),
        };
        SendFailure { message, whole: true, context: self.context, sent }
    }
}
