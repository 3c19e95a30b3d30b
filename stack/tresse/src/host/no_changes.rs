//! Nothing tells when addresses of this host come and go.

use std::io;
use std::task::Context;

use crate::runtime::Reactor;

/// None that anybody tells of.
#[derive(Debug)]
pub(crate) struct Changes(());

impl Changes {
    pub(crate) fn watch(_: &dyn Reactor) -> io::Result<Changes> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn poll(&mut self, _: &mut Context<'_>) -> bool {
        false
    }
}
