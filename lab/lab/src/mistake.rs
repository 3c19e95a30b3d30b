//! A mistake in an experiment file that the types of its schema cannot catch.

use crate::keys::nearest;

/// A mistake and the key it stands at.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub(crate) key: String,
    pub(crate) message: String,
}

/// The result of a check.
pub(crate) type Checked = Result<(), Mistake>;

pub(crate) fn mistake(key: impl Into<String>, message: impl Into<String>) -> Mistake {
    Mistake { key: key.into(), message: message.into() }
}

/// An error at `key` unless `condition` holds.
pub(crate) fn require(
    condition: bool,
    key: impl Into<String>,
    message: impl Into<String>,
) -> Checked {
    if condition { Ok(()) } else { Err(mistake(key, message)) }
}

/// What serde says of a mistake, in words of who writes experiment files: which key, and what is allowed.
pub(crate) fn plain(message: &str) -> String {
    let message = message.replace('\n', " ");
    let quoted = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let names = quoted(rest);
        let [wrong, known @ ..] = names.as_slice() else { return message };
        if known.is_empty() {
            return format!("there is no key {wrong} here, and none is allowed");
        }
        // Of one letter or two anything is near.
        let near = nearest(wrong, known).filter(|_| wrong.len() > 2);
        let near = near.map_or_else(String::new, |n| format!("; did you mean {n}?"));
        return format!("there is no key {wrong} here{near}; allowed: {}", known.join(", "));
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let names = quoted(rest);
        let [wrong, known @ ..] = names.as_slice() else { return message };
        return format!("\"{wrong}\" is not allowed; allowed: {}", known.join(", "));
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        let key = quoted(rest).join(" ");
        return format!("the key {key} is missing here, and has no default");
    }
    let Some((got, wanted)) = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.rsplit_once(", expected "))
    else {
        return message;
    };
    let wanted = match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, not below 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "string" => "a text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        "a map" => "a table of keys",
        other => other.strip_prefix("struct ").map_or(other, |_| "a table of keys"),
    };
    format!("is {got}; allowed: {wanted}")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn mistakes_say_what_is_allowed() {
        for (serde, words) in [
            (
                "unknown field `titel`, expected one of `id`, `title`",
                "there is no key titel here; did you mean title?; allowed: id, title",
            ),
            ("unknown field `x`, expected `a` or `b`", "there is no key x here; allowed: a, b"),
            ("unknown variant `flwo`, expected `flow`", "\"flwo\" is not allowed; allowed: flow"),
            ("missing field `title`", "the key title is missing here, and has no default"),
            (
                "invalid type: string \"twelve\", expected u32",
                "is string \"twelve\"; allowed: a whole number, not below 0",
            ),
            ("must be above 0", "must be above 0"),
        ] {
            assert_eq!(plain(serde), words);
        }
    }
}
