//! What control requests ask for.

use std::net::SocketAddr;
use std::rc::Rc;

use rustix::event::PollFlags;
use tokio::sync::oneshot;

use super::bind::is_for_many;
use super::options::Options;
use super::socket::{Conn, Ending, Socket};
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{
    AF_INET, AF_INET6, SOCK_SEQPACKET, SOCK_STREAM, canonical, errno,
};
use tresse_socket_protocol::opening::Opening;
use tresse_socket_protocol::protocol::{
    HEADER, Op, Request, RxHeader, TxHeader, decode_addresses, encode_addresses, kind,
};

/// A frame of that kind, and nothing else.
pub(super) fn frame_of(kind: u8) -> [u8; HEADER] {
    RxHeader { kind, ..RxHeader::default() }.encode()
}

/// Head and length of the message that a request asks to send, and what it says of the association that it may open.
pub(super) fn asked(request: &Request) -> Fallible<(TxHeader, Opening, usize)> {
    let header = TxHeader::decode(&request.payload).ok_or(errno::EINVAL)?;
    let mut opening = Opening::decode(&request.payload[HEADER..]).ok_or(errno::EINVAL)?;
    let len = usize::try_from(request.a).map_err(|_| errno::EINVAL)?;
    opening.more.iter_mut().for_each(|peer| *peer = canonical(*peer));
    Ok((header, opening, len))
}

/// What a call gives back: a value and bytes.
pub(crate) type Answer = Fallible<(i64, Vec<u8>)>;

impl Engine {
    /// A new socket, or one for an association that exists.
    pub(crate) fn open(&mut self, request: &Request, conn: Rc<Conn>) -> Answer {
        match request.op {
            Op::Socket => {
                let v6 = match i32::try_from(request.a) {
                    Ok(AF_INET) => false,
                    Ok(AF_INET6) => true,
                    _ => return Err(errno::EAFNOSUPPORT),
                };
                let many = match i32::try_from(request.b) {
                    Ok(SOCK_STREAM) => false,
                    Ok(SOCK_SEQPACKET) => true,
                    _ => return Err(errno::EPROTONOSUPPORT),
                };
                let options = Options::new(std::sync::Arc::clone(&self.profile), self.trace);
                self.sockets.insert(request.socket, Socket::new(conn, v6, many, options));
                Ok((0, Vec::new()))
            }
            Op::Accept => self.accept(request, conn),
            _ => Err(errno::EINVAL),
        }
    }

    /// Gives an association that waits, or that was peeled off, a one-to-one socket.
    fn accept(&mut self, request: &Request, conn: Rc<Conn>) -> Answer {
        let number = u32::try_from(request.a).map_err(|_| errno::EINVAL)?;
        let association = self.associations.get_mut(&number).ok_or(errno::ECONNABORTED)?;
        let from = association.socket.ok_or(errno::ECONNABORTED)?;
        if !association.waiting && !self.sockets.get(&from).is_some_and(|socket| socket.many) {
            return Err(errno::EINVAL);
        }
        association.waiting = false;
        association.socket = Some(request.socket);
        let (peer, streams, ended) = (association.peer, association.streams.0, association.ended);
        let (peer_is_done, error) = (association.peer_is_done, association.error);
        // Whom it stood in line for before reads nothing of it.
        association.in_line = false;
        let parent = self.socket(from)?;
        parent.line.retain(|other| *other != number);
        let peeled = parent.many;
        let full = !peeled && !parent.has_room();
        //= RFC 6458 3.1-4
        parent.associations.remove(&number);
        parent.crowd.remove(&number);
        parent.serves_no_more(number);
        let port = parent.port;
        let mut socket = Socket::new(conn, parent.v6, false, parent.options.clone());
        if peeled {
            socket.peeled_from = Some(from);
            // What it could not take yet goes with it.
            for message in parent.stalled.remove(number) {
                socket.stalled.push(number, message);
            }
        }
        socket.bound.clone_from(&parent.bound);
        socket.port = parent.port;
        socket.associations.insert(number);
        if let Some(unended) = self.associations.get_mut(&number).and_then(|a| a.unended.as_mut()) {
            unended.move_to(&socket.unended);
        }
        if ended {
            (socket.ending, socket.error, socket.broken) = (Ending::Both, error, error != 0);
        } else if peer_is_done {
            socket.ending = Ending::Reading;
        }
        socket.limit_connection();
        let (name, deaf) = (socket.for_program(peer), ended && !peer_is_done);
        let streams = if socket.options.asks_always() { 0 } else { streams };
        self.sockets.insert(request.socket, socket);
        self.enter_names(number);
        self.line_up(number);
        if deaf {
            self.stop_reading(request.socket);
        }
        if full {
            self.refresh_open_port(port)?;
        }
        if peeled {
            self.resume(from, number);
            // It may have been the only one that was served.
            self.pump(from);
        }
        Ok((i64::from(streams), encode_addresses(&[name])))
    }

    /// Any request on a control connection but `Linger`.
    pub(crate) fn call(&mut self, request: &Request) -> Answer {
        let id = request.socket;
        self.socket(id)?;
        // What the program wrote before it asked is taken first.
        self.take_frames(id);
        let nothing = |()| (0, Vec::new());
        let addresses = || {
            let list = decode_addresses(&request.payload).ok_or(errno::EINVAL)?;
            Ok::<_, i32>(list.into_iter().map(canonical).collect::<Vec<_>>())
        };
        let (level, name) = (request.a as i32, request.b as i32);
        match request.op {
            Op::Bind => {
                let list = decode_addresses(&request.payload).ok_or(errno::EINVAL)?;
                self.bind(id, &list, request.a).map(nothing)
            }
            Op::Connect => self.connect(id, &addresses()?),
            Op::Listen => self.listen(id, request.a).map(nothing),
            Op::Shutdown => self.shut_down(id, request.a).map(nothing),
            Op::Name if request.a == 0 => Ok((0, encode_addresses(&self.local_names(id, 0)?[..1]))),
            Op::Name => {
                let (_, association) = self.association_of(id, 0).ok_or(errno::ENOTCONN)?;
                // As the kernel, the peer's name outlives the association.
                let (peer, known) = (association.peer, association.established);
                let socket = self.socket(id)?;
                if socket.many || !known {
                    return Err(errno::ENOTCONN);
                }
                Ok((0, encode_addresses(&[socket.for_program(peer)])))
            }
            Op::SetOption => self.set_option(id, (level, name), &request.payload).map(nothing),
            Op::GetOption => self.get_option(id, (level, name), &request.payload),
            Op::TakeError => {
                let attempt = self.socket(id)?.ending == Ending::Failed;
                let error = self.take_error(id)?;
                let socket = self.socket(id)?;
                if !socket.many && socket.told != Ending::No && !socket.conn.is_silent() {
                    // Of those that wait for something to read, the kernel wakes one with each frame;
                    // and each one that has seen the end asks this.
                    let _ = socket.conn.transmit(&frame_of(kind::END));
                }
                let seen = if attempt { 3 } else { self.end_seen(id)? };
                Ok((i64::from(error), vec![seen]))
            }
            Op::CheckSend => {
                let (header, opening, len) = asked(request)?;
                self.check_send(id, &header, &opening, len).map(|allowed| allowed.answer())
            }
            Op::Expects => self.expects(id).map(nothing),
            Op::Shown => self.shown(id).map(|shown| (shown.bits().into(), Vec::new())),
            Op::PeelOff => self.peel_off(id, request.a).map(nothing),
            Op::Socket | Op::Accept | Op::Linger | Op::Door | Op::Long => Err(errno::EINVAL),
        }
    }

    /// Whether anything can still come on a socket. As in the kernel: nothing can on a one-to-many socket
    /// that neither listens nor has an association.
    fn expects(&mut self, id: u64) -> Fallible<()> {
        let socket = self.socket(id)?;
        let waits = !socket.many
            || socket.backlog.is_some()
            || !socket.associations.is_empty()
            || !socket.out.is_empty();
        if waits { Ok(()) } else { Err(errno::ENOTCONN) }
    }

    /// What `poll` says of such a socket of the kernel.
    fn shown(&mut self, id: u64) -> Fallible<PollFlags> {
        let peer_is_done = self.association_of(id, 0).is_some_and(|(_, a)| a.peer_is_done);
        let socket = self.socket(id)?;
        let read_shut = !socket.many && (peer_is_done || socket.read_shut);
        let mut shown = PollFlags::empty();
        shown.set(PollFlags::ERR, socket.error != 0);
        shown.set(PollFlags::RDHUP, read_shut);
        shown.set(PollFlags::HUP, read_shut && socket.write_shut);
        Ok(shown)
    }

    /// What a program finds behind the last message of a one-to-one socket: 0 nothing yet, 1 the end,
    /// 2 the lack of an association. As in the kernel it is the end only if the peer has shut down,
    /// or the program has shut down reading.
    fn end_seen(&mut self, id: u64) -> Fallible<u8> {
        let peer_is_done = self.association_of(id, 0).is_some_and(|(_, a)| a.peer_is_done);
        let socket = self.socket(id)?;
        Ok(match socket.ending {
            Ending::No => 0,
            Ending::Both if !peer_is_done && !socket.read_shut => 2,
            _ => 1,
        })
    }

    pub(super) fn take_error(&mut self, id: u64) -> Fallible<i32> {
        let socket = self.socket(id)?;
        if socket.ending == Ending::Failed {
            // Whoever knows why the attempt failed has a socket like a new one.
            (socket.ending, socket.told) = (Ending::No, Ending::No);
        }
        Ok(std::mem::take(&mut socket.error))
    }

    fn connect(&mut self, id: u64, peers: &[SocketAddr]) -> Answer {
        let socket = self.socket(id)?;
        if socket.backlog.is_some() && !socket.many {
            return Err(errno::EISCONN);
        }
        if socket.connecting {
            return Err(errno::EALREADY);
        }
        //= RFC 6458 1-2
        if !socket.many && !socket.associations.is_empty() {
            return Err(errno::EISCONN);
        }
        if socket.many && peers.iter().any(|peer| self.association_with(id, *peer).is_some()) {
            return Err(errno::EISCONN);
        }
        if peers.iter().any(|peer| is_for_many(peer.ip())) {
            return Err(errno::EINVAL);
        }
        // Nobody can listen there.
        if peers.first().is_some_and(|peer| peer.port() == 0) {
            return Err(errno::ECONNREFUSED);
        }
        self.auto_bind(id)?;
        let number = self.associate(id, peers, [0; 8])?;
        let socket = self.socket(id)?;
        socket.connecting = !socket.many;
        (socket.ending, socket.told, socket.error) = (Ending::No, Ending::No, 0);
        socket.conn.changed.notify_one();
        Ok((i64::from(number), Vec::new()))
    }

    /// `connect` of who waits: the association, and what tells how the attempt has ended.
    pub(crate) fn connect_and_tell(
        &mut self,
        request: &Request,
    ) -> Fallible<(u32, oneshot::Receiver<i32>)> {
        let (number, _) = self.call(request)?;
        let number = u32::try_from(number).map_err(|_| errno::EINVAL)?;
        let (teller, outcome) = oneshot::channel();
        let association = self.associations.get_mut(&number).ok_or(errno::ECONNABORTED)?;
        association.outcome = Some(teller);
        Ok((number, outcome))
    }

    //= RFC 6458 3.1.2-2
    fn listen(&mut self, id: u64, backlog: i64) -> Fallible<()> {
        let socket = self.socket(id)?;
        if !socket.many && !socket.associations.is_empty() && socket.backlog.is_none() {
            return Err(errno::EINVAL);
        }
        if backlog == 0 && (socket.many || socket.backlog.is_some()) {
            // RFC 6458 §3.1.3: a backlog of 0 ends listening; in Linux that of a one-to-one socket, too.
            socket.backlog = None;
        } else {
            let room = usize::try_from(backlog).unwrap_or(0).clamp(1, 4096);
            self.check_only_listener(id)?;
            self.socket(id)?.backlog = Some(room);
        }
        self.auto_bind(id)?;
        let socket = self.socket(id)?;
        socket.conn.changed.notify_one();
        let (port, listens) = (socket.port.ok_or(errno::EINVAL)?, socket.backlog.is_some());
        self.refresh_port(port)?;
        if listens {
            self.listens.notify_one();
        }
        Ok(())
    }

    /// `shutdown`: 0 reading, 1 writing, 2 both.
    fn shut_down(&mut self, id: u64, how: i64) -> Fallible<()> {
        let socket = self.socket(id)?;
        if socket.backlog.is_some() {
            // As the kernel: a listener has nothing to write, and goes on listening.
            return if how == 1 { Ok(()) } else { Err(errno::EOPNOTSUPP) };
        }
        if socket.many {
            return Err(errno::ENOTCONN);
        }
        let (number, association) = self.association_of(id, 0).ok_or(errno::ENOTCONN)?;
        if !association.established {
            return Err(errno::ENOTCONN);
        }
        if how != 1 {
            // RFC 6458 §4.1.7: SHUT_RD "disables further receive operations. No SCTP protocol action
            // is taken." What is here can still be read.
            self.socket(id)?.read_shut = true;
            self.end_socket(id, Ending::Reading);
        }
        if how >= 1 {
            self.finish(id, number);
        }
        Ok(())
    }

    /// Starts a graceful shutdown once all that the program has written is taken.
    fn finish(&mut self, id: u64, number: u32) {
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        if socket.drained {
            return self.shut_association(number);
        }
        socket.write_shut = true;
        self.stop_reading(id);
    }

    //= RFC 6458 3.1.5-1 3.2-1
    /// Starts a graceful shutdown.
    pub(super) fn shut_association(&mut self, number: u32) {
        if let Some(association) = self.associations.get(&number) {
            let core = association.core;
            let _ = self.raw.act(|endpoint, now| endpoint.shutdown(now, core));
        }
    }

    pub(super) fn abort_association(&mut self, number: u32, reason: &[u8]) {
        if let Some(association) = self.associations.get(&number) {
            let core = association.core;
            let _ = self.raw.act(|endpoint, now| endpoint.abort(now, core, reason));
        }
    }

    /// Ends what has not ended by itself.
    pub(super) fn abort_all(&mut self) {
        let open = self.associations.iter().filter(|(_, association)| !association.ended);
        for number in open.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.abort_association(number, b"the engine has ended");
        }
    }

    //= RFC 6458 3.1-3
    /// `sctp_peeloff`: whether `Accept` may take the association from the socket. Until then it stays there,
    /// as the program may have no descriptor for it.
    fn peel_off(&mut self, id: u64, number: i64) -> Fallible<()> {
        let number = u32::try_from(number).map_err(|_| errno::EINVAL)?;
        if !self.socket(id)?.many {
            return Err(errno::EINVAL);
        }
        let (_, association) = self.association_of(id, number).ok_or(errno::EINVAL)?;
        if !association.established || association.ended {
            return Err(errno::ENOTCONN);
        }
        Ok(())
    }

    /// Begins what `close` with SO_LINGER asks for; the association to wait for, if any.
    pub(crate) fn linger(&mut self, id: u64) -> Fallible<Option<u32>> {
        self.take_frames(id);
        let Some((number, association)) = self.association_of(id, 0) else { return Ok(None) };
        if association.ended {
            return Ok(None);
        }
        self.finish(id, number);
        Ok(Some(number))
    }

    /// Whether an association has ended.
    pub(crate) fn is_over(&self, number: u32) -> bool {
        self.associations.get(&number).is_none_or(|association| association.ended)
    }

    /// Closes every socket once all that its program wrote is taken; `now`: without waiting for it.
    pub(crate) fn close_all(&mut self, now: bool) {
        let all: Vec<u64> = self.sockets.keys().copied().collect();
        for id in all {
            self.take_frames(id);
            if now {
                // One that does not read is no reason to abort the others.
                self.take_without_room(id);
            }
            let waits = self.sockets.get(&id).is_some_and(|socket| !socket.stalled.is_empty());
            if now || !waits {
                self.close(id, waits);
            }
        }
    }

    //= RFC 9260 9-1
    /// The program has closed a socket, or died.
    pub(crate) fn close(&mut self, id: u64, unread: bool) {
        let Some(socket) = self.sockets.remove(&id) else { return };
        socket.room.notify_waiters();
        // Notifications that nobody read are no loss to the peer.
        let unread = socket.delivered && (unread || !socket.out.is_empty());
        let abort = unread || !socket.stalled.is_empty() || socket.options.linger == Some(0);
        for number in socket.associations {
            let Some(association) = self.associations.get_mut(&number) else { continue };
            association.socket = None;
            // Nobody is there to write its end.
            association.unended = None;
            let (core, waiting, ended) = (association.core, association.waiting, association.ended);
            // An attempt to connect that nothing depends on.
            let futile = !association.established && !association.wrote;
            if ended {
                self.forget(number);
                continue;
            }
            let left = self.raw.act(|c, _| c.info(core)).is_some_and(|i| i.unread_messages > 0);
            // As the kernel does: whoever closes with data unread has lost it, and says so.
            if abort || waiting || left || futile {
                self.abort_association(number, b"the socket was closed");
            } else {
                self.shut_association(number);
            }
        }
        if let Some(port) = socket.port {
            let _ = self.refresh_port(port);
        }
    }
}
