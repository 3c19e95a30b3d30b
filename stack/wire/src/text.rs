//! Text of strangers.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Text of a peer or of a file, made harmless for terminals and logs: one line, in which characters
/// that a terminal obeys, or that hide or reorder what stands beside them, are spelled out (`\u{1b}`).
///
/// ```
/// assert_eq!(tresse_wire::printable("all is well"), "all is well");
/// assert_eq!(tresse_wire::printable("\x1b[2Jgone\n"), "\\u{1b}[2Jgone\\u{a}");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    spelled_out(text, is_harmful)
}

/// As [`printable`], for text of several lines, such as an error with a part of the file that it is in.
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    spelled_out(text, |c| c != '\n' && is_harmful(c))
}

fn spelled_out(text: &str, harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if harmful(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn is_harmful(c: char) -> bool {
    match c {
        // Marks, overrides and isolates of the bidirectional algorithm (UAX #9).
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' => true,
        // Separators of lines and paragraphs; nothing to be seen, annotations, tags.
        '\u{2028}' | '\u{2029}' | '\u{200b}' | '\u{feff}' => true,
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        // C0, DEL and C1, some of which terminals take for the beginning of a sequence.
        _ => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_of_it() {
        for (given, shown) in [
            // Clears the screen, sets the title, asks for an answer, as 7 and as 8 bits.
            ("\x1b[2J\x1b]0;root\x07", "\\u{1b}[2J\\u{1b}]0;root\\u{7}"),
            ("\u{9b}6n", "\\u{9b}6n"),
            // Writes over the beginning of the line, or over what stands before.
            ("ok\rfailed", "ok\\u{d}failed"),
            ("no\x08\x08", "no\\u{8}\\u{8}"),
            // Another line of a log.
            ("a\nb\u{2028}c", "a\\u{a}b\\u{2028}c"),
            // Reads backwards.
            ("\u{202e}gpj.exe", "\\u{202e}gpj.exe"),
            ("\u{7f}\0", "\\u{7f}\\u{0}"),
        ] {
            assert_eq!(printable(given), shown);
            assert!(!printable_lines(given).contains(|c| c != '\n' && is_harmful(c)));
        }
        assert_eq!(printable_lines("a\n\tb"), "a\n\\u{9}b");
    }

    #[test]
    fn text_stays_as_it_is() {
        for text in ["", "Grüße, 世界 👩‍🚀", "שלום", "a\\u{1b}"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text));
        }
    }
}
