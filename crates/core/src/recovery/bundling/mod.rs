//! Chunks that are not lost but travel in a packet that leaves anyway.

pub(crate) mod fast_retransmit;
pub(crate) mod new_data;
pub(crate) mod overdue;
