//! An experiment: what every one has in common, and what its kind adds.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

use crate::common::{Common, PlotHead, check_plots};
use crate::comparison::{Claim, Published};
use crate::error::LabError;
use crate::keys;
use crate::mistake::{Checked, Mistake, mistake};
use crate::reading::{Part, text_of};
use crate::runner::Run;

/// An experiment: what is built, what is varied, what is measured, and what was published. `K` is its kind:
/// [`Flow`](crate::flow::Flow), [`SingleLoss`](crate::single_loss::SingleLoss), or either as
/// [`Kind`](crate::experiment::Kind).
#[derive(Clone, Debug)]
pub struct Experiment<K> {
    /// What experiments of every kind say.
    pub common: Common,
    /// What this kind says besides.
    pub kind: K,
}

/// The key under which a file names its kind.
pub(crate) const KIND: &str = "kind";

/// What a file calls the kind of an experiment.
pub(crate) trait Named {
    /// The value of `kind`; `None` for what an experiment is that names none.
    fn kind(&self) -> Option<&'static str>;
}

/// A kind of experiment: what it adds to [`Common`], and how its runs are made.
pub(crate) trait Schema: Clone + Serialize + DeserializeOwned + Named {
    /// What of ours a published number is compared with.
    type Measure;
    /// One run.
    type Run: Run;

    /// Puts what an experiment file says in short form where it belongs. Default: there is nothing.
    fn prepare(&mut self) {}

    /// The published numbers.
    fn published(&self) -> &[Published<Self::Measure>];

    /// The same, to be changed.
    fn published_mut(&mut self) -> &mut Vec<Published<Self::Measure>>;

    /// What plots of every kind say, in the order of the file.
    fn plots(&self) -> Vec<PlotHead<'_>>;

    /// Has plots show the profile labelled `label` too, where that makes sense.
    fn show(&mut self, label: &str);

    /// Leaves out plots that do not fit a changed sweep. Default: all fit.
    fn drop_unfit_plots(_experiment: &mut Experiment<Self>) {}

    /// Checks what the types of the schema cannot say and [`validate`] does not.
    ///
    /// # Errors
    /// The first mistake.
    fn validate(experiment: &Experiment<Self>) -> Checked;

    /// Checks what a published number, which stands at `key`, is compared with.
    ///
    /// # Errors
    /// The first mistake.
    fn check_measure(experiment: &Experiment<Self>, key: &str, measure: &Self::Measure) -> Checked;

    /// All runs.
    ///
    /// # Errors
    /// [`LabError::Profile`] or [`LabError::Experiment`] for values that do not fit together.
    fn plan(experiment: &Experiment<Self>) -> Result<Vec<Self::Run>, LabError>;
}

/// Checks what the types of the schema cannot say.
///
/// # Errors
/// The first mistake.
pub(crate) fn validate<K: Schema>(experiment: &Experiment<K>) -> Checked {
    let Experiment { common, kind } = experiment;
    common.validate()?;
    K::validate(experiment)?;
    check_plots(&common.profiles, &kind.plots())?;
    for (i, published) in kind.published().iter().enumerate() {
        published.check(&format!("published[{i}].tolerance"))?;
        K::check_measure(experiment, &format!("published[{i}].measure"), &published.measure)?;
    }
    Ok(())
}

/// Leaves out published numbers that do not fit a changed sweep.
pub(crate) fn drop_unfit_publications<K: Schema>(experiment: &mut Experiment<K>) {
    let published = std::mem::take(experiment.kind.published_mut());
    let fits = |p: &Published<K::Measure>| K::check_measure(experiment, "", &p.measure).is_ok();
    let fitting = published.into_iter().filter(fits).collect();
    *experiment.kind.published_mut() = fitting;
}

/// The experiment in `table`, as an [`Experiment`] is serialised.
///
/// # Errors
/// The first mistake, with the path of its key.
pub(crate) fn from_table<K: Schema>(mut table: toml::Table) -> Result<Experiment<K>, Mistake> {
    fn read<T: DeserializeOwned>(part: Part<'_>) -> Result<T, Mistake> {
        part.read().map_err(|(mistake, _)| mistake)
    }
    table.remove(KIND);
    let text = text_of(&table)?;
    let mut whole = Part::whole(&text).map_err(|e| mistake("", e.message()))?;
    let common = whole.take::<Common>();
    check_keys::<K>(whole.keys()).map_err(|(mistake, _)| mistake)?;
    Ok(Experiment { common: read(common)?, kind: read(whole)? })
}

/// Checks that these `keys`, which [`Common`] does not have, are those of a kind.
///
/// # Errors
/// What is to be said of the first that is not, and where it stands.
pub(crate) fn check_keys<'a, K: Schema>(
    mut keys: impl Iterator<Item = (&'a str, Range<usize>)>,
) -> Result<(), (Mistake, Range<usize>)> {
    let own = keys::of::<K>();
    let Some((key, span)) = keys.find(|(key, _)| !own.contains(key)) else { return Ok(()) };
    let known = [KIND].into_iter().chain(keys::of::<Common>().iter().chain(own).copied());
    Err((mistake(key, keys::unknown(key, known)), span))
}

/// The published numbers of an experiment, without how they are measured here.
pub(crate) fn claims<K: Schema>(kind: &K) -> Vec<Claim> {
    kind.published().iter().map(Published::claim).collect()
}

impl<K: Named + Serialize> Serialize for Experiment<K> {
    /// One table, as in a file.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a, K> {
            #[serde(skip_serializing_if = "Option::is_none")]
            kind: Option<&'static str>,
            #[serde(flatten)]
            common: &'a Common,
            #[serde(flatten)]
            own: &'a K,
        }
        Whole { kind: self.kind.kind(), common: &self.common, own: &self.kind }
            .serialize(serializer)
    }
}
