//! Reading an experiment from TOML, with errors that name the line and the key.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::de::{DeArray, DeTable};

use super::{AnyExperiment, Experiment, Kind};
use crate::common::{Common, merge};
use crate::error::LabError;
use crate::flow::Flow;
use crate::mistake::{Mistake, mistake, plain};
use crate::reading::Part;
use crate::schema::{Schema, check_keys, drop_unfit_publications, from_table, validate};
use crate::single_loss::SingleLoss;

/// The experiment in `text`. `origin` names it in errors.
///
/// # Errors
/// [`LabError::Experiment`], with the line and the key of the first mistake.
pub fn parse(origin: &str, text: &str) -> Result<AnyExperiment, LabError> {
    let source = Source { origin, text };
    let mut whole = Part::whole(text).map_err(|e| source.at(e.span(), mistake("", e.message())))?;
    let tag: Tag = source.read(whole.take::<Tag>())?;
    match tag.kind {
        Tagged::SingleLoss => source.experiment::<SingleLoss>(whole).map(Into::into),
        Tagged::Flow => source.experiment::<Flow>(whole).map(Into::into),
    }
}

/// What tells the kinds apart.
#[derive(Deserialize)]
struct Tag {
    #[serde(default)]
    kind: Tagged,
}

/// What a file may call its kind.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Tagged {
    #[default]
    SingleLoss,
    Flow,
}

/// A file that is read.
struct Source<'a> {
    origin: &'a str,
    text: &'a str,
}

impl Source<'_> {
    /// Each part of the file is read by its own type: so every mistake is found where it stands.
    fn experiment<K: Schema>(&self, mut whole: Part<'_>) -> Result<Experiment<K>, LabError> {
        let common = whole.take::<Common>();
        check_keys::<K>(whole.keys()).map_err(|(mistake, span)| self.at(Some(span), mistake))?;
        let mut experiment =
            Experiment { common: self.read(common)?, kind: self.read::<K>(whole)? };
        experiment.kind.prepare();
        let where_it_stands =
            |mistake: Mistake| self.at(place_of(self.text, &mistake.key), mistake);
        validate(&experiment).map_err(where_it_stands)?;
        Ok(experiment)
    }

    fn read<T: DeserializeOwned>(&self, part: Part<'_>) -> Result<T, LabError> {
        part.read().map_err(|(mistake, span)| self.at(span, mistake))
    }

    fn at(&self, span: Option<Range<usize>>, mistake: Mistake) -> LabError {
        let mistake = Mistake { message: plain(&mistake.message), ..mistake };
        at(self.origin, span.map(|span| line_of(self.text, span.start)), mistake)
    }
}

fn at(origin: &str, line: Option<usize>, mistake: Mistake) -> LabError {
    LabError::Experiment {
        origin: origin.to_owned(),
        line,
        key: mistake.key,
        message: mistake.message.replace('\n', " "),
    }
}

/// `experiment` with the values in `changes` instead of its own. Published numbers and plots that
/// do not fit the changed sweep are left out. `origin` names the change in errors.
///
/// # Errors
/// [`LabError::Experiment`], with the key of the first mistake.
pub(crate) fn with_changes(
    experiment: &AnyExperiment,
    changes: toml::Table,
    origin: &str,
) -> Result<AnyExperiment, LabError> {
    let wrong = |e: toml::ser::Error| mistake("", e.to_string());
    let table = toml::Table::try_from(experiment).map_err(wrong);
    let changed = table.and_then(|mut table| {
        merge(&mut table, changes);
        match experiment.kind {
            Kind::SingleLoss(_) => changed::<SingleLoss>(table).map(Into::into),
            Kind::Flow(_) => changed::<Flow>(table).map(Into::into),
        }
    });
    changed.map_err(|mistake| at(origin, None, mistake))
}

fn changed<K: Schema>(table: toml::Table) -> Result<Experiment<K>, Mistake> {
    let mut experiment: Experiment<K> = from_table(table)?;
    drop_unfit_publications(&mut experiment);
    K::drop_unfit_plots(&mut experiment);
    validate(&experiment)?;
    Ok(experiment)
}

/// The experiment in the file at `path`.
///
/// # Errors
/// [`LabError::Read`] or [`LabError::Experiment`].
pub fn load_file(path: &Path) -> Result<AnyExperiment, LabError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| LabError::Read { path: path.to_owned(), source })?;
    parse(&path.display().to_string(), &text)
}

/// Where a key such as `plot[0].series` stands in a text, or the last table on the way to it that does.
fn place_of(text: &str, key: &str) -> Option<Range<usize>> {
    let root = DeTable::parse(text).ok()?.into_inner();
    let (mut tables, mut lists) = (Some(&root), None);
    let mut place = None;
    // `plot[0].series` is plot, 0 and series.
    for step in key.split(['.', '[']) {
        let value = match (step.strip_suffix(']'), tables, lists) {
            (Some(number), _, Some(list)) => {
                let list: &DeArray<'_> = list;
                let Some(value) = number.parse().ok().and_then(|n: usize| list.get(n)) else {
                    break;
                };
                value
            }
            (None, Some(table), _) => {
                let Some((name, value)) = table.get_key_value(step) else { break };
                place = Some(name.span());
                value
            }
            _ => break,
        };
        (tables, lists) = (value.get_ref().as_table(), value.get_ref().as_array());
        if step.ends_with(']') {
            place = Some(value.span());
        }
    }
    place
}

fn line_of(text: &str, byte: usize) -> usize {
    let before = &text.as_bytes()[..byte.min(text.len())];
    1 + before.iter().filter(|b| **b == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_lines() {
        let text = "id = 'a'\n[topology.forward]\ndelay_ms = -5\n[[plot]]\nfile = 'a'\n[[plot]]\nfile = 'b'\nseries \
                    = [\n'x',\n'y']\n[a]\nb = {\nc = { d = 5 } }\n";
        for (key, line) in [
            ("id", Some(1)),
            ("topology.forward.delay_ms", Some(3)),
            ("topology.forward.loss", Some(2)),
            ("plot[0].file", Some(5)),
            ("plot[1].series", Some(8)),
            ("plot[1].series[1]", Some(10)),
            ("plot[1].metric", Some(6)),
            ("plot[7].metric", Some(4)),
            ("a.b.c.d", Some(13)),
            ("id.more", Some(1)),
            ("nothing", None),
            ("", None),
            ("[", None),
        ] {
            let found = place_of(text, key).map(|span| line_of(text, span.start));
            assert_eq!(found, line, "{key}");
        }
    }
}
