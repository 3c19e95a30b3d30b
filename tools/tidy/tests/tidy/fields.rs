//! How large the structs of the core are, and how open.

use syn::visit::Visit;

/// Fields of a struct at most.
const MAX_FIELDS: usize = 15;

/// Those that a user fills in or reads, settings and counters, may have as many as the list of what there is.
const LISTS: [&str; 2] = ["AssociationConfig", "PathStats"];

/// What shows some of its fields, and why.
const HALF_OPEN: [(&str, &str); 2] = [
    ("Association", "is put together of parts that are closed, and shows some of them"),
    ("Outstanding", "is lent by the scoreboard, and changed by nobody else"),
];

/// A struct, or a variant of an enum.
struct Struct {
    name: String,
    fields: usize,
    /// Of these, fields that others see.
    open: usize,
    /// The names of those.
    shown: Vec<String>,
}

impl Struct {
    fn of(name: &syn::Ident, fields: &syn::Fields) -> Struct {
        let is_open = |field: &&syn::Field| !matches!(field.vis, syn::Visibility::Inherited);
        let open = || fields.iter().filter(is_open);
        let shown = open().filter_map(|field| field.ident.as_ref()).map(syn::Ident::to_string);
        Struct {
            name: name.to_string(),
            fields: fields.len(),
            open: open().count(),
            shown: shown.collect(),
        }
    }
}

/// Also those of modules within a file, and variants of enums with fields. What a macro makes is not seen.
fn structs(text: &str) -> Vec<Struct> {
    struct Found(Vec<Struct>);

    impl<'ast> Visit<'ast> for Found {
        fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
            self.0.push(Struct::of(&item.ident, &item.fields));
            syn::visit::visit_item_struct(self, item);
        }

        fn visit_variant(&mut self, variant: &'ast syn::Variant) {
            self.0.push(Struct::of(&variant.ident, &variant.fields));
            syn::visit::visit_variant(self, variant);
        }
    }

    let mut found = Found(Vec::new());
    found.visit_file(&syn::parse_file(text).expect("the core compiles"));
    found.0
}

/// The structs of the core, each with its path below `core/src/`.
fn core() -> Vec<(String, Struct)> {
    let mut found = Vec::new();
    for source in super::sources().iter().filter(|source| !source.is_test()) {
        if let Some(path) = source.name.strip_prefix("core/src/") {
            let here = structs(&source.text).into_iter();
            found.extend(here.map(|one| (path.to_owned(), one)));
        }
    }
    found
}

/// The names of `found` are the exceptions, and each of these is needed.
#[track_caller]
fn are_exceptions(found: &[(String, Struct)], exceptions: &[&str], what: &str) {
    let is_new = |one: &&(String, Struct)| !exceptions.contains(&&one.1.name[..]);
    let show = |(path, one): &(String, Struct)| {
        let (fields, open, shown) = (one.fields, one.open, one.shown.join(", "));
        format!("{path} {}: {fields} fields, {open} open: {shown}", one.name)
    };
    let new: Vec<String> = found.iter().filter(is_new).map(show).collect();
    assert!(new.is_empty(), "{what}:\n{}", new.join("\n"));
    let is_idle = |name: &&&str| !found.iter().any(|(_, one)| one.name == **name);
    let idle = exceptions.iter().find(is_idle);
    assert_eq!(idle, None, "is no exception any more: strike it in tidy/fields.rs");
}

#[test]
fn structs_of_the_core_are_small() {
    let mut found = core();
    found.retain(|(_, one)| one.fields > MAX_FIELDS);
    let what = format!("structs of more than {MAX_FIELDS} fields are to be split");
    are_exceptions(&found, &LISTS, &what);
}

/// A struct that is open as a whole is passed on and read, or put together of parts. One that keeps something to
/// itself shows nothing but by its methods.
#[test]
fn structs_are_open_or_closed() {
    let mut found = core();
    found.retain(|(_, one)| one.open > 0 && one.open < one.fields);
    are_exceptions(
        &found,
        &HALF_OPEN.map(|(name, _)| name),
        "a struct is open as a whole or closed (docs/adr/0022): make these fields private and add a method, or open all",
    );
}

#[test]
fn structs_are_seen_wherever_they_stand() {
    let text = "mod inner { pub struct Wide { a: u8, pub b: u8 } }
        struct Pair(u8, pub(crate) u8);
        enum Kind { Plain, With { a: u8, b: u8 } }";
    let seen: Vec<_> =
        structs(text).into_iter().map(|one| (one.name, one.fields, one.open)).collect();
    let expected = [("Wide", 2, 1), ("Pair", 2, 1), ("Plain", 0, 0), ("With", 2, 0)];
    assert_eq!(seen, expected.map(|(name, fields, open)| (name.to_owned(), fields, open)));
}
