//! The options of every command as pages of Markdown, one for each command of the first level.

use std::fmt::Write as _;

use clap::{Arg, Command};

/// File name without its end, and text, of each command that is not hidden.
pub(super) fn pages(mut root: Command) -> Vec<(String, String)> {
    root.build();
    let shown = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    root.get_subcommands()
        .filter(shown)
        .map(|command| {
            let mut text = String::new();
            describe(&mut text, command, 1);
            (command.get_name().to_owned(), text)
        })
        .collect()
}

/// A command, its options, and then its own commands, one level deeper.
fn describe(text: &mut String, command: &Command, level: usize) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let _ = writeln!(text, "{} {name}\n", "#".repeat(level));
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        let _ = writeln!(text, "{}\n", prose(&about.to_string()));
    }
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(text, "```text\n{}\n```\n", usage.trim_start_matches("Usage: ").trim());
    let is_shown =
        |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    for arg in command.get_arguments().filter(is_shown) {
        option(text, arg);
    }
    if let Some(examples) = command.get_after_help() {
        let _ = writeln!(text, "\n```text\n{}\n```\n", examples.to_string().trim_end());
    }
    text.push('\n');
    for below in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        describe(text, below, level + 1);
    }
}

/// One option: how it is written, what it means, what it takes.
fn option(text: &mut String, arg: &Arg) {
    let values = arg.get_value_names().unwrap_or_default();
    let takes_value = arg.get_action().takes_values();
    let value = match values.first() {
        Some(name) if takes_value => format!(" <{name}>"),
        _ => String::new(),
    };
    let short = arg.get_short().map(|c| format!("-{c}"));
    let long = arg.get_long().map(|word| format!("--{word}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let written = if names.is_empty() {
        value.trim().to_owned()
    } else {
        format!("{}{value}", names.join(", "))
    };
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let _ = write!(text, "- `{written}`");
    if let Some(help) = help {
        let _ = write!(text, ": {}", prose(&help.to_string()).replace('\n', " "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
    if takes_value && !defaults.is_empty() {
        let _ = write!(text, ". Default: `{}`", defaults.join(" "));
    }
    let choices: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|choice| !choice.is_hide_set())
        .map(|choice| format!("`{}`", choice.get_name()))
        .collect();
    if takes_value && !choices.is_empty() {
        let _ = write!(text, ". One of {}", choices.join(", "));
    }
    text.push('\n');
}

/// Angle brackets are no HTML.
fn prose(text: &str) -> String {
    text.trim().replace('<', "\\<").replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let pages = pages(crate::Cli::command());
        let page = |name: &str| &pages.iter().find(|(page, _)| page == name).unwrap().1;
        let lab = page("lab");
        assert!(lab.starts_with("# tresse lab\n"), "{lab}");
        assert!(lab.contains("\n## tresse lab run\n"), "{lab}");
        assert!(lab.contains("- `--out <DIR>`: Folder of all results"), "{lab}");
        assert!(lab.contains(". Default: `results`\n"), "{lab}");
        assert!(page("perf").contains("- `-R, --reverse`"), "{}", page("perf"));
        assert!(pages.iter().all(|(name, _)| name != "man" && name != "emulate-init"));
    }
}
