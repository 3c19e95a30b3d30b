//! Messages of several frames. Each comes on a connection of its own: nothing stands in front of it, and the
//! end of that connection takes half a message back.
//!
//! All of it is taken, whether the peer reads or not, so nobody waits for a peer in the middle of one. For that
//! it must not have to wait behind another message when it begins. Those that have begun by then, from
//! other threads, are the only ones that wait behind a message (`Socket::stalled`); large ones to the same
//! association of a one-to-many socket come one after the other.

use bytes::Bytes;

use super::calls::asked;
use super::send::Allowed;
use super::shared::{Shared, answer};
use super::socket::{Conn, Received};
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{errno, sinfo};
use tresse_socket_protocol::protocol::{MAX_PIECE, Request, TxHeader};

/// A message that may come.
struct Agreed {
    header: TxHeader,
    len: usize,
    allowed: Allowed,
}

impl Engine {
    /// Whether a message of several frames may come.
    fn agree(&mut self, request: &Request) -> Fallible<Agreed> {
        let (header, opening, len) = asked(request)?;
        let id = request.socket;
        if len > self.socket(id)?.options.max_message() {
            return Err(errno::EMSGSIZE);
        }
        let all = self.socket(id)?.many && header.sinfo_flags & sinfo::SENDALL != 0;
        let allowed = if all {
            self.take_frames(id);
            Allowed::default()
        } else {
            self.check_send(id, &header, &opening, len)?
        };
        let socket = self.socket(id)?;
        // An abort waits for nobody, and may be what ends the wait of others.
        if header.sinfo_flags & sinfo::ABORT == 0 {
            if socket.is_held_up() || socket.connecting {
                return Err(errno::EAGAIN);
            }
            if !socket.reads() {
                return Err(errno::EPIPE);
            }
        }
        Ok(Agreed { header: TxHeader { association: allowed.association, ..header }, len, allowed })
    }
}

/// Serves a connection for a message of several frames.
pub(super) async fn serve_long(engine: &Shared, request: &Request, conn: &Conn) {
    let agreed = engine.borrow_mut().agree(request);
    let Agreed { header, len, allowed } = match agreed {
        Ok(agreed) => agreed,
        Err(error) => {
            answer(conn, Err(error));
            return;
        }
    };
    let (id, number) = (request.socket, allowed.association);
    if let Some(socket) = engine.borrow_mut().sockets.get_mut(&id) {
        socket.stalled.begin(number, len);
    }
    answer(conn, Ok(allowed.answer()));
    let message = collect(conn, len).await;
    let mut engine = engine.borrow_mut();
    if let Some(socket) = engine.sockets.get_mut(&id) {
        socket.stalled.end(number, len);
    }
    if let Some(message) = message {
        let result = engine.send_whole(id, header, message);
        answer(conn, result.map(|()| (0, Vec::new())));
    }
    // Another one may have waited for this one to come.
    engine.resume(id, number);
}

/// The frames of a message of `len` bytes; `None` if it was given up.
async fn collect(conn: &Conn, len: usize) -> Option<Bytes> {
    let mut message = Vec::new();
    while message.len() < len {
        let at = message.len();
        let mut guard = conn.fd.readable().await.ok()?;
        message.resize(len.min(at + MAX_PIECE), 0);
        let received = conn.receive(&mut message[at..]);
        message.truncate(at + if let Received::Frame(len) = received { len } else { 0 });
        match received {
            Received::Frame(_) => {}
            Received::Nothing => guard.clear_ready(),
            Received::End(_) => return None,
        }
    }
    Some(message.into())
}
