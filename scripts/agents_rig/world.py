"""The world of one run: a home, a repository with a gate and a board, and liza's environment."""

import json
import os
import re
import shutil
from pathlib import Path

from . import cli_setup
from .process import run_bounded

README_MARK = "the-readme-was-expanded"

RUN_TESTS = """\
#!/bin/sh
for test in tests/test_*.sh; do
    [ -e "$test" ] || continue
    sh "$test" || { echo "red: $test"; exit 1; }
done
echo "all tests passed"
"""

GOAL = """\
# Greeting

A shell program that greets.

## greet

`sh src/greet.sh` prints `hello`.

## bye

`sh src/bye.sh` prints `goodbye`.
"""


AGENT_OF_ACPX = "".join(
    ["roles:\n"] + [f'  {role}: {{args: [--agent, "opencode acp"]}}\n' for role in ("planner", "coder", "code_reviewer")]
)


class World:
    def __init__(self, root: Path, cache: Path, liza: Path, cli: str, url: str, config: str = ""):
        self.root, self.liza_path, self.cli = root, liza, cli
        self.home, self.repo = root / "home", root / "repo"
        for path in (self.home, self.repo, root / "tmp", root / "bin"):
            path.mkdir(parents=True)
        self.provider = cli_setup.PROVIDER_OF.get(cli, cli)
        (root / "bin" / self.provider).symlink_to(cache / "bin" / cli)
        for name in ("node", *(["opencode"] if cli == "acpx" else [])):
            (root / "bin" / name).symlink_to(cache / "bin" / name)
        (root / "bin" / "liza").symlink_to(liza)
        system = [path for path in ("/usr/local/bin", "/usr/bin", "/bin") if os.path.isdir(path)]
        self.env = {
            "PATH": os.pathsep.join([str(root / "bin"), *system]), "HOME": str(self.home), "TMPDIR": str(root / "tmp"),
            "XDG_CONFIG_HOME": str(self.home / ".config"), "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_DATA_HOME": str(self.home / ".local/share"), "XDG_STATE_HOME": str(self.home / ".local/state"),
            "LANG": "C.UTF-8", "TERM": "dumb", "USER": "rig", "SHELL": "/bin/bash",
            # Requests of a CLI to other machines go to the scripted model, which refuses them.
            "HTTP_PROXY": url, "HTTPS_PROXY": url, "http_proxy": url, "https_proxy": url,
            "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "LIZA_RIG_URL": url,
        }
        self.env.update(cli_setup.SETUPS[cli](self.home, url))
        self.make_repository(config)

    def log_out(self):
        cli_setup.log_out(self.cli, self.home, self.env)

    def make_repository(self, config):
        self.write("README.md", f"# Greeting\n\n{README_MARK}\n")
        self.write("tests/run.sh", RUN_TESTS)
        self.write("src/README.md", "One program a file.\n")
        self.write("specs/vision.md", GOAL)
        self.write("liza.yaml", f"""\
version: 1
provider: {self.provider}
team:
  - {{role: planner, count: 1}}
  - {{role: coder, count: 1}}
  - {{role: code_reviewer, count: 1}}
gates:
  - name: tests
    command: sh tests/run.sh
    on: [submit, merge]
run: {{window: 2, grace_seconds: 5}}
{config}{AGENT_OF_ACPX if self.cli == "acpx" else ""}""")
        # Git's identity is in the global file, which some CLIs hide from the commands they run.
        (self.home / ".gitconfig").write_text("[user]\n\tname = Rig\n\temail = rig@example.org\n")
        for words in (["init", "-q", "-b", "main", "."], ["add", "-A"], ["commit", "-q", "-m", "Start"]):
            self.must(["git", *words])
        self.must([self.liza_path, "init", "A shell program that greets", "--no-hooks"])

    def write(self, name, text):
        path = self.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def must(self, command):
        done = run_bounded(command, seconds=60, cwd=self.repo, env=self.own_env())
        if done.exit != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.exit}\n{done.stdout}{done.stderr}")
        return done.stdout

    def own_env(self):
        return {name: value for name, value in self.env.items() if name != "LIZA_RIG_URL"}

    def liza(self, *words):
        return run_bounded([self.liza_path, *words], seconds=60, cwd=self.repo, env=self.own_env())

    def add_task(self, task, *more):
        self.must([self.liza_path, "task", "add", "--id", task, "--title", f"Write {task}", "--spec", f"specs/vision.md#{task}",
                   "--done", f"`sh src/{task}.sh` prints what the spec says", "--in", f"src/{task}.sh",
                   "--in", f"tests/test_{task}.sh", "--finalize", *more])

    # --- the results

    def status(self):
        done = self.liza("status", "--json")
        try:
            return json.loads(done.stdout).get("data") or {}
        except ValueError:
            return {}

    def task(self, task):
        done = self.liza("task", "show", task, "--json")
        try:
            return json.loads(done.stdout).get("data") or {}
        except ValueError:
            return {}

    def task_status(self, task):
        return next((one["status"] for one in self.status().get("tasks", []) if one["id"] == task), "none")

    def merged(self, path):
        done = run_bounded(["git", "show", f"integration:{path}"], seconds=30, cwd=self.repo, env=self.own_env())
        return done.stdout if done.exit == 0 else None

    def sessions(self, role=None):
        """The prompt file of every session, in the order they were started."""
        found = (self.repo / ".liza" / "runs").rglob("*.prompt.md")
        name = re.compile(rf"{role.replace('_', '-')}-\d+-\d+\." if role else "")
        return sorted((path for path in found if name.match(path.name)), key=lambda path: path.stat().st_mtime_ns)

    def usages(self):
        """What liza counted for every session."""
        found = sorted((self.repo / ".liza" / "runs").rglob("*.usage.json"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(path.read_text()) for path in found]

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)
