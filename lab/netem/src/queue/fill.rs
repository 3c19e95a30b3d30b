//! How full a queue is.

/// How full a queue is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fill {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}
