//! What can go wrong before packets flow.

use std::io;

use thiserror::Error;

/// Why there is no emulation.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The description of the links cannot be used; one line that begins with the key.
    #[error("{0}")]
    Links(String),
    /// The system does not permit network namespaces.
    #[error(
        "network namespaces are not permitted ({0}): run as root, or allow unprivileged user \
         namespaces"
    )]
    Permission(io::Error),
    /// A program that is needed is missing or failed.
    #[error("{0}")]
    Tool(String),
    /// The system refused something else.
    #[error("{what}: {source}")]
    System {
        /// What was to be done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`: the system refused `what`.
    pub(crate) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Error {
        let what = what.into();
        move |source| Error::System { what, source: source.into() }
    }
}
