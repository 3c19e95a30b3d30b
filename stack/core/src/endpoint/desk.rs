//! What those who answer strangers work with.

use super::ports::Ports;
use super::random::Numbers;
use super::reply::ReplyQueue;
use super::roll::Roll;
use crate::stats::EndpointStats;
use crate::time::Time;

/// What is not their own.
pub(super) struct Desk<'a> {
    pub(super) now: Time,
    pub(super) ports: &'a Ports,
    pub(super) roll: &'a mut Roll,
    pub(super) numbers: &'a mut Numbers,
    pub(super) replies: &'a mut ReplyQueue,
    pub(super) stats: &'a mut EndpointStats,
}
