//! What the profile declares: tables, their parameters, and choices. Read from the macros that make structs of them.

use std::collections::{BTreeMap, BTreeSet};

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Token, braced, bracketed};

/// What its doc comment says, in one line.
fn doc(attributes: &[syn::Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(of) if of.path.is_ident("doc") => match &of.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(line), .. }) => Some(line.value()),
            _ => None,
        },
        _ => None,
    });
    lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>().join(" ")
}

/// A parameter of the profile.
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) is_switch: bool,
    /// The type, if it is neither a number nor true or false.
    pub(super) choice: Option<String>,
}

impl Parse for Parameter {
    fn parse(input: ParseStream<'_>) -> syn::Result<Parameter> {
        let doc = doc(&input.call(syn::Attribute::parse_outer)?);
        let name = input.parse::<syn::Ident>()?.to_string();
        input.parse::<Token![:]>()?;
        let ty = input.parse::<syn::Ident>()?.to_string();
        if input.peek(syn::token::Bracket) {
            let range;
            bracketed!(range in input);
            Punctuated::<syn::Expr, Token![,]>::parse_terminated(&range)?;
        }
        input.parse::<Token![=]>()?;
        let default = input.parse::<syn::Expr>()?;
        let is_zero = match &default {
            syn::Expr::Lit(literal) => match &literal.lit {
                syn::Lit::Int(number) => number.base10_parse().is_ok_and(|number: u64| number == 0),
                syn::Lit::Float(number) => {
                    number.base10_parse().is_ok_and(|number: f64| number == 0.0)
                }
                _ => false,
            },
            _ => false,
        };
        let is_number = matches!(ty.as_str(), "f64" | "u32");
        let choice = Some(ty).filter(|ty| !is_number && ty != "bool");
        Ok(Parameter { name, doc, is_switch: !is_number || is_zero, choice })
    }
}

/// What `parameters!`, or `switch!` if it has only a name, makes a struct of.
struct Group {
    name: String,
    doc: String,
    parameters: Vec<Parameter>,
}

impl Parse for Group {
    fn parse(input: ParseStream<'_>) -> syn::Result<Group> {
        let doc = doc(&input.call(syn::Attribute::parse_outer)?);
        let name = input.parse::<syn::Ident>()?.to_string();
        if input.is_empty() {
            let enabled = Parameter {
                name: "enabled".into(),
                doc: "Whether it runs. Default false.".into(),
                is_switch: true,
                choice: None,
            };
            return Ok(Group { name, doc, parameters: vec![enabled] });
        }
        let parameters;
        braced!(parameters in input);
        let parameters = Punctuated::<_, Token![,]>::parse_terminated(&parameters)?;
        Ok(Group { name, doc, parameters: parameters.into_iter().collect() })
    }
}

/// One of several values.
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) doc: String,
}

impl Variant {
    fn of(variant: &syn::Variant) -> Variant {
        Variant { name: variant.ident.to_string(), doc: doc(&variant.attrs) }
    }
}

/// What `choices!` makes an enum of.
struct Choices(String, Vec<Variant>);

impl Parse for Choices {
    fn parse(input: ParseStream<'_>) -> syn::Result<Choices> {
        input.call(syn::Attribute::parse_outer)?;
        let name = input.parse::<syn::Ident>()?.to_string();
        let variants;
        braced!(variants in input);
        let variants = Punctuated::<syn::Variant, Token![,]>::parse_terminated(&variants)?;
        Ok(Choices(name, variants.iter().map(Variant::of).collect()))
    }
}

/// What `profile!` makes the profile of: tables and their types.
struct Tables(Vec<(String, String)>);

impl Parse for Tables {
    fn parse(input: ParseStream<'_>) -> syn::Result<Tables> {
        let table = |input: ParseStream<'_>| {
            input.call(syn::Attribute::parse_outer)?;
            let name = input.parse::<syn::Ident>()?.to_string();
            input.parse::<Token![:]>()?;
            Ok((name, input.parse::<syn::Ident>()?.to_string()))
        };
        let tables = Punctuated::<_, Token![,]>::parse_terminated_with(input, table)?;
        Ok(Tables(tables.into_iter().collect()))
    }
}

/// What the profile declares.
#[derive(Default)]
pub(super) struct Profile {
    /// Tables, and what is in them.
    pub(super) tables: Vec<(String, Vec<Parameter>)>,
    /// The types of these tables.
    pub(super) types: BTreeMap<String, String>,
    /// Methods of these types, and parameters of their own that each reads: a method is another name of those.
    pub(super) methods: BTreeMap<(String, String), BTreeSet<String>>,
    /// What each table is about.
    pub(super) about: BTreeMap<String, String>,
    /// The variants of the enums.
    pub(super) choices: BTreeMap<String, Vec<Variant>>,
}

impl Profile {
    /// The table with a parameter of this name, with that, if no other one has such.
    pub(super) fn only_table_with(&self, name: &str) -> Option<(String, String)> {
        let has = |all: &[Parameter]| all.iter().any(|parameter| parameter.name == name);
        let mut tables = self.tables.iter().filter(|(_, all)| has(all));
        let (table, _) = tables.next()?;
        tables.next().is_none().then(|| (table.clone(), name.to_owned()))
    }

    pub(super) fn read<'a>(files: impl Iterator<Item = &'a str>) -> Profile {
        let mut profile = Profile::default();
        let (mut tables, mut groups) = (Vec::new(), BTreeMap::new());
        let mut methods = Vec::new();
        for file in files {
            for item in syn::parse_file(file).expect("the core compiles").items {
                match item {
                    syn::Item::Enum(item) => {
                        let variants = item.variants.iter().map(Variant::of).collect();
                        profile.choices.insert(item.ident.to_string(), variants);
                    }
                    syn::Item::Macro(item) if item.mac.path.is_ident("choices") => {
                        let Choices(name, variants) = item.mac.parse_body().expect("variants");
                        profile.choices.insert(name, variants);
                    }
                    syn::Item::Macro(item) if item.mac.path.is_ident("profile") => {
                        let Tables(found) = item.mac.parse_body().expect("names and types");
                        tables.extend(found);
                    }
                    syn::Item::Macro(item)
                        if item.mac.path.is_ident("parameters")
                            || item.mac.path.is_ident("switch") =>
                    {
                        let group: Group = item.mac.parse_body().expect("parameters");
                        groups.insert(group.name.clone(), group);
                    }
                    syn::Item::Impl(item) => {
                        let syn::Type::Path(of) = &*item.self_ty else { continue };
                        let of = of.path.get_ident().map(ToString::to_string);
                        methods.extend(of.into_iter().zip([item]));
                    }
                    _ => {}
                }
            }
        }
        for (table, ty) in tables {
            let group = groups.remove(&ty).unwrap_or_else(|| panic!("no parameters of {ty}"));
            profile.types.insert(ty, table.clone());
            profile.about.insert(table.clone(), group.doc);
            profile.tables.push((table, group.parameters));
        }
        for (ty, item) in methods {
            let Some(table) = profile.types.get(&ty) else { continue };
            for method in item.items {
                let syn::ImplItem::Fn(method) = method else { continue };
                let mut own = OwnFields::default();
                own.visit_block(&method.block);
                let name = method.sig.ident.to_string();
                profile.methods.insert((table.clone(), name), own.0);
            }
        }
        profile
    }
}

/// The fields of `self` in a method.
#[derive(Default)]
struct OwnFields(BTreeSet<String>);

impl Visit<'_> for OwnFields {
    fn visit_expr_field(&mut self, field: &syn::ExprField) {
        if let (syn::Expr::Path(of), syn::Member::Named(name)) = (&*field.base, &field.member)
            && of.path.is_ident("self")
        {
            self.0.insert(name.to_string());
        }
        visit::visit_expr_field(self, field);
    }
}
