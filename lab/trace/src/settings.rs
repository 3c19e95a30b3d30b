//! What the trackers of SCTP and TCP are told.

/// What both directions need to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) missing_reports: u32,
    pub(crate) early: bool,
    pub(crate) rto_min_ms: f64,
    /// Both ends are captured.
    pub(crate) both_ends: bool,
}
