//! How large the structs of the core are, and how open.

/// Fields of a struct at most.
const MAX_FIELDS: usize = 15;

/// Those that a user fills in or reads, settings and counters, may have as many as the list of what there is.
const LISTS: [&str; 3] = ["AssociationConfig", "PathStats", "Profile"];

/// What is put together of parts that are closed, and shows some of them.
const MADE_OF_PARTS: [&str; 1] = ["Association"];

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

/// A struct that is open as a whole is passed on and read, or put together of parts. One that keeps something to
/// itself shows nothing but by its methods.
#[test]
fn structs_are_open_or_closed() {
    let mut found = Vec::new();
    for (path, structs) in core() {
        for one in structs.iter().filter(|one| one.open > 0 && one.open < one.fields) {
            if !MADE_OF_PARTS.contains(&one.name.as_str()) {
                found.push(format!("{path} {} {} of {}", one.name, one.open, one.fields));
            }
        }
    }
    assert!(found.is_empty(), "a field that is open is to be a method:\n{}", found.join("\n"));
}
