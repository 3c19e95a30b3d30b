//! The workloads of the papers with every extension of the protocol on: the project's own profile and the variants of the
//! papers, with and without them.

use crate::common::{OWN, ProfileEntry};
use crate::experiment::{self, AnyExperiment, Kind};
use crate::extension::{Extension, ExtensionSet};

/// What tables call the project's own profile with the extensions.
pub(crate) const ON: &str = "tresse, extensions on";

/// What tables call another sender with the extensions.
pub(crate) fn on(label: &str) -> String {
    format!("{label}, extensions on")
}

/// [`ON`] with all of them but one.
pub(crate) fn without(one: Extension) -> String {
    format!("{ON} but {one}")
}

/// How it is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What both ends offer.
    pub extensions: ExtensionSet,
    /// Also with all of them but one, for each of them: it tells which one makes a difference. Not of experiments that take
    /// minutes as they are.
    pub each: bool,
    /// How often, instead of as often as the experiment says.
    pub replications: Option<u32>,
}

/// The built-in experiments of the papers in which the project's own profile is ranked.
#[must_use]
pub fn workloads() -> Vec<String> {
    let all = experiment::built_in().unwrap_or_default().into_iter();
    all.filter(|e| is_ranked(e) && !experiment::has_aims(e.id()))
        .map(|e| e.id().to_owned())
        .collect()
}

fn is_ranked(experiment: &AnyExperiment) -> bool {
    let ranks = match &experiment.kind {
        Kind::SingleLoss(_) => true,
        Kind::Flow(flow) => flow.matrix.is_some(),
    };
    ranks && experiment.common.own().is_some()
}

/// `experiment` with the project's own profile and the variants of the paper a second time, with extensions. Plots and published numbers are left out.
/// `None` if its own profile is not ranked there.
#[must_use]
pub fn extended(mut experiment: AnyExperiment, asked: &Asked) -> Option<AnyExperiment> {
    if !is_ranked(&experiment) {
        return None;
    }
    let own = experiment.common.profile(OWN)?.clone();
    let each = asked.each && !experiment.is_slow();
    let variants: Vec<_> = experiment
        .common
        .profiles
        .iter()
        .filter(|entry| !entry.extra && entry.label != OWN && !entry.is_tcp())
        .cloned()
        .collect();
    let mut with = |own: &ProfileEntry, label: String, extensions: ExtensionSet| {
        let mut entry = own.clone();
        (entry.label, entry.extensions, entry.extra) = (label, extensions, true);
        experiment.common.profiles.push(entry);
    };
    with(&own, ON.to_owned(), asked.extensions.clone());
    for variant in &variants {
        with(variant, on(&variant.label), asked.extensions.clone());
    }
    for one in asked.extensions.iter().filter(|_| each) {
        with(&own, without(one), asked.extensions.without(&ExtensionSet::only(one)));
    }
    if let Some(count) = asked.replications {
        experiment.common.replications.count = count;
    }
    match &mut experiment.kind {
        Kind::SingleLoss(kind) => {
            kind.published.clear();
            kind.plots.clear();
        }
        Kind::Flow(kind) => {
            kind.published.clear();
            kind.plots.clear();
            kind.effects.clear();
        }
    }
    Some(experiment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_has_workloads() {
        let workloads = workloads();
        for paper in ["pedersen/", "hurtig/", "gonzalez/", "ladha/", "sarnow/"] {
            assert!(workloads.iter().any(|id| id.starts_with(paper)), "{paper}");
        }
        assert!(!workloads.iter().any(|id| id.starts_with("tresse/")));
    }

    #[test]
    fn every_sender_is_there_once_more_and_its_own_once_without_each() {
        let asked = Asked { extensions: ExtensionSet::all(), each: true, replications: Some(3) };
        let find = |id: &str| extended(experiment::find(id).unwrap(), &asked);
        let found = find("gonzalez/fig8").unwrap().common;
        let mine = |label: &str| label == OWN || label.starts_with(ON);
        let own = found.profiles.iter().filter(|entry| mine(&entry.label));
        let extensions: Vec<usize> = own.map(|entry| entry.extensions.iter().count()).collect();
        let all = Extension::ALL.len();
        assert_eq!(extensions, [vec![0, all], vec![all - 1; all]].concat());
        let others = found.profiles.iter().filter(|entry| !mine(&entry.label));
        let (with, off): (Vec<_>, Vec<_>) = others.partition(|e| !e.extensions.is_empty());
        let ranked = off.iter().filter(|entry| !entry.extra);
        let expected: Vec<String> = ranked.map(|entry| on(&entry.label)).collect();
        assert_eq!(with.iter().map(|entry| entry.label.clone()).collect::<Vec<_>>(), expected);
        assert!(!expected.is_empty());
        assert_eq!(found.replications.count, 3);
        // Its own profile does not take part.
        assert!(find("pedersen/fig3.9").is_none());
    }
}
