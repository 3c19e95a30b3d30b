//! Runs that are made elsewhere: by processes that know the same experiment, are told keys and bring back results.
//!
//! A key is the content hash of all that decides a run, the source code included. So whoever has the same key has the
//! same run, and its result is the same, wherever it was made.

use std::collections::{HashMap, HashSet};

use super::{Execution, Folder, Record, Run, RunWriter, execute_only, stored};
use crate::error::LabError;

/// A result folder that is open to results from elsewhere. Other processes cannot write to it until this is dropped.
#[derive(Debug)]
pub struct Collection {
    _folder: Folder,
    writer: RunWriter,
    missing: Vec<String>,
    /// Whether each of them was brought.
    brought: HashMap<String, bool>,
    append: Append,
}

/// Stores a result unless it was brought already.
type Append = fn(&mut RunWriter, &mut HashMap<String, bool>, &str) -> Result<(), LabError>;

impl Collection {
    /// Of the runs of `plan`, those that are not stored in `folder` yet.
    pub(crate) fn open<R: Run>(plan: &[R], folder: Folder) -> Result<Collection, LabError> {
        let results = stored(plan, &folder, &Execution::default())?;
        let missing: Vec<String> = plan
            .iter()
            .zip(&results)
            .filter(|(_, result)| result.is_none())
            .map(|(run, _)| run.key().to_owned())
            .collect();
        let brought = missing.iter().map(|key| (key.clone(), false)).collect();
        let writer = folder.append_runs()?;
        Ok(Collection { _folder: folder, writer, missing, brought, append: append::<R::Record> })
    }

    /// Keys of the runs that are to be made, in the order of the plan.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Stores the result of one of them, as [`make`] returned it. What was stored already is not stored twice: a run may
    /// have been made by two, the first of which was thought lost.
    ///
    /// # Errors
    /// [`LabError::Option`] if it is no result or one that nobody asked for, such as that of another version of the
    /// source code; [`LabError::Write`].
    pub fn store(&mut self, result: &str) -> Result<(), LabError> {
        (self.append)(&mut self.writer, &mut self.brought, result)
    }
}

fn append<R: Record>(
    writer: &mut RunWriter,
    brought: &mut HashMap<String, bool>,
    result: &str,
) -> Result<(), LabError> {
    let record: R = serde_json::from_str(result)
        .map_err(|error| LabError::Option(format!("this is no result of a run: {error}")))?;
    let Some(brought) = brought.get_mut(record.key()) else {
        return Err(LabError::Option(format!("nobody asked for the run {}", record.key())));
    };
    if !*brought {
        writer.append(&record)?;
        *brought = true;
    }
    Ok(())
}

/// What became of a run.
#[derive(Clone, Debug)]
pub struct Brought {
    /// Its key.
    pub key: String,
    /// Its result, for [`Collection::store`], or what went wrong.
    pub result: Result<String, String>,
}

/// Makes the runs of `plan` with these keys, one after the other, and stores nothing.
pub(crate) fn make<R: Run + Clone>(plan: &[R], keys: &[String]) -> Result<Vec<Brought>, LabError> {
    let wanted: HashSet<&str> = keys.iter().map(String::as_str).collect();
    let chosen: Vec<R> = plan.iter().filter(|run| wanted.contains(run.key())).cloned().collect();
    if chosen.len() < wanted.len() {
        return Err(LabError::Option(format!(
            "{} of {} runs are unknown here: this is another version of the source code",
            wanted.len() - chosen.len(),
            wanted.len()
        )));
    }
    let executed = execute_only(&chosen, &Execution { jobs: Some(1), ..Execution::default() })?;
    let failures = executed
        .failures
        .into_iter()
        .map(|failure| Brought { key: failure.key, result: Err(failure.message) });
    let records = executed.records.iter().map(|record| Brought {
        key: record.key().to_owned(),
        result: serde_json::to_string(record).map_err(|error| error.to_string()),
    });
    Ok(records.chain(failures).collect())
}
