//! From the stack to the program: messages, notifications, the end.

use super::Engine;
use super::calls::frame_of;
use super::notification::Notification;
use super::socket::Ending;
use super::waiting::Waiting;
use tresse_socket_protocol::protocol::{RxHeader, flag, kind};

/// Frames that wait for a program, beyond which messages do not come back that it has written for
/// associations whose end it was told.
const MAX_BEHIND_END: usize = 64;

impl Engine {
    /// Moves what has arrived to a socket's connection, as far as that has room.
    pub(super) fn pump(&mut self, id: u64) {
        loop {
            self.flush(id);
            let Some(socket) = self.sockets.get_mut(&id) else { return };
            if !socket.out.is_empty() {
                return;
            }
            let Some(number) = socket.next_in_line() else { break };
            self.hand_over(id, number);
        }
        if self.waits_for_news(id) {
            return;
        }
        // Everything was read, so the end may be told.
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        if socket.many || socket.ending == socket.told {
            return self.show_end(id);
        }
        // Nothing is told after the end, and whoever wants to know hears how the association ended.
        if socket.ending == Ending::Reading && socket.hears_more() {
            return;
        }
        if socket.told == Ending::No {
            let mark = if socket.ending == Ending::Failed { kind::FAILED } else { kind::END };
            socket.out.push_back(frame_of(mark).to_vec());
        }
        socket.told = socket.ending;
        self.flush(id);
        self.show_end(id);
    }

    /// Whether there may be messages behind a reset of streams, or a restart, of which the core has told and nobody has heard:
    /// reading goes on then.
    fn waits_for_news(&self, id: u64) -> bool {
        let Some(socket) = self.sockets.get(&id) else { return false };
        let cores = socket.associations.iter().filter_map(|number| self.associations.get(number));
        !socket.many && cores.map(|a| a.core).any(|core| self.raw.tells_of_reset(core))
    }

    /// Has `poll` say of the descriptor what the kernel says of an SCTP socket, once the mark of the end
    /// is written: POLLRDHUP if the peer has shut down, or the program has shut down reading; POLLHUP for
    /// an error, since nothing makes a Unix socket say POLLERR.
    fn show_end(&mut self, id: u64) {
        let peer_is_done = self.association_of(id, 0).is_some_and(|(_, a)| a.peer_is_done);
        let Some(socket) = self.sockets.get(&id) else { return };
        let told = matches!(socket.told, Ending::Reading | Ending::Both);
        if socket.many || !told || !socket.out.is_empty() {
            return;
        }
        if peer_is_done || socket.read_shut || socket.broken {
            if !socket.conn.is_silent() {
                // Should a program remove one mark, there is still one.
                let _ = socket.conn.transmit(&frame_of(kind::END));
            }
            socket.conn.stop_writing();
        }
    }

    /// An association may have something to read: it gets its turn, one message each time, so that
    /// none waits for another one's flood.
    pub(super) fn line_up(&mut self, number: u32) {
        let Some(association) = self.associations.get_mut(&number) else { return };
        let socket = association.socket.and_then(|id| self.sockets.get_mut(&id));
        let Some(socket) = socket.filter(|_| !association.waiting && !association.in_line) else {
            return;
        };
        association.in_line = true;
        socket.line.push_back(number);
    }

    /// Frames what there is to say of an association, and then its next message. Once there is none, all
    /// that was acknowledged has been handed over, and what became of the association may be told.
    fn hand_over(&mut self, id: u64, number: u32) {
        let Some(association) = self.associations.get_mut(&number) else { return };
        association.in_line = false;
        // It may have been peeled off since.
        if association.waiting || association.socket != Some(id) {
            return;
        }
        let waits = self.waits_for_end(id, number);
        let Some(association) = self.associations.get_mut(&number) else { return };
        let held = if waits { Waiting::default() } else { std::mem::take(&mut association.held) };
        if !held.is_empty() {
            let more = association.readable || !association.last_words.is_empty();
            self.count_crowd(id, number);
            self.tell_waiting(id, number, held);
            if more {
                self.line_up(number);
            }
            return;
        }
        let core = association.core;
        // What comes behind a reset of streams, or a restart, is handed over once its notification is.
        if self.raw.tells_of_reset(core) {
            return;
        }
        let message = self.raw.act(|endpoint, now| {
            let message = endpoint.recv(now, core)?;
            let cumulative = endpoint.cumulative_tsn(core).unwrap_or(message.tsn);
            Some((message, cumulative))
        });
        if let Some((message, cumulative)) = message {
            if let Some(mut told) = association.lives.on_read() {
                association.held.append(&mut told);
            }
            self.frame_message(id, number, &message, cumulative);
            return self.line_up(number);
        }
        association.readable = false;
        association.held.append(&mut association.lives.end());
        let ended = association.ended;
        if ended {
            self.end_open(id, number);
        }
        let waits = self.waits_for_end(id, number);
        let Some(association) = self.associations.get_mut(&number) else { return };
        if waits && !association.held.is_empty() {
            return;
        }
        let held = std::mem::take(&mut association.held);
        let last_words = std::mem::take(&mut association.last_words);
        self.count_crowd(id, number);
        self.tell_waiting(id, number, held);
        self.tell_waiting(id, number, last_words);
        if ended && self.sockets.get(&id).is_some_and(|socket| socket.many) {
            self.forget(number);
        }
    }

    /// Writes the frames that wait.
    pub(crate) fn flush(&mut self, id: u64) {
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        while let Some(frame) = socket.out.front() {
            match socket.conn.transmit(frame) {
                Ok(true) => {
                    socket.out.pop_front();
                }
                Ok(false) => {
                    socket.conn.changed.notify_one();
                    return;
                }
                // The program is gone; reading will tell.
                Err(_) => socket.out.clear(),
            }
        }
        if socket.stretched {
            socket.limit_connection();
        }
    }

    /// The connection has room again. True if everything was written.
    pub(crate) fn writable(&mut self, id: u64) -> bool {
        self.pump(id);
        self.sockets.get(&id).is_none_or(|socket| socket.out.is_empty())
    }

    /// Hands over a notification, if the socket wants it. It waits with its association until there is
    /// room, and until that was accepted.
    pub(super) fn notify(&mut self, id: u64, number: u32, notification: &Notification<'_>) {
        let left_out = self.is_crowded(id, number) && notification.is_cheap();
        // That some are left out is told of those that are wanted.
        let wanted = self.wants(id, number, notification.event());
        let notification = if left_out { &Notification::Stopped } else { notification };
        let wanted = wanted && self.wants(id, number, notification.event());
        let Some(socket) = self.sockets.get(&id) else { return };
        let waits = self.waits_for_end(id, number);
        let Some(association) = self.associations.get_mut(&number) else {
            // It has ended, and its end was told.
            if wanted && socket.out.len() < MAX_BEHIND_END {
                self.tell(id, number, &notification.encode(number));
                self.flush(id);
            }
            return;
        };
        if !(wanted || association.waiting) {
            return;
        }
        if !association.last_words.is_empty() {
            association.last_words.push(number, notification);
            self.count_crowd(id, number);
        } else if let Some(waiting) = association.lives.waiting() {
            waiting.push(number, notification);
            self.count_crowd(id, number);
        } else if association.waiting
            || !association.held.is_empty()
            || !socket.out.is_empty()
            || waits
        {
            association.held.push(number, notification);
            self.count_crowd(id, number);
            self.line_up(number);
        } else {
            self.tell(id, number, &notification.encode(number));
            self.flush(id);
        }
    }

    /// Queues what had to wait.
    fn tell_waiting(&mut self, id: u64, number: u32, waiting: Waiting) {
        for (kind, payload) in waiting {
            if self.wants(id, number, kind) {
                self.tell(id, number, &payload);
            }
        }
    }

    /// Nothing more comes from the peer: that is told after all that has come.
    pub(super) fn notify_last(&mut self, number: u32, notification: &Notification<'_>) {
        let Some(association) = self.associations.get_mut(&number) else { return };
        association.last_words.push(number, notification);
        self.line_up(number);
    }

    pub(super) fn tell(&mut self, id: u64, number: u32, payload: &[u8]) {
        let peer = self.associations.get_mut(&number).map(|association| {
            association.known.set(true);
            association.peer
        });
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        let header = RxHeader {
            kind: kind::NOTIFICATION,
            association: number,
            address: peer.map(|peer| socket.for_program(peer)),
            ..RxHeader::default()
        };
        socket.queue(header, payload, flag::END);
    }

    /// Tells a listener that an association waits.
    pub(super) fn announce(&mut self, id: u64, number: u32) {
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        let header = RxHeader { kind: kind::ACCEPT, association: number, ..RxHeader::default() };
        socket.out.push_back(header.encode().to_vec());
        self.flush(id);
    }
}
