//! Measured values as rows and columns, written as CSV (RFC 4180) and as Parquet.

/// A table of measured values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    columns: Vec<Column>,
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) values: Values,
}

/// The values of a column; `None` where there is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Text(Vec<String>),
    Integer(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
}

/// A file of measured values, written as CSV and as Parquet.
#[derive(Clone, Debug, PartialEq)]
pub struct DataFile {
    /// File name without extension.
    pub name: String,
    /// What it holds, in words.
    pub what: String,
    /// The values.
    pub frame: Frame,
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Values::Text(v) => v.len(),
            Values::Integer(v) => v.len(),
            Values::Real(v) => v.len(),
        }
    }
}

impl Frame {
    /// Adds a column of words.
    #[must_use]
    pub fn text(self, name: &str, values: Vec<String>) -> Frame {
        self.with(name, Values::Text(values))
    }

    /// Adds a column of whole numbers.
    #[must_use]
    pub fn integer(self, name: &str, values: Vec<Option<i64>>) -> Frame {
        self.with(name, Values::Integer(values))
    }

    /// Adds a column of numbers.
    #[must_use]
    pub fn real(self, name: &str, values: Vec<Option<f64>>) -> Frame {
        self.with(name, Values::Real(values))
    }

    /// # Panics
    /// If the column is not as long as the others: a mistake of the caller.
    fn with(mut self, name: &str, values: Values) -> Frame {
        assert!(self.columns.is_empty() || self.rows() == values.len(), "column {name}");
        self.columns.push(Column { name: name.to_owned(), values });
        self
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.len())
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The table as CSV with a head line.
    pub fn to_csv(&self) -> String {
        let mut out = String::new();
        for (i, column) in self.columns.iter().enumerate() {
            separate(&mut out, i);
            push_field(&mut out, &column.name);
        }
        out.push('\n');
        for row in 0..self.rows() {
            for (i, column) in self.columns.iter().enumerate() {
                separate(&mut out, i);
                push_value(&mut out, &column.values, row);
            }
            out.push('\n');
        }
        out
    }
}

fn separate(out: &mut String, column: usize) {
    if column > 0 {
        out.push(',');
    }
}

fn push_value(out: &mut String, values: &Values, row: usize) {
    use std::fmt::Write as _;
    // Writing to a String cannot fail.
    match values {
        Values::Text(v) => push_field(out, &v[row]),
        Values::Integer(v) => {
            if let Some(value) = v[row] {
                let _ = write!(out, "{value}");
            }
        }
        Values::Real(v) => {
            if let Some(value) = v[row] {
                // Six decimals are finer than anything that is measured, and exact enough for
                // numbers that were rounded before.
                let _ = write!(out, "{}", (value * 1e6).round() / 1e6);
            }
        }
    }
}

fn push_field(out: &mut String, field: &str) {
    if field.contains(['"', ',', '\n', '\r']) {
        out.push('"');
        out.push_str(&field.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_when_they_need_it_and_absent_values_are_empty() {
        let frame = Frame::default()
            .text("a", vec!["x".into(), "b,c".into(), "say \"x\"".into()])
            .integer("n", vec![Some(1), None, Some(-3)])
            .real("r", vec![Some(0.1 + 0.2), Some(2.0), None]);
        assert_eq!(frame.rows(), 3);
        assert_eq!(frame.to_csv(), "a,n,r\nx,1,0.3\n\"b,c\",,2\n\"say \"\"x\"\"\",-3,\n");
    }
}
