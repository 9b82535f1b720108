//! `docs/api` lists the public items of the crates for other projects, so that a change of them shows in a review.

mod listing;
mod tokens;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use listing::Listing;

#[test]
fn public_api_of_tfrc_is_the_listed_one() {
    check("tfrc", "crates/tfrc");
}

#[test]
fn public_api_of_rtp_is_the_listed_one() {
    check("evenkeel_rtp", "crates/rtp");
}

fn check(krate: &str, folder: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listing = root.join(format!("docs/{}.txt", folder.replace("crates", "api")));
    let text: String = Listing::of(krate, &root.join(folder).join("src/lib.rs"))
        .iter()
        .flat_map(|line| [line.as_str(), "\n"])
        .collect();
    if std::env::var_os("UPDATE_API").is_some() {
        fs::write(&listing, &text).expect("the listing can be written");
    }
    let listed = fs::read_to_string(&listing).unwrap_or_default();
    let [old, new] = [&listed, &text].map(|text| text.lines().collect::<BTreeSet<_>>());
    let removed = old.difference(&new).map(|line| format!("- {line}\n"));
    let added = new.difference(&old).map(|line| format!("+ {line}\n"));
    let changes: String = removed.chain(added).collect();
    assert!(
        listed == text,
        "the public items differ from {}:\n{changes}\
         if this is intended, renew the listing: UPDATE_API=1 cargo test --test public_api",
        listing.display()
    );
}
