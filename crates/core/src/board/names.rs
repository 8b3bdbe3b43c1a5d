//! Closed sets of words: every value has a name, and the error for an unknown name lists all names.

/// A value that people type by its name.
pub trait Named: Copy + 'static {
    const ALL: &'static [Self];
    fn name(self) -> &'static str;

    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|value| value.name()).collect()
    }
}

/// The value with this name.
pub fn named<T: Named>(text: &str) -> Result<T, String> {
    let found = T::ALL.iter().copied().find(|value| value.name() == text);
    found.ok_or_else(|| format!("it must be one of {}", T::names().join(", ")))
}

/// An enum whose values are words, in files and elsewhere: `ALL` lists them in this order, `as_str` gives the word.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$value:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$value])* #[serde(rename = $word)] $variant),* }

        impl $name {
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
    };
}
pub(crate) use words;

/// Implements [`Named`] and parsing for such an enum.
macro_rules! named_by {
    ($type:ty) => {
        impl $crate::board::names::Named for $type {
            const ALL: &'static [Self] = &Self::ALL;
            fn name(self) -> &'static str {
                self.as_str()
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                $crate::board::names::named(text)
            }
        }
    };
}
pub(crate) use named_by;
