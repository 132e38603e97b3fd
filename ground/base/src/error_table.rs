//! How a crate lists what its statements can end in: a type, and MySQL's number, SQLSTATE and text of each variant, in one
//! table. What a variant holds is named in its text; it is text itself where no other type is given.

/// Declares an error type whose variants have numbers, SQLSTATEs and texts, and the type that it becomes: one with a
/// variant `Other(number, SQLSTATE, text)`.
#[macro_export]
macro_rules! error_table {
    (
        $(#[$doc:meta])*
        $vis:vis enum $error:ident for $whole:ident {
            $($(#[$about:meta])* $name:ident $(($($held:ident $(: $ty:ty)?),*))? = $number:literal $state:literal $text:literal;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        $vis enum $error<'n> {
            $($(#[$about])* $name $(($($crate::error_table!(@held 'n $($ty)?)),*))?,)*
        }

        impl $error<'_> {
            /// Number, SQLSTATE and text.
            $vis fn parts(&self) -> (u16, &'static str, String) {
                let (number, state) = match self {
                    $($error::$name { .. } => ($number, $state),)*
                };
                (number, state, self.to_string())
            }
        }

        impl std::fmt::Display for $error<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match *self {
                    $($error::$name $(($($held),*))? => write!(f, $text),)*
                }
            }
        }

        impl From<$error<'_>> for $whole {
            fn from(error: $error<'_>) -> Self {
                let (number, state, text) = error.parts();
                $whole::Other(number, state, text)
            }
        }
    };
    (@held $life:lifetime) => { &$life str };
    (@held $life:lifetime $ty:ty) => { $ty };
}
