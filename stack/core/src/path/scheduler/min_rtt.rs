//! Smallest RTT first, the default scheduler of Multipath TCP (RFC 8684) in Linux.
//!
//! `next = open path with the smallest SRTT`

use super::{PathScheduler, View};
use crate::ids::PathId;

#[derive(Debug, Default)]
pub(crate) struct MinRtt;

impl PathScheduler for MinRtt {
    fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        view.fastest(|p| p.open).map(|p| p.id)
    }
}
