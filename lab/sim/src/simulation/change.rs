//! Changes scheduled in advance.

use std::net::IpAddr;

use ipnet::IpNet;
use tresse_netem::LinkConfig;

use crate::ids::{HostId, LinkId};
use crate::rules::LinkRules;
use crate::simulation::Simulation;

/// Something that happens to the network or a host, see [`Simulation::at`].
#[non_exhaustive]
pub enum Change {
    /// The link comes up.
    LinkUp(LinkId),
    /// The link goes down and loses what is on it.
    LinkDown(LinkId),
    /// The link gets these settings.
    Link(LinkId, Box<LinkConfig>),
    /// The link gets these rules.
    Rules(LinkId, LinkRules),
    /// An interface (by its number) of a host with an [`IpStack`](crate::IpStack) comes up or goes
    /// down, with all its addresses.
    Interface(HostId, usize, bool),
    /// An interface of such a host gets another address.
    AddAddress(HostId, usize, IpNet),
    /// Such a host loses an address.
    RemoveAddress(HostId, IpAddr),
    /// The host's clock jumps by this many nanoseconds, forwards or (negative) backwards. Its
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
            Change::Rules(id, rules) => f.debug_tuple("Rules").field(id).field(rules).finish(),
            Change::Interface(id, number, up) => {
                f.debug_tuple("Interface").field(id).field(number).field(up).finish()
            }
            Change::AddAddress(id, number, address) => {
                f.debug_tuple("AddAddress").field(id).field(number).field(address).finish()
            }
            Change::RemoveAddress(id, address) => {
                f.debug_tuple("RemoveAddress").field(id).field(address).finish()
            }
            Change::ClockJump(id, by) => f.debug_tuple("ClockJump").field(id).field(by).finish(),
            Change::Crash(id) => f.debug_tuple("Crash").field(id).finish(),
            Change::Restart(id) => f.debug_tuple("Restart").field(id).finish(),
            Change::Call(_) => f.write_str("Call(..)"),
        }
    }
}
