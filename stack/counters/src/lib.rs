//! Counters, each declared once. From one line come the field with its documentation, its place in sums, and the
//! name and the meaning under which metrics show it.
//!
//! ```
//! tresse_counters::counters! {
//!     /// What a queue has seen.
//!     #[derive(Clone, Debug, Default, PartialEq)]
//!     pub struct QueueStats;
//!     counters {
//!         packets_in: "Packets that came";
//!         /// Those that found no room.
//!         packets_dropped: "Packets dropped";
//!     }
//!     others {
//!         /// Bytes that wait (gauge).
//!         waiting: usize;
//!     }
//! }
//!
//! let mut all = QueueStats { packets_in: 3, packets_dropped: 1, waiting: 1500 };
//! all.add(&QueueStats { packets_in: 1, packets_dropped: 0, waiting: 40 });
//! assert_eq!(all, QueueStats { packets_in: 4, packets_dropped: 1, waiting: 1540 });
//! let shown: Vec<_> = all.counters().into_iter().map(|c| (c.name, c.meaning, c.value)).collect();
//! assert_eq!(shown, [("packets_in", "Packets that came", 4), ("packets_dropped", "Packets dropped", 1)]);
//! ```

#![forbid(unsafe_code)]
#![no_std]

/// A counter, as metrics show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The name of the field.
    pub name: &'static str,
    /// What it counts, in a few words without a full stop.
    pub meaning: &'static str,
    /// How often that was.
    pub value: u64,
}

/// What can be summed up: counters, gauges, and lists of them.
pub trait Total {
    /// Adds another one's figures.
    fn add(&mut self, other: &Self);
}

impl Total for u64 {
    fn add(&mut self, other: &Self) {
        *self += other;
    }
}

impl Total for usize {
    fn add(&mut self, other: &Self) {
        *self += other;
    }
}

impl<const N: usize> Total for [u64; N] {
    fn add(&mut self, other: &Self) {
        for (sum, figure) in self.iter_mut().zip(other) {
            *sum += figure;
        }
    }
}

/// Declares a struct of counters: `counters` are fields of type `u64`, each with the text that documentation and
/// metrics share; `others` are fields of a type that is [`Total`]. The struct has the methods `add` and
/// `counters`; the example is that of the [crate](crate).
#[macro_export]
macro_rules! counters {
    (
        $(#[$about:meta])* pub struct $type:ident;
        counters { $($(#[$more:meta])* $counter:ident: $meaning:literal;)* }
        others { $($(#[$doc:meta])* $other:ident: $kind:ty;)* }
    ) => {
        $(#[$about])*
        pub struct $type {
            $(
                #[doc = concat!($meaning, ".")]
                #[doc = ""]
                $(#[$more])*
                pub $counter: u64,
            )*
            $($(#[$doc])* pub $other: $kind,)*
        }

        impl $type {
            /// Adds another one's figures, for totals.
            pub fn add(&mut self, other: &Self) {
                $($crate::Total::add(&mut self.$counter, &other.$counter);)*
                $($crate::Total::add(&mut self.$other, &other.$other);)*
            }

            /// The counters with their names and meanings, in the order of their declaration; gauges and lists
            /// are not among them.
            #[must_use]
            pub fn counters(&self) -> impl IntoIterator<Item = $crate::Counter> + use<> {
                [$($crate::Counter {
                    name: stringify!($counter),
                    meaning: $meaning,
                    value: self.$counter,
                },)*]
            }
        }
    };
}
