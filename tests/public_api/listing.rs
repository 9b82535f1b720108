//! Walks through the modules of a crate, and lists what other crates can name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::TokenTree;
use syn::{Fields, ImplItem, Item, TraitItem, UseTree};

use crate::tokens::{
    attributes, is_listed, is_public_to_all, is_shown, name_and_visibility, name_of_type,
    signature, tidy,
};

/// A module with what a listing needs of it.
struct Module {
    is_public: bool,
    items: Vec<Item>,
}

pub(crate) struct Listing {
    krate: String,
    /// The modules of the crate by path, such as `tfrc::loss::average`.
    modules: BTreeMap<String, Module>,
    /// The implementations of each type by its name, which is unique in the crate.
    impls: BTreeMap<String, Vec<syn::ItemImpl>>,
    /// The names of traits and types that no other crate can name.
    private: BTreeSet<String>,
    lines: BTreeSet<String>,
}

impl Listing {
    /// Returns one line for each public item of the crate whose `lib.rs` is `file`.
    pub(crate) fn of(krate: &str, file: &Path) -> BTreeSet<String> {
        let mut listing = Self {
            krate: krate.to_owned(),
            modules: BTreeMap::new(),
            impls: BTreeMap::new(),
            private: BTreeSet::new(),
            lines: BTreeSet::new(),
        };
        let folder = file.parent().expect("a file is in a folder").to_owned();
        listing.read(krate.to_owned(), true, parse(file), &folder);
        let paths: Vec<_> = listing.modules.keys().cloned().collect();
        for path in paths {
            if listing.is_public(&path) {
                listing.list_module(&path);
            }
        }
        listing.lines
    }

    /// Reads a module and those below it; `folder` has the files of its children.
    fn read(&mut self, path: String, is_public: bool, items: Vec<Item>, folder: &Path) {
        let items: Vec<_> = items.into_iter().filter(is_listed).collect();
        for item in &items {
            if let Some((name, vis)) = name_and_visibility(item)
                && !is_public_to_all(vis)
            {
                self.private.insert(name);
            }
            match item {
                Item::Impl(item) => {
                    let name = name_of_type(&item.self_ty);
                    self.impls.entry(name).or_default().push(item.clone());
                }
                Item::Mod(item) => {
                    let (name, is_public) = (item.ident.to_string(), is_public_to_all(&item.vis));
                    let items = match &item.content {
                        Some((_, items)) => items.clone(),
                        None => parse(&file_of(folder, &name)),
                    };
                    self.read(
                        format!("{path}::{name}"),
                        is_public,
                        items,
                        &folder.join(name),
                    );
                }
                _ => {}
            }
        }
        self.modules.insert(path, Module { is_public, items });
    }

    /// True if other crates can name the module.
    fn is_public(&self, path: &str) -> bool {
        let parent = path.rsplit_once("::").map(|(parent, _)| parent);
        self.modules[path].is_public && parent.is_none_or(|parent| self.is_public(parent))
    }

    fn list_module(&mut self, path: &str) {
        for item in self.modules[path].items.clone() {
            match &item {
                Item::Use(item) if is_public_to_all(&item.vis) => {
                    self.list_uses(path, &item.tree, &[]);
                }
                _ if name_and_visibility(&item).is_some_and(|(_, vis)| is_public_to_all(vis)) => {
                    self.list_item(path, &item);
                }
                _ => {}
            }
        }
    }

    /// Lists what `pub use` names in the module `path`.
    fn list_uses(&mut self, path: &str, tree: &UseTree, prefix: &[String]) {
        match tree {
            UseTree::Path(tree) => {
                let prefix = [prefix, &[tree.ident.to_string()]].concat();
                self.list_uses(path, &tree.tree, &prefix);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.list_uses(path, tree, prefix);
                }
            }
            UseTree::Name(name) => self.list_use(path, prefix, &name.ident.to_string()),
            UseTree::Rename(_) | UseTree::Glob(_) => {
                panic!("{path}: `pub use` of a glob or with `as` hides what is public")
            }
        }
    }

    fn list_use(&mut self, path: &str, prefix: &[String], name: &str) {
        let source = match prefix[0].as_str() {
            "crate" => [std::slice::from_ref(&self.krate), &prefix[1..]]
                .concat()
                .join("::"),
            _ => format!("{path}::{}", prefix.join("::")),
        };
        let Some(module) = self.modules.get(&source) else {
            let from = prefix.join("::");
            self.add(format!("{path}::{name}: use {from}::{name}"));
            return;
        };
        if self.is_public(&source) {
            self.add(format!("{path}::{name}: use {source}::{name}"));
            return;
        }
        let items = module.items.clone();
        for item in &items {
            match item {
                Item::Use(item) => {
                    // A private module takes the item from one of its own modules.
                    if let Some(below) = path_to(&item.tree, name, &[]) {
                        self.list_use(path, &[prefix, &below].concat(), name);
                        return;
                    }
                }
                _ if name_and_visibility(item).is_some_and(|(ident, _)| ident == name) => {
                    self.list_item(path, item);
                    return;
                }
                _ => {}
            }
        }
        let mut macros = items.iter().filter_map(|item| match item {
            Item::Macro(item) if item.ident.is_none() => Some(item),
            _ => None,
        });
        let item = macros
            .next()
            .unwrap_or_else(|| panic!("{source}::{name} is not found"));
        let rule = tidy(&item.mac.path);
        self.add(format!("{path}::{name}: enum by {rule}!"));
        let tokens: Vec<_> = item.mac.tokens.clone().into_iter().collect();
        for pair in tokens.windows(2) {
            if let [TokenTree::Ident(variant), TokenTree::Punct(arrow)] = pair
                && arrow.as_char() == '='
            {
                self.add(format!("{path}::{name}::{variant}: variant"));
            }
        }
    }

    fn add(&mut self, line: String) {
        self.lines.insert(line);
    }

    /// Lists an item as part of the module `path`, and what belongs to it.
    fn list_item(&mut self, path: &str, item: &Item) {
        let Some((name, _)) = name_and_visibility(item) else {
            return;
        };
        let path = format!("{path}::{name}");
        let text = match item {
            Item::Const(item) => format!("const {}: {}", item.ident, tidy(&item.ty)),
            Item::Fn(item) => signature(&item.sig),
            Item::Mod(_) => "mod".to_owned(),
            Item::Type(item) => format!("type {} = {}", item.ident, tidy(&item.ty)),
            Item::Trait(item) => {
                for member in &item.items {
                    if let TraitItem::Fn(member) = member {
                        let line =
                            format!("{path}::{}: {}", member.sig.ident, signature(&member.sig));
                        self.add(line);
                    }
                }
                format!("trait {name}")
            }
            Item::Struct(item) => {
                self.list_fields(&path, &item.fields, false);
                format!(
                    "{}struct {name}{}",
                    attributes(&item.attrs),
                    tidy(&item.generics)
                )
            }
            Item::Enum(item) => {
                for variant in &item.variants {
                    let path = format!("{path}::{}", variant.ident);
                    self.list_fields(&path, &variant.fields, true);
                    self.add(format!("{path}: variant"));
                }
                format!(
                    "{}enum {name}{}",
                    attributes(&item.attrs),
                    tidy(&item.generics)
                )
            }
            _ => panic!("{path}: this kind of item is not listed yet"),
        };
        self.add(format!("{path}: {text}"));
        for item in self.impls.get(&name).cloned().unwrap_or_default() {
            self.list_impl(&path, &item);
        }
    }

    fn list_fields(&mut self, path: &str, fields: &Fields, are_all_public: bool) {
        for (index, field) in fields.iter().enumerate() {
            if are_all_public || is_public_to_all(&field.vis) {
                let name = field
                    .ident
                    .as_ref()
                    .map_or(index.to_string(), ToString::to_string);
                self.add(format!("{path}::{name}: {}", tidy(&field.ty)));
            }
        }
    }

    fn list_impl(&mut self, path: &str, item: &syn::ItemImpl) {
        if let Some((_, of, _)) = &item.trait_ {
            let of = tidy(of);
            let mut names = of.split(|c: char| !c.is_alphanumeric());
            if !names.any(|name| self.private.contains(name)) {
                self.add(format!("{path}: impl {of} for {}", tidy(&item.self_ty)));
            }
            return;
        }
        for member in &item.items {
            let line = match member {
                ImplItem::Fn(member) if is_shown(&member.vis, &member.attrs) => {
                    let must_use = attributes(&member.attrs);
                    let text = signature(&member.sig);
                    format!("{path}::{}: {must_use}{text}", member.sig.ident)
                }
                ImplItem::Const(member) if is_shown(&member.vis, &member.attrs) => {
                    format!("{path}::{}: const: {}", member.ident, tidy(&member.ty))
                }
                _ => continue,
            };
            self.add(line);
        }
    }
}

fn parse(file: &Path) -> Vec<Item> {
    let text = fs::read_to_string(file);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    syn::parse_file(&text).expect("sources are Rust").items
}

fn file_of(folder: &Path, module: &str) -> PathBuf {
    let files = [format!("{module}.rs"), format!("{module}/mod.rs")].map(|file| folder.join(file));
    files
        .into_iter()
        .find(|file| file.exists())
        .expect("the file of a module")
}

/// The modules that a tree of `use` passes on its way to `name`.
fn path_to(tree: &UseTree, name: &str, prefix: &[String]) -> Option<Vec<String>> {
    match tree {
        UseTree::Path(tree) => path_to(
            &tree.tree,
            name,
            &[prefix, &[tree.ident.to_string()]].concat(),
        ),
        UseTree::Group(group) => group
            .items
            .iter()
            .find_map(|tree| path_to(tree, name, prefix)),
        UseTree::Name(tree) => (tree.ident == name).then(|| prefix.to_vec()),
        UseTree::Rename(_) | UseTree::Glob(_) => None,
    }
}
