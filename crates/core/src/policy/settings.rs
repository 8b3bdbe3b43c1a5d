//! How the parts of liza.yaml are declared: an unknown key is refused, a missing one has its default.

/// Declares settings with their defaults beside them; where none stands there, it is the default of the type.
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

/// Declares settings that are empty by default and written only where they are set.
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
