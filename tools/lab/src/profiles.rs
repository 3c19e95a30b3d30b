//! `tresse lab profiles`: what `--profile` and `--set` take.

use std::fmt::Write as _;
use std::process::ExitCode;

use tresse_console::say::print;
use tresse_core::Profile;
use tresse_lab::LabError;

#[derive(Debug, clap::Args)]
pub(super) struct ProfilesArgs {
    /// Show every parameter of this profile, as TOML (join parts with +)
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(super) fn run(args: &ProfilesArgs) -> Result<ExitCode, LabError> {
    let named = |name: &str| {
        let context = "lab profiles".to_owned();
        Profile::named(name).map_err(|source| LabError::Profile { context, source })
    };
    if let Some(name) = &args.name {
        print(named(name)?.to_toml());
        return Ok(ExitCode::SUCCESS);
    }
    let width = Profile::names().map(str::len).max().unwrap_or(0);
    let mut out = String::new();
    for name in Profile::names() {
        let description = named(name)?.description;
        let _ = writeln!(out, "{name:width$}  {}", description.lines().next().unwrap_or_default());
    }
    out.push_str("\nJoin them with +. All parameters of one: tresse lab profiles tresse\n");
    out.push_str(
        "For flows also tcp-2.6.15, with +sack, +dsack, +fack, +bic: the TCP of Linux 2.6.15\n",
    );
    print(&out);
    Ok(ExitCode::SUCCESS)
}
