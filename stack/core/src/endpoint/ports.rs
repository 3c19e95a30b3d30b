//! The SCTP ports of an endpoint.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Families, PortConfig};
use crate::path::source::{Host, Sources};
use crate::profile::LimitParameters;

/// The ports that are open, and the addresses of the host that they are on.
#[derive(Debug)]
pub(super) struct Ports {
    open: BTreeMap<u16, PortConfig>,
    /// The port that `connect` uses.
    main: u16,
    /// The addresses of our host, as far as they were told.
    host: Arc<Host>,
}

impl Ports {
    /// None is open yet.
    pub(super) fn new(main: u16) -> Ports {
        Ports { open: BTreeMap::new(), main, host: Arc::default() }
    }

    /// Opens a port, or gives an open one other settings.
    pub(super) fn open(&mut self, port: u16, config: PortConfig) {
        self.open.insert(port, config);
    }

    pub(super) fn close(&mut self, port: u16) {
        self.open.remove(&port);
    }

    /// The port that `connect` uses.
    pub(super) const fn main(&self) -> u16 {
        self.main
    }

    /// The settings of a port that is open.
    pub(super) fn get(&self, port: u16) -> Option<&PortConfig> {
        self.open.get(&port)
    }

    /// The longest life of a cookie that `port` has given out; a port that is closed may have given
    /// out the default.
    pub(super) fn longest_cookie_life(&self, port: u16) -> Duration {
        match self.get(port) {
            Some(port) => port.longest_cookie_life(),
            None => LimitParameters::default().cookie_life() * 2,
        }
    }

    /// The addresses of our host, as far as they were told.
    pub(super) const fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Our addresses for a peer at `remotes`, which has sent a packet to `local`.
    pub(super) fn sources(
        &self,
        bound: &[IpAddr],
        remotes: &[IpAddr],
        local: IpAddr,
        families: Families,
    ) -> Sources {
        let mut sources = Sources::of(&self.host, bound, remotes, families);
        sources.learn(local);
        sources
    }

    /// The host has these addresses now. `false` if nothing has changed by that.
    pub(super) fn move_host(&mut self, addresses: &[IpAddr]) -> bool {
        let host = self.host.changed(addresses);
        let is_other = host != *self.host;
        if is_other {
            self.host = Arc::new(host);
        }
        is_other
    }
}
