//! How results are shown, whatever they are results of: [`statistics`] of samples, [`Estimate`]s
//! with their [`Unit`], [`Table`]s, [`figure`]s as SVG, pages of [`html`], and [`Frame`]s of
//! measured values as CSV and Parquet.
//!
//! ```
//! use tresse_report::{Estimate, Table, Unit, columns, html};
//!
//! let delay = Estimate::of(&[99.0, 101.0]).expect("two values");
//! let table = Table {
//!     title: "Delay".into(),
//!     caption: String::new(),
//!     columns: columns(&["stack", ">delay"]),
//!     rows: vec![vec!["tresse".into(), Unit::Milliseconds.format_estimate(delay)]],
//!     detail: false,
//! };
//! println!("{}", table.to_text());
//! let mut body = String::new();
//! html::table(&mut body, &table);
//! let page = html::page("An example", "", &body);
//! # assert!(page.contains("100.0 ±"));
//! ```

#![forbid(unsafe_code)]

mod dark;
mod data;
mod drawing;
mod escape;
mod estimate;
pub mod figure;
mod frame;
pub mod html;
#[cfg(feature = "parquet")]
mod parquet;
mod scale;
mod screen;
pub mod statistics;
pub mod svg;
mod table;
mod twins;

pub use drawing::Drawing;
pub use estimate::{Estimate, Statistic, Unit};
pub use frame::{DataFile, Frame};
pub use screen::Screen;
pub use table::{Align, Table, columns};
