//! The pages in `docs/rfc/`.

use std::fmt::Write;

use super::sentences::{Id, Sentence, Status};
use super::{Ledger, Place};

/// Names and contents: a page of figures, one for each chapter of RFC 9260, one for each other RFC.
pub(crate) fn all(ledgers: &[Ledger]) -> Vec<(String, String)> {
    let mut pages = vec![
        ("README.md".to_owned(), overview(ledgers)),
        ("tresse.md".to_owned(), tresse(ledgers)),
    ];
    for ledger in ledgers {
        for chapters in chapters(ledger) {
            pages.push((page_name(ledger.rfc, chapters), chapter(ledger, chapters)));
        }
    }
    pages
}

/// First and last chapter of each page.
fn chapters(ledger: &Ledger) -> Vec<(u32, u32)> {
    match ledger.rfc {
        9260 => vec![(1, 4), (5, 5), (6, 6), (7, 8), (9, u32::MAX)],
        _ => vec![(0, u32::MAX)],
    }
}

fn page_name(rfc: u16, (first, _): (u32, u32)) -> String {
    match first {
        0 => format!("{rfc}.md"),
        _ => format!("{rfc}-{first}.md"),
    }
}

fn title(rfc: u16, chapters: (u32, u32)) -> String {
    match chapters {
        (0, _) => format!("RFC {rfc}"),
        (first, u32::MAX) => format!("RFC {rfc}, from chapter {first} on"),
        (first, last) if first == last => format!("RFC {rfc}, chapter {first}"),
        (first, last) => format!("RFC {rfc}, chapters {first} to {last}"),
    }
}

fn overview(ledgers: &[Ledger]) -> String {
    let mut page = String::from(
        "# The RFCs, sentence by sentence\n\n\
         Every sentence with MUST, MUST NOT, SHALL, REQUIRED, SHOULD, SHOULD NOT or RECOMMENDED of \
         RFC 9260 (SCTP), RFC 6525 (stream reconfiguration), RFC 6951 (UDP encapsulation), RFC 7829 (PF, primary path switchover), \
         RFC 3758 and RFC 7496 (partial reliability), RFC 8899 and RFC 4820 (path MTU discovery by probes), RFC 4895 (authenticated chunks), RFC 5061 (dynamic address reconfiguration), RFC 8260 (user message interleaving), RFC 9653 (zero checksum), RFC 3168 (ECN), RFC 6458 (sockets; an informational RFC, which writes these words small), \
         with the file that does it and a test that fails if it is broken.\n\n\
         *Done*: a place in the code and a test claim it, with the profile `rfc9260`; \
         [what the default profile does otherwise](tresse.md) is a list of its own. *Deviates*: something else is \
         done, deliberately, by every profile; code and test are those of what is done instead. *Not ours*: it \
         concerns the application, another protocol or an option that Tresse does not have. *Not done*: \
         deliberately. These three with the reason on the page.\n\n\
         | RFC | level | sentences | done | deviates | not ours | not done | open |\n\
         |---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for ledger in ledgers {
        for (level, must) in [("MUST", true), ("SHOULD", false)] {
            let columns =
                [Status::Claimed, Status::Deviates, Status::Outside, Status::Not, Status::Open];
            let counts = columns.map(|status| ledger.count(status, must));
            let all: usize = counts.iter().sum();
            let counts = counts.map(|count| count.to_string()).join(" | ");
            writeln!(page, "| {} | {level} | {all} | {counts} |", ledger.rfc).unwrap();
        }
    }
    page.push('\n');
    for ledger in ledgers {
        for chapters in chapters(ledger) {
            let (title, name) = (title(ledger.rfc, chapters), page_name(ledger.rfc, chapters));
            writeln!(page, "- [{title}]({name})").unwrap();
        }
    }
    page.push_str(
        "\nThe sentences, their ids and the reasons are in `conformance/rfc/`. Comments in the code \
         and above tests claim them (`//= RFC 9260 5.2.1-1`); a claim is only as good as the \
         assertions of that test. `just rfc` writes these pages; `cargo test -p tresse-tidy --test \
         rfc` fails if they are old, if a citation names no sentence, and if a sentence is claimed \
         by nobody and has no reason.\n\n\
         Completeness: `conformance/rfc/keywords.toml` has how many times MUST, SHALL, REQUIRED, SHOULD and \
         RECOMMENDED stand in each section of the RFCs (",
    );
    let total = |ledger: &Ledger| {
        let count: usize = ledger.sentences.values().map(Sentence::keywords).sum();
        format!("{count} in RFC {}", ledger.rfc)
    };
    page.push_str(&ledgers.iter().map(total).collect::<Vec<_>>().join(", "));
    page.push_str(
        "), counted by a program in the texts of the RFC Editor, without page headers and the section \
         that explains these words. The sentences must have as many in each section, or the test fails.\n",
    );
    page
}

/// What the default profile does otherwise.
fn tresse(ledgers: &[Ledger]) -> String {
    let mut page = String::from(
        "# What the profile `tresse` does otherwise\n\n\
         [What this is](README.md). The default profile has mechanisms that go beyond what RFC 9260 allows, \
         most of them from later RFCs for TCP. The profile `rfc9260` has none of them, and does what these \
         sentences say. What the default may cost others is measured: [harm](../harm.md).\n\n\
         | RFC | id | sentence | what `tresse` does, and why |\n|---|---|---|---|\n",
    );
    for ledger in ledgers {
        for (id, sentence) in &ledger.sentences {
            let Some(reason) = &sentence.tresse else { continue };
            writeln!(page, "| {} | {id} | {} | {reason} |", ledger.rfc, escaped(sentence)).unwrap();
        }
    }
    page
}

fn escaped(sentence: &Sentence) -> String {
    sentence.text.replace('|', "\\|").replace('*', "\\*").replace('<', "&lt;")
}

fn chapter(ledger: &Ledger, chapters: (u32, u32)) -> String {
    let mut page = format!("# {}\n\n", title(ledger.rfc, chapters));
    let with = match ledger.rfc {
        7829 => "With `limits.pf_max_retrans = 0`, as `tresse` has it; `rfc9260` has no PF state.",
        6458 => "The sockets of `tresse run` and libtresse, with any profile.",
        _ => "With the profile `rfc9260`; [`tresse`](tresse.md) does more.",
    };
    write!(page, "[What this is](README.md). {with}\n\n").unwrap();
    page.push_str("| id | sentence | code | test |\n|---|---|---|---|\n");
    let is_here = |id: &&Id| (chapters.0..=chapters.1).contains(&id.chapter());
    for id in ledger.sentences.keys().filter(is_here) {
        let sentence = &ledger.sentences[id];
        let mut text = escaped(sentence);
        if let Some(reason) = &sentence.deviates {
            write!(text, "<br>**Deviates**: {reason}").unwrap();
        }
        if sentence.tresse.is_some() {
            text.push_str("<br>[`tresse`](tresse.md) does otherwise.");
        }
        let last = match (&sentence.outside, &sentence.not) {
            (Some(reason), _) => format!("not ours | {reason}"),
            (_, Some(reason)) => format!("**not done** | {reason}"),
            _ => format!("{} | {}", places(ledger, id, false), places(ledger, id, true)),
        };
        writeln!(page, "| {id} | {text} | {last} |").unwrap();
    }
    page
}

/// At most three: the table is to be read.
fn places(ledger: &Ledger, id: &Id, in_tests: bool) -> String {
    let link = |place: &Place| {
        let name = place.file.rsplit('/').next().unwrap();
        let text = place.test.as_deref().unwrap_or(name);
        format!("[{text}](../../{})", place.file)
    };
    let links: Vec<String> = ledger.places(id, in_tests).take(3).map(link).collect();
    links.join(", ")
}
