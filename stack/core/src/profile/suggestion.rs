//! What somebody may have meant who misspelt a name.

/// The known name that is nearest to a wrong one, if one is near: no more than a third of its characters
/// were added, left out or changed.
pub(super) fn nearest<'a>(wrong: &str, known: &[&'a str]) -> Option<&'a str> {
    // Nobody has such a name, and the distance takes time.
    if wrong.len() > 100 {
        return None;
    }
    let wrong = wrong.to_lowercase();
    let near = known.iter().map(|name| (strsim::levenshtein(&wrong, name), *name));
    near.min().filter(|(edits, name)| *edits <= name.len().div_ceil(3)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_no_stranger() {
        let known: Vec<_> = crate::Profile::names().collect();
        for (wrong, meant) in [
            ("tress", Some("tresse")),
            ("RFC9260", Some("rfc9260")),
            ("rfc-9260", Some("rfc9260")),
            ("early-retransmit-packet", Some("early-retransmit-packets")),
            ("rack-tpl", Some("rack-tlp")),
            ("warp", None),
            ("", None),
            ("quic-with-bbr", None),
        ] {
            assert_eq!(nearest(wrong, &known), meant, "{wrong}");
        }
        assert_eq!(nearest(&"x".repeat(1 << 20), &known), None);
    }
}
