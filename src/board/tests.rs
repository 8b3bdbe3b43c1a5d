//! The rules, verb by verb and against each other.
