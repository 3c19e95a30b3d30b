//! `tresse lab playground`: the simulator as a page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tresse_console::say::print;
use tresse_lab::LabError;
use tresse_playground::folder;

/// Arguments of `tresse lab playground`.
#[derive(Debug, clap::Args)]
pub(super) struct PlaygroundArgs {
    /// Folder that the page is written to; files of these names are replaced
    #[arg(long, value_name = "DIR", default_value = "playground")]
    out: PathBuf,
}

/// Writes the folder.
pub(super) fn run(args: &PlaygroundArgs) -> Result<ExitCode, LabError> {
    let module = module()?;
    let at = |path: &Path, source| LabError::Write { path: path.to_owned(), source };
    fs::create_dir_all(&args.out).map_err(|error| at(&args.out, error))?;
    for (name, text) in folder::files(&module) {
        let path = args.out.join(name);
        fs::write(&path, text).map_err(|error| at(&path, error))?;
    }
    print(format_args!("{}\n", args.out.join("index.html").display()));
    Ok(ExitCode::SUCCESS)
}

/// What packaging/stage has built before.
#[cfg(feature = "playground")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature it may fail")]
fn module() -> Result<Vec<u8>, LabError> {
    Ok(include_bytes!(env!("TRESSE_PLAYGROUND_MODULE")).to_vec())
}

/// Built now, from the sources around the working directory.
#[cfg(not(feature = "playground"))]
fn module() -> Result<Vec<u8>, LabError> {
    let here = std::env::current_dir().unwrap_or_default();
    let is_checkout = |folder: &&Path| folder.join("lab/playground/Cargo.toml").is_file();
    let Some(root) = here.ancestors().find(is_checkout) else {
        return Err(LabError::Option(
            "this tresse was built without the playground: run it inside a checkout of Tresse, where cargo builds it, or \
             install a package that has it (docs/playground.md)"
                .to_owned(),
        ));
    };
    // Where it is built is not up to the settings of this run.
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let built = std::process::Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(&folder::BUILD[..1])
        .arg("--target-dir")
        .arg(&target)
        .args(&folder::BUILD[1..])
        .current_dir(root)
        .status();
    let failed = |why: String| {
        LabError::Option(format!(
            "the module of the playground cannot be built: {why}; it needs cargo, and `rustup target add \
             wasm32-unknown-unknown`"
        ))
    };
    match built {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(failed(format!("cargo ended with {status}"))),
        Err(error) => return Err(failed(format!("cargo: {error}"))),
    }
    let path = target.join(folder::MODULE);
    fs::read(&path).map_err(|error| failed(format!("{}: {error}", path.display())))
}
