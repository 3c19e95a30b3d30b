//! The pages in `docs/rfc/`.

use std::fmt::Write;

use super::sentences::{Id, Status};
use super::{Ledger, Place};

/// Names and contents: a page of figures, one for each chapter of RFC 9260, one for each other RFC.
pub(crate) fn all(ledgers: &[Ledger]) -> Vec<(String, String)> {
    let mut pages = vec![("README.md".to_owned(), overview(ledgers))];
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
         RFC 9260 (SCTP), RFC 6951 (UDP encapsulation) and RFC 7829 (PF, primary path switchover), \
         with the file that does it and a test that fails if it is broken.\n\n\
         *Done*: a place in the code and a test claim it. *Not ours*: it concerns the application, \
         another protocol or an option that Tresse does not have. *Not done*: deliberately. Both \
         with the reason on the page.\n\n\
         | RFC | level | sentences | done | not ours | not done | open |\n\
         |---|---|---:|---:|---:|---:|---:|\n",
    );
    for ledger in ledgers {
        for (level, must) in [("MUST", true), ("SHOULD", false)] {
            let [done, outside, not, open] =
                [Status::Claimed, Status::Outside, Status::Not, Status::Open]
                    .map(|status| ledger.count(status, must));
            let all = done + outside + not + open;
            let rfc = ledger.rfc;
            let row = format!("{rfc} | {level} | {all} | {done} | {outside} | {not} | {open}");
            writeln!(page, "| {row} |").unwrap();
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
         assertions of that test. `just rfc` writes these pages; `cargo test -p tresse-core --test \
         rfc` fails if they are old, if a citation names no sentence, and if a sentence is claimed \
         by nobody and has no reason.\n",
    );
    page
}

fn chapter(ledger: &Ledger, chapters: (u32, u32)) -> String {
    let mut page = format!("# {}\n\n", title(ledger.rfc, chapters));
    page.push_str(
        "[What this is](README.md)\n\n| id | sentence | code | test |\n|---|---|---|---|\n",
    );
    let is_here = |id: &&Id| (chapters.0..=chapters.1).contains(&id.chapter());
    for id in ledger.sentences.keys().filter(is_here) {
        let sentence = &ledger.sentences[id];
        let text = sentence.text.replace('|', "\\|").replace('*', "\\*").replace('<', "&lt;");
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
