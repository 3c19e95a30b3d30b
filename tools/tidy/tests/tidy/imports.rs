//! Which file of a crate uses which, read from its `use` items and from the paths in its code.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Punct, Spacing, Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// A module, by the names from the crate's root to it; the root is empty.
pub(crate) type Module = Vec<String>;

/// What is named by some code: a path from the root of the crate, and the first line where it stands.
type Paths = BTreeMap<Vec<String>, usize>;

/// Which file uses which others, and how each is named there first: `send/gate.rs:12 names path::Path`.
pub(crate) type Uses = BTreeMap<Module, BTreeMap<Module, String>>;

/// One file of a crate, as far as imports go.
#[derive(Default)]
struct File {
    /// Its path below `src/`.
    path: String,
    /// What its code names.
    used: Paths,
    /// What it hands on: `pub use`.
    handed_on: Paths,
    /// Traits of which it holds some implementation: `dyn Trait`.
    objects: BTreeMap<String, usize>,
    /// Traits that it implements.
    implements: BTreeSet<String>,
    /// Traits that it declares.
    declares: BTreeSet<String>,
    /// Names that `use` brings in, and the paths that they stand for.
    names: BTreeMap<String, Vec<String>>,
    /// Words at the beginning of paths: names of imports among them.
    words: BTreeSet<String>,
}

/// The module of a file, by its path below `src/`.
pub(crate) fn module(path: &str) -> Module {
    let mut names: Module = path.trim_end_matches(".rs").split('/').map(String::from).collect();
    if names.last().is_some_and(|name| matches!(name.as_str(), "mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

struct Reader {
    /// Where the code stands; modules within a file are below that of the file.
    module: Module,
    file: File,
}

impl Reader {
    /// The path from the root of the crate. What has no prefix is a child's (`child::Item`), or of another crate.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (&self.module[..], &path[1..]),
            "super" => (&self.module[..self.module.len().checked_sub(ups)?], &path[ups..]),
            _ => (&self.module[..], path),
        };
        Some(base.iter().chain(rest).cloned().collect())
    }

    fn read_path(&mut self, path: &[String], span: Span) {
        // A single word in lower case is a variable; functions are those that are called.
        if path.len() > 1 || path[0].starts_with(char::is_uppercase) {
            self.file.words.insert(path[0].clone());
        }
        if path.len() > 1
            && let Some(path) = self.absolute(path)
        {
            self.file.used.entry(path).or_insert(span.start().line);
        }
    }

    /// The paths in a macro's input or body, which is no code yet. `super` in a body is that of those who call the macro.
    fn read_tokens(&mut self, tokens: TokenStream, is_body: bool) {
        let mut path: Vec<proc_macro2::Ident> = Vec::new();
        let mut colons = 0;
        // What ends the last path is no part of one.
        for token in tokens.into_iter().chain([TokenTree::Punct(Punct::new(';', Spacing::Alone))]) {
            match &token {
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                TokenTree::Ident(name) if colons == 2 && !path.is_empty() => {
                    path.push(name.clone());
                    colons = 0;
                }
                _ => {
                    let names: Vec<String> = path.iter().map(ToString::to_string).collect();
                    if let Some(first) = path.first()
                        && (names[0] == "crate" || !is_body)
                    {
                        self.read_path(&names, first.span());
                    }
                    path.clear();
                    colons = 0;
                    if let TokenTree::Ident(name) = &token {
                        path.push(name.clone());
                    }
                }
            }
            if let TokenTree::Group(group) = token {
                self.read_tokens(group.stream(), is_body);
            }
        }
    }

    fn read_use(&mut self, before: &[String], tree: &syn::UseTree, is_open: bool) {
        let with = |name: &syn::Ident| {
            before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>()
        };
        let (path, name, span) = match tree {
            syn::UseTree::Path(path) => {
                return self.read_use(&with(&path.ident), &path.tree, is_open);
            }
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.read_use(before, tree, is_open));
            }
            syn::UseTree::Name(name) => {
                (with(&name.ident), name.ident.to_string(), name.ident.span())
            }
            syn::UseTree::Rename(name) => {
                (with(&name.ident), name.rename.to_string(), name.ident.span())
            }
            syn::UseTree::Glob(glob) => (before.to_vec(), "*".to_owned(), glob.star_token.spans[0]),
        };
        let Some(path) = self.absolute(&path) else { return };
        let list = if is_open { &mut self.file.handed_on } else { &mut self.file.used };
        list.entry(path.clone()).or_insert(span.start().line);
        self.file.names.insert(name, path);
    }
}

impl Visit<'_> for Reader {
    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            let is_open = !matches!(item.vis, syn::Visibility::Inherited);
            self.read_use(&[], &item.tree, is_open);
        }
    }

    /// `pub(super)` uses nothing.
    fn visit_visibility(&mut self, _: &syn::Visibility) {}

    fn visit_macro(&mut self, item: &syn::Macro) {
        self.read_tokens(item.tokens.clone(), item.path.is_ident("macro_rules"));
        visit::visit_macro(self, item);
    }

    fn visit_type_trait_object(&mut self, object: &syn::TypeTraitObject) {
        for bound in &object.bounds {
            if let syn::TypeParamBound::Trait(bound) = bound
                && let Some(name) = bound.path.segments.last()
            {
                let line = name.ident.span().start().line;
                self.file.objects.entry(name.ident.to_string()).or_insert(line);
            }
        }
        visit::visit_type_trait_object(self, object);
    }

    fn visit_item_impl(&mut self, item: &syn::ItemImpl) {
        if let Some((path, _)) = &item.trait_
            && let Some(name) = path.segments.last()
        {
            self.file.implements.insert(name.ident.to_string());
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_trait(&mut self, item: &syn::ItemTrait) {
        self.file.declares.insert(item.ident.to_string());
        visit::visit_item_trait(self, item);
    }

    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_expr_call(&mut self, call: &syn::ExprCall) {
        if let syn::Expr::Path(function) = &*call.func
            && let Some(name) = function.path.get_ident()
        {
            self.file.words.insert(name.to_string());
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|name| name.ident.to_string()).collect();
        self.read_path(&names, path.segments[0].ident.span());
        visit::visit_path(self, path);
    }
}

/// The file that holds what `path` names: re-exports are followed to where a thing is.
fn owner(path: &[String], files: &BTreeMap<Module, File>) -> Option<Module> {
    let mut path = path.to_vec();
    // A circle of re-exports does not compile, but glob imports are only followed as far as this.
    for _ in 0..8 {
        let depth = (0..=path.len()).rev().find(|depth| files.contains_key(&path[..*depth]))?;
        let (module, rest) = path.split_at(depth);
        match rest.first().and_then(|name| files[module].names.get(name)) {
            Some(target) if !target.starts_with(&path) => {
                path = target.iter().chain(&rest[1..]).cloned().collect();
            }
            _ => return Some(module.to_vec()),
        }
    }
    None
}

fn read(sources: &[(&str, &str)]) -> BTreeMap<Module, File> {
    let mut files = BTreeMap::new();
    for (path, text) in sources {
        let module = module(path);
        let file = File { path: (*path).to_owned(), ..File::default() };
        let mut reader = Reader { module: module.clone(), file };
        reader.visit_file(&syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}")));
        let mut file = reader.file;
        // What is handed on may be used as well.
        let own = file.names.iter().filter(|(name, _)| file.words.contains(*name));
        let own = own.filter_map(|(_, path)| file.handed_on.get_key_value(path));
        file.used.extend(own.map(|(path, line)| (path.clone(), *line)));
        files.insert(module, file);
    }
    files
}

/// What the paths of `file` in `paths` lead to, without itself.
fn used(
    file: &File,
    module: &Module,
    paths: &Paths,
    files: &BTreeMap<Module, File>,
) -> BTreeMap<Module, String> {
    let mut lines: Vec<(&Vec<String>, &usize)> = paths.iter().collect();
    lines.sort_by_key(|(_, line)| **line);
    let mut found = BTreeMap::new();
    for (path, line) in lines {
        if let Some(other) = owner(path, files).filter(|other| other != module) {
            let place = || format!("{}:{line} names crate::{}", file.path, path.join("::"));
            found.entry(other).or_insert_with(place);
        }
    }
    found
}

/// Which file uses which others, for the files of one crate: (path below `src/`, text).
pub(crate) fn uses(sources: &[(&str, &str)]) -> Uses {
    let files = read(sources);
    let of = |module: &Module, file: &File| {
        let mut found = used(file, module, &file.used, &files);
        found.extend(used(file, module, &file.handed_on, &files));
        found
    };
    files.iter().map(|(module, file)| (module.clone(), of(module, file))).collect()
}

/// Without what a file only hands on. If `objects`, who holds a `dyn Trait` uses its implementations too, as it may call them.
pub(crate) fn calls(sources: &[(&str, &str)], objects: bool) -> Uses {
    let files = read(sources);
    let of = |module: &Module, file: &File| {
        let mut found = used(file, module, &file.used, &files);
        for (object, line) in
            file.objects.iter().filter(|(object, _)| objects && !file.declares.contains(*object))
        {
            let place = || format!("{}:{line} calls dyn {object}", file.path);
            for (other, _) in files
                .iter()
                .filter(|(other, file)| *other != module && file.implements.contains(object))
            {
                found.entry(other.clone()).or_insert_with(place);
            }
        }
        found
    };
    files.iter().map(|(module, file)| (module.clone(), of(module, file))).collect()
}

/// Groups of files that use each other, directly or through others.
pub(crate) fn circles(uses: &Uses) -> Vec<BTreeSet<Module>> {
    let reachable: BTreeMap<&Module, BTreeSet<&Module>> = uses
        .keys()
        .map(|start| {
            let mut found = BTreeSet::new();
            let mut open: Vec<&Module> = vec![start];
            while let Some(module) = open.pop() {
                open.extend(uses[module].keys().filter(|next| found.insert(*next)));
            }
            (start, found)
        })
        .collect();
    let circle = |module: &Module| -> BTreeSet<Module> {
        let mutual = reachable[module].iter().filter(|other| reachable[*other].contains(module));
        mutual.map(|other| (*other).clone()).collect()
    };
    let circles: BTreeSet<BTreeSet<Module>> = uses.keys().map(circle).collect();
    circles.into_iter().filter(|circle| circle.len() > 1).collect()
}

/// Where files of a circle use others of it.
pub(crate) fn edges<'a>(
    circle: &'a BTreeSet<Module>,
    uses: &'a Uses,
) -> impl Iterator<Item = &'a String> {
    let used = circle.iter().flat_map(|module| &uses[module]);
    used.filter(|(other, _)| circle.contains(*other)).map(|(_, place)| place)
}
