//! The names of the files that a run writes. The document that describes the flow defines them; only this source file
//! repeats them.

pub const IDEA: &str = "idea.md";
pub const PLANNER_PROMPT: &str = "planner_prompt.txt";
pub const PLAN: &str = "plan.md";
pub const AGENTS_TRACE: &str = "agents_trace.jsonl";
pub const CODEX_TRANSCRIPT: &str = "codex_mcp_transcript.jsonl";
pub const TESTS_LOG: &str = "tests.log";
pub const SWEEP_LOG: &str = "sweep.log";
pub const RESULTS: &str = "meta_config_sweep_results.csv";
pub const SUMMARY: &str = "summary.json";

pub fn coder_prompt(round: u32) -> String {
    format!("coder_prompt_round_{round}.txt")
}

pub fn coder_fix_prompt(round: u32) -> String {
    format!("coder_fix_prompt_round_{round}.txt")
}

pub fn coder_output(round: u32) -> String {
    format!("coder_output_round_{round}.txt")
}

pub fn diff(round: u32) -> String {
    format!("diff_round_{round}.diff")
}

pub fn reviewer_prompt(round: u32) -> String {
    format!("reviewer_prompt_round_{round}.txt")
}

pub fn review(round: u32) -> String {
    format!("review_round_{round}.md")
}
