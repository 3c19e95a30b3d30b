//! RFC 9260, 6525, 6951, 7829, 3758, 7496, 8899, 4820, 4895, 5061, 8260, 9653, 3168 and 6458, sentence by sentence: who does it, and which test shows it.
//!
//! `conformance/rfc/*.toml` has every sentence with MUST or SHOULD, each with an id: its section
//! and a running number. A comment in the code claims one or several of them,
//!
//! ```text
//! //= RFC 9260 5.2.1-1 5.2.1-6
//! ```
//!
//! and the same comment above a test says that it fails if the sentence is broken. Of a sentence that
//! `deviates` it says where that is done, and which test shows what is done instead. The pages in
//! `docs/rfc/` are made of that: `just rfc` writes them again.

mod citations;
mod page;
mod sentences;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use citations::Place;
use sentences::{Id, Sentence, Status};

const RFCS: [u16; 14] =
    [9260, 6525, 6951, 7829, 3758, 7496, 8899, 4820, 4895, 5061, 8260, 9653, 3168, 6458];

/// At least this many of a hundred SHOULDs that concern this stack are done and tested.
const SHOULDS: f64 = 95.0;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap().to_path_buf()
}

/// One RFC with all that is said of it.
pub(crate) struct Ledger {
    pub rfc: u16,
    pub sentences: BTreeMap<Id, Sentence>,
    pub places: BTreeMap<Id, Vec<Place>>,
}

impl Ledger {
    fn places(&self, id: &Id, in_tests: bool) -> impl Iterator<Item = &Place> {
        let all = self.places.get(id).map_or(&[][..], |places| places);
        all.iter().filter(move |place| place.test.is_some() == in_tests)
    }

    pub(crate) fn status(&self, id: &Id) -> Status {
        let (done, tested) =
            (self.places(id, false).next().is_some(), self.places(id, true).next().is_some());
        match &self.sentences[id] {
            Sentence { outside: Some(_), .. } => Status::Outside,
            Sentence { not: Some(_), .. } => Status::Not,
            _ if !done || !tested => Status::Open,
            Sentence { deviates: Some(_), .. } => Status::Deviates,
            _ => Status::Claimed,
        }
    }

    /// Sentences of the RFC in `status`, those with MUST or the others.
    pub(crate) fn count(&self, status: Status, must: bool) -> usize {
        let of_level = self.sentences.iter().filter(|(_, sentence)| sentence.is_must() == must);
        of_level.filter(|(id, _)| self.status(id) == status).count()
    }
}

fn ledgers() -> Vec<Ledger> {
    let mut all = citations::collect(&root());
    let ledger = |rfc| Ledger {
        rfc,
        sentences: sentences::read(&root(), rfc),
        places: all.remove(&rfc).unwrap_or_default(),
    };
    let ledgers = RFCS.map(ledger).into();
    assert!(all.is_empty(), "citations of RFCs without a list of sentences: {:?}", all.keys());
    ledgers
}

#[test]
fn citations_name_sentences_that_there_are() {
    for ledger in ledgers() {
        for (id, places) in &ledger.places {
            let sentence = ledger.sentences.get(id);
            let file = &places[0].file;
            let sentence = sentence.unwrap_or_else(|| panic!("{file}: no RFC {} {id}", ledger.rfc));
            let reason = sentence.outside.as_ref().or(sentence.not.as_ref());
            assert!(reason.is_none(), "{file}: RFC {} {id} has a reason not to be", ledger.rfc);
        }
    }
}

#[test]
fn a_sentence_has_one_verdict() {
    for ledger in ledgers() {
        for (id, sentence) in &ledger.sentences {
            assert!(sentence.verdicts() <= 1, "RFC {} {id}: more than one verdict", ledger.rfc);
            let status = ledger.status(id);
            let done = matches!(status, Status::Claimed | Status::Deviates);
            assert!(done || sentence.tresse.is_none(), "RFC {} {id}: by no profile", ledger.rfc);
        }
    }
}

#[test]
fn no_sentence_with_a_keyword_is_missing() {
    let expected = sentences::keywords(&root());
    for ledger in ledgers() {
        let mut counts = BTreeMap::<String, usize>::new();
        for (id, sentence) in &ledger.sentences {
            assert!(sentence.keywords() > 0, "RFC {} {id}: no keyword", ledger.rfc);
            *counts.entry(id.section().into()).or_default() += sentence.keywords();
        }
        assert_eq!(counts, expected[&ledger.rfc.to_string()], "RFC {}", ledger.rfc);
    }
}

#[test]
fn every_sentence_is_done_and_tested_or_has_a_reason() {
    let mut open = Vec::new();
    for ledger in ledgers() {
        let ids = ledger.sentences.keys().filter(|id| ledger.status(id) == Status::Open);
        open.extend(ids.map(|id| {
            let [code, test] = [false, true].map(|test| ledger.places(id, test).count());
            let text = &ledger.sentences[id].text;
            format!("RFC {} {id}: {code} in the code, {test} in tests: {text}", ledger.rfc)
        }));
    }
    assert!(open.is_empty(), "\n{}", open.join("\n"));
}

#[test]
fn every_must_and_nearly_every_should_that_concerns_us_is_done() {
    for ledger in ledgers() {
        assert_eq!(ledger.count(Status::Not, true), 0, "RFC {}: a MUST is not done", ledger.rfc);
        let others = [Status::Deviates, Status::Not, Status::Open];
        let count = |status| f64::from(u32::try_from(ledger.count(status, false)).unwrap());
        let claimed = count(Status::Claimed);
        let all = claimed + others.map(count).iter().sum::<f64>();
        // Some have none at all.
        let percent = if all > 0.0 { 100.0 * claimed / all } else { 100.0 };
        assert!(percent >= SHOULDS, "RFC {}: {percent:.1} % of SHOULDs", ledger.rfc);
    }
}

#[test]
fn the_pages_are_up_to_date() {
    let folder = root().join("docs/rfc");
    let pages = page::all(&ledgers());
    if std::env::var_os("TRESSE_WRITE_PAGES").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in &pages {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
    for (name, text) in &pages {
        let there = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(there.replace('\r', "") == *text, "docs/rfc/{name} is not up to date: `just rfc`");
        assert!(text.len() < 60_000, "docs/rfc/{name}: {} bytes", text.len());
    }
    let files = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(files, pages.len(), "docs/rfc has pages that nobody writes");
}
