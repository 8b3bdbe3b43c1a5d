//! Every provider of the catalog plays planner, coder and reviewer.

use std::os::unix::fs::PermissionsExt as _;

use super::Bench;
use crate::support::HUMAN;
use crate::support::process::Bounded as _;

const PLAN: &str = "PLAN\n1. change param\n\nRISKS\nnone worth a name";
const CHANGED: &str = "I changed param.";
const REVIEW: &str = "It does what the plan says.\n\nVERDICT: APPROVE";

/// What the program prints, with this text as the agent's last message.
fn output(provider: &str, text: &str) -> String {
    let path = format!("{}/tests/cli/fixtures/providers/{provider}.out", env!("CARGO_MANIFEST_DIR"));
    let recorded = std::fs::read_to_string(path).expect("an output");
    if provider == "aider" {
        return format!("{recorded}{text}\n");
    }
    let quoted = serde_json::to_string(text).expect("text");
    assert!(recorded.contains("\"Done.\""), "{provider}");
    recorded.replace("\"Done.\"", &quoted)
}

#[test]
fn every_provider_plays_all_experiment_roles() {
    let bench = Bench::new();
    let bin = bench.world.home().join("bin");
    std::fs::create_dir_all(&bin).expect("a directory");
    let providers = [
        "claude", "codex", "gemini", "opencode", "qwen", "copilot", "kimi", "vibe", "acpx", "cursor", "amp",
        "aider",
    ];
    for provider in providers {
        for (step, text) in [("planner", PLAN), ("coder", CHANGED), ("reviewer", REVIEW)] {
            std::fs::write(bin.join(format!("{provider}.{step}")), output(provider, text)).expect("written");
        }
        let program = bin.join(if provider == "cursor" { "cursor-agent" } else { provider });
        let script = format!(
            "#!/bin/sh\ncat > /dev/null\n[ $LIZA_EXPERIMENT_STEP = coder ] && echo 12 > param\ncat {}.$LIZA_EXPERIMENT_STEP\n",
            bin.join(provider).display()
        );
        std::fs::write(&program, script).expect("written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        bench.world.write(
            "liza.yaml",
            &format!("version: 1\nprovider: {provider}\nexperiment:\n  test_command: test -s param\n  sweep_command: sh sweep.sh\n  results_csv: results.csv\n  score: {{column: score}}\n"),
        );
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        bench.idea("a", &format!("# {provider} idea\nx\n"));
        let mut command =
            bench.world.liza_command(&HUMAN, &bench.world.root, &["experiment", "run", "ideas"]);
        let ran = command.env("PATH", path).finish().expect("liza runs");
        let summary = bench.summary(&format!("{provider}-idea"));
        assert_eq!(summary["status"], "scored", "{provider}: {summary}\n{ran:?}");
        let artifact = |name: &str| bench.artifact(&format!("{provider}-idea"), name);
        assert!(artifact("plan.md").trim_end().ends_with(PLAN), "{provider}: {}", artifact("plan.md"));
        assert!(artifact("coder_output_round_1.txt").trim_end().ends_with(CHANGED), "{provider}");
        assert!(
            artifact("agents_trace.jsonl").contains(&format!("\"provider\":\"{provider}\"")),
            "{provider}"
        );
    }
}
