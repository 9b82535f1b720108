//! Writes the syntax of Rust as text on one line.

use quote::ToTokens;
use syn::{Attribute, Item, Signature, Visibility};

pub(crate) fn name_and_visibility(item: &Item) -> Option<(String, &Visibility)> {
    let (ident, vis) = match item {
        Item::Const(item) => (&item.ident, &item.vis),
        Item::Enum(item) => (&item.ident, &item.vis),
        Item::Fn(item) => (&item.sig.ident, &item.vis),
        Item::Mod(item) => (&item.ident, &item.vis),
        Item::Static(item) => (&item.ident, &item.vis),
        Item::Struct(item) => (&item.ident, &item.vis),
        Item::Trait(item) => (&item.ident, &item.vis),
        Item::Type(item) => (&item.ident, &item.vis),
        Item::Union(item) => (&item.ident, &item.vis),
        _ => return None,
    };
    Some((ident.to_string(), vis))
}

pub(crate) fn name_of_type(ty: &syn::Type) -> String {
    match ty {
        syn::Type::Path(path) => path.path.segments.last().map(|it| it.ident.to_string()),
        syn::Type::Reference(reference) => Some(name_of_type(&reference.elem)),
        _ => None,
    }
    .unwrap_or_default()
}

pub(crate) fn is_public_to_all(vis: &Visibility) -> bool {
    matches!(vis, Visibility::Public(_))
}

pub(crate) fn is_shown(vis: &Visibility, attributes: &[Attribute]) -> bool {
    is_public_to_all(vis) && !attributes.iter().any(is_hidden)
}

/// Tests and hidden items belong to no listing.
fn is_hidden(attribute: &Attribute) -> bool {
    let text = tidy(attribute);
    text == "#[cfg(test)]" || text == "#[doc(hidden)]"
}

pub(crate) fn is_listed(item: &Item) -> bool {
    let attributes = match item {
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return true,
    };
    !attributes.iter().any(is_hidden)
}

/// The attributes that a caller notices.
pub(crate) fn attributes(all: &[Attribute]) -> String {
    let noticed = ["derive", "must_use", "non_exhaustive"];
    let shown = all
        .iter()
        .filter(|it| noticed.iter().any(|name| it.path().is_ident(name)));
    shown.map(|it| tidy(it) + " ").collect()
}

/// The signature without the names of patterns such as `mut`.
pub(crate) fn signature(signature: &Signature) -> String {
    tidy(signature)
        .replace("(mut ", "(")
        .replace(", mut ", ", ")
}

/// The tokens as rustfmt would space them on one line, nearly.
pub(crate) fn tidy(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for tight in ["::", "<", "(", "[", "&", "#", "!", "'"] {
        text = text.replace(&format!("{tight} "), tight);
    }
    for tight in ["::", "<", ">", "(", ")", "]", ",", ":", ";", "!"] {
        text = text.replace(&format!(" {tight}"), tight);
    }
    for (rough, smooth) in [
        ("->", " -> "),
        ("  ", " "),
        (",)", ")"),
        (",>", ">"),
        (":(", ": ("),
    ] {
        text = text.replace(rough, smooth);
    }
    text.trim().to_owned()
}
