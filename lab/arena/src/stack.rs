//! Who plays.

use std::fmt;
use std::str::FromStr;

use tresse::Profile;

/// A stack as it is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// What it is.
    pub kind: Kind,
    /// Sends over all paths at once (concurrent multipath transfer).
    pub concurrent: bool,
}

/// What a stack is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// This one, with a profile.
    Tresse(String),
    /// That of the Linux kernel, in a guest.
    Linux,
    /// usrsctp, FreeBSD's stack.
    Usrsctp,
    /// pion/sctp, in Go.
    Pion,
    /// dcsctp, Google's for WebRTC.
    Dcsctp,
    /// sctp-proto, in Rust.
    SctpProto,
}

/// What everybody else is compared with.
pub const DEFAULT: &str = "tresse";

/// Ends the name of a stack that sends over all paths at once.
const CONCURRENT: &str = "-cmt";

impl Stack {
    /// Those that play unless others are named.
    ///
    /// # Panics
    /// Never: they are the right names.
    #[must_use]
    pub fn usual() -> Vec<Stack> {
        let names = [
            DEFAULT,
            "tresse-cmt",
            "tresse:rfc9260",
            "linux",
            "usrsctp",
            "usrsctp-cmt",
            "pion",
            "dcsctp",
            "sctp-proto",
        ];
        names.map(|name| name.parse().expect("it is a stack")).into()
    }
}

impl FromStr for Stack {
    type Err = String;

    fn from_str(name: &str) -> Result<Stack, String> {
        let (base, concurrent) = match name.strip_suffix(CONCURRENT) {
            Some(base) => (base, true),
            None => (name, false),
        };
        let kind = match base {
            "tresse" => Kind::Tresse("tresse".into()),
            "linux" => Kind::Linux,
            "usrsctp" => Kind::Usrsctp,
            "pion" => Kind::Pion,
            "dcsctp" => Kind::Dcsctp,
            "sctp-proto" => Kind::SctpProto,
            _ => match base.strip_prefix("tresse:") {
                Some(profile) => {
                    Profile::named(profile).map_err(|e| e.to_string())?;
                    Kind::Tresse(profile.to_owned())
                }
                None => {
                    return Err(format!(
                        "no stack \"{name}\": tresse, tresse:PROFILE, linux, usrsctp, pion, dcsctp or \
                         sctp-proto; tresse and usrsctp also with {CONCURRENT} at the end"
                    ));
                }
            },
        };
        if concurrent && !matches!(kind, Kind::Tresse(_) | Kind::Usrsctp) {
            return Err(format!("{base} does not send over several paths at once"));
        }
        Ok(Stack { kind, concurrent })
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Tresse(profile) if profile == "tresse" => f.write_str("tresse")?,
            Kind::Tresse(profile) => write!(f, "tresse:{profile}")?,
            Kind::Linux => f.write_str("linux")?,
            Kind::Usrsctp => f.write_str("usrsctp")?,
            Kind::Pion => f.write_str("pion")?,
            Kind::Dcsctp => f.write_str("dcsctp")?,
            Kind::SctpProto => f.write_str("sctp-proto")?,
        }
        f.write_str(if self.concurrent { CONCURRENT } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for stack in Stack::usual() {
            assert_eq!(stack.to_string().parse(), Ok(stack));
        }
        let stack: Stack = "tresse:rfc9260+early-retransmit-packets-cmt".parse().unwrap();
        assert_eq!(stack.kind, Kind::Tresse("rfc9260+early-retransmit-packets".into()));
        assert!(stack.concurrent);
        for wrong in ["", "bsd", "linux-cmt", "tresse:none", "pion-cmt"] {
            assert!(wrong.parse::<Stack>().is_err(), "{wrong}");
        }
    }
}
