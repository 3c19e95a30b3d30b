//! From the program to the stack.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use tokio::time::Instant;
use tresse::{AssociationConfig, AssociationId, Message, Ppid, SendFailure, SendOptions, StreamId};

use super::bind::is_for_many;
use super::notification::Notification;
use super::reliability_options::reliability;
use super::socket::{Ending, Received, Socket};
use super::stalled::ALLOWED;
use super::{Engine, Fallible, unspecified_is_local};
use tresse_core::SendError;
use tresse_socket_protocol::abi::{canonical, errno, sinfo};
use tresse_socket_protocol::opening::Opening;
use tresse_socket_protocol::protocol::{HEADER, TxHeader, flag, kind};

/// A message that may be sent.
#[derive(Default)]
pub(super) struct Allowed {
    /// How many streams there are, 0 if the client is to ask again.
    streams: u16,
    pub(super) association: u32,
    /// Bytes that may be written to that association of a one-to-many socket before the client asks again. The message
    /// itself may be longer.
    bytes: u32,
}

impl Allowed {
    /// As `CheckSend` is answered.
    pub(super) fn answer(&self) -> (i64, Vec<u8>) {
        let payload = [self.association.to_le_bytes(), self.bytes.to_le_bytes()].concat();
        (self.streams.into(), payload)
    }
}

/// What became of a frame.
#[derive(PartialEq, Eq)]
enum Taken {
    /// It is done with.
    Done,
    /// Its message waits for room.
    Stalled,
}

impl Engine {
    /// Reads the frames of a data connection until there are none or a message has to wait. Also
    /// handles the connection's end. True if the connection was read empty.
    pub(crate) fn readable(&mut self, id: u64) -> bool {
        loop {
            let Some(socket) = self.sockets.get(&id) else { return true };
            if !socket.reads() {
                return false;
            }
            let conn = socket.conn.clone();
            let mut buffer = std::mem::take(&mut self.buffer);
            let received = conn.receive(&mut buffer);
            if let Received::Frame(len) = &received {
                self.take_frame(id, &buffer[..*len]);
            }
            self.buffer = buffer;
            match received {
                Received::Frame(_) => {}
                Received::Nothing => return true,
                Received::End(_) if self.sockets.get(&id).is_some_and(|s| s.deaf) => {
                    self.drained(id);
                    return true;
                }
                Received::End(unread) => {
                    // The mark of the end is never read.
                    let told = self.sockets.get(&id).is_some_and(|s| s.told != Ending::No);
                    self.take_without_room(id);
                    self.close(id, unread && !told);
                    return true;
                }
            }
        }
    }

    /// All that the program wrote is taken, and nothing more can come.
    fn drained(&mut self, id: u64) {
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        socket.drained = true;
        socket.conn.changed.notify_one();
        if let Some(number) = socket.associations.first().copied().filter(|_| socket.write_shut) {
            self.shut_association(number);
        }
    }

    /// As `readable`, for callers that do not care whether there is more, and also if the program was told to wait.
    pub(super) fn take_frames(&mut self, id: u64) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.refused = None;
        }
        let _ = self.readable(id);
    }

    /// The connection has ended although its frames are not read: what they are is of no interest.
    pub(crate) fn hang_up(&mut self, id: u64) {
        self.close(id, false);
    }

    /// The connection has ended although a message waits for room. What the program has written goes into the
    /// send buffers all the same, and the associations are shut down behind it: so T5-shutdown-guard is there
    /// for a peer that never reads again. As in Linux, SO_LINGER with 0 throws it away.
    pub(crate) fn leave(&mut self, id: u64) {
        self.take_without_room(id);
        let Some(socket) = self.sockets.get(&id) else { return };
        // Memory is short, and no program is there that could wait for more; or SO_LINGER says so.
        if socket.is_held_up() {
            return self.close(id, false);
        }
        self.take_frames(id);
    }

    /// The program has gone, and so nobody waits for room: the send buffers take what is there.
    pub(super) fn take_without_room(&mut self, id: u64) {
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        if socket.options.linger == Some(0) {
            return;
        }
        socket.gone = true;
        for number in socket.stalled.associations() {
            self.retry(id, number);
        }
    }

    /// There may be room in the send buffer of an association.
    pub(super) fn resume(&mut self, id: u64, number: u32) {
        let held_up = |engine: &Engine| engine.sockets.get(&id).is_some_and(Socket::is_held_up);
        let was_held_up = held_up(self);
        self.retry(id, number);
        let goes_on = was_held_up && !held_up(self);
        let Some(socket) = self.sockets.get(&id) else { return };
        socket.room.notify_waiters();
        if goes_on || !socket.stalled.waits(number) {
            socket.conn.changed.notify_one();
            self.take_frames(id);
        }
    }

    /// Hands on what waits for room in the send buffer of an association, as far as there is some.
    fn retry(&mut self, id: u64, number: u32) {
        loop {
            let Some(socket) = self.sockets.get_mut(&id) else { return };
            let Some((header, payload)) = socket.stalled.pop(number) else { return };
            if self.pass_on(id, &header, payload) == Taken::Stalled {
                return;
            }
        }
    }

    fn take_frame(&mut self, id: u64, frame: &[u8]) {
        let Some(header) = TxHeader::decode(frame) else { return self.refuse_frame(id) };
        if header.kind == kind::DATA {
            let header = self.complete(id, header);
            self.take_message(id, header, Bytes::copy_from_slice(&frame[HEADER..]));
        }
    }

    /// Something was written past the C library, so its length and its place among the messages are
    /// not known. It was said to be sent and cannot be: the association ends, and the next call says so.
    fn refuse_frame(&mut self, id: u64) {
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        socket.error = errno::EINVAL;
        if let Some(number) = socket.associations.first().copied().filter(|_| !socket.many) {
            self.abort_association(number, b"data was written past the sockets interface");
        }
    }

    /// Which association a message is for, opening one if need be, as `opening` says.
    fn target(&mut self, id: u64, header: &TxHeader, opening: &Opening) -> Fallible<u32> {
        let socket = self.socket(id)?;
        let many = socket.many;
        if many && let Some(address) = header.address.map(canonical) {
            // The client names the one that it last heard from there, should there be several.
            let named = header.association;
            if self.is_peer(id, named, address) && self.association_of(id, named).is_some() {
                return Ok(named);
            }
            if let Some(number) = self.association_with(id, address) {
                return Ok(number);
            }
            if header.sinfo_flags & (sinfo::EOF | sinfo::ABORT) != 0 {
                return Err(errno::EINVAL);
            }
            self.auto_bind(id)?;
            return self.associate(id, &[&[address], &opening.more[..]].concat(), opening.init);
        }
        let own = !many && socket.peeled_from.is_none();
        if let Some((number, association)) = self.association_of(id, header.association) {
            // As in the kernel, what was peeled off does not look at the address.
            let address = header.address.map(canonical).filter(|_| own);
            return match address.map(|a| SocketAddr::new(unspecified_is_local(a.ip()), a.port())) {
                _ if association.ended => Err(errno::EPIPE),
                Some(stranger) if !self.is_peer(id, number, stranger) => Err(errno::EADDRNOTAVAIL),
                _ => Ok(number),
            };
        }
        match header.address.map(canonical) {
            Some(address) if !many && self.socket(id)?.backlog.is_none() => {
                self.auto_bind(id)?;
                self.associate(id, &[&[address], &opening.more[..]].concat(), opening.init)
            }
            _ => Err(errno::EPIPE),
        }
    }

    /// Whether a message with this header, of `len` bytes, would be taken. EAGAIN if others of its association wait for room
    /// in its send buffer, or many bytes of all do, and the socket is one-to-many.
    pub(super) fn check_send(
        &mut self,
        id: u64,
        header: &TxHeader,
        opening: &Opening,
        len: usize,
    ) -> Fallible<Allowed> {
        let socket = self.socket(id)?;
        // As in the kernel: a one-to-one socket has `shutdown`, and SO_LINGER for an abort.
        let ends = header.sinfo_flags & (sinfo::EOF | sinfo::ABORT) != 0;
        let peeled = socket.peeled_from.is_some();
        if ends && !socket.many && !peeled {
            return Err(errno::EINVAL);
        }
        if header.address.is_some_and(|to| is_for_many(canonical(to).ip())) && !peeled {
            return Err(errno::EINVAL);
        }
        let pending = self.take_error(id)?;
        if pending != 0 {
            return Err(pending);
        }
        // SCTP_EOF may be among what was written before.
        self.take_frames(id);
        let header = self.complete(id, *header);
        let number = self.target(id, &header, opening)?;
        if self.is_behind(id, &header, len)? {
            return Err(errno::EAGAIN);
        }
        let len_with_piece = self.check_piece(id, number, &header, len)?;
        let options = &self.socket(id)?.options;
        let (whole, asks) = (!options.config.fragmentation, options.asks_always());
        let association = self.associations.get_mut(&number).ok_or(errno::EPIPE)?;
        association.known.set(true);
        if header.stream >= association.streams.0 {
            return Err(errno::EINVAL);
        }
        let shut = self.sockets.get(&id).is_some_and(|socket| socket.write_shut);
        if association.finished {
            // RFC 9260 §9.2: "The endpoint accepts no new data from its upper layer".
            return Err(errno::EPIPE);
        }
        if association.peer_is_done || shut {
            // As the kernel: §9.2 of RFC 9260 takes nothing more.
            return Err(if self.socket(id)?.many { errno::ESHUTDOWN } else { errno::EPIPE });
        }
        let (core, established, streams) =
            (association.core, association.established, association.streams.0);
        if whole {
            // RFC 6458 §8.1.11: "if a message has to be fragmented, the call to send() will fail with
            // EMSGSIZE"; and the PMTU may change.
            let info = self.raw.act(|endpoint, _| endpoint.info(core));
            if info.is_some_and(|info| len_with_piece > info.fragmentation_point) {
                return Err(errno::EMSGSIZE);
            }
        }
        if header.flags & flag::KEY != 0 {
            self.check_named_key(core, header.key)?;
        }
        let socket = self.sockets.get_mut(&id).ok_or(errno::EBADF)?;
        let aborts = header.sinfo_flags & sinfo::ABORT != 0;
        let full = socket.stalled.waits(number)
            || socket.stalled.is_enough()
            || socket.stalled.waits_for_long(number, len);
        if socket.many && full && len > 0 && !aborts {
            socket.refuse();
            return Err(errno::EAGAIN);
        }
        let bytes = socket.options.config.send_buffer.min(ALLOWED) as u32;
        // How many the peer grants is not known before.
        let streams = if established && !asks { streams } else { 0 };
        Ok(Allowed { streams, association: number, bytes })
    }

    /// Sends a message that came in several frames.
    pub(super) fn send_whole(&mut self, id: u64, header: TxHeader, message: Bytes) -> Fallible<()> {
        // What was written before is in front of it.
        self.take_frames(id);
        self.socket(id)?;
        let header = self.complete(id, header);
        self.take_message(id, header, message);
        if let Some(socket) = self.sockets.get(&id) {
            socket.conn.changed.notify_one();
        }
        Ok(())
    }

    /// Where an association is that was peeled off from a socket; the socket itself for all others.
    fn heir(&self, id: u64, number: u32) -> u64 {
        let now = self.associations.get(&number).and_then(|association| association.socket);
        let peeled =
            |now: &u64| self.sockets.get(now).is_some_and(|socket| socket.peeled_from == Some(id));
        now.filter(peeled).unwrap_or(id)
    }

    /// A message that the program has written: behind those that wait, if there are any.
    fn take_message(&mut self, id: u64, header: TxHeader, payload: Bytes) {
        // Whatever association it names.
        let many = self.sockets.get(&id).is_some_and(|socket| socket.many);
        if many && header.sinfo_flags & sinfo::SENDALL != 0 {
            return self.send_to_all(id, &header, &payload);
        }
        // It may have been written before the association was peeled off.
        let heir = self.heir(id, header.association);
        if heir != id {
            return self.take_message(heir, header, payload);
        }
        let Some((header, payload)) = self.gather(id, header, payload) else { return };
        if let Some(socket) = self.sockets.get_mut(&id) {
            let own = socket.associations.first().copied().filter(|_| !socket.many);
            let number = own.unwrap_or(header.association);
            // An abort waits for nobody.
            if socket.stalled.waits(number) && header.sinfo_flags & sinfo::ABORT == 0 {
                socket.stalled.push(number, (header, payload));
                // RFC 9260 §9.2: nothing comes behind SCTP_EOF, nor another one.
                let ends = header.sinfo_flags & sinfo::EOF != 0;
                if let Some(association) = self.associations.get_mut(&number) {
                    association.finished |= ends;
                }
                return;
            }
        }
        self.pass_on(id, &header, payload);
    }

    /// Hands a message to its association. One that has to wait is in front then.
    fn pass_on(&mut self, id: u64, header: &TxHeader, payload: Bytes) -> Taken {
        // As in the kernel: a one-to-one socket sends to its own.
        let target = match header.association {
            0 => self.target(id, header, &Opening::default()),
            // The one that the engine has named before the message was written, and no other.
            named => match self.association_of(id, named) {
                Some((number, association)) if number == named && !association.ended => Ok(number),
                _ => Err(errno::EPIPE),
            },
        };
        let Ok(number) = target else {
            self.give_back(id, header, payload);
            return Taken::Done;
        };
        let header = TxHeader { association: number, ..*header };
        self.send_to(id, number, &header, payload)
    }

    /// The address of the peer that a message is to go to: that of a one-to-one socket, and of another one with
    /// SCTP_ADDR_OVER (RFC 6458 §5.3.2). As in the kernel, what was peeled off does not look at it.
    fn destination(&self, id: u64, header: &TxHeader) -> Option<IpAddr> {
        let socket = self.sockets.get(&id)?;
        let over = if socket.many {
            header.sinfo_flags & sinfo::ADDR_OVER != 0
        } else {
            socket.peeled_from.is_none()
        };
        let address = header.address.map(canonical).filter(|_| over);
        address.map(|a| unspecified_is_local(a.ip()))
    }

    /// A message was taken from the program, and no association takes it any more: it comes back.
    pub(super) fn give_back(&mut self, id: u64, header: &TxHeader, payload: Bytes) {
        let Some(socket) = self.sockets.get(&id) else { return };
        let own = socket.associations.first().copied().filter(|_| !socket.many);
        if payload.is_empty() {
            return;
        }
        let message = Message {
            stream: StreamId(header.stream),
            ppid: Ppid(u32::from_be_bytes(header.ppid.to_ne_bytes())),
            unordered: header.sinfo_flags & sinfo::UNORDERED != 0,
            payload,
        };
        let failure = SendFailure { message, whole: true, context: header.context, sent: false };
        let number = own.unwrap_or(header.association);
        self.notify(id, number, &Notification::SendFailed(&failure));
        self.notify(id, number, &Notification::OldSendFailed(&failure));
    }

    /// SCTP_SENDALL: to every association of the socket. From those whose buffer is full it comes back, as
    /// a wait for one would hold up all others.
    fn send_to_all(&mut self, id: u64, header: &TxHeader, payload: &Bytes) {
        let numbers: Vec<u32> = self
            .sockets
            .get(&id)
            .map(|s| s.associations.iter().copied().collect())
            .unwrap_or_default();
        for number in numbers {
            let header = TxHeader { association: number, address: None, ..*header };
            let waits =
                |engine: &Engine| engine.sockets.get(&id).is_some_and(|s| s.stalled.waits(number));
            let mut full = waits(self);
            if !full && self.send_to(id, number, &header, payload.clone()) == Taken::Stalled {
                full = true;
                if let Some(socket) = self.sockets.get_mut(&id) {
                    socket.stalled.pop(number);
                }
            }
            if full {
                self.give_back(id, &header, payload.clone());
                self.end_if_asked(number, &header);
            }
        }
    }

    fn send_to(&mut self, id: u64, number: u32, header: &TxHeader, payload: Bytes) -> Taken {
        if header.sinfo_flags & sinfo::ABORT != 0 {
            self.abort_association(number, &payload);
            return Taken::Done;
        }
        let Some(association) = self.associations.get_mut(&number) else { return Taken::Done };
        association.used = Instant::now();
        association.wrote = true;
        association.known.set(true);
        let core = association.core;
        if !payload.is_empty() {
            let options = SendOptions {
                ppid: Ppid(u32::from_be_bytes(header.ppid.to_ne_bytes())),
                unordered: header.sinfo_flags & sinfo::UNORDERED != 0,
                sack_immediately: header.sinfo_flags & sinfo::SACK_IMMEDIATELY != 0,
                context: header.context,
                key: (header.flags & flag::KEY != 0).then_some(header.key),
                destination: self.destination(id, header),
                lifetime: None,
                reliability: Some(reliability(header)),
            };
            let stream = StreamId(header.stream);
            let gone = self.sockets.get(&id).is_some_and(|socket| socket.gone);
            let mut result = self.offer(core, stream, &payload, options);
            if matches!(result, Err(SendError::NoAddress { .. })) {
                // The peer has removed it since the program was told that it can be used.
                let options = SendOptions { destination: None, ..options };
                result = self.offer(core, stream, &payload, options);
            }
            if gone && result == Err(SendError::WouldBlock) {
                self.make_room(core, payload.len());
                result = self.offer(core, stream, &payload, options);
            }
            // Also when the association has ended and that was not told yet.
            let refused = result.as_ref().is_err_and(|error| *error != SendError::WouldBlock);
            if refused {
                self.give_back(id, header, payload.clone());
            }
            if let (Err(SendError::TooLarge { .. }), Some(socket)) =
                (&result, self.sockets.get_mut(&id))
            {
                socket.error = errno::EMSGSIZE;
            }
            if result == Err(SendError::WouldBlock) {
                if let Some(socket) = self.sockets.get_mut(&id) {
                    socket.stalled.put_back(number, (*header, payload));
                }
                return Taken::Stalled;
            }
        }
        self.end_if_asked(number, header);
        Taken::Done
    }

    fn offer(
        &self,
        core: AssociationId,
        stream: StreamId,
        payload: &Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        self.raw.act(|endpoint, now| endpoint.send(now, core, stream, payload.clone(), options))
    }

    /// Has the send buffer of an association take this many bytes more than it holds.
    fn make_room(&self, core: AssociationId, bytes: usize) {
        self.raw.act(|endpoint, now| {
            let (Some(config), Some(stats)) = (endpoint.config(core), endpoint.stats(core)) else {
                return;
            };
            let send_buffer = stats.send_buffered + bytes;
            let config = AssociationConfig { send_buffer, ..config.clone() };
            let _ = endpoint.reconfigure(now, core, config);
        });
    }

    /// SCTP_EOF: the association is shut down, and takes nothing more.
    fn end_if_asked(&mut self, number: u32, header: &TxHeader) {
        if header.sinfo_flags & sinfo::EOF == 0 {
            return;
        }
        if let Some(association) = self.associations.get_mut(&number) {
            association.finished = true;
        }
        self.shut_association(number);
    }
}
