//! Profiles by their names, and as TOML: the files in `profiles/`, joined and overridden.

use thiserror::Error;

use super::{OutOfRange, Profile, least_switchover, suggestion};

/// Pairs each name with its file.
macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../profiles/", $name, ".toml")))),*]
    };
}
/// The profiles that are built in: name and TOML text.
const BUILT_IN: &[(&str, &str)] = &built_in![
    // Whole senders and receivers.
    "rfc9260",
    "rfc2960",
    "lksctp-2.6.15",
    "lksctp-2.6.32",
    "ns2",
    "ns2-3.4",
    "freebsd-cmt",
    "tresse",
    // The rows of the papers' comparisons.
    "pedersen-original",
    "pedersen-rto-fr",
    "pedersen-restart",
    "pedersen-nodelay",
    "pedersen-fr-bundling",
    "hurtig-standard",
    "hurtig-early-retransmit",
    "gonzalez-static",
    "gonzalez-dynamic",
    "gonzalez-dynamic-float",
    "ladha-plain",
    "ladha-eifel-ts",
    "ladha-eifel-rbit",
    "ladha-dup-tsn",
    "ladha-combined",
    "ladha-f-rto",
    "sarnow-efficient",
    "sarnow-no-fr",
    "sarnow-rescheduling",
    // Stream schedulers, to be joined to any of them; the last one counts.
    "stream-first-come-first-served",
    "stream-round-robin",
    "stream-round-robin-per-packet",
    "stream-priority",
    "stream-fair-capacity",
    "stream-weighted-fair-queueing",
    // For concurrent transfer, to be joined to any of them; of schedulers and congestion controls
    // the last one counts.
    "schedule-round-robin",
    "schedule-min-rtt",
    "schedule-ecf",
    "schedule-blest",
    "schedule-blest-all",
    "schedule-redundant",
    "fast-retransmit-again",
    "buffer-splitting",
    "chunk-rescheduling",
    "chunk-rescheduling-original",
    "silent-path",
    "queue-limit",
    "pacing",
    "cmt-rpv1",
    "cmt-rpv2",
    "lia",
    "olia",
    "balia",
    "dac",
    "nr-sack",
    "nr-sack-all",
    "sack-window",
    "sack-window-pieces",
    // Congestion controls for one path or several, of which the last one counts.
    "cubic",
    "hystart-plus-plus",
    "loss-differentiation",
    "bbr",
    // Mechanisms, to be joined to any of them.
    "early-retransmit-bytes",
    "early-retransmit-packets",
    "early-retransmit-switch-off",
    "limited-transmit",
    "thin-estimate",
    "thin-fast-retransmit",
    "thin-bundle-fast-retransmit",
    "thin-bundle-new",
    "thin-rto-min",
    "thin-no-backoff",
    "rto-restart",
    "no-sack-delay",
    "immediate-sack",
    "dynamic-rto-min",
    "dynamic-rto-min-float",
    "eifel-timestamp",
    "eifel-retransmit-bit",
    "dup-tsn",
    "f-rto",
    "rack",
    "tail-loss-probe",
    "prompt-probe",
    "probe-again",
    "rack-tlp",
    "prr",
];

/// The first of the stream schedulers in the list of built-in profiles.
const FIRST_STREAM_SCHEDULER: &str = "stream-first-come-first-served";
/// The first of the mechanisms of concurrent transfer in the list of built-in profiles.
const FIRST_MULTIPATH: &str = "schedule-round-robin";
/// The first of the congestion controls that are not made for concurrent transfer.
const FIRST_CONTROL: &str = "cubic";
/// The first of the mechanisms in the list of built-in profiles.
const FIRST_MECHANISM: &str = "early-retransmit-bytes";

/// The longest time that a parameter allows.
const HOUR_MS: f64 = 3.6e6;

/// Why a profile is unknown or invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No profile of that name is built in.
    #[error("unknown profile \"{name}\"{}; `tresse lab profiles` lists all {}", meant(name, known), known.len())]
    Unknown {
        /// The name, or the part of it, that is unknown.
        name: String,
        /// All known names.
        known: Vec<&'static str>,
    },
    /// No profile has a parameter of that name.
    #[error(
        "there is no profile parameter {key}{}; `tresse lab profiles tresse` lists all",
        meant_key(near)
    )]
    UnknownParameter {
        /// TOML key.
        key: String,
        /// The key that may have been meant.
        near: Option<String>,
    },
    /// The TOML text does not parse, or a value is wrong.
    #[error("profile parameters: {0}")]
    Toml(String),
    /// A value is outside its range.
    #[error("profile parameter {key} = {value} is out of range: {range}")]
    Range {
        /// TOML key.
        key: String,
        /// Value found.
        value: String,
        /// What is allowed.
        range: String,
    },
}

impl Profile {
    /// Names of all built-in profiles, bases first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Names of the built-in mechanisms: overlays that can be joined to any profile, in any number.
    pub fn mechanisms() -> impl Iterator<Item = &'static str> {
        Profile::names().skip_while(|name| *name != FIRST_MECHANISM)
    }

    /// Names of the built-in stream schedulers: overlays that can be joined to any profile, of which the last one
    /// counts.
    pub fn stream_schedulers() -> impl Iterator<Item = &'static str> {
        let first = Profile::names().skip_while(|name| *name != FIRST_STREAM_SCHEDULER);
        first.take_while(|name| *name != FIRST_MULTIPATH)
    }

    /// Names of the built-in mechanisms of concurrent transfer: overlays that can be joined to any
    /// profile and act where an association asks for it.
    pub fn multipath_mechanisms() -> impl Iterator<Item = &'static str> {
        let first = Profile::names().skip_while(|name| *name != FIRST_MULTIPATH);
        first.take_while(|name| *name != FIRST_CONTROL)
    }

    /// Names of the built-in congestion controls that are not made for concurrent transfer: overlays that can be
    /// joined to any profile, of which the last one counts.
    pub fn congestion_controls() -> impl Iterator<Item = &'static str> {
        let first = Profile::names().skip_while(|name| *name != FIRST_CONTROL);
        first.take_while(|name| *name != FIRST_MECHANISM)
    }

    /// The profile called `name`: one built-in name or several joined by `+`.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`] lists the known names.
    pub fn named(name: &str) -> Result<Profile, ProfileError> {
        let mut table = toml::Table::new();
        for part in name.split('+').map(str::trim) {
            merge_built_in(&mut table, part)?;
        }
        table.insert("name".into(), name.into());
        Profile::from_table(table)
    }

    /// This profile with the parameters in `toml` instead of its own.
    ///
    /// # Errors
    /// [`ProfileError::Toml`] for text that is not TOML or wrong types; [`ProfileError::UnknownParameter`];
    /// [`ProfileError::Range`] for values out of range.
    pub fn with_overrides(&self, toml: &str) -> Result<Profile, ProfileError> {
        let overrides: toml::Table =
            toml.parse().map_err(|e: toml::de::Error| ProfileError::Toml(one_line(&e)))?;
        self.with_override_table(overrides)
    }

    /// As [`with_overrides`](Self::with_overrides), from TOML that is parsed already.
    ///
    /// # Errors
    /// As `with_overrides`.
    pub fn with_override_table(&self, overrides: toml::Table) -> Result<Profile, ProfileError> {
        let mut table =
            toml::Table::try_from(self).map_err(|e| ProfileError::Toml(e.to_string()))?;
        let unknown = unknown_key(&table, &overrides);
        let known = unknown.is_some().then(|| keys_of(&table));
        merge(&mut table, overrides);
        match (Profile::from_table(table), unknown, known) {
            (Err(ProfileError::Toml(_)), Some(key), Some(known)) => {
                Err(ProfileError::UnknownParameter { near: nearest_key(&key, &known), key })
            }
            (profile, ..) => profile,
        }
    }

    /// The profile as TOML, every parameter written out.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }

    fn from_table(mut table: toml::Table) -> Result<Profile, ProfileError> {
        table.remove("base");
        let profile: Profile =
            table.try_into().map_err(|e: toml::de::Error| ProfileError::Toml(one_line(&e)))?;
        profile.validate()?;
        Ok(profile)
    }

    /// The range of each number stands beside its default; here is what depends on other numbers.
    fn validate(&self) -> Result<(), ProfileError> {
        let wrong = |key: String, value: f64, range: String| {
            Err(ProfileError::Range { key, value: value.to_string(), range })
        };
        let below_max = format!("0 to rto.max_ms, which is {}", self.rto.max_ms.min(HOUR_MS));
        if let Some((table, OutOfRange { field, value, range: (least, most) })) =
            self.out_of_range()
        {
            let range = match (table, field) {
                ("rto", "min_ms") => below_max,
                _ if field.ends_with("_ms") && most == HOUR_MS => {
                    format!("{least} to {most} (one hour)")
                }
                _ => format!("{least} to {most}"),
            };
            return wrong(format!("{table}.{field}"), value, range);
        }
        if self.rto.min_ms > self.rto.max_ms {
            return wrong("rto.min_ms".into(), self.rto.min_ms, below_max);
        }
        let limits = &self.limits;
        let (pmr, pfmr, psmr) =
            (limits.path_max_retrans, limits.pf_max_retrans, limits.ps_max_retrans);
        if psmr < least_switchover(pmr, pfmr) {
            let range = "pf_max_retrans (path_max_retrans, if that is less) or more";
            return wrong("limits.ps_max_retrans".into(), psmr.into(), range.into());
        }
        Ok(())
    }
}

/// What may have been meant by an unknown name, as a part of a sentence.
fn meant(name: &str, known: &[&'static str]) -> String {
    let nearest = suggestion::nearest(name, known);
    nearest.map_or_else(String::new, |nearest| format!(": did you mean \"{nearest}\"?"))
}

/// Which key may have been meant by an unknown one, as a part of a sentence.
fn meant_key(near: &Option<String>) -> String {
    near.as_ref().map_or_else(String::new, |near| format!(": did you mean {near}?"))
}

/// The key nearest to a wrong one, or to its last part.
fn nearest_key(wrong: &str, known: &[String]) -> Option<String> {
    let whole: Vec<&str> = known.iter().map(String::as_str).collect();
    if let Some(near) = suggestion::nearest(wrong, &whole) {
        return Some(near.to_owned());
    }
    let last = |key: &'_ str| key.rfind('.').map_or(0, |dot| dot + 1);
    let lasts: Vec<&str> = whole.iter().map(|key| &key[last(key)..]).collect();
    let near = suggestion::nearest(&wrong[last(wrong)..], &lasts)?;
    known.iter().find(|key| key[last(key)..] == *near).cloned()
}

/// The first key in `overrides` that is not in `known`.
fn unknown_key(known: &toml::Table, overrides: &toml::Table) -> Option<String> {
    overrides.iter().find_map(|(key, value)| match (known.get(key), value) {
        (Some(toml::Value::Table(known)), toml::Value::Table(inner)) => {
            unknown_key(known, inner).map(|below| format!("{key}.{below}"))
        }
        (Some(_), _) => None,
        (None, toml::Value::Table(inner)) => {
            let below = keys_of(inner).into_iter().next();
            Some(below.map_or_else(|| key.clone(), |below| format!("{key}.{below}")))
        }
        (None, _) => Some(key.clone()),
    })
}

/// The keys of all values in `table`, with dots.
fn keys_of(table: &toml::Table) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => {
                keys.extend(keys_of(inner).into_iter().map(|below| format!("{key}.{below}")));
            }
            _ => keys.push(key.clone()),
        }
    }
    keys
}

/// The whole message, with the place it names, on one line, in words of TOML rather than of Rust.
fn one_line(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && *l != "|");
    let lines = lines.map(|line| match line.rsplit_once(", expected ") {
        Some((what, rust)) if what.starts_with("invalid ") => {
            format!("{what}, expected {}", expected(rust))
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// What a type of Rust is called by others.
fn expected(rust: &str) -> &str {
    match rust {
        "f64" => "a number",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        other => other,
    }
}

fn merge_built_in(table: &mut toml::Table, name: &str) -> Result<(), ProfileError> {
    let (_, text) = BUILT_IN.iter().find(|(n, _)| *n == name).ok_or_else(|| {
        ProfileError::Unknown { name: name.to_owned(), known: Profile::names().collect() }
    })?;
    let mut own: toml::Table =
        text.parse().map_err(|e: toml::de::Error| ProfileError::Toml(one_line(&e)))?;
    if let Some(toml::Value::String(base)) = own.remove("base") {
        for part in base.split('+') {
            merge_built_in(table, part)?;
        }
    }
    merge(table, own);
    Ok(())
}

fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            // 100 and 100.0 mean the same to a person.
            (Some(old @ toml::Value::Float(_)), toml::Value::Integer(n)) => {
                *old = toml::Value::Float(n as f64);
            }
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}
