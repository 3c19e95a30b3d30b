//! What the RFCs say.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sentence {
    /// Word for word.
    pub text: String,
    /// Why it is not for this stack to do: it concerns the application, an option we lack.
    pub outside: Option<String>,
    /// Why it is deliberately not done.
    pub not: Option<String>,
    /// What is deliberately done otherwise, and why.
    pub deviates: Option<String>,
    /// What the profile `tresse` does otherwise, and why; `rfc9260` does as the sentence says.
    pub tresse: Option<String>,
    /// The RFC writes the keywords small.
    #[serde(skip)]
    small: bool,
}

/// The words that make a sentence one of these.
const KEYWORDS: [&str; 6] = ["MUST", "SHALL", "REQUIRED", "SHOULD", "RECOMMENDED", "RECOMMENDS"];

/// An informational RFC, which does not refer to RFC 2119.
const WITHOUT_CAPITALS: u16 = 6458;

impl Sentence {
    /// SHOULD and RECOMMENDED else.
    pub(crate) fn is_must(&self) -> bool {
        self.all().any(|word| KEYWORDS[..3].contains(&word.as_str()))
    }

    /// Keywords in it.
    pub(crate) fn keywords(&self) -> usize {
        self.all().count()
    }

    fn all(&self) -> impl Iterator<Item = String> {
        let words = self.text.split(|c: char| !c.is_ascii_alphanumeric());
        let as_keyword = |word: &str| if self.small { word.to_uppercase() } else { word.into() };
        words.map(as_keyword).filter(|word| KEYWORDS.contains(&word.as_str()))
    }

    /// Verdicts other than that it is done.
    pub(crate) fn verdicts(&self) -> usize {
        [&self.outside, &self.not, &self.deviates].into_iter().flatten().count()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// A place in the code and a test claim it.
    Claimed,
    /// A place in the code and a test claim what is done instead.
    Deviates,
    Outside,
    Not,
    Open,
}

/// Section and running number, in the order of the RFC: `5.2.1-10`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    section: Vec<u32>,
    number: u32,
    text: String,
}

impl Id {
    pub(crate) fn new(text: &str) -> Option<Id> {
        let (section, number) = text.split_once('-')?;
        // Appendices come last.
        let part = |part: &str| match part {
            "A" => Some(1000),
            _ => part.parse().ok(),
        };
        let section = section.split('.').map(part).collect::<Option<Vec<u32>>>()?;
        Some(Id { section, number: number.parse().ok()?, text: text.into() })
    }

    /// The section, as the RFC writes it.
    pub(crate) fn section(&self) -> &str {
        self.text.split_once('-').map_or("", |(section, _)| section)
    }

    /// The number of the chapter, for the appendices some high one.
    pub(crate) fn chapter(&self) -> u32 {
        self.section[0]
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The sentences of `conformance/rfc/{rfc}.toml`.
pub(crate) fn read(root: &Path, rfc: u16) -> BTreeMap<Id, Sentence> {
    let file = root.join(format!("conformance/rfc/{rfc}.toml"));
    let text = std::fs::read_to_string(&file).unwrap();
    let all: BTreeMap<String, Sentence> = toml::from_str(&text).unwrap();
    let id = |text: String| Id::new(&text).unwrap_or_else(|| panic!("RFC {rfc}: id {text:?}"));
    let small = rfc == WITHOUT_CAPITALS;
    all.into_iter().map(|(text, sentence)| (id(text), Sentence { small, ..sentence })).collect()
}

/// How many keywords each section of each RFC has.
pub(crate) fn keywords(root: &Path) -> BTreeMap<String, BTreeMap<String, usize>> {
    let text = std::fs::read_to_string(root.join("conformance/rfc/keywords.toml")).unwrap();
    toml::from_str(&text).unwrap()
}
