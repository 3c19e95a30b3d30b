//! What the page calls: text in, text out, in the memory of the module.
//!
//! The page asks [`tresse_reserve`] for room, writes UTF-8 there, calls a function, which answers with the length of its
//! answer, and reads that from [`tresse_answer`]. An answer is JSON: `{"ok": ...}`, or `{"error": "one line"}`.

// An exported name is what the lint calls unsafe; no code here is.
#![cfg_attr(target_arch = "wasm32", expect(unsafe_code))]

use std::cell::RefCell;

use serde::Serialize;

use crate::catalogue::catalogue;
use crate::play::play;
use crate::scenario::{Fault, Scenario};

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Answer<T> {
    Ok(T),
    Error(String),
}

/// Makes room for a text of this many bytes, which is zeros until the page writes it. Returns where.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn tresse_reserve(bytes: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(bytes, 0);
        question.as_mut_ptr()
    })
}

/// Where the last answer is.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn tresse_answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// Plays the scenario that was written, and answers with its story.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn tresse_play() -> usize {
    let text = QUESTION.with_borrow(|question| String::from_utf8_lossy(question).into_owned());
    let story = Scenario::from_json(&text).and_then(|scenario| play(&scenario));
    answer(&story.map_or_else(|fault| Answer::Error(one_line(&fault)), Answer::Ok))
}

/// What is wrong, however long and in whatever letters the address had it.
fn one_line(fault: &Fault) -> String {
    const MOST: usize = 300;
    let text = fault.to_string();
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = printable.take(MOST).collect();
    if text.chars().count() > MOST {
        line.push('…');
    }
    line
}

/// Answers with profiles and presets.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn tresse_catalogue() -> usize {
    answer(&Answer::Ok(catalogue()))
}

fn answer(value: &impl Serialize) -> usize {
    ANSWER.with_borrow_mut(|answer| {
        answer.clear();
        // Nothing that is answered can fail to be written: it has no maps with keys of other types.
        if serde_json::to_writer(&mut *answer, value).is_err() {
            answer.clear();
        }
        answer.len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_short_and_printable() {
        let fault = |text: &str| one_line(&Fault::Syntax(text.to_owned()));
        assert_eq!(fault("a\nb"), "this is no scenario: a b");
        let long = fault(&"ä".repeat(1000));
        assert_eq!(long.chars().count(), 301);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn a_question_is_answered() {
        tresse_reserve(2);
        // What is not written is zeros, which are no scenario.
        assert!(tresse_play() > 0);
        let said = ANSWER.with_borrow(|answer| String::from_utf8(answer.clone()).unwrap());
        assert!(said.starts_with(r#"{"error":"this is no scenario"#), "{said}");
        assert!(tresse_catalogue() > 1000);
    }
}
