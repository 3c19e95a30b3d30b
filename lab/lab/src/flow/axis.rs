//! What is varied: axes, and the cells that they span.

use serde::{Deserialize, Serialize};

/// Something that is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Its name in tables, in `at = { name = value }` and as a column of the rows.
    pub name: String,
    /// Label of an x axis that shows it, with its unit. Default: the name.
    #[serde(default)]
    pub label: Option<String>,
    /// The keys of the experiment that get the value: below `topology`, `association`,
    /// `parameters`, `workload`; such as `topology.forward.loss` or `parameters.rto.min_ms`.
    pub keys: Vec<String>,
    /// The values: numbers, words, or whatever the keys take.
    pub values: Vec<toml::Value>,
    /// A number is multiplied by this before it is used: 0.01 for percentages. Default 1.
    #[serde(default)]
    pub scale: Option<f64>,
    /// What the values are called, where a number or a word will not do. Default: the values.
    #[serde(default)]
    pub names: Vec<String>,
}

impl Axis {
    /// The same with other values, or fewer: those that it has keep their names.
    ///
    /// # Errors
    /// The first value that an axis whose values have names does not have.
    pub(crate) fn with_values(&self, values: Vec<toml::Value>) -> Result<Axis, toml::Value> {
        let mut axis = Axis { values: Vec::new(), names: Vec::new(), ..self.clone() };
        for value in values {
            match self.find(&value) {
                Some(index) => {
                    axis.values.push(self.values[index].clone());
                    axis.names.extend(self.names.get(index).cloned());
                }
                None if self.names.is_empty() => axis.values.push(value),
                None => return Err(value),
            }
        }
        Ok(axis)
    }

    /// Whether its values are written at `key`, above it or below it.
    pub(crate) fn decides(&self, key: &str) -> bool {
        let below = |long: &str, short: &str| {
            long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.keys.iter().any(|own| below(own, key) || below(key, own))
    }

    /// How tables write the value at `index`.
    pub fn text(&self, index: usize) -> String {
        match (self.names.get(index), self.values.get(index)) {
            (Some(name), _) => name.clone(),
            (None, Some(value)) => plain(value),
            (None, None) => String::new(),
        }
    }

    /// Where the value at `index` stands on an x axis: itself, or its index if it is no number.
    pub fn position(&self, index: usize) -> f64 {
        let number = self.values.get(index).and_then(number);
        if self.is_numeric() { number.unwrap_or(index as f64) } else { index as f64 }
    }

    /// Whether the values stand at their own places on an x axis.
    pub fn is_numeric(&self) -> bool {
        self.names.is_empty() && self.values.iter().all(|v| number(v).is_some())
    }

    /// Index of `value`, given as a number or by its name.
    pub fn find(&self, value: &toml::Value) -> Option<usize> {
        let text = plain(value);
        (0..self.values.len()).find(|i| {
            let same =
                matches!((number(&self.values[*i]), number(value)), (Some(a), Some(b)) if a == b);
            same || self.text(*i) == text
        })
    }
}

pub(super) fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|v| v as f64))
}

fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Float(v) => format!("{v}"),
        value => value.to_string(),
    }
}

/// One combination of values: an index for each axis.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(pub Vec<usize>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_number_and_by_name() {
        let axis = Axis {
            name: "loss".into(),
            label: None,
            keys: Vec::new(),
            values: vec![toml::Value::Integer(1), toml::Value::Float(2.5)],
            scale: Some(0.01),
            names: Vec::new(),
        };
        assert!(axis.is_numeric());
        assert_eq!(axis.find(&toml::Value::Float(1.0)), Some(0));
        assert_eq!(axis.find(&toml::Value::Float(2.5)), Some(1));
        assert_eq!(axis.find(&toml::Value::Integer(2)), None);
        assert_eq!((axis.text(1), axis.position(1)), ("2.5".into(), 2.5));
        let named = Axis { names: vec!["low".into(), "high".into()], ..axis };
        assert_eq!(named.find(&toml::Value::String("high".into())), Some(1));
        assert_eq!((named.text(1), named.position(1)), ("high".into(), 1.0));
        let high = named.with_values(vec![toml::Value::Float(2.5)]).unwrap();
        assert_eq!((high.values.len(), high.text(0)), (1, "high".into()));
        assert_eq!(named.with_values(vec![7.into()]), Err(7.into()));
    }

    #[test]
    fn an_axis_decides_its_keys_and_tables_of_them() {
        let keys = vec!["topology.forward.loss".into(), "topology.second".into()];
        let axis = Axis {
            name: "loss".into(),
            label: None,
            keys,
            values: vec![1.into(), 2.into()],
            scale: None,
            names: Vec::new(),
        };
        for key in ["topology.forward.loss", "topology.forward", "topology.second.forward.up"] {
            assert!(axis.decides(key), "{key}");
        }
        for key in ["topology.forward.loss_", "topology.forwar", "topology.seconds", "loss"] {
            assert!(!axis.decides(key), "{key}");
        }
        // Without names values may be new.
        assert_eq!(axis.with_values(vec![7.into()]).unwrap().values, [7.into()]);
    }
}
