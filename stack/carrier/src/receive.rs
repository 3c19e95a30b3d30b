//! Receiving in batches, which all sockets do alike.

use std::io::{self, ErrorKind, IoSliceMut};
use std::task::{Context, Poll, ready};

use quinn_udp::RecvMeta;

use crate::{CarrierStats, IncomingPacket};

/// Buffers filled by one system call. With receive offload each holds up to 64 datagrams.
const RECV_BATCH: usize = 16;

/// Bytes of one of them: the largest datagram, and the largest run the kernel coalesces.
const RECV_BUFFER: usize = 65_535;

/// Errors in a row that one `poll_recv` swallows before it lets others run.
const MAX_ERRORS_IN_A_ROW: u32 = 16;

/// Where one system call puts what has arrived.
#[derive(Debug)]
pub(crate) struct ReceiveBuffers(Box<[u8]>);

/// What one system call fills.
pub(crate) type Buffers<'a, 'b> = (&'b mut [IoSliceMut<'a>], &'b mut [RecvMeta]);

impl Default for ReceiveBuffers {
    fn default() -> Self {
        ReceiveBuffers(vec![0; RECV_BATCH * RECV_BUFFER].into())
    }
}

impl ReceiveBuffers {
    /// Receives with `recv` (`WouldBlock` if there was nothing after all) until `take` has made at
    /// least one packet of it; gives their number. Transient errors are counted.
    ///
    /// # Errors
    /// Those that are not transient.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<IncomingPacket>,
        stats: &mut CarrierStats,
        mut recv: impl FnMut(&mut Context<'_>, Buffers<'_, '_>) -> Poll<io::Result<usize>>,
        mut take: impl FnMut(&RecvMeta, &[u8], &mut CarrierStats, &mut Vec<IncomingPacket>),
    ) -> Poll<io::Result<usize>> {
        let mut errors = 0;
        loop {
            let mut metas = [RecvMeta::default(); RECV_BATCH];
            let mut chunks = self.0.chunks_mut(RECV_BUFFER);
            let mut buffers: [IoSliceMut<'_>; RECV_BATCH] =
                std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
            match ready!(recv(cx, (&mut buffers, &mut metas))) {
                Ok(filled) => {
                    stats.recv_calls += 1;
                    let before = out.len();
                    for (meta, buffer) in metas[..filled].iter().zip(self.0.chunks(RECV_BUFFER)) {
                        take(meta, buffer, stats, out);
                    }
                    let taken = out.len() - before;
                    if taken > 0 {
                        return Poll::Ready(Ok(taken));
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) if is_transient(&e) => {
                    stats.recv_failed += 1;
                    errors += 1;
                    if errors == MAX_ERRORS_IN_A_ROW {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                }
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }
}

/// Errors of one datagram, or of an earlier one, that say nothing about the socket.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::Interrupted
            | ErrorKind::OutOfMemory
            | ErrorKind::PermissionDenied
            | ErrorKind::TimedOut
            | ErrorKind::InvalidData
    ) || quinn_udp::is_msg_size_err(error)
        // ICMP errors that have no name in std, such as EPROTO and ENOPROTOOPT.
        || is_network_error(error)
}

#[cfg(target_os = "linux")]
fn is_network_error(error: &io::Error) -> bool {
    use nix::libc::{EHOSTDOWN, ENONET, ENOPROTOOPT, EOPNOTSUPP, EPROTO};
    let code = error.raw_os_error().unwrap_or(0);
    [EHOSTDOWN, ENONET, ENOPROTOOPT, EOPNOTSUPP, EPROTO].contains(&code)
}

#[cfg(not(target_os = "linux"))]
fn is_network_error(_error: &io::Error) -> bool {
    false
}
