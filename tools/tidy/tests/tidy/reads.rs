//! Who reads a switch is found in the words of the code: a field or a method of its table, of what is declared with the
//! type of the table, or of what `let`, `match`, a closure or a pattern calls a table; who names a variant of a choice reads
//! that. A parameter whose name nothing else in the core has is read wherever it is named as a field. The profile is looked at
//! as all others. Not seen is a parameter with a common name (`enabled`) of a table that a struct or a function of another
//! file has under another name.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use syn::visit::Visit;

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

/// Fields and functions that some code declares.
pub(super) fn declared(text: &str) -> BTreeSet<String> {
    struct Declared(BTreeSet<String>);

    impl Visit<'_> for Declared {
        fn visit_field(&mut self, field: &syn::Field) {
            self.0.extend(field.ident.as_ref().map(ToString::to_string));
        }

        fn visit_signature(&mut self, signature: &syn::Signature) {
            self.0.insert(signature.ident.to_string());
        }
    }

    let mut declared = Declared(BTreeSet::new());
    declared.visit_file(&syn::parse_file(text).expect("the core compiles"));
    declared.0
}

/// Where `sign` is next in `code`.
fn next(code: &[&str], sign: &str) -> Option<usize> {
    code.iter().position(|other| *other == sign)
}

fn is_variable(word: &str) -> bool {
    let is_part = |c: char| c.is_lowercase() || c.is_ascii_digit() || c == '_';
    word.chars().all(is_part) && word != "_" && !["mut", "ref", "if"].contains(&word)
}

/// The variables that stand for a value, or for a part of it: what is `before` it in its statement, and what follows.
fn bound<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    if let Some(pattern) = next(before, "let") {
        let pattern = &before[pattern + 1..];
        found.extend(&pattern[..next(pattern, "=").unwrap_or(0)]);
    }
    // What comes in a chain behind the value: `.map(|all| ..)`; a closure of another statement has other values.
    let chain = &after[..next(after, ";").unwrap_or(0)];
    if after.first().is_some_and(|sign| *sign == "." || *sign == ")")
        && let Some(begin) = next(chain, "|")
    {
        let words = &chain[begin + 1..];
        found.extend(&words[..next(words, "|").unwrap_or(0)]);
    }
    if before.contains(&"match") && after.first() == Some(&"{") {
        found.extend(&after[1..next(after, "=").unwrap_or(1)]);
    }
    found.retain(|word| is_variable(word));
    found
}

/// What stands for tables in some code: their own names and types, `limits: &LimitParameters`, `-> &LimitParameters`,
/// `LimitParameters as Bounds`, `let limits = &profile.limits;`, `Profile { limits: bounds, .. }`.
fn names<'a>(profile: &'a Profile, code: &[&'a str]) -> BTreeSet<(&'a str, &'a str)> {
    let tables = || profile.tables.iter().map(|(table, _)| table.as_str());
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    types.extend(profile.types.iter().map(|(ty, table)| (ty.as_str(), table.as_str())));
    for part in code.windows(4) {
        match part {
            [ty, "as", other, _] | ["type", other, "=", ty] if types.contains_key(ty) => {
                types.insert(other, types[ty]);
            }
            _ => {}
        }
    }
    let mut found: BTreeSet<(&str, &str)> = tables().map(|table| (table, table)).collect();
    found.extend(types.iter().map(|(ty, table)| (*ty, *table)));
    for at in 0..code.len() {
        let back_to = |ends: &[&str]| {
            let end = code[..at].iter().rposition(|sign| ends.contains(sign));
            &code[end.map_or(0, |end| end + 1)..at]
        };
        if let Some(table) = types.get(code[at]) {
            let part = back_to(&[",", ";", "(", ")", "{", "}", "=", "|"]);
            let colon = part.iter().position(|sign| *sign == ":").unwrap_or(0);
            if colon > 0 && part.get(colon + 1) != Some(&":") {
                found.insert((part[colon - 1], table));
            }
            let function = code[..at].iter().rposition(|sign| *sign == "fn");
            if part.starts_with(&["-", ">"])
                && let Some(function) = function
            {
                found.insert((code[function + 1], table));
            }
        } else if let Some(table) = tables().find(|table| *table == code[at]) {
            let after = &code[at + 1..];
            let is_whole = !matches!(after, [".", _, next, ..] if *next != "(");
            match after {
                [":", name, next, ..] if (*name, *next) != (":", ":") => {
                    found.insert((name, table));
                }
                _ if is_whole && at > 0 && code[at - 1] == "." => {
                    let variables = bound(back_to(&[";", "{", "}"]), after);
                    found.extend(variables.into_iter().map(|name| (name, table)));
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
    /// `others` are names that something else than the profile has, too.
    pub(super) fn of(text: &str, profile: &Profile, others: &BTreeSet<String>) -> Reads {
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
                [of, ".", name, ..] | [of, "(", ")", ".", name, ..] => {
                    read(of, name);
                    // A method of the table itself is another name of what it reads.
                    if of != "self" && code.get(at + 3) != Some(&"(") && !others.contains(name) {
                        reads.parameters.extend(profile.only_table_with(name));
                    }
                }
                [choice, ":", ":", variant, ..] if profile.choices.contains_key(choice) => {
                    reads.variants.insert((choice.into(), variant.into()));
                }
                // `LimitParameters { patience, .. }`, in `let` or before what it means; a literal ends otherwise.
                [of, "{", ref rest @ ..] if names.iter().any(|(name, _)| *name == of) => {
                    let end = next(rest, "}").unwrap_or(0);
                    let is_pattern = rest[..end].ends_with(&[".", "."])
                        || matches!(rest[end..], ["}", "=", ..] | ["}", "|", ..]);
                    if is_pattern {
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
            ["*", "{"].contains(&&name[..])
                || profile.choices[choice].iter().any(|variant| variant.name == *name)
        };
        self.variants.iter().any(|(of, name)| of == choice && is_one(name))
    }
}
