//! Text inside of HTML and SVG.

/// `text` as it stands between tags and in quoted attributes.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// `text` between tags, with what stands between backquotes as code. A backquote without another one is itself.
#[must_use]
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, code, after)) =
        rest.split_once('`').and_then(|(b, r)| r.split_once('`').map(|(c, a)| (b, c, a)))
    {
        out.push_str(&escape(before));
        out.push_str("<code>");
        out.push_str(&escape(code));
        out.push_str("</code>");
        rest = after;
    }
    out.push_str(&escape(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_between_tags_does_so_no_more() {
        assert_eq!(escape("a<b & \"c\" 'd'"), "a&lt;b &amp; &quot;c&quot; &#39;d&#39;");
    }

    #[test]
    fn what_stands_between_backquotes_is_code() {
        assert_eq!(prose("see `a<b` & `c`"), "see <code>a&lt;b</code> &amp; <code>c</code>");
        assert_eq!(prose("one ` alone"), "one ` alone");
    }
}
