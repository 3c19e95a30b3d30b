//! Which keys of a table belong to which type: several types are read from one table, each strictly.
//!
//! `#[serde(flatten)]` would do that too, but it forgets where in a file a mistake stands.

use std::hash::Hash;

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserializer, forward_to_deserialize_any};
use toml::map::Map;

/// The keys of the table that a `T` is read from.
pub(crate) fn of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut keys: &'static [&'static str] = &[];
    // It fails always: there is nothing to read.
    let _ = T::deserialize(Ask(&mut keys));
    keys
}

/// Takes what stands under `keys` out of `table`. `name` says what a key is called.
pub(crate) fn take<K: Ord + Hash, V>(
    table: &mut Map<K, V>,
    keys: &[&str],
    name: fn(&K) -> &str,
) -> Map<K, V> {
    let all = std::mem::take(table).into_iter();
    let (own, others): (Vec<_>, Vec<_>) = all.partition(|(key, _)| keys.contains(&name(key)));
    *table = others.into_iter().collect();
    own.into_iter().collect()
}

/// What is said of a `key` that no type reads, in the words of serde.
pub(crate) fn unknown<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<String> = known.map(|key| format!("`{key}`")).collect();
    format!("unknown field `{key}`, expected one of {}", known.join(", "))
}

/// The key that is nearest to a wrong one, as a whole or in its last part, if no more than a third of it differs.
pub(crate) fn nearest<'a>(wrong: &str, known: &'a [String]) -> Option<&'a str> {
    // Nobody has such a key, and the distance takes time.
    if wrong.len() > 100 {
        return None;
    }
    fn last(key: &str) -> &str {
        key.rsplit('.').next().unwrap_or(key)
    }
    let edits = |wrong: &str, key: &str| {
        let edits = strsim::levenshtein(wrong, key);
        (edits <= key.len().div_ceil(3)).then_some(edits)
    };
    let rank = |key: &'a String| {
        let whole = edits(wrong, key).map(|edits| (0, edits));
        let rank = whole.or_else(|| edits(last(wrong), last(key)).map(|edits| (1, edits)));
        rank.map(|rank| (rank, key.as_str()))
    };
    known.iter().filter_map(rank).min().map(|(_, key)| key)
}

/// Has nothing but asks which fields a struct wants.
struct Ask<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Ask<'_> {
    type Error = Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("not a struct"))
    }

    fn deserialize_struct<V: serde::de::Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(Error::custom("there is nothing to read"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Two {
        #[serde(rename = "one")]
        _first: u32,
        #[serde(default, rename = "two")]
        _second: String,
    }

    #[test]
    fn a_struct_says_its_keys_and_they_are_taken() {
        assert_eq!(of::<Two>(), ["one", "two"]);
        assert!(of::<u32>().is_empty());
        let mut table: toml::Table = "one = 1\nthree = 3".parse().unwrap();
        let own = take(&mut table, of::<Two>(), String::as_str);
        assert_eq!(
            (own.to_string(), table.to_string()),
            ("one = 1\n".into(), "three = 3\n".into())
        );
        let message = unknown("three", ["one", "two"].into_iter());
        assert_eq!(message, "unknown field `three`, expected one of `one`, `two`");
    }

    #[test]
    fn the_nearest_key_is_found_and_no_stranger() {
        let known =
            ["topology.forward.loss", "topology.forward.delay_ms", "workload.bulk.total_bytes"];
        let known = known.map(String::from);
        for (wrong, meant) in [
            ("topology.forwards.loss", Some("topology.forward.loss")),
            ("loss", Some("topology.forward.loss")),
            ("topology.delay", Some("topology.forward.delay_ms")),
            ("total_byte", Some("workload.bulk.total_bytes")),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, &known), meant, "{wrong}");
        }
        assert_eq!(nearest(&"x".repeat(1 << 20), &known), None);
    }
}
