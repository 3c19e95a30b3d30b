//! Numbers with names, as the tables of the RFCs and IANA's registries have them.

/// Declares a type of such numbers: the type itself, a constant for each number that has a name, `name`, and how
/// it is shown. What has no name is shown as `$unnamed` says.
macro_rules! code_points {
    (
        $(#[$about:meta])* $type:ident($number:ty), $unnamed:literal;
        $($(#[$doc:meta])* $name:ident = $value:literal, $label:literal;)*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $type(
            /// The number on the wire.
            pub $number,
        );

        impl $type {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            /// Those that have a name, in the order of their declarations.
            pub const NAMED: &'static [Self] = &[$(Self::$name),*];

            /// The name in the RFCs, `None` for a number without one here.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($label),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => write!(f, $unnamed, self.0),
                }
            }
        }
    };
}

pub(crate) use code_points;
