//! Plots on dark displays.

const CSS: &str = include_str!("page.css");

/// What a page has for plots on dark displays, for a plot alone.
pub(crate) fn style() -> String {
    let parts = [".plot svg [", ".plot svg text"];
    let rules = CSS.lines().map(str::trim).filter(|line| parts.iter().any(|p| line.starts_with(p)));
    let rules: Vec<String> = rules.map(|rule| rule.replace(".plot svg ", "")).collect();
    format!("<style>\n@media (prefers-color-scheme: dark) {{\n{}\n}}\n</style>\n", rules.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg;

    /// Red, green and blue of `#RRGGBB`.
    fn parts(colour: &str) -> [f64; 3] {
        let part = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap());
        [part(1), part(3), part(5)]
    }

    /// What a stroke or a filling of this colour is on a dark display.
    fn in_the_dark(attribute: &str, colour: &str) -> String {
        let begin = format!("[{attribute}=\"{colour}\"] {{ {attribute}: ");
        let css = style();
        let rule = css.split(&begin).nth(1).and_then(|rest| rest.split(';').next());
        rule.unwrap_or(colour).to_owned()
    }

    #[test]
    fn series_can_be_told_apart_on_dark_displays() {
        let all = svg::PALETTE.map(|c| format!("#{:02X}{:02X}{:02X}", c.0, c.1, c.2));
        for attribute in ["stroke", "fill"] {
            let dark: Vec<String> =
                all.iter().map(|colour| in_the_dark(attribute, colour)).collect();
            for (n, one) in dark.iter().enumerate() {
                for other in &dark[..n] {
                    let pairs = parts(one).into_iter().zip(parts(other));
                    let apart = pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                    assert!(apart > 55.0, "{attribute}: {one} and {other} are {apart:.0} apart");
                }
            }
        }
    }
}
