//! Kept images: `verify` compares each with the record of its revision.

use crate::board::rules::AddNote;
use crate::flow::doctor;
use crate::flow::testing::Scene;
use crate::flow::verify::{Check, verify};
use crate::wire::state::sealed;

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

/// A scene with so many notes that no image of its first revisions is kept.
fn long_scene() -> Scene {
    let scene = Scene::new();
    scene.task("t1", &["1.sh"]);
    add_notes(&scene, 120);
    scene
}

fn add_notes(scene: &Scene, count: usize) {
    for number in 0..count {
        scene.person().commit(AddNote { text: format!("note {number}"), task: None }).unwrap();
    }
}

/// The present board with another limit, as the board of `revision`; its checksum is right.
fn forged(scene: &Scene, revision: u64) -> String {
    let text = std::fs::read_to_string(scene.path(".liza/state.yaml")).expect("a board");
    let former = format!("\nrevision: {}\n", scene.revision());
    let other = text.replacen(&former, &format!("\nrevision: {revision}\n"), 1);
    let wide = other.replacen("max_review_cycles: ", "max_review_cycles: 9", 1);
    assert_ne!(wide, other);
    sealed(&wide)
}

fn plant(scene: &Scene, revision: u64, text: &str) {
    std::fs::write(scene.path(&format!(".liza/images/{revision}.yaml")), text).expect("written");
}

#[test]
fn forged_old_image_is_found_and_not_used() {
    let scene = long_scene();
    plant(&scene, 5, &forged(&scene, 5));
    let found = replay(&scene);
    assert!(!found.ok && found.detail.contains("revision 5 "), "{found:?}");
    let store = scene.person().ctx().store;
    let rebuilt = store.rebuild(Some(5)).expect("the log makes it");
    assert!(!rebuilt.text().contains("max_review_cycles: 9"));
    assert!(rebuilt.board.revision == 5 && store.rebuild(None).is_ok());
}

#[test]
fn image_above_the_board_proves_and_restores_nothing() {
    let scene = long_scene();
    let (last, good) = (scene.revision(), std::fs::read_to_string(scene.path(".liza/state.yaml")).unwrap());
    for revision in [last, last + 1, 500, u64::MAX] {
        plant(&scene, revision, &forged(&scene, revision));
        let rebuilt = scene.person().ctx().store.rebuild_published().expect("the log makes it");
        assert!(rebuilt.text() == good, "{revision}");
    }
    assert!(!replay(&scene).ok, "the image of the present board is forged");
    std::fs::remove_file(scene.path(&format!(".liza/images/{last}.yaml"))).expect("removed");
    assert!(replay(&scene).ok);
    // The board itself is forged, and the only image is one that no record made.
    for revision in 1..last {
        let _ = std::fs::remove_file(scene.path(&format!(".liza/images/{revision}.yaml")));
    }
    std::fs::write(scene.path(".liza/state.yaml"), forged(&scene, last)).expect("written");
    for (name, inside) in [(500, 500), (500, last), (last, last), (last - 1, last)] {
        plant(&scene, name, &forged_as(&scene, inside));
        let found = replay(&scene);
        assert!(!found.ok, "{name}: {found:?}");
        std::fs::remove_file(scene.path(&format!(".liza/images/{name}.yaml"))).expect("removed");
    }
}

#[test]
fn genuine_image_under_another_number_is_not_replayed() {
    let scene = long_scene();
    let last = scene.revision();
    let good = std::fs::read_to_string(scene.path(".liza/state.yaml")).expect("a board");
    let before =
        std::fs::read_to_string(scene.path(&format!(".liza/images/{}.yaml", last - 1))).expect("an image");
    for revision in [500, u64::MAX] {
        let line = format!("\nrevision: {}\n", last - 1);
        let other = before.replacen(&line, &format!("\nrevision: {revision}\n"), 1);
        assert_ne!(other, before);
        plant(&scene, revision, &sealed(&other));
        let store = scene.person().ctx().store;
        assert!(store.rebuild(None).expect("the log makes it").text() == good, "{revision}");
        assert!(store.rebuild_published().expect("the log makes it").text() == good, "{revision}");
        assert!(replay(&scene).ok, "{revision}");
    }
}

#[test]
fn newest_board_of_a_damaged_log_is_no_forgery() {
    let scene = long_scene();
    let last = scene.revision();
    let (board, log) = (scene.path(".liza/state.yaml"), scene.path(".liza/log.yaml"));
    plant(&scene, 500, &forged(&scene, 500));
    // With the copy of the journal, the newest board would be restored.
    std::fs::remove_file(scene.path(".git/liza/log.yaml")).expect("removed");
    std::fs::write(&board, "half a board").expect("written");
    let text = std::fs::read_to_string(&log).expect("a journal");
    std::fs::write(&log, &text[..text.len() / 2]).expect("written");
    let Err(error) = scene.person().ctx().store.rebuild_published() else { panic!("both are damaged") };
    let newest = format!("make only revision {}", last - 1);
    assert!(error.to_string().contains(&newest), "{error}");
}

#[test]
fn image_of_a_few_bytes_is_found() {
    let scene = long_scene();
    plant(&scene, scene.revision() - 2, "\nend: \"\"\n");
    assert!(!replay(&scene).ok);
}

/// The present board, which is forged, as the board of `revision`.
fn forged_as(scene: &Scene, revision: u64) -> String {
    let text = std::fs::read_to_string(scene.path(".liza/state.yaml")).expect("a board");
    sealed(&text.replacen(&format!("revision: {}", scene.revision()), &format!("revision: {revision}"), 1))
}

#[test]
fn oddly_written_entry_is_replayed_as_it_is_copied() {
    let scene = Scene::new();
    scene.task("t1", &["1.sh"]);
    add_notes(&scene, 9);
    let path = scene.path(".liza/state.yaml");
    let text = std::fs::read_to_string(&path).expect("a board");
    let odd = sealed(&text.replacen("text: note 5\n", "text: \"\\u006eote 5\"\n", 1));
    assert_ne!(odd, text);
    std::fs::write(&path, odd).expect("written");
    assert!(!replay(&scene).ok, "the log says otherwise");
    // Later records are made with that text.
    add_notes(&scene, 70);
    let found = replay(&scene);
    assert!(found.ok, "{found:?}");
    let rebuilt = scene.person().ctx().store.rebuild(None).expect("rebuilt");
    assert_eq!(rebuilt.text(), std::fs::read_to_string(&path).expect("a board"));
    scene.healthy();
}
