//! Types whose methods are spread over several files: which of these files call methods of each other.
//!
//! Imports do not show that: a method of the type itself is called without one.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::imports::{self, Module, Uses};

/// Types whose methods are in more than [`MANY_FILES`] files, and how many they have, exactly. More of them need a
/// reason: what has state of its own is a struct with closed fields, which never sees the one that it is a part of (docs/adr/0020,
/// 0022).
const MOST_METHODS: [(&str, usize); 13] = [
    ("AddressChanges", 25),
    ("Association", 154),
    ("Bbr", 44),
    ("Context", 35),
    ("Endpoint", 67),
    ("Inbound", 50),
    ("Interleaved", 54),
    ("Receiver", 63),
    ("Reconfiguration", 40),
    ("Roll", 56),
    ("Scoreboard", 85),
    ("SendQueue", 56),
    ("Sender", 86),
];
const MANY_FILES: usize = 3;

/// A type, by the top module that it is in, and its name.
type Type = (String, String);

/// One method: where it is, and the methods of its own type that it calls.
struct Method {
    module: Module,
    name: String,
    calls: BTreeSet<String>,
}

/// The calls in a method that are made on `self`, on the type, or on a variable that is named like it.
struct Calls<'a> {
    name: &'a str,
    variable: String,
    found: BTreeSet<String>,
}

impl Visit<'_> for Calls<'_> {
    fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
        if let syn::Expr::Path(receiver) = &*call.receiver
            && receiver.path.get_ident().is_some_and(|on| on == "self" || *on == self.variable)
        {
            self.found.insert(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &syn::ExprPath) {
        let names: Vec<String> = path.path.segments.iter().map(|s| s.ident.to_string()).collect();
        if let [on, method] = &names[..]
            && (on == "Self" || on == self.name)
        {
            self.found.insert(method.clone());
        }
        visit::visit_expr_path(self, path);
    }
}

/// `SendQueue` as a variable.
fn variable(name: &str) -> String {
    let mut found = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            found.push('_');
        }
        found.extend(letter.to_lowercase());
    }
    found
}

/// The inherent methods of the types of one file.
fn read(module: &Module, text: &str, found: &mut BTreeMap<Type, Vec<Method>>) {
    let file = syn::parse_file(text).expect("the core compiles");
    for item in &file.items {
        let syn::Item::Impl(item) = item else { continue };
        let syn::Type::Path(of) = &*item.self_ty else { continue };
        let (None, Some(name)) = (&item.trait_, of.path.segments.last()) else { continue };
        let name = name.ident.to_string();
        let top = module.first().map_or("", |top| top);
        let methods = found.entry((top.to_owned(), name.clone())).or_default();
        for item in &item.items {
            let syn::ImplItem::Fn(method) = item else { continue };
            let variable = variable(&name);
            let mut calls = Calls { name: &name, variable, found: BTreeSet::new() };
            calls.visit_block(&method.block);
            let (module, name) = (module.clone(), method.sig.ident.to_string());
            methods.push(Method { module, name, calls: calls.found });
        }
    }
}

/// All types of the core with their methods.
fn core() -> BTreeMap<Type, Vec<Method>> {
    let mut found = BTreeMap::new();
    for source in super::sources().iter().filter(|source| !source.is_test()) {
        if let Some(path) = source.name.strip_prefix("core/src/") {
            read(&imports::module(path), &source.text, &mut found);
        }
    }
    found
}

/// Which files of one type call methods of which others.
fn calls(methods: &[Method]) -> Uses {
    let mut owners: BTreeMap<&str, &Module> = BTreeMap::new();
    for method in methods {
        owners.insert(&method.name, &method.module);
    }
    let mut uses = Uses::new();
    for method in methods {
        let used = uses.entry(method.module.clone()).or_default();
        for call in &method.calls {
            let Some(other) = owners.get(&call[..]).filter(|other| **other != &method.module)
            else {
                continue;
            };
            let place = || format!("{} in {} calls {call}", method.name, method.module.join("/"));
            used.entry((*other).clone()).or_insert_with(place);
        }
    }
    uses
}

#[test]
fn chapters_of_a_type_do_not_call_each_other_in_circles() {
    let mut found = Vec::new();
    for ((_, name), methods) in core() {
        let uses = calls(&methods);
        for circle in imports::circles(&uses) {
            let edges: Vec<&str> = imports::edges(&circle, &uses).map(String::as_str).collect();
            found.push(format!("{name}:\n  {}", edges.join("\n  ")));
        }
    }
    assert!(
        found.is_empty(),
        "a method that both need is on the value that it is about, or in a file below both:\n{}",
        found.join("\n")
    );
}

#[test]
fn types_of_many_files_have_few_methods() {
    let mut found = Vec::new();
    for ((_, name), methods) in core() {
        let files: BTreeSet<&Module> = methods.iter().map(|method| &method.module).collect();
        let bound = MOST_METHODS.iter().find(|(of, _)| *of == name).map(|(_, most)| *most);
        let is_bounded = bound.is_some() || files.len() <= MANY_FILES;
        if !is_bounded || bound.is_some_and(|most| methods.len() != most) {
            let allowed = bound.map_or("chapters.rs has no bound".to_owned(), |most| {
                format!("MOST_METHODS of chapters.rs says {most}")
            });
            let count = |file: &Module| methods.iter().filter(|one| one.module == *file).count();
            let each = files.iter().map(|file| format!("{} {}", file.join("/"), count(file)));
            let each: Vec<String> = each.collect();
            let (methods, files) = (methods.len(), files.len());
            found.push(format!(
                "{name}: {methods} methods in {files} files; {allowed} ({})",
                each.join(", ")
            ));
        }
    }
    assert!(
        found.is_empty(),
        "a method belongs to the value that it is about (docs/adr/0022), and a bound falls with the methods:\n{}",
        found.join("\n")
    );
}

#[test]
fn circles_are_seen() {
    let mut found = BTreeMap::new();
    let texts = [
        ("a", "impl House { fn cook(&self) { self.wash(); } }"),
        ("a/b", "impl House { fn wash(&self) { House::eat(self) } fn sleep(&self) {} }"),
        ("a/c", "impl House { fn eat(&self) { self.cook(); self.sleep() } }"),
        ("a/d", "impl House { fn live(house: House) { house.eat() } }"),
        ("a/e", "impl Garden { fn eat(&self) { self.live() } fn live(&self) {} }"),
    ];
    for (path, text) in texts {
        read(&imports::module(path), text, &mut found);
    }
    let house = &found[&("a".to_owned(), "House".to_owned())];
    let names = |circle: &BTreeSet<Module>| {
        circle.iter().map(|module| module.join("/")).collect::<Vec<_>>()
    };
    let uses = calls(house);
    let circles = imports::circles(&uses);
    assert_eq!(circles.iter().map(names).collect::<Vec<_>>(), [["a", "a/b", "a/c"]]);
    let edges: Vec<&str> = imports::edges(&circles[0], &uses).map(String::as_str).collect();
    assert_eq!(
        edges,
        [
            "cook in a calls wash",
            "wash in a/b calls eat",
            "eat in a/c calls cook",
            "eat in a/c calls sleep"
        ]
    );
}
