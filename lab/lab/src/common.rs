//! What experiments of every kind have in common.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_core::{AssociationConfig, Extensions, MtuDiscovery, Profile};

use crate::error::LabError;
use crate::extension::ExtensionSet;
use crate::mistake::{Checked, mistake, require};
use crate::sender::{Sender, Tcp};

/// What experiments of every kind say of themselves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Common {
    /// `paper/figure`; also the folder of its results. Letters, digits, `.`, `-`, `_` and `/`.
    pub id: String,
    /// One line.
    pub title: String,
    /// Where it was published. Default: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<Paper>,
    /// What is done and what it shows, for a reader who does not have the paper.
    pub summary: String,
    /// Readings chosen where the paper is silent, and physical reasons for differences.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What the paper does not print, and was fitted on some of its results or chosen. Default: nothing.
    #[serde(default)]
    pub inferred: Vec<Inferred>,
    /// Settings of both endpoints that are not part of a profile.
    #[serde(default)]
    pub association: AssociationSettings,
    /// Profile parameters in force for every profile of the experiment (the keys of
    /// [`tresse_core::Profile`]).
    #[serde(default)]
    pub parameters: toml::Table,
    /// The senders that are compared. The first one is the baseline, where a kind has one.
    #[serde(rename = "profile")]
    pub profiles: Vec<ProfileEntry>,
    /// How often all this is repeated.
    #[serde(default)]
    pub replications: Replications,
}

impl Common {
    /// What the experiment is, without how.
    pub fn about(&self) -> About {
        About {
            id: self.id.clone(),
            title: self.title.clone(),
            paper: self.paper.clone(),
            summary: self.summary.clone(),
            notes: self.notes.clone(),
            inferred: self.inferred.clone(),
            replications: self.replications,
        }
    }

    /// The entry whose label is `label`.
    pub fn profile(&self, label: &str) -> Option<&ProfileEntry> {
        self.profiles.iter().find(|p| p.label == label)
    }

    /// Number of the style of a profile: it has the same colour in all plots of an experiment.
    pub(crate) fn style(&self, label: &str) -> usize {
        1 + self.profiles.iter().position(|p| p.label == label).unwrap_or(0)
    }

    /// The label of the project's own profile, if it takes part.
    pub(crate) fn own(&self) -> Option<String> {
        let own = self.profiles.iter().find(|entry| entry.label == OWN)?;
        Some(own.label.clone())
    }

    /// Checks what the types of the schema cannot say.
    pub(crate) fn validate(&self) -> Checked {
        check_id(&self.id)?;
        check_replications(&self.replications)?;
        check_profiles(&self.profiles, &self.parameters)
    }
}

/// Label of the project's own profile in every experiment.
pub(crate) const OWN: &str = "tresse";

/// The publication that an experiment reproduces.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Authors and year.
    pub authors: String,
    /// Title.
    pub title: String,
    /// Section and figure or table.
    pub section: String,
}

/// What the paper does not print: found by fitting it on some of its results, so that what other experiments then
/// say is predicted; or chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inferred {
    /// The key of the experiment file that holds it, such as `workload.bursts.message_bytes`.
    pub key: String,
    /// What it is and how it was found, in words.
    pub how: String,
    /// Ids of the experiments that it was fitted on; none: it was chosen, and fitted on nothing.
    pub from: Vec<String>,
}

/// Settings of both endpoints (see [`tresse_core::AssociationConfig`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AssociationSettings {
    /// Largest IP packet, bytes. Default 1500.
    pub mtu: usize,
    /// Larger packets are looked for by probes, up to this many bytes (RFC 8899, see
    /// [`tresse_core::MtuDiscovery::Probes`]). Default 0: packets are of `mtu` bytes unless ICMP says otherwise.
    pub mtu_search: usize,
    /// Several messages may share a packet. Default false: one packet per message, so that
    /// "packet n" and "message n" are the same thing.
    pub bundling: bool,
    /// Small messages are sent at once (no Nagle). Default true.
    pub no_delay: bool,
    /// Send buffer, bytes. Default 1 MiB.
    pub send_buffer: usize,
    /// Receive buffer, bytes. Default 1 MiB.
    pub receive_buffer: u32,
    /// Both buffers hold at least this many times the bandwidth–delay products of all paths together
    /// (flows only). Default 0.
    pub buffer_bdps: f64,
    /// Data takes all paths at once, if there are several. Default false.
    pub concurrent_transfer: bool,
    /// Messages of several streams leave at a time, chunk by chunk (I-DATA, RFC 8260). Default false.
    pub interleaving: bool,
    /// Both ends are ECN-capable (RFC 3168): links with `red.ecn` or `codel.ecn` mark packets instead of dropping them. Default
    /// false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
    /// Addresses may be added and deleted while the association goes on (RFC 5061), which `topology.moves` needs. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asconf: bool,
    /// What else both ends offer: `"all"`, or names (see [`Extension`](crate::Extension)). Default: nothing.
    #[serde(skip_serializing_if = "ExtensionSet::is_empty")]
    pub extensions: ExtensionSet,
}

impl Default for AssociationSettings {
    fn default() -> Self {
        AssociationSettings {
            mtu: 1500,
            mtu_search: 0,
            bundling: false,
            no_delay: true,
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
            buffer_bdps: 0.0,
            concurrent_transfer: false,
            interleaving: false,
            ecn: false,
            asconf: false,
            extensions: ExtensionSet::default(),
        }
    }
}

impl AssociationSettings {
    /// The same for an endpoint with `profile`.
    pub(crate) fn config(&self, profile: &Arc<Profile>) -> AssociationConfig {
        let mut config = AssociationConfig {
            profile: Arc::clone(profile),
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
            mtu: self.mtu,
            mtu_discovery: match self.mtu_search {
                0 => MtuDiscovery::Icmp,
                max => MtuDiscovery::probes(max),
            },
            no_delay: self.no_delay,
            bundling: self.bundling,
            concurrent_transfer: self.concurrent_transfer,
            // The published packets were not padded, and offered nothing.
            init_size: 0,
            extensions: Extensions {
                interleaving: self.interleaving,
                ecn: self.ecn,
                authentication: self.asconf,
                address_reconfiguration: self.asconf,
                ..Extensions::NONE
            },
            ..AssociationConfig::default()
        };
        self.extensions.switch_on(&mut config);
        config
    }

    /// Checks the sizes of packets; `least` is the smallest MTU that makes sense.
    pub(crate) fn check_mtu(&self, least: usize) -> Checked {
        let known = (least..=65_535).contains(&self.mtu);
        require(known, "association.mtu", format!("must be {least} to 65535"))?;
        let search = self.mtu_search == 0 || (self.mtu..=65_535).contains(&self.mtu_search);
        require(
            search,
            "association.mtu_search",
            format!("must be 0, or {} (mtu) to 65535", self.mtu),
        )
    }

    /// What both hosts are like: terms and what they are.
    pub(crate) fn describe_hosts(&self) -> [(&'static str, String); 2] {
        let least = match self.buffer_bdps {
            0.0 => String::new(),
            times => format!(", at least {times} × the bandwidth–delay products of all paths"),
        };
        let search = match self.mtu_search {
            0 => String::new(),
            max => format!(", larger ones looked for up to {max}"),
        };
        let (send, receive) = (self.send_buffer, self.receive_buffer);
        [
            ("MTU", format!("{} bytes{search}", self.mtu)),
            ("Buffers", format!("send {send} bytes, receive {receive} bytes{least}")),
        ]
    }

    /// How messages become packets, as the end of a sentence.
    pub(crate) fn describe(&self) -> String {
        let extensions = match self.extensions.is_empty() {
            true => String::new(),
            false => format!(", with {}", self.extensions),
        };
        format!(
            "{}{}{}{}{}{extensions}",
            if self.interleaving { ", interleaved" } else { "" },
            if self.ecn { ", ECN-capable" } else { "" },
            if self.asconf { ", addresses may change" } else { "" },
            if self.bundling { "" } else { ", one per packet" },
            if self.no_delay { ", no Nagle" } else { ", Nagle" }
        )
    }
}

/// One sender under test.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileEntry {
    /// Profile name, parts joined by `+` (see [`tresse_core::Profile::named`]), or `tcp-2.6.15` with what is switched
    /// on there: the TCP of Linux 2.6.15 instead of SCTP (flows only, see [`Tcp`]).
    pub name: String,
    /// What tables and legends call it.
    pub label: String,
    /// Label of the entry that its reductions are measured against; default: the first entry.
    #[serde(default)]
    pub baseline: Option<String>,
    /// Not in the paper: shown in a table of its own.
    #[serde(default)]
    pub extra: bool,
    /// Parameters of this sender alone, besides those of the experiment, which TCP has not.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub parameters: toml::Table,
    /// What both ends offer with this sender, besides what the experiment says: `"all"`, or names (see
    /// [`Extension`](crate::Extension)). Default: nothing more.
    #[serde(default, skip_serializing_if = "ExtensionSet::is_empty")]
    pub extensions: ExtensionSet,
    /// Settings of the hosts' processors with this sender, besides those of the experiment (flows only,
    /// see [`Processor`](crate::flow::Processor)).
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub processor: toml::Table,
}

impl ProfileEntry {
    /// Whether it is TCP.
    pub fn is_tcp(&self) -> bool {
        Tcp::is_meant(&self.name)
    }

    /// Settings of both endpoints with this sender; `common` are those of the experiment.
    pub(crate) fn association(&self, common: &AssociationSettings) -> AssociationSettings {
        let extensions = common.extensions.and(&self.extensions);
        AssociationSettings { extensions, ..common.clone() }
    }

    /// The sender with the parameters of the experiment, `common`, and its own.
    ///
    /// # Errors
    /// [`LabError::Profile`] or [`LabError::Option`] for an unknown name or a wrong parameter.
    pub fn resolve(&self, common: &toml::Table) -> Result<Sender, LabError> {
        if self.is_tcp() {
            return Tcp::named(&self.name, &self.parameters).map(Sender::Tcp);
        }
        let mut parameters = common.clone();
        merge(&mut parameters, self.parameters.clone());
        Profile::named(&self.name)
            .and_then(|profile| profile.with_override_table(parameters))
            .map(|profile| Sender::Sctp(Arc::new(profile)))
            .map_err(|source| LabError::Profile {
                context: format!("profile {}", self.name),
                source,
            })
    }
}

/// Repetitions of the whole experiment, each with its own traffic and its own random numbers.
/// A replication has the same traffic for every profile and cell, so differences are paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replications {
    /// How many. Default 1: with nothing random in it, every replication is the same.
    pub count: u32,
    /// Seed that every random number follows from. Default 1.
    pub seed: u64,
}

impl Default for Replications {
    fn default() -> Self {
        Replications { count: 1, seed: 1 }
    }
}

/// What a reader must know of an experiment before its results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct About {
    /// `paper/figure`.
    pub id: String,
    /// One line.
    pub title: String,
    /// Where it was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<Paper>,
    /// What is done and what it shows.
    pub summary: String,
    /// Readings chosen where the paper is silent, and physical reasons for differences.
    pub notes: Vec<String>,
    /// What the paper does not print and was fitted.
    #[serde(default)]
    pub inferred: Vec<Inferred>,
    /// How often everything is repeated, and the seed.
    pub replications: Replications,
}

/// Checks an id.
fn check_id(id: &str) -> Checked {
    let parts_ok = !id.is_empty()
        && id.split('/').all(|part| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        });
    require(parts_ok, "id", format!("\"{id}\" is not a name like paper/figure or own/first"))
}

/// Checks the senders of an experiment.
pub(crate) fn check_profiles(profiles: &[ProfileEntry], parameters: &toml::Table) -> Checked {
    require(!profiles.is_empty(), "profile", "needs at least one [[profile]]")?;
    let some = parameters.is_empty() || profiles.iter().any(|entry| !entry.is_tcp());
    require(some, "parameters", "are those of SCTP, and all senders here are TCP")?;
    for (i, entry) in profiles.iter().enumerate() {
        let key = |field: &str| format!("profile[{i}].{field}");
        if !entry.is_tcp() {
            let profile =
                Profile::named(&entry.name).map_err(|err| mistake(key("name"), err.to_string()))?;
            profile
                .with_override_table(parameters.clone())
                .map_err(|err| mistake("parameters", err.to_string()))?;
        }
        entry.resolve(parameters).map_err(|err| mistake(key("parameters"), err.to_string()))?;
        let fits = entry.extensions.is_empty() || !entry.is_tcp();
        require(fits, key("extensions"), "are those of SCTP, and this sender is TCP")?;
        require(!entry.label.trim().is_empty(), key("label"), "must not be empty")?;
        let twice = profiles[..i].iter().any(|p| p.label == entry.label);
        require(!twice, key("label"), format!("\"{}\" appears twice", entry.label))?;
        if let Some(baseline) = &entry.baseline {
            check_label(profiles, &key("baseline"), baseline)?;
        }
    }
    Ok(())
}

/// Checks that one of the senders is called `label`.
pub(crate) fn check_label(profiles: &[ProfileEntry], key: &str, label: &str) -> Checked {
    let labels: Vec<&str> = profiles.iter().map(|p| p.label.as_str()).collect();
    let message = format!("no profile is labelled \"{label}\"; there are: {}", labels.join(", "));
    require(labels.contains(&label), key, message)
}

/// Checks the replications.
fn check_replications(replications: &Replications) -> Checked {
    let fits = (1..=100_000).contains(&replications.count);
    require(fits, "replications.count", "must be 1 to 100000")
}

/// What plots of every kind say.
pub(crate) struct PlotHead<'a> {
    /// File name without `.svg`.
    pub(crate) file: &'a str,
    /// Labels of the profiles in it.
    pub(crate) series: &'a [String],
    /// Upper end of the y axis.
    pub(crate) y_max: Option<f64>,
}

/// Checks what plots of every kind say, in their order.
pub(crate) fn check_plots(profiles: &[ProfileEntry], plots: &[PlotHead<'_>]) -> Checked {
    for (i, plot) in plots.iter().enumerate() {
        let key = |field: &str| format!("plot[{i}].{field}");
        let file = plot.file;
        let plain =
            !file.is_empty() && file.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        require(plain, key("file"), "must be a plain name of letters, digits, - and _")?;
        let twice = plots[..i].iter().any(|p| p.file == file);
        require(!twice, key("file"), format!("\"{file}\" appears twice"))?;
        require(!plot.series.is_empty(), key("series"), "needs at least one label")?;
        for label in plot.series {
            check_label(profiles, &key("series"), label)?;
        }
        if let Some(y) = plot.y_max {
            require(y > 0.0 && y.is_finite(), key("y_max"), "must be above 0")?;
        }
    }
    Ok(())
}

/// Puts the values of `from` into `into`, table by table.
pub(crate) fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}
