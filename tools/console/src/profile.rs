//! The profile that `--profile` names, with the changes of `--set`.

use std::sync::Arc;

use tresse_core::Profile;

/// The profile called `name` with each `key=value` of `parameters`.
///
/// The error is one line.
pub fn profile(name: &str, parameters: &[String]) -> Result<Arc<Profile>, String> {
    let mut profile = Profile::named(name).map_err(|error| error.to_string())?;
    for text in parameters {
        let table = parameter(text)
            .ok_or_else(|| format!("--set {text}: write key=value, such as rto.min_ms=100"))?;
        profile =
            profile.with_override_table(table).map_err(|error| format!("--set {text}: {error}"))?;
    }
    Ok(Arc::new(profile))
}

/// Reads `key=value`; what is not a TOML value is a word.
fn parameter(text: &str) -> Option<toml::Table> {
    let (key, value) = text.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if key.is_empty() || value.is_empty() || value.contains('\n') || !key.chars().all(plain) {
        return None;
    }
    let word = || format!("{key} = {}", toml::Value::from(value)).parse().ok();
    format!("{key} = {value}").parse().ok().or_else(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_values_or_words() {
        let table = parameter("rto.min_ms = 100").unwrap();
        assert_eq!(table["rto"]["min_ms"].as_integer(), Some(100));
        let table = parameter("congestion.algorithm=rfc9260").unwrap();
        assert_eq!(table["congestion"]["algorithm"].as_str(), Some("rfc9260"));
        for wrong in ["", "rto.min_ms", "=3", "a b=3", "a=", "a=1\nb=2", "..=3"] {
            assert_eq!(parameter(wrong), None, "{wrong}");
        }
    }
}
