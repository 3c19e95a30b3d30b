//! The page: that its files are there, ask for nothing else, and look like the others.

use std::collections::BTreeMap;

use tresse_playground::folder;

fn files() -> BTreeMap<&'static str, String> {
    folder::files(b"\0asm").into_iter().collect()
}

#[test]
fn what_the_page_asks_for_is_in_the_folder() {
    let files = files();
    let page = &files["index.html"];
    let mut asked = vec!["index.html"];
    for attribute in ["src=\"", "href=\""] {
        let targets = page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
        asked.extend(targets.filter(|target| *target != "data:,"));
    }
    asked.sort_unstable();
    assert_eq!(asked, files.keys().copied().collect::<Vec<_>>());
    assert_eq!(files["module.js"], "window.TRESSE_MODULE = \"AGFzbQ==\";\n");
}

#[test]
fn nothing_is_asked_of_a_network() {
    for (name, text) in files() {
        let plain = text.replace("http://www.w3.org/2000/svg", "");
        for way in ["http:", "https:", "fetch(", "XMLHttpRequest", "WebSocket", "url(", "@import"] {
            assert!(!plain.contains(way), "{name}: {way}");
        }
    }
}

#[test]
fn its_scripts_are_short_files() {
    for (name, text) in files() {
        assert!(text.lines().count() <= 500, "{name}");
    }
}

#[test]
fn its_colours_are_those_of_the_pages_of_results() {
    // A published crate has no neighbour.
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/src/page.css");
    let pages = std::fs::read_to_string(pages).unwrap();
    let colours = |css: &str| -> Vec<String> {
        let line = |line: &&str| line.starts_with("--ground:") || line.starts_with("--accent:");
        css.lines().map(str::trim).filter(line).map(str::to_owned).collect()
    };
    let expected = colours(&pages);
    assert_eq!(expected.len(), 4);
    assert_eq!(colours(&files()["playground.css"]), expected);
}
