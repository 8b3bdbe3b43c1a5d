//! Random nested values, written and read back.

use proptest::prelude::*;
use serde_json::Value;

use super::nasty::{NASTY, cases};
use crate::wire::{Limits, emit, emit_item, parse, parse_item, read_foreign_value, to_json_line};

pub(super) fn values() -> impl Strategy<Value = Value> {
    let text =
        prop_oneof!["[a-z ]{0,12}", any::<String>(), prop::sample::select(NASTY).prop_map(str::to_owned),];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// serde_json reads some floats one unit in the last place off unless built to round-trip them.
fn has_float(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(has_float),
        Value::Object(map) => map.values().any(has_float),
        _ => value.is_f64(),
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn any_value_comes_back_equal(value in values(), indent in 0..4_usize) {
        let mut out = String::new();
        let Ok(()) = emit(&value, indent * 2, &mut out) else { return Ok(()) };
        prop_assert_eq!(&parse::<Value>(&out, indent * 2).unwrap(), &value, "{}", out);
        let mut again = String::new();
        emit(&parse::<Value>(&out, indent * 2).unwrap(), indent * 2, &mut again).unwrap();
        prop_assert_eq!(&again, &out);

        let mut item = String::new();
        emit_item(&value, indent, &mut item).unwrap();
        prop_assert_eq!(&parse_item::<Value>(&item, indent).unwrap(), &value, "{}", item);

        if indent == 0 {
            let foreign = read_foreign_value(out.as_bytes(), Limits::default());
            prop_assert_eq!(&foreign.unwrap(), &value, "{}", out);
        }
        if (value.is_array() || value.is_object()) && !has_float(&value) {
            let foreign = read_foreign_value(to_json_line(&value).as_bytes(), Limits::default());
            prop_assert_eq!(&foreign.unwrap(), &value);
        }
    }

    #[test]
    fn damaged_text_never_panics(value in values(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut out = String::new();
        let Ok(()) = emit(&value, 0, &mut out) else { return Ok(()) };
        let mut bytes = out.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read_foreign_value(&bytes, Limits::default());
        let text = String::from_utf8_lossy(&bytes);
        let _ = parse::<Value>(&text, 0);
        let _ = parse_item::<Value>(&text, 2);
    }

    #[test]
    fn random_text_never_panics(text in "[-\\[\\]{}:,\"'\\\\ \n#a1&*!|>?%~]{0,40}") {
        let _ = parse::<Value>(&text, 0);
        let _ = parse_item::<Value>(&text, 0);
        let _ = read_foreign_value(text.as_bytes(), Limits::default());
    }
}
