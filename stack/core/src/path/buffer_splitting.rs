//! Buffer splitting (Dreibholz et al. 2010): whether a path is within its share of the buffers.
//!
//! Idea: a slow path that fills the buffers stops the fast ones. So each of `n` paths that carry data may use one `n`-th.
//!
//! ```text
//! outstanding: flight(p) < min(send buffer, receive buffer) / n
//! buffered:    buffered(p) < send buffer / n  and  flight(p) < receive buffer / n
//! ```
//! `buffered` are the bytes that are not cumulatively acknowledged; the receive buffer is what the peer has room for and
//! what is in flight.

use crate::ids::PathId;
use crate::profile::{BufferSplitting, Profile};
use crate::scoreboard::Scoreboard;

/// Whether more may leave on `path` beside others, whose shares of both buffers have this many bytes.
pub(crate) fn share_allows(
    profile: &Profile,
    board: &Scoreboard,
    path: PathId,
    send_share: usize,
    receive_share: usize,
) -> bool {
    match profile.multipath.buffer_splitting {
        BufferSplitting::None => true,
        BufferSplitting::Outstanding => board.flight(path) < send_share.min(receive_share),
        BufferSplitting::Buffered => {
            board.buffered_on(path) < send_share && board.flight(path) < receive_share
        }
    }
}
