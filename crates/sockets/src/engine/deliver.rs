//! From the stack to the program: messages, notifications, the end.

use tokio::time::Instant;
use tresse::ReceivedMessage;

use super::notification::Notification;
use super::socket::Ending;
use super::{Engine, Held};
use crate::abi::sinfo;
use crate::protocol::{MAX_RX_PAYLOAD, RxHeader, flag, kind};

/// Notifications that wait with an association at most.
const MAX_HELD: usize = 64;

impl Engine {
    /// Moves what has arrived to a socket's connection, as far as that has room.
    pub(super) fn pump(&mut self, id: u64) {
        loop {
            self.flush(id);
            let Some(socket) = self.sockets.get(&id) else { return };
            if !socket.out.is_empty() {
                return;
            }
            let mut numbers = socket.associations.iter().copied();
            let Some((number, message)) =
                numbers.find_map(|number| Some((number, self.next_message(number)?)))
            else {
                break;
            };
            self.frame_message(id, number, &message);
        }
        // Everything was read, so the end may be told.
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        if socket.many || socket.ending == socket.told {
            return;
        }
        if socket.told == Ending::No {
            let header = RxHeader { kind: kind::END, ..RxHeader::default() };
            socket.out.push_back(header.encode().to_vec());
        }
        if socket.ending == Ending::Both {
            socket.conn.stop_reading();
        }
        socket.told = socket.ending;
        self.flush(id);
    }

    fn next_message(&self, number: u32) -> Option<ReceivedMessage> {
        let association = self.associations.get(&number).filter(|a| !a.waiting)?;
        self.raw.act(|core, now| core.recv(now, association.core))
    }

    fn frame_message(&mut self, id: u64, number: u32, received: &ReceivedMessage) {
        let Some(association) = self.associations.get_mut(&number) else { return };
        association.used = Instant::now();
        let peer = association.peer;
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        let message = &received.message;
        let mut header = RxHeader {
            kind: kind::DATA,
            flags: socket.options.receive_flags(),
            stream: message.stream.0,
            ssn: received.ssn.0,
            sinfo_flags: if message.unordered { sinfo::UNORDERED } else { 0 },
            ppid: u32::from_ne_bytes(message.ppid.0.to_be_bytes()),
            tsn: received.tsn.0,
            context: socket.options.context,
            association: number,
            length: 0,
            address: Some(socket.for_program(peer)),
        };
        socket.delivered = true;
        let pieces = message.payload.chunks(MAX_RX_PAYLOAD);
        let last = pieces.len() - 1;
        for (n, piece) in pieces.enumerate() {
            header.length = piece.len() as u32;
            if n == last {
                header.flags |= flag::END;
            }
            socket.out.push_back([&header.encode()[..], piece].concat());
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
    }

    /// The connection has room again. True if everything was written.
    pub(crate) fn writable(&mut self, id: u64) -> bool {
        self.pump(id);
        self.sockets.get(&id).is_none_or(|socket| socket.out.is_empty())
    }

    /// Hands over a notification, if the socket wants it. Those of an association that waits to be
    /// accepted wait with it.
    pub(super) fn notify(&mut self, id: u64, number: u32, notification: &Notification<'_>) {
        let Some(association) = self.associations.get_mut(&number) else { return };
        let kind = notification.event();
        if association.waiting {
            if association.held.len() < MAX_HELD {
                association.held.push(Held::Notification(kind, notification.encode(number)));
            }
        } else if self.sockets.get(&id).is_some_and(|socket| socket.options.wants(kind)) {
            self.tell(id, number, &notification.encode(number));
            self.flush(id);
        }
    }

    /// Queues what was held back while the association waited.
    pub(super) fn tell_held(&mut self, id: u64, number: u32, held: &[Held]) {
        for held in held {
            match held {
                Held::Message(message) => self.frame_message(id, number, message),
                Held::Notification(kind, payload)
                    if self.sockets.get(&id).is_some_and(|s| s.options.wants(*kind)) =>
                {
                    self.tell(id, number, payload);
                }
                Held::Notification(..) => {}
            }
        }
    }

    /// Nothing more comes from the peer: what has come goes before what is told of that, to the
    /// socket or to what waits with the association.
    pub(super) fn take_last_messages(&mut self, id: u64, number: u32) {
        let Some(association) = self.associations.get_mut(&number) else { return };
        if !association.waiting {
            return self.pump(id);
        }
        let core = association.core;
        while let Some(message) = self.raw.act(|endpoint, now| endpoint.recv(now, core)) {
            association.held.push(Held::Message(message));
        }
    }

    fn tell(&mut self, id: u64, number: u32, payload: &[u8]) {
        let peer = self.associations.get(&number).map(|association| association.peer);
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        let header = RxHeader {
            kind: kind::NOTIFICATION,
            flags: flag::END,
            association: number,
            length: payload.len() as u32,
            address: peer.map(|peer| socket.for_program(peer)),
            ..RxHeader::default()
        };
        socket.out.push_back([&header.encode()[..], payload].concat());
    }

    /// Tells a listener that an association waits.
    pub(super) fn announce(&mut self, id: u64, number: u32) {
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        let header = RxHeader { kind: kind::ACCEPT, association: number, ..RxHeader::default() };
        socket.out.push_back(header.encode().to_vec());
        self.flush(id);
    }
}
