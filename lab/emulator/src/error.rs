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
    /// There is no way to make TAP interfaces.
    #[error("no TAP interfaces (/dev/net/tun: {0}): {how}", how = how_to_have_tap(.0))]
    Tap(io::Error),
    /// A program that is needed cannot be run.
    #[error("the command {program} cannot be run ({source}): apt-get install {package}")]
    Missing {
        /// Its name.
        program: &'static str,
        /// Debian's package that has it.
        package: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A program that is needed failed.
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

/// What to do about a `/dev/net/tun` that fails.
fn how_to_have_tap(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied {
        "run as root, or let everybody open it (chmod a+rw /dev/net/tun); a container needs \
         --device /dev/net/tun and CAP_NET_ADMIN"
    } else {
        "as root, load its module (modprobe tun); a container needs --device /dev/net/tun"
    }
}

impl Error {
    /// Whether this host lacks a permission, a device or a program, rather than that something is wrong: a test is
    /// skipped then.
    #[must_use]
    pub fn is_lack(&self) -> bool {
        matches!(self, Error::Permission(_) | Error::Tap(_) | Error::Missing { .. })
    }

    /// For `map_err`: the system refused `what`.
    pub(crate) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Error {
        let what = what.into();
        move |source| Error::System { what, source: source.into() }
    }
}
