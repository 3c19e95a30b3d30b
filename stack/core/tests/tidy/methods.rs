//! Files that belong to one struct, and whose methods call each other.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::imports::{Module, circles, module};

/// What methods of one file call on the struct that they belong to: as `self`, or by the name that others give it.
struct Calls<'a> {
    receivers: [&'a str; 2],
    found: BTreeSet<String>,
}

impl Visit<'_> for Calls<'_> {
    fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
        if let syn::Expr::Path(path) = &*call.receiver
            && self.receivers.iter().any(|receiver| path.path.is_ident(receiver))
        {
            self.found.insert(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// The `impl`s of a struct itself, not of traits for it.
fn own_impls<'a>(file: &'a syn::File, name: &'a str) -> impl Iterator<Item = &'a syn::ItemImpl> {
    file.items.iter().filter_map(move |item| match item {
        syn::Item::Impl(item) if item.trait_.is_none() => match &*item.self_ty {
            syn::Type::Path(path) if path.path.is_ident(name) => Some(item),
            _ => None,
        },
        _ => None,
    })
}

/// Which files call methods of which others, of those with an `impl` of a struct.
fn calls(
    files: &[(Module, syn::File)],
    name: &str,
    receiver: &str,
) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut homes = BTreeMap::new();
    let mut called = BTreeMap::new();
    for (module, file) in files {
        let mut calls = Calls { receivers: ["self", receiver], found: BTreeSet::new() };
        for item in own_impls(file, name) {
            for member in &item.items {
                if let syn::ImplItem::Fn(method) = member {
                    homes.insert(method.sig.ident.to_string(), module);
                }
            }
            calls.visit_item_impl(item);
        }
        called.insert(module.clone(), calls.found);
    }
    let of = |(module, called): (&Module, &BTreeSet<String>)| {
        let mut used: BTreeSet<Module> =
            called.iter().filter_map(|call| homes.get(call)).map(|home| (*home).clone()).collect();
        // A file and what lies in the folder of its name are one thing; the root holds the struct.
        used.retain(|other| !other.starts_with(module) && !module.starts_with(other));
        (module.clone(), used)
    };
    called.iter().map(of).collect()
}

#[test]
fn files_of_the_sending_half_do_not_call_each_other_in_circles() {
    let mut sources = super::sources();
    sources.retain(|source| source.name.starts_with("core/src/send/") && !source.is_test());
    let parse = |source: &super::Source| {
        let path = &source.name["core/src/".len()..];
        (module(path), syn::parse_file(&source.text).expect("the core compiles"))
    };
    let files: Vec<(Module, syn::File)> = sources.iter().map(parse).collect();
    let calls = calls(&files, "Sender", "sender");
    let all: usize = calls.values().map(BTreeSet::len).sum();
    assert!(all > 10, "looked at the wrong methods");
    let found: Vec<String> = circles(&calls)
        .iter()
        .map(|circle| circle.iter().map(|m| m.join("/")).collect::<Vec<_>>().join(" "))
        .collect();
    assert!(found.is_empty(), "what two files need of each other belongs to a third: {found:?}");
}

#[test]
fn a_circle_of_calls_is_found() {
    let file = |name: &str, text: &str| (vec![name.to_owned()], syn::parse_str(text).unwrap());
    let there = "impl S { fn a(&self) { if true { self.b(); } } }";
    let files = [file("one", there), file("two", "impl S { fn b(s: &S) { s.a(); } }")];
    assert_eq!(circles(&calls(&files, "S", "s")).len(), 1);
    let back = [file("one", there), file("two", "impl S { fn b(s: &S) { s.c(); } }")];
    assert!(circles(&calls(&back, "S", "s")).is_empty());
}
