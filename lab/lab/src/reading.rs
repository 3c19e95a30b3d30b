//! What is read from TOML. All of it is read from text by one deserializer, also what is a table already: each further
//! one would have the compiler make the code of every type once more, which was a third of this crate.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeString, DeTable, Error};

use crate::keys;
use crate::mistake::{Mistake, mistake};

/// Some keys of a text, and where the text has them.
pub(crate) struct Part<'a> {
    table: DeTable<'a>,
    span: Range<usize>,
}

impl<'a> Part<'a> {
    /// All keys of `text`.
    ///
    /// # Errors
    /// It is not TOML.
    pub(crate) fn whole(text: &'a str) -> Result<Part<'a>, Error> {
        let root = DeTable::parse(text)?;
        Ok(Part { span: root.span(), table: root.into_inner() })
    }

    /// Takes out what a `T` is read from.
    pub(crate) fn take<T: DeserializeOwned>(&mut self) -> Part<'a> {
        fn name<'k>(key: &'k Spanned<DeString<'_>>) -> &'k str {
            key.get_ref()
        }
        let table = keys::take(&mut self.table, keys::of::<T>(), name);
        Part { table, span: self.span.clone() }
    }

    /// Its keys, and where they stand.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.table.keys().map(|key| (key.get_ref().as_ref(), key.span()))
    }

    /// A `T`.
    ///
    /// # Errors
    /// The first mistake, and where it stands.
    pub(crate) fn read<T: DeserializeOwned>(self) -> Result<T, (Mistake, Option<Range<usize>>)> {
        let deserializer = toml::Deserializer::from(Spanned::new(self.span, self.table));
        serde_path_to_error::deserialize(deserializer).map_err(|e| {
            let path = e.path().to_string();
            let key = if path == "." { String::new() } else { path };
            (mistake(key, e.inner().message()), e.inner().span())
        })
    }
}

/// The text of `table`, to be read.
///
/// # Errors
/// [`Mistake`] if it has no text.
pub(crate) fn text_of(table: &toml::Table) -> Result<String, Mistake> {
    toml::to_string(table).map_err(|e| mistake("", e.to_string()))
}

/// The `T` in `table`.
///
/// # Errors
/// The first mistake, with the path of its key.
pub(crate) fn read<T: DeserializeOwned>(table: &toml::Table) -> Result<T, Mistake> {
    let text = text_of(table)?;
    let whole = Part::whole(&text).map_err(|e| mistake("", e.message()))?;
    whole.read().map_err(|(mistake, _)| mistake)
}
