//! `tresse lab run --on`: the runs are made by the workers of a Dask cluster, which the Python package speaks with.

use std::io::ErrorKind;
use std::process::{Command, ExitStatus, Stdio};

use tresse_lab::{LabError, version};

use super::RunArgs;

/// The Python that has the package, if it is not the first one in PATH.
const PYTHON: &str = "TRESSE_PYTHON";

/// Has the runs of these experiments made that are not stored, and stores them. What could not be made is made here.
pub(super) fn bring(scheduler: &str, names: &[String], args: &RunArgs) -> Result<(), LabError> {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let shown = python.display().to_string();
    let failed = |reason: String| LabError::Option(format!("--on {scheduler}: {reason}"));
    let start = |command: &mut Command| {
        command.status().map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                failed(format!("there is no Python ({shown}); {PYTHON} names one"))
            }
            _ => failed(format!("{shown}: {error}")),
        })
    };
    let mut import = Command::new(&python);
    import.args(["-c", "import tresse, distributed"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !start(&mut import)?.success() {
        return Err(failed(format!(
            "{shown} has no package tresse with Dask: pip install 'tresse[dask]', or name another Python in {PYTHON}"
        )));
    }
    let mut command = Command::new(&python);
    command.args(["-m", "tresse", "--for-command", &version::describe(), "--on", scheduler]);
    command.arg("--out").arg(&args.out);
    for profile in &args.profiles {
        command.args(["--profile", profile]);
    }
    for parameter in &args.parameters {
        command.args(["--set", parameter]);
    }
    if let Some(seed) = args.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    let status = start(command.arg("--").args(names))?;
    if status.success() { Ok(()) } else { Err(ended(status, failed)) }
}

/// What it has said is on the screen already.
fn ended(status: ExitStatus, failed: impl Fn(String) -> LabError) -> LabError {
    failed(match status.code() {
        Some(_) => "not all runs were made; those that were are stored".into(),
        None => format!("Python was killed ({status}); runs that were stored stay stored"),
    })
}
