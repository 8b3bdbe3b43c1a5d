//! Uninstalling: what liza left in `.worktrees` goes, whatever it was for.

use crate::flow::leftovers::plan_checkout;
use crate::flow::testing::Scene;
use crate::flow::uninstall::uninstall;

#[test]
fn planners_checkouts_and_interrupted_deletions_are_removed() {
    let scene = Scene::new();
    let planner = scene.agent("planner", "planner-1");
    let checkout =
        plan_checkout(&planner.ctx(), &scene.board(), &"planner-1".parse().expect("an id")).expect("made");
    assert!(checkout.ends_with(".worktrees/.plan/planner-1") && checkout.join(".git").exists());
    scene.write(".worktrees/.going-t9/file.txt", "half deleted");
    scene.write(".worktrees/.plan/mine/file.txt", "the user's");
    let ctx = scene.person().ctx();
    let planned = uninstall(&ctx, true).expect("a dry run");
    assert_eq!(planned.left, [scene.path(".worktrees/.plan/mine")]);
    assert_eq!(planned.worktrees, std::slice::from_ref(&checkout));
    let done = uninstall(&ctx, false).expect("removed");
    assert_eq!((done.left, done.worktrees), (planned.left, planned.worktrees));
    assert!(!checkout.exists() && !scene.path(".worktrees/.going-t9").exists());
    assert!(scene.path(".worktrees/.plan/mine/file.txt").exists());
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
}
