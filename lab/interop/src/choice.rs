//! What the commands share: values that were chosen, files that results go to.

use std::fs::{File, OpenOptions};
use std::path::Path;

use clap::ValueEnum;

/// All values, if none were given.
pub(crate) fn chosen<T: ValueEnum + PartialEq>(given: &[T]) -> Vec<T> {
    let all = T::value_variants().iter().cloned();
    all.filter(|value| given.is_empty() || given.contains(value)).collect()
}

/// Opens a file for writing, in a folder that may not exist yet; an old one goes on if `append`.
pub(crate) fn open(path: &Path, append: bool) -> Result<File, String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(wrong)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(append).write(true).truncate(!append);
    options.open(path).map_err(wrong)
}
