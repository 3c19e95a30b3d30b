//! How soon each side answers, which tells where the capture was taken.

/// How soon a side answers, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    /// When the other side last asked for an answer.
    pub(super) asked: Option<u64>,
    pub(super) soonest: Option<u64>,
}
