//! What the stack tells (RFC 9260 §11.2), and what becomes of it.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use tokio::time::Instant;
use tresse::{AssociationId, AuthenticationEvent, CloseReason, Event};

use super::exposure::AddressState;
use super::notification::{Change, Notification, event};
use super::socket::Ending;
use super::{Association, Engine, LEAST_SWEEP};
use tresse_socket_protocol::abi::errno;

impl Engine {
    pub(crate) fn on_event(&mut self, core: AssociationId, event: Event) {
        if let Event::Connected { accepted: true, outbound_streams, inbound_streams } = event
            && !self.by_core.contains_key(&core)
        {
            return self.admit(core, (outbound_streams, inbound_streams));
        }
        let Some(&number) = self.by_core.get(&core) else {
            // Nobody had listened.
            if matches!(event, Event::Closed(_)) {
                self.discard(core);
            }
            return;
        };
        let socket = self.associations.get(&number).and_then(|association| association.socket);
        match (event, socket) {
            //= RFC 6458 6.1.1-2
            (Event::Connected { outbound_streams, inbound_streams, .. }, Some(id)) => {
                self.connected(id, number, (outbound_streams, inbound_streams));
            }
            (Event::Readable, Some(id))
                if self.sockets.get(&id).is_some_and(|s| s.read_shut && s.told != Ending::No) =>
            {
                self.discard(core);
            }
            (Event::Readable, Some(id)) => {
                if let Some(association) = self.associations.get_mut(&number) {
                    association.readable = true;
                }
                self.line_up(number);
                self.pump(id);
            }
            (Event::Readable, None) => self.discard(core),
            (Event::Writable, Some(id)) => self.resume(id, number),
            (
                Event::SendFailed(failure) | Event::Expired(failure) | Event::Abandoned(failure),
                Some(id),
            ) => {
                self.notify(id, number, &Notification::SendFailed(&failure));
                self.notify(id, number, &Notification::OldSendFailed(&failure));
            }
            (Event::PathChanged { address, before, state, .. }, Some(id)) => {
                let exposure = self.associations[&number].exposure;
                let Some(state) = exposure.tells(before, state) else { return };
                self.tell_of_address(id, number, address, state);
            }
            (Event::PrimaryChanged { address, .. }, Some(id)) => {
                self.tell_of_address(id, number, address, AddressState::MadePrimary);
            }
            (Event::PeerAddressAdded(_, address), Some(id)) => {
                self.enter_names(number);
                self.tell_of_address(id, number, address, AddressState::Added);
            }
            (Event::PeerAddressRemoved(_, address), Some(id)) => {
                self.enter_names(number);
                self.tell_of_address(id, number, address, AddressState::Removed);
            }
            (Event::PeerError { cause, value }, Some(id)) => {
                self.notify(id, number, &Notification::RemoteError { cause, value: &value });
            }
            (Event::PeerAdaptation(indication), Some(id)) => {
                self.notify(id, number, &Notification::Adaptation(indication));
            }
            (Event::StreamsReset { direction, streams, outcome }, Some(id)) => {
                let told = Notification::StreamReset { direction, outcome, streams: &streams };
                self.notify(id, number, &told);
                self.go_on_reading(id, number);
            }
            (Event::AssociationReset { outcome, local_tsn, remote_tsn }, Some(id)) => {
                let (local, remote) = (local_tsn.0, remote_tsn.0);
                let told = Notification::AssociationReset { outcome, local, remote };
                self.notify(id, number, &told);
                self.go_on_reading(id, number);
            }
            (Event::StreamsAdded { outcome, outbound_streams, inbound_streams }, socket) => {
                let streams = (outbound_streams, inbound_streams);
                if let Some(association) = self.associations.get_mut(&number) {
                    association.streams = streams;
                }
                if let Some(id) = socket {
                    self.notify(id, number, &Notification::StreamChange { outcome, streams });
                }
            }
            (Event::Authentication(what), Some(id)) => self.tell_of_keys(id, number, what),
            (Event::SenderDry, Some(id)) => self.notify(id, number, &Notification::SenderDry),
            (Event::PeerShutdown, Some(id)) => self.on_peer_shutdown(id, number),
            (Event::Restarted, Some(id)) => {
                self.enter_names(number);
                self.keep_life(number);
                let told = Notification::Association(Change::Restart, self.streams(number));
                self.notify(id, number, &told);
                self.go_on_reading(id, number);
            }
            (Event::Closed(reason), _) => self.on_closed(number, &reason),
            _ => {}
        }
    }

    //= RFC 6458 6.1-1 6.1.5-1
    /// The peer sends no more data, and takes none that is new.
    fn on_peer_shutdown(&mut self, id: u64, number: u32) {
        self.notify_last(number, &Notification::Shutdown);
        let Some(association) = self.associations.get_mut(&number) else { return };
        association.peer_is_done = true;
        let waiting = association.waiting;
        // RFC 9260 §9.2: nothing more is accepted. What was written before is taken, and who writes
        // from now on asks first once the descriptor says POLLRDHUP. Who waits for room would wait
        // for a peer that may never read again, and must hear of it.
        self.take_frames(id);
        let Some(socket) = self.sockets.get(&id) else { return };
        let stalled = socket.stalled.waits(number);
        if !waiting && (stalled || socket.hears_more()) {
            self.stop_reading(id);
        }
        // A listener goes on when an association ends that waits in it.
        if !waiting {
            self.end_socket(id, Ending::Reading);
        }
        if stalled {
            self.resume(id, number);
        }
    }

    /// SCTP_PEER_ADDR_CHANGE.
    fn tell_of_address(&mut self, id: u64, number: u32, address: IpAddr, state: AddressState) {
        let address = SocketAddr::new(address, self.associations[&number].peer.port());
        let address = self.sockets.get(&id).map_or(address, |s| s.for_program(address));
        self.notify(id, number, &Notification::PathChanged { address, state });
    }

    /// No notification has that a peer names a key which is not there. As in the kernel, SCTP_AUTH_NEW_KEY says that it uses
    /// another one than this end.
    fn tell_of_keys(&mut self, id: u64, number: u32, what: AuthenticationEvent) {
        let told = match what {
            AuthenticationEvent::UnknownKey { .. } => false,
            AuthenticationEvent::NewKey { key, .. } => self.active_key(number) != Some(key),
            _ => true,
        };
        if told {
            self.notify(id, number, &Notification::Authentication(what));
        }
    }

    /// What the peer has said before it restarted comes before what is told from now on.
    fn keep_life(&mut self, number: u32) {
        if let Some(association) = self.associations.get_mut(&number) {
            let core = association.core;
            let unread = self.raw.act(|endpoint, _| endpoint.unread_of_first_life(core));
            association.lives.end_one(unread);
        }
    }

    /// What came behind a reset of streams, or a restart, waited for its notification.
    fn go_on_reading(&mut self, id: u64, number: u32) {
        if self.associations.get(&number).is_some_and(|association| association.readable) {
            self.line_up(number);
        }
        // So did the end, if nothing came behind it.
        self.pump(id);
    }

    fn streams(&self, number: u32) -> (u16, u16) {
        self.associations.get(&number).map_or((0, 0), |association| association.streams)
    }

    /// A peer has opened an association: it goes to the listener of its port and family.
    fn admit(&mut self, core: AssociationId, streams: (u16, u16)) {
        self.sweep();
        let Some(info) = self.raw.act(|endpoint, _| endpoint.info(core)) else { return };
        let paths = self.raw.act(|endpoint, _| endpoint.path_stats(core));
        let Some(path) = paths.iter().find(|path| path.primary).or(paths.first()) else { return };
        let (ip, local): (IpAddr, Option<IpAddr>) = (path.remote, path.local);
        let listener = self.sockets.iter().find(|(_, socket)| {
            let here = local.is_none_or(|local| {
                socket.bound.iter().any(|bound| bound.is_unspecified() || *bound == local)
            });
            socket.port == Some(info.local_port) && socket.has_room() && socket.serves(ip) && here
        });
        let Some((&id, socket)) = listener else {
            let _ = self.raw.act(|endpoint, now| endpoint.abort(now, core, b"nobody listens"));
            return;
        };
        let many = socket.many;
        let peer = SocketAddr::new(ip, info.remote_port);
        let association = Association::new(core, id, socket, peer);
        let number =
            self.adopt(Association { waiting: !many, established: true, streams, ..association });
        let full = self.sockets.get_mut(&id).is_some_and(|socket| {
            socket.associations.insert(number);
            // Who waits for room with another one may have something for it.
            socket.conn.changed.notify_one();
            !socket.has_room()
        });
        if full {
            // Who comes now is refused before it has an association.
            let _ = self.refresh_port(info.local_port);
        }
        self.enter_names(number);
        if many {
            self.idle.notify_one();
        }
        self.notify(id, number, &Notification::Association(Change::Up, streams));
        if !many {
            self.announce(id, number);
        }
    }

    /// Our own `connect` has succeeded.
    fn connected(&mut self, id: u64, number: u32, streams: (u16, u16)) {
        if let Some(association) = self.associations.get_mut(&number) {
            association.established = true;
            association.streams = streams;
            association.used = Instant::now();
            association.tell_outcome(0);
        }
        self.idle.notify_one();
        self.enter_names(number);
        self.notify(id, number, &Notification::Association(Change::Up, streams));
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.connecting = false;
            socket.conn.changed.notify_one();
            socket.room.notify_waiters();
        }
        // The filler in front of it makes the socket unwritable.
        self.take_frames(id);
        self.pump(id);
    }

    /// The program's writes fail from now on; what it has written before is taken.
    pub(super) fn stop_reading(&mut self, id: u64) {
        self.take_frames(id);
        if let Some(socket) = self.sockets.get_mut(&id).filter(|s| !s.many && !s.deaf) {
            socket.deaf = true;
            socket.conn.stop_reading();
            socket.conn.changed.notify_one();
            self.take_frames(id);
        }
    }

    pub(super) fn end_socket(&mut self, id: u64, ending: Ending) {
        if let Some(socket) = self.sockets.get_mut(&id)
            && !socket.many
            && socket.ending != Ending::Both
        {
            socket.ending = ending;
        }
        self.pump(id);
    }

    /// An attempt of a one-to-one socket to connect has failed, and nobody waits to hear why.
    pub(super) fn fail(&mut self, id: u64, error: i32) {
        let Some(socket) = self.sockets.get_mut(&id).filter(|socket| !socket.many) else { return };
        // There may be another attempt by now.
        if socket.connecting || !socket.associations.is_empty() {
            return;
        }
        socket.error = error;
        // Why is asked as soon as the socket is writable.
        self.end_socket(id, Ending::Failed);
        self.take_frames(id);
    }

    /// Whether an association has ended of whose beginning the program of a one-to-many socket would yet have
    /// to hear, or does not want to, and of which it has nothing to read: it need not hear of it any more,
    /// and what nobody reads would fill memory.
    fn came_and_went(&self, id: u64, number: u32) -> bool {
        if !self.sockets.get(&id).is_some_and(|socket| socket.many) {
            return false;
        }
        let wanted = self.wants(id, number, event::ASSOC_CHANGE);
        self.associations.get(&number).is_some_and(|association| {
            let core = association.core;
            let unread = || self.raw.act(|endpoint, _| endpoint.info(core));
            !association.known.get()
                && !association.waiting
                && (association.held.begins() || !wanted)
                && unread().is_none_or(|info| info.unread_messages == 0)
        })
    }

    /// Forgets what the core had to throw away for want of memory before a sleeping program heard of it.
    /// Nobody is told of that, so it is looked for whenever there are twice as many as the last time.
    pub(super) fn sweep(&mut self) {
        if self.associations.len() < self.sweep_at {
            return;
        }
        let ended = self.associations.iter().filter(|(_, association)| association.ended);
        let all: Vec<_> = ended.filter_map(|(&n, a)| Some((a.socket?, n))).collect();
        for (id, number) in all {
            if self.came_and_went(id, number) {
                self.forget(number);
            }
        }
        self.sweep_at = LEAST_SWEEP.max(2 * self.associations.len());
    }

    fn on_closed(&mut self, number: u32, reason: &CloseReason) {
        let ended = self.ended.clone();
        let Some(association) = self.associations.get_mut(&number) else { return };
        association.ended = true;
        let (socket, waiting, established) =
            (association.socket, association.waiting, association.established);
        let error = match reason {
            CloseReason::Shutdown | CloseReason::Aborted => 0,
            // RFC 9260 §10: ICMP that says so is handled like an ABORT.
            CloseReason::PeerAborted { .. } | CloseReason::NoSctp if !established => {
                errno::ECONNREFUSED
            }
            CloseReason::PeerAborted { .. } | CloseReason::NoSctp => errno::ECONNRESET,
            CloseReason::ProtocolViolation(_) => errno::EPROTO,
            CloseReason::Crossed => errno::EISCONN,
            CloseReason::OutOfMemory => errno::ENOMEM,
            _ => errno::ETIMEDOUT,
        };
        association.error = error;
        let heard = association.tell_outcome(if error == 0 { errno::ECONNABORTED } else { error });
        let peer_is_done = association.peer_is_done;
        ended.notify_waiters();
        let Some(id) = socket else { return self.forget(number) };
        let change = match reason {
            _ if !established => Change::CannotStart,
            CloseReason::Shutdown => Change::ShutdownComplete,
            _ => Change::Lost,
        };
        let change = match reason {
            CloseReason::PeerAborted { cause, value } => {
                Notification::Ended { change, cause: *cause, value }
            }
            _ => Notification::Ended { change, cause: 0, value: &[] },
        };
        if self.came_and_went(id, number) {
            return self.forget(number);
        }
        if established || self.sockets.get(&id).is_some_and(|socket| socket.many) {
            self.notify_last(number, &change);
        } else {
            // The socket is like a new one.
            self.notify(id, number, &change);
            self.forget(number);
        }
        if waiting {
            // `accept` still gets it, and finds its end.
            return;
        }
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        let (many, connection) = (socket.many, Rc::clone(&socket.conn));
        connection.changed.notify_one();
        socket.room.notify_waiters();
        for (header, payload) in socket.stalled.remove(number) {
            self.give_back(id, &header, payload);
        }
        self.return_unended(id, number);
        if many {
            // What was written for it before comes back, too.
            self.resume(id, number);
            return self.pump(id);
        }
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        socket.connecting = false;
        if !established {
            if !heard {
                self.fail(id, error);
            }
            return;
        }
        // What is pending already may be why it ended.
        if socket.error == 0 {
            socket.error = error;
        }
        socket.broken = socket.error != 0;
        let graceful = error == 0 && peer_is_done;
        if !graceful {
            self.stop_reading(id);
        }
        self.take_frames(id);
        self.end_socket(id, Ending::Both);
    }
}
