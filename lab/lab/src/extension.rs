//! Extensions of the protocol that both ends of an experiment offer, and what each asks for beside the offer.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_core::profile::NrSackMode;
use tresse_core::wire::ChunkType;
use tresse_core::{AssociationConfig, Authentication, MtuDiscovery, Profile};

/// What is negotiated and leaves the service as it is: messages arrive whole, in order and all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extension {
    /// PR-SCTP (RFC 3758, RFC 7496); no message is ever given up.
    PartialReliability,
    /// RE-CONFIG (RFC 6525); no stream is ever reset.
    StreamReconfiguration,
    /// I-DATA (RFC 8260): 4 bytes more in each chunk.
    Interleaving,
    /// AUTH (RFC 4895) of every chunk that carries data, acknowledges it, or passes over it: 40 bytes in each packet.
    Authentication,
    /// ASCONF (RFC 5061), with AUTH of ASCONF chunks alone; no address ever changes.
    AddressReconfiguration,
    /// NR-SACKs instead of SACKs.
    NrSack,
    /// No checksums (RFC 9653), as if each packet were carried in DTLS.
    ZeroChecksum,
    /// ECN (RFC 3168): packets may be marked.
    Ecn,
    /// Packets that arrive damaged are reported (draft-stewart-sctp-pktdrprep).
    PacketDropReports,
    /// INIT is padded to 80 bytes (RFC 4820).
    Padding,
    /// The path MTU is searched by probes (RFC 8899): packets begin with 1280 bytes.
    MtuProbes,
}

impl Extension {
    /// All of them, in the order in which they are switched on.
    pub const ALL: [Extension; 11] = [
        Extension::PartialReliability,
        Extension::StreamReconfiguration,
        Extension::Interleaving,
        Extension::Authentication,
        Extension::AddressReconfiguration,
        Extension::NrSack,
        Extension::ZeroChecksum,
        Extension::Ecn,
        Extension::PacketDropReports,
        Extension::Padding,
        // It takes the MTU that others have made room in.
        Extension::MtuProbes,
    ];

    /// What experiment files and options call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Extension::PartialReliability => "partial-reliability",
            Extension::StreamReconfiguration => "stream-reconfiguration",
            Extension::Interleaving => "interleaving",
            Extension::Authentication => "authentication",
            Extension::AddressReconfiguration => "address-reconfiguration",
            Extension::NrSack => "nr-sack",
            Extension::ZeroChecksum => "zero-checksum",
            Extension::Ecn => "ecn",
            Extension::PacketDropReports => "packet-drop-reports",
            Extension::Padding => "padding",
            Extension::MtuProbes => "mtu-probes",
        }
    }

    /// Bytes that it takes in a packet with one chunk of data.
    fn bytes(self) -> usize {
        match self {
            Extension::Interleaving => 4,
            // AUTH chunk with SHA-256 (RFC 4895 §4.1).
            Extension::Authentication => 40,
            _ => 0,
        }
    }

    /// An end with `config` offers it.
    fn switch_on(self, config: &mut AssociationConfig) {
        let offered = &mut config.extensions;
        match self {
            Extension::PartialReliability => offered.partial_reliability = true,
            Extension::StreamReconfiguration => offered.stream_reconfiguration = true,
            Extension::Interleaving => offered.interleaving = true,
            Extension::Authentication => {
                offered.authentication = true;
                let chunks = AUTHENTICATED.to_vec();
                config.authentication = Arc::new(Authentication { chunks, ..Default::default() });
            }
            Extension::AddressReconfiguration => {
                offered.authentication = true;
                offered.address_reconfiguration = true;
            }
            Extension::NrSack => {
                let mut profile = Profile::clone(&config.profile);
                if profile.sack.nr_sack == NrSackMode::Off {
                    profile.sack.nr_sack = NrSackMode::Delivered;
                }
                config.profile = Arc::new(profile);
            }
            Extension::ZeroChecksum => offered.zero_checksum = true,
            Extension::Ecn => offered.ecn = true,
            Extension::PacketDropReports => offered.packet_drop_reports = true,
            Extension::Padding => config.init_size = AssociationConfig::default().init_size,
            Extension::MtuProbes if config.mtu_discovery == MtuDiscovery::Icmp => {
                config.mtu_discovery = MtuDiscovery::probes(config.mtu);
            }
            Extension::MtuProbes => {}
        }
        // What fitted one packet still does: the links take larger ones, and the time for it.
        config.mtu += self.bytes();
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Chunks that carry data, acknowledge it, or say what is passed over.
const AUTHENTICATED: [ChunkType; 7] = [
    ChunkType::DATA,
    ChunkType::I_DATA,
    ChunkType::SACK,
    ChunkType::NR_SACK,
    ChunkType::FORWARD_TSN,
    ChunkType::I_FORWARD_TSN,
    ChunkType::RE_CONFIG,
];

/// Some of them: `"all"`, or a list of names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Vec<Extension>")]
pub struct ExtensionSet(BTreeSet<Extension>);

/// How a set is written.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Word(String),
    Names(Vec<String>),
}

impl TryFrom<Written> for ExtensionSet {
    type Error = String;

    fn try_from(written: Written) -> Result<ExtensionSet, String> {
        match written {
            Written::Word(word) => ExtensionSet::named(&[word]),
            Written::Names(names) => ExtensionSet::named(&names),
        }
    }
}

impl From<ExtensionSet> for Vec<Extension> {
    fn from(set: ExtensionSet) -> Vec<Extension> {
        set.0.into_iter().collect()
    }
}

impl ExtensionSet {
    /// Every one.
    #[must_use]
    pub fn all() -> ExtensionSet {
        ExtensionSet(Extension::ALL.into_iter().collect())
    }

    /// Those with these names; `all` names every one.
    ///
    /// # Errors
    /// A name that none has, and those that there are.
    pub fn named(names: &[String]) -> Result<ExtensionSet, String> {
        let mut set = BTreeSet::new();
        for name in names {
            match Extension::ALL.into_iter().find(|one| one.name() == name) {
                Some(one) => drop(set.insert(one)),
                None if name == "all" => set.extend(Extension::ALL),
                None => {
                    let known = Extension::ALL.map(Extension::name).join(", ");
                    return Err(format!("\"{name}\" is no extension; there are: all, {known}"));
                }
            }
        }
        Ok(ExtensionSet(set))
    }

    /// All that are in this one and not in `others`.
    #[must_use]
    pub fn without(&self, others: &ExtensionSet) -> ExtensionSet {
        ExtensionSet(&self.0 - &others.0)
    }

    /// That one alone.
    #[must_use]
    pub fn only(one: Extension) -> ExtensionSet {
        ExtensionSet(BTreeSet::from([one]))
    }

    /// Whether there is none in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those in it.
    pub fn iter(&self) -> impl Iterator<Item = Extension> {
        self.0.iter().copied()
    }

    /// All of both.
    pub(crate) fn and(&self, others: &ExtensionSet) -> ExtensionSet {
        ExtensionSet(&self.0 | &others.0)
    }

    /// An end with `config` offers them.
    pub(crate) fn switch_on(&self, config: &mut AssociationConfig) {
        let all = Extension::ALL.into_iter().filter(|one| self.0.contains(one));
        all.for_each(|one| one.switch_on(config));
    }
}

impl fmt::Display for ExtensionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|one| one.name()).collect();
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_core::Extensions;

    #[test]
    fn a_set_is_a_word_or_names() {
        #[derive(Debug, Serialize, Deserialize)]
        struct File {
            extensions: ExtensionSet,
        }
        let read = |text: &str| toml::from_str::<File>(text).map(|file| file.extensions);
        assert_eq!(read("extensions = \"all\"").unwrap(), ExtensionSet::all());
        let two = read("extensions = [\"ecn\", \"nr-sack\"]").unwrap();
        assert_eq!(two.to_string(), "nr-sack, ecn");
        let written = toml::to_string(&File { extensions: two.clone() }).unwrap();
        assert_eq!(read(&written).unwrap(), two);
        let wrong = read("extensions = [\"ech\"]").unwrap_err();
        assert!(wrong.message().contains("\"ech\" is no extension; there are: all, partial"));
        let names: Vec<String> = ExtensionSet::all().iter().map(|e| e.to_string()).collect();
        assert_eq!(ExtensionSet::named(&names).unwrap(), ExtensionSet::all());
        assert_eq!(ExtensionSet::all().without(&two).iter().count(), Extension::ALL.len() - 2);
    }

    #[test]
    fn all_of_them_are_offered_and_have_room() {
        let mut config =
            AssociationConfig { extensions: Extensions::NONE, ..AssociationConfig::default() };
        ExtensionSet::all().switch_on(&mut config);
        let all = Extensions {
            partial_reliability: true,
            stream_reconfiguration: true,
            authentication: true,
            interleaving: true,
            zero_checksum: true,
            address_reconfiguration: true,
            ecn: true,
            packet_drop_reports: true,
        };
        assert_eq!(config.extensions, all);
        assert_eq!((config.mtu, config.mtu_discovery), (1544, MtuDiscovery::probes(1544)));
        assert_eq!(config.profile.sack.nr_sack, NrSackMode::Delivered);
        assert!(config.authentication.chunks.contains(&ChunkType::I_DATA));
        assert!(config.check().is_ok());
    }
}
