//! What sends in an experiment: SCTP with a profile, or the TCP of Linux 2.6.15.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_core::Profile;
use tresse_sim::tcp;

use crate::error::LabError;
use crate::reading;

/// What the name of a sender begins with that is TCP.
const TCP: &str = "tcp-2.6.15";

/// What both hosts of a run are.
#[derive(Clone, Debug)]
pub enum Sender {
    /// SCTP with this profile.
    Sctp(Arc<Profile>),
    /// The TCP of Linux 2.6.15 (flows only).
    Tcp(Tcp),
}

impl Sender {
    /// Its name, parts joined by `+`.
    pub fn name(&self) -> String {
        match self {
            Sender::Sctp(profile) => profile.name.clone(),
            Sender::Tcp(tcp) => tcp.name(),
        }
    }

    /// What it is, in a line.
    pub fn description(&self) -> String {
        match self {
            Sender::Sctp(profile) => profile.description.clone(),
            Sender::Tcp(_) => "The TCP of Linux 2.6.15 with these switches".into(),
        }
    }

    /// All of its parameters, as TOML.
    pub fn to_toml(&self) -> String {
        match self {
            Sender::Sctp(profile) => profile.to_toml(),
            Sender::Tcp(tcp) => {
                format!("[tcp]\n{}", toml::to_string(tcp).unwrap_or_default())
            }
        }
    }

    /// The profile of SCTP.
    ///
    /// # Errors
    /// It is TCP, as text.
    pub fn profile(&self) -> Result<&Arc<Profile>, String> {
        match self {
            Sender::Sctp(profile) => Ok(profile),
            Sender::Tcp(tcp) => Err(format!("{} has no profile of SCTP", tcp.name())),
        }
    }
}

/// Switches of the TCP of Linux 2.6.15 (see [`tresse_sim::tcp::Options`]). Default: all off, which is NewReno.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    /// Selective acknowledgements.
    pub sack: bool,
    /// Duplicates are reported. Needs `sack`.
    pub dsack: bool,
    /// Forward acknowledgement. Needs `sack`.
    pub fack: bool,
    /// BIC instead of Reno for the window.
    pub bic: bool,
}

impl Tcp {
    /// Whether a sender of this name is TCP.
    pub fn is_meant(name: &str) -> bool {
        name.split('+').next() == Some(TCP)
    }

    /// The TCP that is called so, such as `tcp-2.6.15+sack+fack`, with `parameters` changed.
    ///
    /// # Errors
    /// [`LabError::Option`] for a switch or parameter that there is not, or that needs another one.
    pub(crate) fn named(name: &str, parameters: &toml::Table) -> Result<Tcp, LabError> {
        let wrong = |what: String| LabError::Option(format!("profile {name}: {what}"));
        let mut table = toml::Table::new();
        for part in name.split('+').skip(1) {
            if !["sack", "dsack", "fack", "bic"].contains(&part) {
                return Err(wrong(format!("TCP has no \"{part}\", but sack, dsack, fack and bic")));
            }
            table.insert(part.to_owned(), true.into());
        }
        table.extend(parameters.clone());
        let tcp: Tcp = reading::read(&table).map_err(|mistake| {
            wrong(format!("parameters of TCP: {}", mistake.message.trim_end()))
        })?;
        if (tcp.dsack || tcp.fack) && !tcp.sack {
            return Err(wrong("dsack and fack need sack".into()));
        }
        Ok(tcp)
    }

    fn name(self) -> String {
        let parts = [
            (self.sack, "+sack"),
            (self.dsack, "+dsack"),
            (self.fack, "+fack"),
            (self.bic, "+bic"),
        ];
        let parts = parts.into_iter().filter(|(on, _)| *on).map(|(_, part)| part);
        std::iter::once(TCP).chain(parts).collect()
    }

    /// The same for the simulator, where the application has switched Nagle off if `no_delay`.
    pub(crate) const fn options(self, no_delay: bool) -> tcp::Options {
        let Tcp { sack, dsack, fack, bic } = self;
        tcp::Options { sack, dsack, fack, bic, no_delay }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_is_told_by_its_name_and_its_parts_are_switches() {
        assert!(Tcp::is_meant("tcp-2.6.15") && Tcp::is_meant("tcp-2.6.15+sack"));
        assert!(!Tcp::is_meant("tcp") && !Tcp::is_meant("tresse"));
        let none = toml::Table::new();
        let tcp = Tcp::named("tcp-2.6.15+sack+fack", &none).unwrap();
        assert_eq!(tcp, Tcp { sack: true, fack: true, ..Tcp::default() });
        assert_eq!(tcp.name(), "tcp-2.6.15+sack+fack");
        let changed: toml::Table = "fack = false".parse().unwrap();
        assert_eq!(Tcp::named("tcp-2.6.15+sack+fack", &changed).unwrap().name(), "tcp-2.6.15+sack");
        let text = Sender::Tcp(tcp).to_toml();
        assert!(text.contains("[tcp]") && text.contains("fack = true"), "{text}");
    }

    #[test]
    fn wrong_names_and_parameters_are_explained_in_a_line() {
        let unknown: toml::Table = "rack = true".parse().unwrap();
        let none = toml::Table::new();
        for (name, parameters, word) in [
            ("tcp-2.6.15+rack", &none, "no \"rack\""),
            ("tcp-2.6.15+fack", &none, "need sack"),
            ("tcp-2.6.15", &unknown, "unknown field `rack`"),
        ] {
            let text = Tcp::named(name, parameters).unwrap_err().to_string();
            assert!(text.contains(word) && !text.contains('\n'), "{text}");
        }
    }
}
