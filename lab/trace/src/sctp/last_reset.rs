//! What is remembered of a request that streams begin again (RFC 6525).

/// The last reset that a side asked for.
#[derive(Debug, Default)]
pub(super) struct Reset {
    pub(super) request: Option<u32>,
    /// None: all.
    pub(super) streams: Vec<u16>,
    /// Of both directions, and the TSNs as well.
    pub(super) everything: bool,
    pub(super) done: bool,
}
