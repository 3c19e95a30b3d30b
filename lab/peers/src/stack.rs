//! Which stacks there are.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A stack to be tested against.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// The Linux kernel, in a guest.
    Linux,
    /// FreeBSD's stack in user space.
    Usrsctp,
    /// pion/sctp, in Go.
    Pion,
    /// dcsctp, Google's for WebRTC.
    Dcsctp,
    /// sctp-proto, that of str0m.
    SctpProto,
}

impl Stack {
    /// As people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Stack::Linux => "Linux kernel",
            Stack::Usrsctp => "usrsctp",
            Stack::Pion => "pion/sctp",
            Stack::Dcsctp => "dcsctp",
            Stack::SctpProto => "sctp-proto",
        }
    }
}
