//! `tresse lab new`: a file to begin an experiment with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tresse_console::say::print;
use tresse_lab::LabError;

/// What every new file says. A test runs it.
const TEMPLATE: &str = include_str!("new.toml");

#[derive(Debug, clap::Args)]
pub(super) struct NewArgs {
    /// Name of the experiment: letters, digits, `.`, `-` and `_`. The file is NAME.toml in this folder
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
}

fn name(text: &str) -> Result<String, String> {
    let text = text.strip_suffix(".toml").unwrap_or(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.is_empty() || text.starts_with('.') || !text.chars().all(plain) {
        return Err("letters, digits, `.`, `-` and `_` make a name, and no folder".into());
    }
    Ok(text.to_owned())
}

/// Writes the file, unless there is one.
pub(super) fn run(args: &NewArgs) -> Result<ExitCode, LabError> {
    let path = PathBuf::from(format!("{}.toml", args.name));
    write(&path, &args.name).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => {
            LabError::Option(format!("{} is there already: choose another name", path.display()))
        }
        _ => LabError::Write { path: path.clone(), source },
    })?;
    print(format_args!(
        "{0} is a thin stream that loses packets, with three senders. Run it with:\n  tresse lab run ./{0}\n\
         What else it may say: docs/experiments.md\n",
        path.display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, name: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(TEMPLATE.replace("@NAME@", name).as_bytes());
    if written.is_err() {
        // Half a file would stand in the way of the next attempt; that it cannot be removed says nothing new.
        let _ = std::fs::remove_file(path);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_paths() {
        assert_eq!(name("first"), Ok("first".into()));
        assert_eq!(name("first.toml"), Ok("first".into()));
        for wrong in ["", ".", "..", "a/b", "a b", "é"] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }
}
