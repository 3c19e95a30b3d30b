//! What packages and pages have of the command line, made from the command line itself: completions, manual pages, and
//! all options as Markdown.

mod markdown;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap_complete::{Shell, generate};
use tresse_console::say::{complain, print};

/// Arguments of `tresse completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETION_EXAMPLES)]
pub(crate) struct CompletionArgs {
    /// The shell
    shell: Shell,
}

const COMPLETION_EXAMPLES: &str = "\
Packages have them already. Otherwise:
  tresse completions bash >~/.local/share/bash-completion/completions/tresse
  tresse completions zsh >~/.zfunc/_tresse      # with fpath+=~/.zfunc before compinit
  tresse completions fish >~/.config/fish/completions/tresse.fish";

/// Arguments of `tresse man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Folder that the pages are written to
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Write one page of Markdown for each command instead
    #[arg(long)]
    markdown: bool,
}

/// Runs `tresse completions`.
pub(crate) fn completions(args: &CompletionArgs, mut command: clap::Command) -> ExitCode {
    let mut text = Vec::new();
    generate(args.shell, &mut command, "tresse", &mut text);
    print(String::from_utf8_lossy(&text));
    ExitCode::SUCCESS
}

/// Runs `tresse man`.
pub(crate) fn man(args: &ManArgs, command: clap::Command) -> ExitCode {
    let folder = &args.folder;
    let written = fs::create_dir_all(folder).and_then(|()| {
        if args.markdown {
            write_markdown(folder, command)
        } else {
            clap_mangen::generate_to(command, folder)
        }
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("{}: {error}", folder.display()));
            match error.kind() {
                ErrorKind::StorageFull => ExitCode::FAILURE,
                _ => ExitCode::from(2),
            }
        }
    }
}

fn write_markdown(folder: &Path, command: clap::Command) -> io::Result<()> {
    for (name, text) in markdown::pages(command) {
        fs::write(folder.join(format!("{name}.md")), text)?;
    }
    Ok(())
}
