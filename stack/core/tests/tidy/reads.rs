//! Who reads a switch is found in the words of the code: a field or a method of its table, of what is declared with the
//! type of the table, or of what `let` or a pattern calls a table; who names a variant of a choice reads that. The profile is
//! looked at as all others. Not seen are values that are passed on under another name, a table that a function returns under
//! another name, and one of several that a single `let` names.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::profile::Profile;

/// The words and signs of some code, each group between its brackets; what documents it is text to it. Inline tests are left out.
fn tokens(code: TokenStream, found: &mut Vec<String>) {
    for token in code {
        match token {
            TokenTree::Group(_) if found.ends_with(&["mod".into(), "tests".into()]) => {}
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                found.push(open.into());
                tokens(group.stream(), found);
                found.push(close.into());
            }
            token => found.push(token.to_string()),
        }
    }
}

/// What stands for tables in some code: their own names and types, `limits: &LimitParameters`, `let limits = &profile.limits;`,
/// `Profile { limits: bounds, .. }`.
fn names<'a>(profile: &'a Profile, code: &[&'a str]) -> BTreeSet<(&'a str, &'a str)> {
    let tables = || profile.tables.iter().map(|(table, _)| table.as_str());
    let mut found: BTreeSet<(&str, &str)> = tables().map(|table| (table, table)).collect();
    found.extend(profile.types.iter().map(|(ty, table)| (ty.as_str(), table.as_str())));
    for at in 0..code.len() {
        let back_to = |ends: &[&str]| {
            let end = code[..at].iter().rposition(|sign| ends.contains(sign));
            &code[end.map_or(0, |end| end + 1)..at]
        };
        if let Some(table) = profile.types.get(code[at]) {
            let part = back_to(&[",", ";", "(", ")", "{", "}", "=", "|"]);
            let colon = part.iter().position(|sign| *sign == ":").unwrap_or(0);
            if colon > 0 && part.get(colon + 1) != Some(&":") {
                found.insert((part[colon - 1], table));
            }
        } else if let Some(table) = tables().find(|table| *table == code[at]) {
            match (&code[at + 1..], back_to(&[";", "{", "}"])) {
                ([";", ..], ["let", "mut", name, ..] | ["let", name, ..]) => {
                    found.insert((name, table));
                }
                ([":", name, next, ..], _) if (*name, *next) != (":", ":") => {
                    found.insert((name, table));
                }
                _ => {}
            }
        }
    }
    found
}

/// What a file does with the parameters of the profile, in macros as well.
#[derive(Default)]
pub(super) struct Reads {
    /// Those that it reads, each with its table, and the methods of tables that it calls.
    parameters: BTreeSet<(String, String)>,
    /// Variants of choices that it names, each with its enum.
    variants: BTreeSet<(String, String)>,
}

impl Reads {
    pub(super) fn of(text: &str, profile: &Profile) -> Reads {
        let mut code = Vec::new();
        tokens(text.parse().expect("the core compiles"), &mut code);
        let code: Vec<&str> = code.iter().map(String::as_str).collect();
        let names = names(profile, &code);
        let mut reads = Reads::default();
        for at in 0..code.len() {
            let mut read = |of: &str, name: &str| {
                let tables = names.iter().filter(|(other, _)| *other == of);
                let read = tables.map(|(_, table)| ((*table).to_owned(), name.to_owned()));
                reads.parameters.extend(read);
            };
            match code[at..] {
                // What is written is not read.
                [_, ".", _, "=", next, ..] if !matches!(next, "=" | ">") => {}
                [of, ".", name, ..] | [of, "(", ")", ".", name, ..] => read(of, name),
                [choice, ":", ":", variant, ..] if profile.choices.contains_key(choice) => {
                    reads.variants.insert((choice.into(), variant.into()));
                }
                // `LimitParameters { patience, .. }`; a literal ends otherwise.
                [of, "{", ref rest @ ..] if profile.types.contains_key(of) => {
                    let end = rest.iter().position(|sign| *sign == "}").unwrap_or(0);
                    if rest[..end].ends_with(&[".", "."]) {
                        rest[..end].iter().for_each(|name| read(of, name));
                    }
                }
                _ => {}
            }
        }
        reads
    }

    /// Whether it reads a parameter, by itself or by a method of the table.
    pub(super) fn reads(&self, profile: &Profile, table: &str, name: &str) -> bool {
        self.parameters.iter().any(|(of, read)| {
            let method = profile.methods.get(&(of.clone(), read.clone()));
            of == table && (read == name || method.is_some_and(|method| method.contains(name)))
        })
    }

    /// Whether it names a variant of a choice, or imports them.
    pub(super) fn names(&self, profile: &Profile, choice: &str) -> bool {
        let is_one = |name: &String| {
            ["*", "{"].contains(&&name[..]) || profile.choices[choice].contains(name)
        };
        self.variants.iter().any(|(of, name)| of == choice && is_one(name))
    }
}
