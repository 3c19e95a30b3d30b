//! How large the structs of the core are, and how open.

use std::collections::BTreeMap;

/// Fields of a struct at most.
const MAX_FIELDS: usize = 15;

/// Those that a user fills in or reads, settings and counters, may have as many as the list of what there is.
const LISTS: [&str; 3] = ["AssociationConfig", "PathStats", "Profile"];

/// Fields that others may name, for each module, those of what is passed between modules included: the numbers only
/// shrink.
const KNOWN_OPEN: [(&str, usize); 2] = [("path", 36), ("receive", 6)];

/// A struct with named fields.
struct Struct {
    name: String,
    fields: usize,
    /// Of these, fields that are `pub(crate)` or `pub(super)`.
    open: usize,
}

fn structs(text: &str) -> Vec<Struct> {
    let file = syn::parse_file(text).expect("the core compiles");
    let of = |item: &syn::Item| match item {
        syn::Item::Struct(item) if matches!(item.fields, syn::Fields::Named(_)) => Some(Struct {
            name: item.ident.to_string(),
            fields: item.fields.len(),
            open: item
                .fields
                .iter()
                .filter(|field| matches!(field.vis, syn::Visibility::Restricted(_)))
                .count(),
        }),
        _ => None,
    };
    file.items.iter().filter_map(of).collect()
}

/// (path below `core/src/`, its structs)
fn core() -> Vec<(String, Vec<Struct>)> {
    let of = |source: super::Source| {
        let path = source.name.strip_prefix("core/src/")?.to_owned();
        (!source.is_test()).then(|| (path, structs(&source.text)))
    };
    super::sources().into_iter().filter_map(of).collect()
}

#[test]
fn structs_of_the_core_are_small() {
    let mut found = Vec::new();
    for (path, structs) in core() {
        for one in structs.iter().filter(|one| one.fields > MAX_FIELDS) {
            found.push((path.clone(), one.name.clone(), one.fields));
        }
    }
    found.retain(|(_, name, _)| !LISTS.contains(&name.as_str()));
    assert!(found.is_empty(), "to be split: {found:?}");
}

#[test]
fn the_halves_and_the_paths_are_closed() {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, structs) in core() {
        for module in ["path", "receive", "send"] {
            if path.starts_with(&format!("{module}/")) {
                *found.entry(module).or_default() +=
                    structs.iter().map(|one| one.open).sum::<usize>();
            }
        }
    }
    let found: Vec<_> = found.into_iter().filter(|(_, open)| *open > 0).collect();
    assert_eq!(found, KNOWN_OPEN, "a field that was opened is to be a method");
}
