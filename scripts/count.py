#!/usr/bin/env python3
"""Counts what commands do on a board of 100 tasks: figures that do not depend on how busy the machine is.

Started by `scripts/bench --count [--write | --check]`:
  (nothing)  print the figures beside the committed ones
  --write    put them into specs/counts.json (the larger of two runs)
  --check    (the smaller of two runs) end with 1 if a figure is more than 5 % above the committed one
  --functions FILE  write the names of all functions that these and some more commands call, for scripts/link_hot_first

Of liza itself: instructions (callgrind), system calls, syncs, bytes read and written, reads of the board. Of everything
that it starts as well: program starts. The program is the `release` build.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIGURES = os.path.join(ROOT, "specs", "counts.json")
TOLERANCE = 1.05
# Below this a difference is noise: a figure of 3 that becomes 4 is not.
SLACK = {"instructions": 20_000, "system_calls": 6, "bytes_read": 4096, "bytes_written": 512}
SYNCS = {"fsync", "fdatasync", "syncfs", "sync", "sync_file_range"}
READS = {"read", "pread64", "readv", "preadv"}
WRITES = {"write", "pwrite64", "writev", "pwritev"}
TASKS = 100
ADD = ["task", "add", "--title", "More", "--spec", "specs/vision.md", "--done", "it works", "--in", "src/d0/"]
SECONDS = 300


class World:
    """A repository of 50 files with a board, its own home, and two agents."""

    def __init__(self, liza, home):
        self.liza, self.root = liza, os.path.join(home, "repo")
        os.mkdir(self.root)
        names = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]
        self.env = {"HOME": home, "PATH": os.environ["PATH"], **{name: "count" for name in names}}
        self.run(["git", "init", "-q", "-b", "main"])
        for number in range(50):
            self.write(f"src/d{number % 5}/f{number}.txt", f"file {number}\n")
        self.write("specs/vision.md", "# Vision\n")
        self.run(["git", "add", "-A"])
        self.run(["git", "commit", "-q", "-m", "start"])
        self.run([liza, "init", "count", "--yes", "--no-hooks"])
        text = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod. " * 27
        tasks = [
            {
                "id": f"task-{number}",
                "title": f"Task number {number}",
                "description": text,
                "spec_ref": "specs/vision.md",
                "done_when": ["the file exists and says so"],
                "scope": {"in": [f"out/{number}/"]},
                "kind": "docs",
            }
            for number in range(TASKS)
        ]
        plan = os.path.join(home, "plan.json")
        with open(plan, "w", encoding="utf-8") as file:
            json.dump({"tasks": tasks}, file)
        self.run([liza, "plan", plan])
        self.coder = self.agent("coder")
        self.reviewer = self.agent("code_reviewer")

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def agent(self, role):
        data = json.loads(self.run([self.liza, "--json", "agent", "register", "--role", role]))["data"]
        return {"LIZA_AGENT_ID": data["id"], "LIZA_AGENT_TOKEN": data["token"]}

    def settle(self):
        """Makes every index younger than its files. A file as young as its index is read, so the clock would count."""
        for index in glob.glob(os.path.join(self.root, ".git/worktrees/*/index")):
            os.utime(index, times=(time.time() + 1,) * 2)

    def run(self, command, who=None, inside="."):
        done = subprocess.run(
            command,
            cwd=os.path.join(self.root, inside),
            env={**self.env, **(who or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout.strip()


def counted(world, scratch, words, who):
    """What strace counts for one command."""
    trace = os.path.join(scratch, "trace")
    world.run(["strace", "-f", "-qq", "-o", trace, world.liza, *words], who)
    with open(trace, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    own, starting = {lines[0].split()[0]}, set()
    found = dict.fromkeys(["system_calls", "syncs", "program_starts", "bytes_read", "bytes_written", "board_reads"], 0)
    for line in lines:
        pid, rest = line.split(None, 1)
        call = re.match(r"(?:<\.\.\. )?(\w+)(?:\(| resumed>)", rest)
        if not call:
            continue
        name, result = call.group(1), re.search(r"= (-?\d+)", rest[rest.rfind(") ") :] if ") " in rest else rest)
        value = int(result.group(1)) if result else 0
        if name == "execve" and " = 0" in rest:
            found["program_starts"] += 1
        if pid not in own:
            continue
        found["board_reads"] += name == "openat" and '.liza/state.yaml", O_RDONLY' in rest
        # Threads are liza itself; their calls may be cut in two by those of others.
        if "CLONE_THREAD" in rest:
            starting.add(pid)
        if "unfinished" in rest:
            continue
        if name in ("clone", "clone3") and pid in starting:
            starting.discard(pid)
            own.add(str(value))
        found["system_calls"] += 1
        found["syncs"] += name in SYNCS
        found["bytes_read"] += max(value, 0) if name in READS else 0
        found["bytes_written"] += max(value, 0) if name in WRITES else 0
    return found


def instructions(world, scratch, words, who):
    out = os.path.join(scratch, "callgrind")
    valgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}"]
    world.run([*valgrind, world.liza, *words], who)
    with open(out, encoding="utf-8", errors="replace") as file:
        return int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M).group(1))


def functions(world, scratch, words, who):
    """The linker's names of the functions that a command calls."""
    out = os.path.join(scratch, "callgrind")
    valgrind = ["valgrind", "-q", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={out}"]
    world.run([*valgrind, world.liza, *words], who)
    with open(out, encoding="utf-8", errors="replace") as file:
        # A recursive call has a number behind the name.
        return {re.sub(r"'\d+$", "", name) for name in re.findall(r"^c?fn=\(\d+\) (\S+)", file.read(), re.M)}


def measure(world, scratch, ways):
    """Every command once for each task and way to count; the tasks are alike."""
    figures = {}

    def implemented(task):
        worktree = f".worktrees/{task}"
        path = f"out/{task.split('-')[1]}/result.txt"
        words = ["--intent", f"{path} exists and contains ok", "--risks", "none known: the file is new"]
        words += ["--validate", f"cat {path}", "--expect", "ok", "--file", path]
        world.run([world.liza, "task", "checkpoint", task, *words], world.coder, worktree)
        world.write(f"{worktree}/{path}", "ok\n")
        world.run(["git", "add", "-A"], None, worktree)
        world.run(["git", "commit", "-q", "-m", "result"], None, worktree)

    # An agent holds one task at a time, so each task goes all the way before the next begins.
    for task, way in ways:

        def count(name, words, who):
            found = way(world, scratch, words, who)
            figures.setdefault(name, {}).update(found if way is counted else {way.__name__: found})

        count("status", ["status"], None)
        count("note", ["note", "hello"], None)
        count("task show", ["task", "show", task], None)
        count("claim", ["task", "claim", task], world.coder)
        count("task renew", ["task", "renew", task], world.coder)
        implemented(task)
        count("submit", ["task", "submit", task], world.coder)
        commit = world.run(["git", "rev-parse", f"refs/heads/task/{task}"])
        world.run([world.liza, "review", "claim", task], world.reviewer)
        world.settle()
        count("approve", ["review", "approve", task, "--commit", commit], world.reviewer)
        count("merge", ["merge", task], world.reviewer)
        count("task add", ADD, None)
        count("verify", ["verify"], None)
    return figures


def called(world, scratch):
    """The names of all functions that frequent commands call."""
    figures = measure(world, scratch, [("task-1", functions)])
    frequent = [figure["functions"] for name, figure in figures.items() if name != "verify"]
    found = set().union(*frequent)
    for who, words in (
        (None, ["--version"]),
        (None, ["task", "list"]),
        (world.coder, ["next", "--role", "coder"]),
    ):
        found |= functions(world, scratch, words, who)
    return {"functions": sorted(found)}


def without_ancestors(work):
    """Runs in a process that init has adopted, so that the number of the caller's ancestors does not count."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(reader)
            answer = "cannot be measured"
            try:
                answer = json.dumps(work())
            except SystemExit as error:
                answer = str(error)
            except Exception as error:  # shown by the parent
                answer = repr(error)
            os.write(writer, answer.encode())
        os._exit(0)
    os.wait()
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as file:
        answer = file.read()
    if not answer.startswith("{"):
        sys.exit(f"scripts/count.py: {answer}")
    return json.loads(answer)


def main():
    liza = os.environ.get("LIZA_BIN") or os.path.join(ROOT, "target", "release", "liza")
    missing = [tool for tool in ("valgrind", "strace") if not shutil.which(tool)]
    if missing:
        sys.exit(f"scripts/count.py: {' and '.join(missing)} must be installed")

    def work(use=lambda world, home: measure(world, home, [("task-1", counted), ("task-2", instructions)])):
        # Paths of one length, whatever TMPDIR is: they are copied and compared.
        with tempfile.TemporaryDirectory(prefix="liza-count-", dir="/tmp") as home:
            program = shutil.copy(liza, os.path.join(home, "liza"))
            return use(World(program, home), home)

    if "--functions" in sys.argv:
        names = without_ancestors(lambda: work(called))["functions"]
        with open(sys.argv[sys.argv.index("--functions") + 1], "w", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in names)
        return
    # Some figures depend on the tick of a clock, such as whether a file that was just written is read again.
    samples = [without_ancestors(work) for _ in range(3)]
    choose = max if "--write" in sys.argv else min
    figures = {
        name: {kind: choose(sample[name][kind] for sample in samples) for kind in found}
        for name, found in samples[0].items()
    }
    known = {}
    if os.path.exists(FIGURES):
        with open(FIGURES, encoding="utf-8") as file:
            known = json.load(file)
    grown = []
    kinds = ["instructions", "system_calls", "syncs", "program_starts", "bytes_read", "bytes_written", "board_reads"]
    print("| command | " + " | ".join(kinds) + " |\n|---" + "|---" * len(kinds) + "|")
    for name, found in figures.items():
        cells = []
        for kind in kinds:
            now, before = found[kind], known.get(name, {}).get(kind)
            cells.append(f"{now:,}" + ("" if before in (None, now) else f" (was {before:,})"))
            if before is not None and now > before * TOLERANCE + SLACK.get(kind, 0):
                grown.append(f"{name}: {kind} {before:,} -> {now:,}")
        print(f"| {name} | " + " | ".join(cells) + " |")
    if "--write" in sys.argv:
        with open(FIGURES, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)
            file.write("\n")
    elif "--check" in sys.argv and (grown or not known):
        lines = "\n".join(f"  {line}" for line in grown) or "  specs/counts.json is missing"
        sys.exit(
            f"scripts/bench --count: more than 5 % above specs/counts.json:\n{lines}\n"
            "If that is meant, run `scripts/bench --count --write` and commit the file with the change."
        )


if __name__ == "__main__":
    main()
