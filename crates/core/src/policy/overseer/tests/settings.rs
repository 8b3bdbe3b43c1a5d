use super::*;
use crate::wire::{Limits, read_foreign};

/// `init` writes them as comments; uncommenting them changes nothing.
#[test]
fn new_liza_yaml_shows_the_default_settings() {
    let template = include_str!("../../../../../../templates/liza.yaml");
    let block: String = template
        .lines()
        .skip_while(|line| *line != "#   overseer:")
        .skip(1)
        .map_while(|line| line.strip_prefix("#     "))
        .map(|line| format!("{line}\n"))
        .collect();
    let shown: OverseerConfig =
        read_foreign(block.as_bytes(), Limits::of_bytes(block.len())).expect("settings");
    assert_eq!(shown, settings());
    let keys = serde_json::to_value(settings()).expect("an object");
    for key in keys.as_object().expect("an object").keys() {
        assert!(block.contains(&format!("{key}:")), "{key} is not shown");
        let page = include_str!("../../../../../../specs/overseer.md");
        assert!(page.contains(&format!("| `{key}` |")), "{key} has no row in specs/overseer.md");
    }
}
