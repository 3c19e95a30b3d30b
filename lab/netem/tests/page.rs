//! `docs/links.md` has every key of a link, with what the code says of it.

use std::fmt::Write as _;
use std::path::Path;

use tresse_netem::LinkConfig;

/// A table of a link: the file and the struct that it is, its title and an example of it.
struct Table {
    file: &'static str,
    name: &'static str,
    title: &'static str,
    example: &'static str,
}

const TABLES: [Table; 7] = [
    Table {
        file: "config.rs",
        name: "LinkConfig",
        title: "A link",
        example: "bandwidth_kbps = 2000\ndelay_ms = 50\nqueue_packets = 50\nloss = 0.01",
    },
    Table {
        file: "loss/gilbert_elliott.rs",
        name: "GilbertElliottConfig",
        title: "`gilbert_elliott`: losses in bursts",
        example: "gilbert_elliott = { p = 0.01, r = 0.25 }",
    },
    Table {
        file: "queue/red.rs",
        name: "RedConfig",
        title: "`red`: random early detection",
        example: "bandwidth_kbps = 2000\nred = { min_threshold = 5, max_threshold = 15, ecn = true }",
    },
    Table {
        file: "queue/codel.rs",
        name: "CodelConfig",
        title: "`codel`: controlled delay",
        example: "bandwidth_kbps = 2000\ncodel = { target_ms = 5 }",
    },
    Table {
        file: "spikes.rs",
        name: "SpikesConfig",
        title: "`spikes`: delay spikes",
        example: "spikes = { interval_s = [20, 40], length_s = [1, 3], place = \"link\" }",
    },
    Table {
        file: "ticks.rs",
        name: "TicksConfig",
        title: "`ticks`: delays that end at the ticks of a clock",
        example: "delay_ms = 50\nticks = { every_ms = 4, slow_ppm = 20 }",
    },
    Table {
        file: "changes.rs",
        name: "LinkChange",
        title: "`changes`: a list of settings that change by themselves",
        example: "[[changes]]\nat_ms = 30000\nevery_ms = 30000\nup = false\n\n[[changes]]\nat_ms = 30200\nevery_ms = 30000\nup = true",
    },
];

const HEAD: &str = "\
# The keys of a link

Made from the documentation of the code (`lab/netem/src`) by its tests (`just pages`); not edited by hand.

`forward` and `backward` of an [experiment's](experiments.md) topology, and of a file for [`tresse emulate`](emulate.md), are tables
of these keys; so is what `[[change]]` of an experiment changes. All may be left out unless it is said that they are needed; a key
that is not here is refused.
";

fn source(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    std::fs::read_to_string(path).unwrap().replace('\r', "")
}

/// What follows the line that begins a struct or an enum, up to its end, and the documentation before it.
fn item(text: &str, begins: &str) -> Option<(Vec<String>, Vec<String>)> {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| *line == begins)?;
    let before = lines[..at].iter().rev().take_while(|line| line.starts_with(['/', '#']));
    let mut docs: Vec<String> =
        before.filter_map(|line| line.strip_prefix("///")).map(|line| line.trim().into()).collect();
    docs.reverse();
    let body = lines[at + 1..].iter().take_while(|line| **line != "}");
    Some((docs, body.map(|line| line.trim().to_owned()).collect()))
}

/// The members of a struct or an enum: the line that declares each, and what is said of it.
fn members(body: &[String]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut said = String::new();
    for line in body {
        if let Some(text) = line.strip_prefix("/// ") {
            said = format!("{said} {text}").trim().to_owned();
        } else if !line.starts_with(['/', '#']) && !line.is_empty() {
            found.push((line.trim_end_matches(',').to_owned(), std::mem::take(&mut said)));
        }
    }
    found
}

/// `SpikePlace` as it stands in a file.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// What a key takes, by its type in Rust, and what single values mean; `text` is the file that has it.
fn takes(kind: &str, text: &str) -> (String, String) {
    let inner = kind.strip_prefix("Option<").and_then(|kind| kind.strip_suffix('>'));
    let simple = match inner.unwrap_or(kind) {
        "f64" => "a number",
        "u32" | "u64" => "a whole number",
        "bool" => "`true` or `false`",
        "[f64; 2]" => "two numbers",
        "Vec<u64>" => "a list of whole numbers",
        "Vec<Spike>" => "a list of `{ start_ms = ..., length_ms = ... }`",
        "Vec<LinkChange>" => "a list, below",
        table if table.ends_with("Config") => "a table, below",
        name => {
            let (_, body) = item(text, &format!("pub enum {name} {{")).expect(name);
            let (mut names, mut meanings) = (Vec::new(), String::new());
            for (value, said) in members(&body) {
                let value = kebab(&value);
                let _ = write!(meanings, " `{value}`: {said}");
                names.push(format!("`\"{value}\"`"));
            }
            return (names.join(", "), meanings);
        }
    };
    (simple.to_owned(), String::new())
}

/// Links to items of Rust become plain code.
fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some((before, rest)) = text.split_once("](crate::") {
        let (_, after) = rest.split_once(')').expect("a link ends");
        let at = before.rfind('[').expect("a link begins");
        text = format!("{}{}{after}", &before[..at], before[at + 1..].replace("LinkConfig::", ""));
    }
    text
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for Table { file, name, title, example } in TABLES {
        let text = source(file);
        let (docs, body) = item(&text, &format!("pub struct {name} {{")).expect(name);
        let docs = docs.join("\n");
        let said = plain(docs.split("```").next().unwrap_or_default()).trim().to_owned();
        let _ = write!(
            page,
            "\n## {title}\n\n{said}\n\n```toml\n{example}\n```\n\n| key | takes | |\n|---|---|---|\n"
        );
        for (line, said) in members(&body) {
            let field = line.strip_prefix("pub ").expect("all are public");
            let (key, kind) = field.split_once(": ").expect("a field");
            let (takes, meanings) = takes(kind, &text);
            let _ = writeln!(page, "| `{key}` | {takes} | {}{meanings} |", plain(&said));
        }
    }
    page
}

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/links.md");
    let page = page();
    if std::env::var_os("TRESSE_WRITE_PAGES").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(there.replace('\r', "") == page, "docs/links.md is not up to date: `just pages`");
}

#[test]
fn its_examples_are_right() {
    for Table { title, example, .. } in TABLES {
        let config: LinkConfig = toml::from_str(example).unwrap_or_else(|e| panic!("{title}: {e}"));
        assert_eq!(config.validate(), Ok(()), "{title}");
        assert_ne!(config, LinkConfig::default(), "{title}");
    }
}
