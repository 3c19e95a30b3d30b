//! What can go wrong with the arena itself; what goes wrong with a stack is a result.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why the arena cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArenaError {
    /// What was asked for makes no sense; nothing was done.
    #[error("{0}")]
    Request(String),
    /// A file cannot be written; what is in it already stays.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// This machine cannot play it.
    #[error("{0}")]
    Unavailable(String),
}

impl ArenaError {
    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> ArenaError {
        let path = path.to_owned();
        move |source| ArenaError::Write { path, source }
    }
}
