//! Macros that declare the parts of liza.yaml: an unknown key is refused, a missing one has its default.

/// Declares settings with their defaults; without one, the default of the type.
macro_rules! settings {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident: $type:ty $(= $default:expr)?),* $(,)?
    }) => {
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        $(#[$meta])*
        $vis struct $name { $($(#[$field_meta])* pub $field: $type),* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: settings!(@default $($default)?)),* }
            }
        }
    };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
}

/// Declares settings that are empty by default and written only if set.
macro_rules! sparse_settings {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident: $type:ty),* $(,)?
    }) => {
        #[derive(
            Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(deny_unknown_fields, default)]
        $(#[$meta])*
        $vis struct $name {
            $(
                #[serde(skip_serializing_if = "crate::policy::settings::is_default")]
                $(#[$field_meta])* pub $field: $type
            ),*
        }
    };
}
pub(super) use {settings, sparse_settings};

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A whole number that may also be written with a point, as `60.0`.
pub(super) fn whole<'de, D: serde::Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(Whole(std::marker::PhantomData))
}

struct Whole<T>(std::marker::PhantomData<T>);

impl<T: TryFrom<u64>> serde::de::Visitor<'_> for Whole<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a whole number, not below 0")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        let wrong = || E::invalid_value(serde::de::Unexpected::Signed(number), &self);
        u64::try_from(number).ok().and_then(|number| T::try_from(number).ok()).ok_or_else(wrong)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        // Beyond this, not every whole number can be represented.
        let is_whole = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
        let whole = is_whole.then_some(number as u64).and_then(|whole| T::try_from(whole).ok());
        whole.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Float(number), &self))
    }
}

/// The same for an optional value.
pub(super) fn whole_if_said<'de, D: serde::Deserializer<'de>, T: TryFrom<u64>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    struct IfSaid<T>(std::marker::PhantomData<T>);

    impl<'de, T: TryFrom<u64>> serde::de::Visitor<'de> for IfSaid<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a whole number, not below 0")
        }

        fn visit_none<E: serde::de::Error>(self) -> Result<Option<T>, E> {
            Ok(None)
        }

        fn visit_unit<E: serde::de::Error>(self) -> Result<Option<T>, E> {
            Ok(None)
        }

        fn visit_some<D: serde::Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
            whole(from).map(Some)
        }
    }

    from.deserialize_option(IfSaid(std::marker::PhantomData))
}
