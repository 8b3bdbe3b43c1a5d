//! Which fields of a record are written, and which may be missing.

/// Records of the board: unknown fields are refused. An empty option, list or flag is not written and may be missing,
/// unless it is marked `always`.
macro_rules! record {
    ($($structs:tt)*) => {
        $crate::board::fields::sparse! { (#[derive(schemars::JsonSchema)]) $($structs)* }
    };
}
pub(crate) use record;

/// The same for records that are only in the journal: verbs and their values. They need no schema.
macro_rules! logged {
    ($($structs:tt)*) => {
        $crate::board::fields::sparse! { () $($structs)* }
    };
}
pub(crate) use logged;

/// Writes the structs of `record!` and `logged!`, field by field.
macro_rules! sparse {
    (@struct ($($schema:tt)*) { $($struct:tt)* } $($fields:tt)*) => {
        $crate::board::fields::sparse! {
            @fields {
                #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
                $($schema)*
                #[serde(deny_unknown_fields)]
                $($struct)*
            } {} $($fields)*
        }
    };
    (@fields { $($struct:tt)* } { $($done:tt)* }) => {
        $($struct)* { $($done)* }
    };
    (@fields $struct:tt { $($done:tt)* } $(#[$about:meta])* always pub $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::board::fields::sparse! { @fields $struct { $($done)* $(#[$about])* pub $field: $type, } $($rest)* }
    };
    (@fields $struct:tt $done:tt $(#[$about:meta])* pub $field:ident: Option<$type:ty>, $($rest:tt)*) => {
        $crate::board::fields::sparse! {
            @unless "Option::is_none" $struct $done { $(#[$about])* pub $field: Option<$type>, } $($rest)*
        }
    };
    (@fields $struct:tt $done:tt $(#[$about:meta])* pub $field:ident: Vec<$type:ty>, $($rest:tt)*) => {
        $crate::board::fields::sparse! {
            @unless "Vec::is_empty" $struct $done { $(#[$about])* pub $field: Vec<$type>, } $($rest)*
        }
    };
    (@fields $struct:tt $done:tt $(#[$about:meta])* pub $field:ident: bool, $($rest:tt)*) => {
        $crate::board::fields::sparse! {
            @unless "std::ops::Not::not" $struct $done { $(#[$about])* pub $field: bool, } $($rest)*
        }
    };
    (@fields $struct:tt { $($done:tt)* } $(#[$about:meta])* pub $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::board::fields::sparse! { @fields $struct { $($done)* $(#[$about])* pub $field: $type, } $($rest)* }
    };
    (@unless $says_nothing:literal $struct:tt { $($done:tt)* } { $($field:tt)* } $($rest:tt)*) => {
        $crate::board::fields::sparse! {
            @fields $struct
            { $($done)* #[serde(default, skip_serializing_if = $says_nothing)] $($field)* }
            $($rest)*
        }
    };
    ($schema:tt $($(#[$about:meta])* pub struct $name:ident { $($fields:tt)* })*) => {
        $($crate::board::fields::sparse! { @struct $schema { $(#[$about])* pub struct $name } $($fields)* })*
    };
}
pub(crate) use sparse;
