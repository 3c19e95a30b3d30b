//! Connections from programs that may not enter the engine's folder any more, as they have given up
//! privileges: each comes through a connection that was made before, the door.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::pin::Pin;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::task::spawn_local;

use super::socket::Conn;

/// What came through.
enum Passed {
    Connection(OwnedFd),
    Nothing,
    End,
}

fn receive(conn: &Conn) -> Result<Passed, Errno> {
    let (mut byte, mut space) =
        ([0; 1], [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))]);
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let fd = conn.fd.get_ref();
    let bytes = recvmsg(fd, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags)?.bytes;
    let passed = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut rights) => rights.next(),
        _ => None,
    });
    Ok(match passed {
        Some(fd) => Passed::Connection(fd),
        None if bytes == 0 => Passed::End,
        // There was no descriptor left for it: the program's end says so.
        None => Passed::Nothing,
    })
}

/// Gives what comes through to `serve`, each in a task of its own, until the last process that has the door ends.
pub(super) async fn serve_door(
    conn: &Conn,
    serve: impl Fn(OwnedFd) -> Pin<Box<dyn Future<Output = ()>>>,
) {
    while let Ok(mut guard) = conn.fd.readable().await {
        match receive(conn) {
            Ok(Passed::Connection(fd)) => {
                spawn_local(serve(fd));
            }
            Ok(Passed::Nothing) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => guard.clear_ready(),
            Ok(Passed::End) | Err(_) => return,
        }
    }
}
