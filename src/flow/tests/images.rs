//! Kept images: `verify` compares each with the record of its revision.

use crate::board::rules::AddNote;
use crate::flow::doctor;
use crate::flow::testing::Scene;
use crate::flow::verify::{Check, verify};

fn replay(scene: &Scene) -> Check {
    let checks = verify(&scene.person().ctx()).expect("checks");
    checks.into_iter().find(|check| check.name == "replay").expect("the log can be read")
}

#[test]
fn tampered_image_is_named() {
    let scene = Scene::new();
    scene.task("t1", &["1.sh"]);
    for number in 0..6 {
        scene.person().commit(AddNote { text: format!("note {number}"), task: None }).unwrap();
    }
    let last = scene.revision() - 1;
    let image = |revision: u64| scene.path(&format!(".liza/images/{revision}.yaml"));
    let text = |revision: u64| std::fs::read_to_string(image(revision)).expect("an image");
    assert!(replay(&scene).ok);
    for revision in [1, last / 2, last] {
        let good = text(revision);
        let neighbour = text(if revision == 1 { 2 } else { revision - 1 });
        let edited = good.replacen("status: IN_PROGRESS", "status: ABANDONED", 1);
        let relabelled = neighbour.replacen(
            &format!("revision: {}", if revision == 1 { 2 } else { revision - 1 }),
            &format!("revision: {revision}"),
            1,
        );
        for bad in [edited, neighbour, relabelled, good[..good.len() / 2].to_owned(), String::new()] {
            assert_ne!(bad, good);
            std::fs::write(image(revision), bad).expect("written");
            let found = replay(&scene);
            let named = [format!("revision {revision} "), format!("image {revision}:")];
            assert!(!found.ok && named.iter().any(|name| found.detail.contains(name)), "{found:?}");
            let findings = doctor::examine(&scene.person().ctx(), false).expect("looked");
            assert!(findings.iter().any(|finding| finding.code == "story.log"), "{revision}");
        }
        std::fs::write(image(revision), good).expect("written");
        assert!(replay(&scene).ok);
    }
    scene.healthy();
}

#[test]
fn verify_needs_no_more_than_one_image() {
    let scene = Scene::new();
    for number in 0..9 {
        scene.person().commit(AddNote { text: format!("note {number}"), task: None }).unwrap();
    }
    for revision in (1..scene.revision()).filter(|revision| *revision != 4) {
        std::fs::remove_file(scene.path(&format!(".liza/images/{revision}.yaml"))).expect("removed");
    }
    let found = replay(&scene);
    assert!(found.ok && found.detail.starts_with("revisions 4 to "), "{found:?}");
    scene.sound();
}
