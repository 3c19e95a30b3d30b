//! Control chunks that wait to be sent.

use std::collections::VecDeque;
use std::net::IpAddr;

use bytes::Bytes;
use tresse_wire::{AsconfNumber, Cwr, VerificationTag, padded};

use crate::ids::PathId;
use crate::path::{Padding, Paths};

/// At most this many wait at once: a flood of requests is not answered in full.
const MAX_WAITING: usize = 64;

/// A control chunk that waits to be sent.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    Init,
    CookieEcho,
    /// With the source that it leaves from, if not the one of its path.
    CookieAck(Option<IpAddr>),
    Heartbeat(Bytes, Option<IpAddr>),
    HeartbeatAck(Bytes, Option<IpAddr>),
    /// A HEARTBEAT in an SCTP packet of just this many bytes.
    MtuProbe(Bytes, usize, Padding),
    Shutdown(Option<IpAddr>),
    ShutdownAck(Option<IpAddr>),
    ShutdownComplete(Option<IpAddr>),
    /// Encoded parameters of a RE-CONFIG chunk.
    ReConfig(Bytes, Option<IpAddr>),
    /// The ASCONF chunk that is under way, with the source that it leaves from, if not the one of its path.
    Asconf(Option<IpAddr>),
    /// The number and the encoded responses of an ASCONF-ACK chunk, and where it goes.
    AsconfAck(AsconfNumber, Bytes, Back),
    /// A window was reduced for a mark.
    Cwr(Cwr),
    /// A packet that arrived damaged.
    PacketDrop(DropReport),
    /// Encoded error causes.
    Error(Vec<u8>),
    Abort(Abort),
}

/// A packet that arrived damaged, as far as the peer is told of it.
#[derive(Clone, Debug)]
pub(crate) struct DropReport {
    pub(super) packet: Bytes,
    /// How long it was, if that is not all.
    pub(super) truncated_from: Option<u16>,
    /// Where it arrived, to answer from there, if not from the source of its path.
    pub(super) source: Option<IpAddr>,
}

/// Where a packet came from, to be answered there, be it an address of the association or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Back {
    pub(super) address: IpAddr,
    pub(super) encapsulation: Option<u16>,
    /// Where it arrived, if the peer knows it.
    pub(super) local: Option<IpAddr>,
}

/// An ABORT chunk that waits to be sent, with the tag of its packet.
#[derive(Clone, Debug)]
pub(crate) struct Abort {
    pub(super) tag: VerificationTag,
    /// The T bit: the tag is not the peer's (RFC 9260 §8.5.1 B).
    pub(super) reflected: bool,
    /// Encoded error causes.
    pub(super) causes: Vec<u8>,
}

/// Control chunks in the order in which they leave, each with its path.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<(PathId, Control)>,
    /// Addresses may change (RFC 5061), so that it may be that none is confirmed.
    changes: bool,
}

impl Outbox {
    /// Addresses may change from now on, or not.
    pub(super) fn set_changes(&mut self, changes: bool) {
        self.changes = changes;
    }

    //= RFC 5061 5.3-5 5.3-24
    /// Some address of the peer is confirmed, so that it can be sent more than what verifies one. Without changes of addresses
    /// there always is.
    #[inline]
    pub(super) fn has_way(&self, paths: &Paths) -> bool {
        !self.changes || paths.iter().any(|path| path.is_confirmed())
    }

    //= RFC 5061 5.3-5
    /// A chunk on a path that is gone by now leaves on another one, unless it asks just that one something. To addresses none
    /// of which is confirmed nothing leaves but what verifies them, and answers (F1): the rest is sent when its timer expires.
    fn redirect(&self, paths: &Paths, path: PathId, control: &Control) -> Option<PathId> {
        if control.needs_confirmed_path() && !self.has_way(paths) {
            return None;
        }
        let living = paths.is_living(path);
        (living || !control.is_for_its_path()).then(|| paths.living(path))
    }

    /// Queues a chunk; beyond the limit it is dropped. Tells whether it will leave.
    pub(super) fn push(&mut self, paths: &Paths, path: PathId, control: Control) -> bool {
        let Some(path) = self.redirect(paths, path, &control) else { return false };
        if self.waiting.len() >= MAX_WAITING {
            return false;
        }
        match control {
            //= RFC 9260 3.2.2-3 3.3.11-1 3.3.12-1 5.1-7 5.1-8 5.1.5-5 5.1.5-7
            // RFC 9260 §5.1: these MUST be the first chunk in the packet.
            Control::CookieEcho | Control::CookieAck(_) => self.push_first(path, control),
            _ if control.is_search() => self.waiting.push_back((path, control)),
            _ => {
                let before = self.waiting.iter().position(|(_, c)| c.is_search());
                self.waiting.insert(before.unwrap_or(self.waiting.len()), (path, control));
            }
        }
        true
    }

    /// Queues a chunk before all others, whatever waits.
    pub(super) fn push_first(&mut self, path: PathId, control: Control) {
        self.waiting.push_front((path, control));
    }

    /// Moves the last chunk, searches apart, to the front.
    pub(super) fn put_last_first(&mut self) {
        let last = self.waiting.iter().rposition(|(_, c)| !c.is_search());
        if let Some(chunk) = last.and_then(|at| self.waiting.remove(at)) {
            self.waiting.push_front(chunk);
        }
    }

    /// An ABORT is the only thing left to say.
    pub(super) fn abort(&mut self, path: PathId, abort: Abort) {
        self.waiting.clear();
        self.waiting.push_back((path, Control::Abort(abort)));
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Keeps what still leaves when the association is closed: SHUTDOWN COMPLETE and ABORT.
    pub(super) fn keep_last_words(&mut self) {
        self.waiting.retain(|(_, c)| matches!(c, Control::ShutdownComplete(_) | Control::Abort(_)));
    }

    /// Drops SHUTDOWN and SHUTDOWN ACK that wait: one chunk of this kind is enough.
    pub(super) fn drop_shutdowns(&mut self) {
        self.waiting.retain(|(_, c)| !matches!(c, Control::Shutdown(_) | Control::ShutdownAck(_)));
    }

    pub(super) fn first(&self) -> Option<&(PathId, Control)> {
        self.waiting.front()
    }

    pub(super) fn take_first(&mut self) -> Option<(PathId, Control)> {
        self.waiting.pop_front()
    }

    /// What waits for a path that is gone leaves on another one; a chunk that queries that path itself is dropped.
    pub(super) fn leave_path(&mut self, gone: PathId, path: PathId) {
        self.waiting.retain(|(on, control)| *on != gone || !control.is_for_its_path());
        for (on, _) in self.waiting.iter_mut().filter(|(on, _)| *on == gone) {
            *on = path;
        }
    }

    /// Drops an ASCONF chunk that waits.
    pub(super) fn drop_asconf(&mut self) {
        self.waiting.retain(|(_, control)| !matches!(control, Control::Asconf(_)));
    }

    /// A CWR chunk for `path` that waits is replaced by a later one; `false` if it is the later one itself.
    pub(super) fn makes_way(&mut self, path: PathId, later: &Cwr) -> bool {
        let at = self.waiting.iter().position(|(on, control)| {
            *on == path
                && matches!(control, Control::Cwr(cwr) if !cwr.lowest_tsn.follows(later.lowest_tsn))
        });
        if let Some(at) = at {
            self.waiting.remove(at);
        }
        !self.waiting.iter().any(|(on, control)| *on == path && matches!(control, Control::Cwr(_)))
    }

    /// Bytes of memory beside its own.
    pub(super) fn memory(&self) -> usize {
        let chunks: usize = self.waiting.iter().map(|(_, control)| control.len_bound()).sum();
        self.waiting.capacity() * size_of::<(PathId, Control)>() + chunks
    }
}

impl Control {
    /// A heartbeat that looks for another source of its path.
    pub(super) fn is_search(&self) -> bool {
        matches!(self, Control::Heartbeat(_, Some(_)))
    }

    /// It is about the path that it leaves on.
    pub(super) fn is_for_its_path(&self) -> bool {
        matches!(
            self,
            Control::Heartbeat(..)
                | Control::HeartbeatAck(..)
                | Control::MtuProbe(..)
                | Control::Cwr(_)
        )
    }

    /// It is neither part of a handshake, nor does it verify or answer, nor end.
    pub(super) fn needs_confirmed_path(&self) -> bool {
        matches!(
            self,
            Control::Shutdown(_)
                | Control::ShutdownAck(_)
                | Control::ReConfig(..)
                | Control::Asconf(_)
                | Control::Cwr(_)
                | Control::PacketDrop(_)
                | Control::Error(_)
        )
    }

    //= RFC 9260 3-1 3.3.7-2 5.1-9 5.1-10 6.10-8
    /// It leaves in a packet of its own: INIT, SHUTDOWN COMPLETE and ABORT MUST, a probe has the size of its packet, and no packet
    /// needs room for the AUTH chunk in front of ASCONF, which is rare.
    pub(super) fn is_alone(&self) -> bool {
        matches!(
            self,
            Control::Init
                | Control::MtuProbe(..)
                | Control::Asconf(_)
                | Control::AsconfAck(..)
                | Control::ShutdownComplete(_)
                | Control::Abort(_)
        )
    }

    /// The source that it must leave from.
    pub(super) fn source(&self) -> Option<IpAddr> {
        match self {
            Control::CookieAck(source)
            | Control::Shutdown(source)
            | Control::ShutdownAck(source)
            | Control::ShutdownComplete(source)
            | Control::Heartbeat(_, source)
            | Control::HeartbeatAck(_, source)
            | Control::ReConfig(_, source)
            | Control::Asconf(source) => *source,
            Control::AsconfAck(_, _, back) => back.local,
            Control::PacketDrop(report) => report.source,
            _ => None,
        }
    }

    /// An upper bound of the bytes that it takes.
    pub(super) fn len_bound(&self) -> usize {
        8 + match self {
            Control::Heartbeat(b, _) | Control::HeartbeatAck(b, _) => padded(b.len()) + 4,
            Control::MtuProbe(b, ..) => padded(b.len()) + 4,
            Control::Error(b) => padded(b.len()),
            Control::PacketDrop(report) => padded(report.packet.len()) + 8,
            Control::ReConfig(b, _) | Control::AsconfAck(_, b, _) => padded(b.len()),
            _ => 0,
        }
    }
}
