//! Changes scheduled in advance.

use tresse_netem::LinkConfig;

use crate::simulation::{HostId, LinkId, Simulation};

/// Something that happens to the network or a host, see [`Simulation::at`].
#[non_exhaustive]
pub enum Change {
    /// The link comes up.
    LinkUp(LinkId),
    /// The link goes down and loses what is on it.
    LinkDown(LinkId),
    /// The link gets these settings.
    Link(LinkId, Box<LinkConfig>),
    /// The host's clock jumps by so many nanoseconds, forwards or (negative) backwards. Its
    /// endpoint sees the new time; the application's timers and the network do not.
    ClockJump(HostId, i64),
    /// The host stops: it sends nothing more and loses what arrives.
    Crash(HostId),
    /// The host starts with a new endpoint (after a crash or not), and the application's
    /// `on_start` is called again. The application keeps its fields.
    Restart(HostId),
    /// Anything else, such as reading statistics or [`Simulation::with_app`].
    Call(Box<dyn FnOnce(&mut Simulation)>),
}

impl std::fmt::Debug for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Change::LinkUp(id) => f.debug_tuple("LinkUp").field(id).finish(),
            Change::LinkDown(id) => f.debug_tuple("LinkDown").field(id).finish(),
            Change::Link(id, config) => f.debug_tuple("Link").field(id).field(config).finish(),
            Change::ClockJump(id, by) => f.debug_tuple("ClockJump").field(id).field(by).finish(),
            Change::Crash(id) => f.debug_tuple("Crash").field(id).finish(),
            Change::Restart(id) => f.debug_tuple("Restart").field(id).finish(),
            Change::Call(_) => f.write_str("Call(..)"),
        }
    }
}
