//! Plots on dark displays.

const CSS: &str = include_str!("page.css");

/// What a page has for plots on dark displays, for a plot alone.
pub(crate) fn style() -> String {
    let parts = [".plot svg [", ".plot svg text"];
    let rules = CSS.lines().map(str::trim).filter(|line| parts.iter().any(|p| line.starts_with(p)));
    let rules: Vec<String> = rules.map(|rule| rule.replace(".plot svg ", "")).collect();
    format!("<style>\n@media (prefers-color-scheme: dark) {{\n{}\n}}\n</style>\n", rules.join("\n"))
}
