//! The engine as its tasks share it, and how they answer a program.

use std::cell::RefCell;
use std::rc::Rc;

use rustix::net::{SendFlags, send};

use super::Engine;
use super::calls::Answer;
use super::socket::{Conn, Received};
use tresse_socket_protocol::protocol::{MAX_CONTROL, Request, reply};

pub(super) type Shared = Rc<RefCell<Engine>>;

/// Sends the answer to a request; false if nobody waits for it.
pub(super) fn answer(conn: &Conn, result: Answer) -> bool {
    let frame = match result {
        Ok((value, payload)) => reply(0, value, &payload),
        Err(errno) => reply(errno, 0, &[]),
    };
    send(conn.fd.get_ref(), &frame, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok()
}

/// Reads the first frame; whoever sends none within a while is dropped.
pub(super) async fn first_frame(conn: &Conn) -> Option<Request> {
    let mut buffer = vec![0; MAX_CONTROL];
    loop {
        let mut guard = conn.fd.readable().await.ok()?;
        match conn.receive(&mut buffer) {
            Received::Frame(len) => return Request::decode(&buffer[..len]),
            Received::Nothing => guard.clear_ready(),
            Received::End(_) => return None,
        }
    }
}
