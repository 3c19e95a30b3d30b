//! Who waits until a message can be sent.

use std::pin::pin;
use std::rc::Rc;

use tokio::task::yield_now;

use super::Engine;
use super::calls::{Answer, asked};
use super::shared::{Shared, answer, first_frame};
use super::socket::Conn;
use tresse_socket_protocol::abi::{errno, sinfo};
use tresse_socket_protocol::protocol::Request;

impl Engine {
    /// What `CheckSend` is answered; EAGAIN also while nothing of the socket is read.
    fn check_room(&mut self, request: &Request) -> Answer {
        let (header, ..) = asked(request)?;
        let socket = self.socket(request.socket)?;
        let waits = socket.is_held_up() || socket.connecting;
        if waits && header.sinfo_flags & sinfo::ABORT == 0 {
            return Err(errno::EAGAIN);
        }
        self.call(request)
    }
}

/// Answers `CheckSend` once it is not EAGAIN, unless the client has given up; with the `last` descriptor at once.
pub(super) async fn serve_waiting(engine: &Shared, request: &Request, conn: &Conn, last: bool) {
    loop {
        yield_now().await;
        let socket = engine.borrow().sockets.get(&request.socket).map(|s| Rc::clone(&s.room));
        let Some(room) = socket else {
            answer(conn, Err(errno::EBADF));
            return;
        };
        let mut notified = pin!(room.notified());
        notified.as_mut().enable();
        let result = engine.borrow_mut().check_room(request);
        if !matches!(result, Err(errno::EAGAIN)) {
            answer(conn, result);
            return;
        }
        if last {
            answer(conn, Err(errno::ENOBUFS));
            return;
        }
        tokio::select! {
            () = notified => {}
            // It was interrupted, or has ended.
            _ = first_frame(conn) => return,
        }
    }
}
