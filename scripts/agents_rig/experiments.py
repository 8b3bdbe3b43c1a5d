"""`liza experiment` with a real CLI as planner, coder and reviewer; with `codex_mcp` the coder is an older Codex through MCP."""

import json

from .process import run_bounded
from .protocols import INPUT_TOKENS, Call, Say
from .scenarios import Scenario, first_difference, last_lines
from .script import Shell, Write

# How each built-in prompt begins.
BEGINNINGS = {
    "You plan one experiment": "planner",
    "You carry out one planned experiment": "coder",
    "A reviewer rejected the change": "coder",
    "You review one experimental change": "reviewer",
}
SETTINGS = """\
experiment:
  test_command: sh src/number.sh
  sweep_command: sh sweep.sh
  results_csv: results.csv
  baseline_csv: baseline.csv
  score: {column: score}
"""
THROUGH_MCP = "  agents: {coder: {provider: codex_mcp}}\n"
THROUGH_ACP = "  agents: {" + ", ".join(f'{who}: {{args: [--agent, "opencode acp"]}}' for who in ("planner", "coder", "reviewer")) + "}\n"
COMPLAINT = "src/number.sh: the comment says nothing; remove it"


class Experiment(Scenario):
    """One idea: planned, carried out, rejected once, fixed, tested, swept and scored."""

    name = "experiment"
    command = ("experiment", "run", "ideas", "--color", "never")

    def config_for(self, cli):
        return SETTINGS + {"codex_mcp": THROUGH_MCP, "acpx": THROUGH_ACP}.get(cli, "")

    def prepare(self):
        self.world.write("src/number.sh", "echo 10\n")
        self.world.write("sweep.sh", "printf 'score\\n%s\\n' \"$(sh src/number.sh)\" > results.csv\n")
        self.world.write("baseline.csv", "score\n10\n")
        self.world.write("ideas/more.md", "# More\n\nsrc/number.sh prints a larger number.\n")
        for words in (["add", "-A"], ["commit", "-q", "-m", "A number"]):
            self.world.must(["git", *words])
        self.head = self.world.must(["git", "rev-parse", "HEAD"])

    # --- what the model does

    def who(self, text):
        for beginning, role in BEGINNINGS.items():
            if beginning in text:
                return role, role
        return None

    def step(self, session):
        steps = {"planner": self.plan_it, "coder": self.carry_out, "reviewer": self.judge_it}[session.role](session)
        return steps[session.step] if session.step < len(steps) else Say("Done.")

    def plan_it(self, session):
        return [Say("PLAN\n1. Let src/number.sh print 12.\n\nRISKS\nNone: nothing else reads it.\n")]

    def carry_out(self, session):
        if COMPLAINT in session.prompt:
            return [Shell("echo 'echo 12' > src/number.sh"), Say("Removed the comment.")]
        if self.world.cli == "codex_mcp" and session.step < 2:
            # Both need an approval, and only the first stays inside of the worktree.
            asked = {"cmd": "echo allowed", "sandbox_permissions": "require_escalated", "justification": "to try"}
            return [Call("exec_command", asked), Call("exec_command", {**asked, "cmd": "echo not allowed", "workdir": "/"})]
        place = next(iter((self.world.repo / "agentic_experimentation" / "worktrees").glob("*-more-*")))
        before = [None, None] if self.world.cli == "codex_mcp" else []
        return [*before, Shell("cat src/number.sh"), Write(f"{place}/src/new.sh", "echo 12 # more\n"),
                Shell("mv src/new.sh src/number.sh"), Say("It prints 12 now.")]

    def judge_it(self, session):
        if "+echo 12 # more" in session.prompt:
            return [Shell("cat src/number.sh"), Say(f"{COMPLAINT}\n\nVERDICT: REJECT")]
        return [Say("It does what the idea says.\n\nVERDICT: APPROVE")]

    # --- the expected result

    def problems(self, run, requests):
        found = [] if run.exit == 0 else [f"liza experiment run ended with exit {run.exit}: {last_lines(run)}"]
        listed = json.loads(self.world.liza("--json", "experiment", "list").stdout)["data"]["runs"]
        if len(listed) != 1:
            return [*found, f"{len(listed)} runs instead of one"]
        summary, place = listed[0], self.world.repo / "agentic_experimentation" / "experiments" / listed[0]["run_id"]
        wanted = {"status": "scored", "rounds": 2}
        found += [f"{key} is {summary[key]!r}: {summary['error']}" for key, value in wanted.items() if summary[key] != value]
        if (summary["score"] or {}).get("value") != 12:
            found.append(f"the score is {summary['score']}")
        found += self.all_arrived(place, requests) + self.spans(place, requests)
        if (place / "codex_mcp_transcript.jsonl").exists() != (self.world.cli == "codex_mcp"):
            found.append("the transcript of Codex is missing, or there without reason")
        elif self.world.cli == "codex_mcp":
            found += self.transcript(place)
        status = run_bounded(["git", "status", "--porcelain"], seconds=30, cwd=self.world.repo, env=self.world.own_env())
        if status.stdout or self.world.must(["git", "rev-parse", "HEAD"]) != self.head:
            found.append(f"the checkout was changed: {status.stdout}")
        return found

    def all_arrived(self, place, requests):
        received = [turn.text for ask in requests for turn in ask.turns if turn.kind == "user"]
        found = []
        for path in sorted(place.glob("*_prompt*.txt")):
            prompt = self.as_sent(path.read_text().strip())
            if not path.name.startswith("coder_fix") and not any(prompt in text for text in received):
                found.append(f"{path.name} did not arrive as liza wrote it{first_difference(prompt, received)}")
        return found

    def spans(self, place, requests):
        spans = [json.loads(line) for line in (place / "agents_trace.jsonl").read_text().splitlines()]
        found = []
        if [span["step"] for span in spans] != ["planner", "coder", "reviewer", "coder", "reviewer"]:
            found.append(f"the spans are {[span['step'] for span in spans]}")
        if self.world.cli in ("kimi", "vibe", "acpx"):
            return found  # They report no tokens, acpx those of the last answer.
        counted = sum(span["usage"]["input_tokens"] for span in spans)
        least, most = len(self.script.asked) * INPUT_TOKENS, len(requests) * INPUT_TOKENS
        if not least <= counted <= most:
            found.append(f"liza counted {counted} input tokens; the model billed {least}, with side calls {most}")
        return found

    def transcript(self, place):
        lines = [json.loads(line) for line in (place / "codex_mcp_transcript.jsonl").read_text().splitlines()]
        events = [line["event"] for line in lines]
        wanted = ["mcp_server_start", "mcp_list_tools", "tool_call", "codex_event", "tool_result", "mcp_server_stop"]
        found = [f"the transcript has no {event}" for event in wanted if event not in events]
        if not any(line.get("rollout_path") for line in lines):
            found.append("the transcript names no rollout_path")
        decisions = [line["result"]["decision"] for line in lines if line["event"] == "elicitation_response"]
        if decisions != ["approved", "denied"]:
            found.append(f"the approvals were {decisions}")
        results = [result for session, _ in self.script.asked for result in session.results]
        if not any("allowed" in result for result in results) or any(result.endswith("not allowed") for result in results):
            found.append("Codex did not go by the answers")
        return found
