//! Messages for programs, whole or in parts (RFC 6458 §8.1.20, §8.1.21).
//!
//! A message is *open* from its first part to its last. With DATA chunks the core hands over nothing else of the
//! association meanwhile; what else waits for the end is decided here, by SCTP_FRAGMENT_INTERLEAVE.

use tokio::time::Instant;
use tresse::{MessagePart, ReceivedMessage, Tsn};

use super::notification::Notification;
use super::socket::Socket;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{errno, sinfo};
use tresse_socket_protocol::protocol::{RxHeader, flag, kind};

impl Socket {
    /// The association whose turn it is to be read.
    pub(super) fn next_in_line(&mut self) -> Option<u32> {
        let Some(serving) = self.serving else { return self.line.pop_front() };
        let at = self.line.iter().position(|number| *number == serving)?;
        self.line.remove(at)
    }

    /// Nothing of this association has to be read before others any more.
    pub(super) fn serves_no_more(&mut self, number: u32) {
        self.serving = self.serving.filter(|serving| *serving != number);
    }

    /// Level 0, "prevents the interleaving of any messages" (RFC 6458 §8.1.20).
    fn serves_one(&self) -> bool {
        self.many && self.options.level(self.many) == 0
    }
}

impl Engine {
    /// Whether what there is to tell of an association waits for the end of a message: "unless the user has set the
    /// fragmentation interleave level to 0, notifications may also be interleaved with partially delivered messages" (RFC 6458
    /// §8.1.20). As in Linux they are not at level 1 either.
    pub(super) fn waits_for_end(&self, id: u64, number: u32) -> bool {
        let Some(socket) = self.sockets.get(&id) else { return false };
        let Some(association) = self.associations.get(&number) else { return false };
        let open = !association.open.is_empty();
        let other = socket.serving.is_some_and(|serving| serving != number);
        other || (open && socket.options.level(socket.many) < 2)
    }

    /// Frames a message, or a part of one.
    pub(super) fn frame_message(
        &mut self,
        id: u64,
        number: u32,
        received: &ReceivedMessage,
        cumulative: Tsn,
    ) {
        let Some(association) = self.associations.get_mut(&number) else { return };
        association.used = Instant::now();
        association.known.set(true);
        self.delivered += 1;
        association.heard = self.delivered;
        let (stream, ssn) = (received.stream.0, received.ssn.0);
        if received.part.ends() {
            association.open.remove(&stream);
        } else {
            association.open.insert(stream, ssn);
        }
        let is_open = !association.open.is_empty();
        let (peer, context) = (association.peer, association.context);
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        if !is_open {
            socket.serves_no_more(number);
        } else if socket.serves_one() {
            socket.serving = Some(number);
        }
        if received.part == MessagePart::Aborted {
            return self.tell_of_abort(id, number, (stream, ssn));
        }
        let header = RxHeader {
            kind: kind::DATA,
            flags: socket.options.receive_flags(),
            stream,
            ssn,
            sinfo_flags: if received.unordered { sinfo::UNORDERED } else { 0 },
            ppid: u32::from_ne_bytes(received.ppid.0.to_be_bytes()),
            tsn: received.tsn.0,
            cumulative_tsn: cumulative.0,
            context,
            association: number,
            length: 0,
            address: Some(socket.for_program(peer)),
        };
        socket.delivered = true;
        let last = if received.part.ends() { flag::END } else { flag::LATER };
        socket.queue(header, &received.payload, last);
    }

    /// SCTP_PARTIAL_DELIVERY_EVENT in the place of the rest of a message.
    fn tell_of_abort(&mut self, id: u64, number: u32, (stream, ssn): (u16, u16)) {
        let told = Notification::PartialDeliveryAborted { stream, ssn };
        if self.wants(id, number, told.event()) {
            self.tell(id, number, &told.encode(number));
        }
    }

    /// The association has ended, and nothing is left of it: not even what says that messages were aborted, if memory was
    /// short.
    pub(super) fn end_open(&mut self, id: u64, number: u32) {
        let Some(association) = self.associations.get_mut(&number) else { return };
        let open = std::mem::take(&mut association.open);
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.serves_no_more(number);
        }
        open.into_iter().for_each(|aborted| self.tell_of_abort(id, number, aborted));
    }

    /// SCTP_FRAGMENT_INTERLEAVE or SCTP_PARTIAL_DELIVERY_POINT was set: it holds for all associations of the socket.
    pub(super) fn refresh_parts(&mut self, id: u64) -> Fallible<()> {
        let socket = self.socket(id)?;
        if !socket.serves_one() {
            socket.serving = None;
        }
        let (point, port) = (socket.options.partial_delivery_point(), socket.port);
        let numbers: Vec<u32> = socket.associations.iter().copied().collect();
        for number in numbers {
            let Some(association) = self.associations.get(&number) else { continue };
            let readable = association.readable;
            self.change_core(association.core, |config| {
                config.partial_delivery_point = Some(point.min(config.receive_buffer as usize));
            })?;
            if readable {
                self.line_up(number);
            }
        }
        self.pump(id);
        self.refresh_open_port(port).map_err(|_| errno::EINVAL)
    }
}
