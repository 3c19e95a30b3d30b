//! Which file of a crate uses which, read from its `use` items and from the paths in its code.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

/// A module, by the names from the crate's root to it; the root is empty.
pub(crate) type Module = Vec<String>;

/// One file of a crate, as far as imports go.
#[derive(Default)]
struct File {
    /// Paths that the code names, from the root of the crate.
    paths: BTreeSet<Vec<String>>,
    /// Those that it only hands on: `pub use`.
    handed_on: BTreeSet<Vec<String>>,
    /// Traits of which it holds some implementation: `dyn Trait`.
    objects: BTreeSet<String>,
    /// Traits that it implements.
    implements: BTreeSet<String>,
    /// Traits that it declares.
    declares: BTreeSet<String>,
    /// Names that `use` brings in, and the paths that they stand for.
    names: BTreeMap<String, Vec<String>>,
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

struct Reader<'a> {
    module: &'a [String],
    file: File,
}

impl Reader<'_> {
    /// The path from the root of the crate, if it is one within the crate.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (self.module, &path[1..]),
            "super" => (&self.module[..self.module.len().checked_sub(ups)?], &path[ups..]),
            _ => return None,
        };
        Some(base.iter().chain(rest).cloned().collect())
    }

    /// The words of a macro's input, which is no code yet: `crate :: path :: PathId` as well as what else stands there.
    fn read_tokens(&mut self, tokens: &str) {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        // What it documents, and other text, is no code.
        let escaped = tokens.replace("\\\\", "").replace("\\\"", "");
        let code: Vec<&str> = escaped.split('"').step_by(2).collect();
        let code = code.join(" \" ");
        let joined = code.replace(" :: ", "::").replace(":: ", "::").replace(" ::", "::");
        for run in joined.split(|c: char| !is_part(c) && c != ':') {
            let names: Vec<String> =
                run.split("::").filter(|name| !name.is_empty()).map(String::from).collect();
            if let Some(path) = self.absolute(&names) {
                self.file.paths.insert(path);
            }
        }
    }

    fn read_use(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| {
            before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>()
        };
        match tree {
            syn::UseTree::Path(path) => self.read_use(&with(&path.ident), &path.tree),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.read_use(before, tree));
            }
            syn::UseTree::Name(name) => self.import(&with(&name.ident), &name.ident.to_string()),
            syn::UseTree::Rename(name) => {
                self.import(&with(&name.ident), &name.rename.to_string());
            }
            syn::UseTree::Glob(_) => self.import(before, "*"),
        }
    }

    fn import(&mut self, path: &[String], name: &str) {
        // A name without a prefix is a child's (`pub use child::Item`), or of another crate.
        let path = self
            .absolute(path)
            .unwrap_or_else(|| self.module.iter().chain(path).cloned().collect());
        self.file.names.insert(name.to_owned(), path.clone());
        self.file.paths.insert(path);
    }
}

impl Visit<'_> for Reader<'_> {
    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            let before = self.file.paths.clone();
            self.read_use(&[], &item.tree);
            if !matches!(item.vis, syn::Visibility::Inherited) {
                let handed_on = self.file.paths.difference(&before).cloned();
                self.file.handed_on.extend(handed_on);
            }
        }
    }

    /// `pub(super)` uses nothing.
    fn visit_visibility(&mut self, _: &syn::Visibility) {}

    fn visit_macro(&mut self, item: &syn::Macro) {
        // What a macro makes of its input belongs to those who call it.
        if !item.path.is_ident("macro_rules") {
            self.read_tokens(&item.tokens.to_string());
        }
        visit::visit_macro(self, item);
    }

    fn visit_type_trait_object(&mut self, object: &syn::TypeTraitObject) {
        for bound in &object.bounds {
            if let syn::TypeParamBound::Trait(bound) = bound
                && let Some(name) = bound.path.segments.last()
            {
                self.file.objects.insert(name.ident.to_string());
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
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|name| name.ident.to_string()).collect();
        if let Some(path) = self.absolute(&names) {
            self.file.paths.insert(path);
        }
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
        let mut reader = Reader { module: &module, file: File::default() };
        reader.visit_file(&syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}")));
        let file = reader.file;
        files.insert(module, file);
    }
    files
}

/// Which file uses which others, for the files of one crate: (path below `src/`, text).
pub(crate) fn uses(sources: &[(&str, &str)]) -> BTreeMap<Module, BTreeSet<Module>> {
    let files = read(sources);
    let used = |file: &File| file.paths.iter().filter_map(|path| owner(path, &files)).collect();
    let mut uses: BTreeMap<Module, BTreeSet<Module>> =
        files.iter().map(|(module, file)| (module.clone(), used(file))).collect();
    for (module, used) in &mut uses {
        used.remove(module);
    }
    uses
}

/// The same, and which files may call which others through a trait: who holds a `dyn Trait` calls its implementations. What
/// a file only hands on it does not use.
pub(crate) fn calls(sources: &[(&str, &str)]) -> BTreeMap<Module, BTreeSet<Module>> {
    let files = read(sources);
    let of = |module: &Module, file: &File| {
        let own = file.paths.difference(&file.handed_on);
        let mut used: BTreeSet<Module> = own.filter_map(|path| owner(path, &files)).collect();
        let objects = file.objects.difference(&file.declares);
        for object in objects {
            let implementers = files.iter().filter(|(_, file)| file.implements.contains(object));
            used.extend(implementers.map(|(module, _)| module.clone()));
        }
        used.remove(module);
        used
    };
    files.iter().map(|(module, file)| (module.clone(), of(module, file))).collect()
}

/// Groups of files that use each other, directly or through others.
pub(crate) fn circles(uses: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reachable: BTreeMap<&Module, BTreeSet<&Module>> = uses
        .keys()
        .map(|start| {
            let mut found = BTreeSet::new();
            let mut open: Vec<&Module> = vec![start];
            while let Some(module) = open.pop() {
                open.extend(uses[module].iter().filter(|next| found.insert(*next)));
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
