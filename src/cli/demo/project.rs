//! The files of the demo's repository: a small program with its tests and spec, and the agents that will extend it.

/// The name of a file, and its text.
const FILES: [(&str, &str); 13] = [
    ("wordtool", include_str!("../../../templates/demo/project/wordtool")),
    ("lib/text.sh", include_str!("../../../templates/demo/project/lib/text.sh")),
    ("lib/lines.sh", include_str!("../../../templates/demo/project/lib/lines.sh")),
    ("tests/run.sh", include_str!("../../../templates/demo/project/tests/run.sh")),
    ("tests/check.sh", include_str!("../../../templates/demo/project/tests/check.sh")),
    ("tests/test_unknown.sh", include_str!("../../../templates/demo/project/tests/test_unknown.sh")),
    ("README.md", include_str!("../../../templates/demo/project/README.md")),
    (SPEC, include_str!("../../../templates/demo/project/specs/wordtool.md")),
    ("agents/common.sh", include_str!("../../../templates/demo/agents/common.sh")),
    ("agents/ideas.sh", include_str!("../../../templates/demo/agents/ideas.sh")),
    ("agents/planner.sh", include_str!("../../../templates/demo/agents/planner.sh")),
    ("agents/coder.sh", include_str!("../../../templates/demo/agents/coder.sh")),
    ("agents/reviewer.sh", include_str!("../../../templates/demo/agents/reviewer.sh")),
];
const CONFIG: &str = include_str!("../../../templates/demo/agents/liza.yaml");
const PLAN: &str = include_str!("../../../templates/demo/agents/plan.yaml");

pub const SPEC: &str = "specs/wordtool.md";
pub const GOAL: &str = "wordtool does the small jobs on text that its spec names";
/// Tasks that the scripts know; `--tasks` adds similar ones.
pub const SCRIPTED_TASKS: u32 = 10;
pub const REVIEWERS: u32 = 2;

/// Every file for a demo of this size.
pub fn files(tasks: u32, coders: u32) -> Vec<(&'static str, String)> {
    let mut files: Vec<(&str, String)> = FILES.map(|(name, text)| (name, text.to_owned())).to_vec();
    files.push(("agents/plan.yaml", plan(tasks)));
    let config = CONFIG.replace("@CODERS@", &coders.to_string());
    files.push(("liza.yaml", config.replace("@WINDOW@", &(coders + REVIEWERS).to_string())));
    files
}

fn plan(tasks: u32) -> String {
    let more: Vec<String> =
        (1..=tasks.saturating_sub(SCRIPTED_TASKS)).map(|number| format!("column{number}")).collect();
    let mut all: Vec<&str> =
        vec!["top", "count", "upper", "reverse", "separator", "join", "usage", "version"];
    all.extend(more.iter().map(String::as_str));
    let mut text = PLAN.replace("@ALL@", &all.join(", "));
    for id in &more {
        text.push_str(&format!(
            "  - id: {id}
    title: One word of each line
    spec_ref: {SPEC}#column
    done_when: [\"`sh wordtool {id}` prints one word of each line\"]
    scope: {{in: [commands/{id}.sh, tests/test_{id}.sh]}}
"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::plan::read_plan;

    #[test]
    fn plan_has_the_requested_number_of_tasks() {
        for tasks in [SCRIPTED_TASKS, SCRIPTED_TASKS + 5] {
            let plan = read_plan(plan(tasks).as_bytes()).expect("a plan");
            assert_eq!(plan.len(), tasks as usize);
            let last = plan.iter().find(|task| task.id.as_str() == "readme").expect("readme");
            assert_eq!(last.depends_on.len(), tasks as usize - 2, "everything but words, and itself");
        }
    }

    #[test]
    fn no_placeholder_is_left() {
        for (name, text) in files(9, 4) {
            assert!(
                !text.contains("@CODERS@") && !text.contains("@ALL@") && !text.contains("@WINDOW@"),
                "{name}"
            );
        }
    }
}
