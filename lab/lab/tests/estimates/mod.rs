//! An experiment from its text to its numbers.

use std::fs;

use tresse_lab::runner::{Execution, ProgressMode};
use tresse_lab::{Overrides, Session};

/// Plays the experiment, of which no run may fail: what was measured, one entry for each profile and cell.
pub(crate) fn estimates(text: &str) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    fs::write(&file, text).unwrap();
    let session = Session::new(file.to_str().unwrap(), &Overrides::default()).unwrap();
    let quiet = Execution { progress: ProgressMode::Silent, jobs: Some(2), ..Execution::default() };
    let finished = session.run(folder.path(), quiet).unwrap();
    assert!(finished.report.failures.is_empty(), "{:?}", finished.report.failures);
    let text = fs::read_to_string(finished.page.with_file_name("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    summary["analysis"]["estimates"].as_array().unwrap().clone()
}
