//! The folder of one experiment's results: finished runs line by line, everything else whole or
//! not at all.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::run::Record;
use crate::error::LabError;

/// File of finished runs, one JSON object a line, in the order in which they finished; in the
/// order of the plan once all are done.
pub const RUNS: &str = "runs.jsonl";

/// File of finished runs of other plans of the same experiment, such as another seed's or those of changed parameters:
/// whoever goes back to them finds them made.
const OTHERS: &str = "other-runs.jsonl";

/// This many of those are kept.
const MOST_OTHERS: usize = 50_000;

/// An open result folder, locked against other processes until it is dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// The folder of experiment `id` under `out`, created if need be.
    ///
    /// # Errors
    /// [`LabError::Write`] if it cannot be written to, [`LabError::Busy`] if another process
    /// holds it.
    pub fn open(out: &Path, id: &str) -> Result<Folder, LabError> {
        let path = out.join(id);
        std::fs::create_dir_all(&path).map_err(|e| LabError::write(&path, e))?;
        let lock_path = path.join(".lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(|e| LabError::write(&lock_path, e))?;
        match lock.try_lock() {
            Ok(()) => Ok(Folder { path, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(LabError::Busy { path }),
            Err(TryLockError::Error(e)) => Err(LabError::write(&lock_path, e)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The finished runs that are stored, by key. Lines that cannot be read, such as one that was
    /// torn by a power failure, are left out: their runs are made again.
    ///
    /// # Errors
    /// [`LabError::Read`] if the file exists and cannot be read.
    pub fn load_runs<R: Record>(&self) -> Result<HashMap<String, R>, LabError> {
        let mut runs = self.load(OTHERS)?;
        runs.extend(self.load(RUNS)?);
        Ok(runs)
    }

    fn load<R: Record>(&self, name: &str) -> Result<HashMap<String, R>, LabError> {
        let path = self.path.join(name);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(HashMap::new()),
            Err(source) => return Err(LabError::Read { path, source }),
        };
        Ok(bytes
            .split(|b| *b == b'\n')
            .filter_map(|line| serde_json::from_slice::<R>(line).ok())
            .map(|record| (record.key().to_owned(), record))
            .collect())
    }

    /// Finished runs of the experiments beside this one whose keys are `wanted`: several figures of
    /// a paper often show the same runs. What cannot be read is left out.
    pub fn load_runs_beside<R: Record>(&self, wanted: &HashSet<&str>) -> HashMap<String, R> {
        let mut found = HashMap::new();
        let beside = self.path.parent().and_then(|parent| std::fs::read_dir(parent).ok());
        for entry in beside.into_iter().flatten().flatten() {
            let path = entry.path();
            if path == self.path {
                continue;
            }
            for line in std::fs::read(path.join(RUNS)).unwrap_or_default().split(|b| *b == b'\n') {
                // The key stands first in a line; reading all of it is for those that are wanted.
                let key =
                    line.strip_prefix(b"{\"key\":\"").and_then(|l| l.split(|b| *b == b'"').next());
                let key = key.and_then(|key| std::str::from_utf8(key).ok());
                if key.is_some_and(|key| wanted.contains(key))
                    && let Ok(record) = serde_json::from_slice::<R>(line)
                {
                    found.insert(record.key().to_owned(), record);
                }
            }
        }
        found
    }

    /// Forgets all stored runs.
    ///
    /// # Errors
    /// [`LabError::Write`].
    pub fn clear_runs(&self) -> Result<(), LabError> {
        let path = self.path.join(RUNS);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(LabError::write(&path, e)),
            _ => Ok(()),
        }
    }

    /// Opens the file of finished runs for appending.
    ///
    /// # Errors
    /// [`LabError::Write`].
    pub fn append_runs(&self) -> Result<RunWriter, LabError> {
        let path = self.path.join(RUNS);
        let open = || -> std::io::Result<File> {
            let mut file = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
            // A torn last line must not swallow the next one.
            if file.metadata()?.len() > 0 {
                let mut last = [0];
                file.seek(SeekFrom::End(-1))?;
                file.read_exact(&mut last)?;
                if last != *b"\n" {
                    file.write_all(b"\n")?;
                }
            }
            Ok(file)
        };
        let file = open().map_err(|e| LabError::write(&path, e))?;
        Ok(RunWriter { file, path })
    }

    /// Replaces the file of finished runs by exactly `records`.
    ///
    /// # Errors
    /// [`LabError::Write`].
    pub fn replace_runs<'a, R: Record + 'a>(
        &self,
        records: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), LabError> {
        let mut bytes = Vec::new();
        for record in records {
            push_line(&mut bytes, record);
        }
        self.write(RUNS, &bytes)
    }

    /// Keeps finished runs of other plans.
    ///
    /// # Errors
    /// [`LabError::Write`].
    pub fn keep_others<R: Record>(&self, others: &HashMap<String, R>) -> Result<(), LabError> {
        if others.is_empty() && !self.path.join(OTHERS).exists() {
            return Ok(());
        }
        let sorted: BTreeMap<&String, &R> = others.iter().collect();
        let mut bytes = Vec::new();
        for record in sorted.into_values().take(MOST_OTHERS) {
            push_line(&mut bytes, record);
        }
        self.write(OTHERS, &bytes)
    }

    /// Writes `name` as a whole: under another name first, then renamed.
    ///
    /// # Errors
    /// [`LabError::Write`]; the old file, if there was one, is untouched then.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), LabError> {
        let (path, temporary) = (self.path.join(name), self.path.join(format!(".{name}.new")));
        let result =
            std::fs::write(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, &path));
        result.map_err(|e| {
            let _ = std::fs::remove_file(&temporary); // It may not exist; the error is reported.
            LabError::write(&path, e)
        })
    }

    /// Removes plots of an earlier result that this one does not have.
    pub fn remove_plots_except(&self, keep: &[String]) {
        for entry in std::fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".svg") && !name.starts_with('.') && !keep.contains(&name) {
                // A stale plot is a blemish, not an error.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Appends finished runs.
#[derive(Debug)]
pub struct RunWriter {
    file: File,
    path: PathBuf,
}

impl RunWriter {
    /// Appends one run, as one write of one whole line.
    ///
    /// # Errors
    /// [`LabError::Write`].
    pub fn append(&mut self, record: &impl Record) -> Result<(), LabError> {
        let mut line = Vec::with_capacity(512);
        push_line(&mut line, record);
        self.file.write_all(&line).map_err(|e| LabError::write(&self.path, e))
    }
}

fn push_line(bytes: &mut Vec<u8>, record: &impl Record) {
    // Strings, numbers and maps with string keys: serialisation cannot fail.
    bytes.extend(serde_json::to_vec(record).unwrap_or_default());
    bytes.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Serialize, Deserialize)]
    struct Line {
        key: String,
        values: Vec<f64>,
    }

    impl Record for Line {
        fn key(&self) -> &str {
            &self.key
        }

        fn simulated(&self) -> u64 {
            0
        }

        fn set_key(&mut self, key: String) {
            self.key = key;
        }
    }

    fn record(key: &str) -> Line {
        Line { key: key.into(), values: vec![1.5; 10] }
    }

    #[test]
    fn runs_survive_an_interruption_in_the_middle_of_a_line() {
        let out = tempfile::tempdir().unwrap();
        let folder = Folder::open(out.path(), "paper/fig").unwrap();
        assert!(folder.load_runs::<Line>().unwrap().is_empty());
        folder.append_runs().unwrap().append(&record("a")).unwrap();
        let mut torn = serde_json::to_vec(&record("b")).unwrap();
        torn.truncate(40);
        OpenOptions::new()
            .append(true)
            .open(folder.path().join(RUNS))
            .unwrap()
            .write_all(&torn)
            .unwrap();
        folder.append_runs().unwrap().append(&record("c")).unwrap();
        let mut keys: Vec<String> = folder.load_runs::<Line>().unwrap().into_keys().collect();
        keys.sort();
        assert_eq!(keys, ["a", "c"]);
        folder.replace_runs([&record("c")]).unwrap();
        assert_eq!(folder.load_runs::<Line>().unwrap().len(), 1);
        folder.clear_runs().unwrap();
        folder.clear_runs().unwrap();
        assert!(folder.load_runs::<Line>().unwrap().is_empty());

        // Those of another plan survive this one's.
        folder.keep_others(&HashMap::from([("d".to_owned(), record("d"))])).unwrap();
        folder.replace_runs([&record("c")]).unwrap();
        folder.clear_runs().unwrap();
        let kept = folder.load_runs::<Line>().unwrap();
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["d"]);
    }

    #[test]
    fn runs_of_experiments_beside_are_found_by_their_keys() {
        let out = tempfile::tempdir().unwrap();
        let (a, b) =
            (Folder::open(out.path(), "p/a").unwrap(), Folder::open(out.path(), "p/b").unwrap());
        a.replace_runs([&record("x"), &record("y")]).unwrap();
        b.replace_runs([&record("z")]).unwrap();
        let found = b.load_runs_beside::<Line>(&HashSet::from(["x", "z", "none"]));
        assert_eq!(found.keys().collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn one_process_at_a_time() {
        let out = tempfile::tempdir().unwrap();
        let first = Folder::open(out.path(), "paper/fig").unwrap();
        assert!(matches!(Folder::open(out.path(), "paper/fig"), Err(LabError::Busy { .. })));
        drop(first);
        Folder::open(out.path(), "paper/fig").unwrap();
    }

    #[test]
    fn files_are_whole_or_absent() {
        let out = tempfile::tempdir().unwrap();
        let folder = Folder::open(out.path(), "x").unwrap();
        folder.write("rows.csv", b"1").unwrap();
        folder.write("rows.csv", b"2").unwrap();
        assert_eq!(std::fs::read(folder.path().join("rows.csv")).unwrap(), b"2");
        // A folder in the way: the error names it and no temporary file stays.
        std::fs::create_dir(folder.path().join("page")).unwrap();
        std::fs::write(folder.path().join("page/x"), b"").unwrap();
        assert!(folder.write("page", b"3").is_err());
        assert!(!folder.path().join(".page.new").exists());
        folder.write("old.svg", b"").unwrap();
        folder.write("new.svg", b"").unwrap();
        folder.remove_plots_except(&["new.svg".into()]);
        assert!(!folder.path().join("old.svg").exists() && folder.path().join("new.svg").exists());
    }

    #[test]
    fn a_file_in_the_way_of_the_folder_is_one_clear_error() {
        let out = tempfile::tempdir().unwrap();
        std::fs::write(out.path().join("file"), b"").unwrap();
        let error = Folder::open(&out.path().join("file"), "x").unwrap_err().to_string();
        assert!(error.starts_with("cannot write ") && !error.contains('\n'), "{error}");
    }
}
