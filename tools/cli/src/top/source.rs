//! What is watched, and where to look for it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tresse_observe::Snapshot;

use super::fetch;
use super::history::History;

/// Where the documentation has programs serve metrics: tried if nothing else is known.
pub(super) const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

/// The argument of `tresse top`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Where {
    Address(SocketAddr),
    Engines,
}

impl std::str::FromStr for Where {
    type Err = String;

    fn from_str(text: &str) -> Result<Where, String> {
        if text == "engine" {
            return Ok(Where::Engines);
        }
        tresse_console::observe::metrics_address(text)
            .map(Where::Address)
            .map_err(|error| format!("{error}, or engine"))
    }
}

/// One process that is watched.
pub(super) struct Source {
    pub(super) address: SocketAddr,
    pub(super) before: Option<Snapshot>,
    pub(super) now: Option<Snapshot>,
    /// Why the last look failed.
    pub(super) error: Option<String>,
    /// Whose history this is; it goes on over looks that failed.
    pub(super) process: Option<u32>,
    pub(super) history: History,
}

impl Source {
    pub(super) fn new(address: SocketAddr) -> Source {
        Source {
            address,
            before: None,
            now: None,
            error: None,
            process: None,
            history: History::default(),
        }
    }

    /// Looks again.
    fn look(&mut self) {
        match fetch::snapshot(self.address) {
            Ok(snapshot) => {
                self.error = None;
                // Another process at the same address begins again.
                let before = self.now.take();
                self.before = before.filter(|before| before.process == snapshot.process);
                if self.process.replace(snapshot.process) != Some(snapshot.process) {
                    self.history.forget();
                }
                match &self.before {
                    Some(before) => self.history.learn(&snapshot, before),
                    None => self.history.miss(),
                }
                self.now = Some(snapshot);
            }
            Err(error) => {
                self.error = Some(error);
                self.history.miss();
                (self.before, self.now) = (None, None);
            }
        }
    }
}

/// Every `tresse run --metrics` of this user; that needs Linux.
#[cfg(target_os = "linux")]
fn engines() -> Vec<SocketAddr> {
    tresse_sockets::engine::Folder::metrics()
}

#[cfg(not(target_os = "linux"))]
fn engines() -> Vec<SocketAddr> {
    Vec::new()
}

/// Where to look now: engines come and go.
fn sources(place: &Where, known: Vec<Source>) -> Vec<Source> {
    let addresses = match place {
        Where::Address(address) => vec![*address],
        Where::Engines => match engines() {
            found if found.is_empty() => vec![USUAL],
            found => found,
        },
    };
    let mut known = known;
    let take = |address| match known.iter().position(|source| source.address == address) {
        Some(at) => known.swap_remove(at),
        None => Source::new(address),
    };
    addresses.into_iter().map(take).collect()
}

/// Looks at all that there is.
pub(super) fn look(place: &Where, known: Vec<Source>) -> Vec<Source> {
    let mut sources = sources(place, known);
    sources.iter_mut().for_each(Source::look);
    sources
}
