"""The parts of `scripts/torture` in which gates misbehave: they hang, leave daemons, flood their output, look for secrets,
are fed hostile texts, and try to act on the board. `torture_queue.py` has the parts that kill processes around gate results."""

import json
import os
import random
import re
import signal
import subprocess
import time

from torture_team import TeamWorld, each
from torture_world import Failed, put

AGENTS = (("coder", "coder-1"), ("coder", "coder-2"), ("code_reviewer", "reviewer-1"), ("code_reviewer", "reviewer-2"),
          ("planner", "planner-1"))


class GateWorld(TeamWorld):
    """A repository with a board, registered agents and gates."""

    def __init__(self, options, *gates):
        super().__init__(options)
        self.keep = options.keep
        # The marker of our gates' sleeping processes: no other process has it.
        self.mark = str(random.SystemRandom().randrange(10**8, 10**9))
        self.gates(*gates)
        for role, who in AGENTS:
            self.tokens[who] = self.data("agent", "register", "--role", role, "--id", who)["token"]

    def gates(self, *gates):
        config = {"version": 1, "provider": "scripted", "providers": {"scripted": {"command": ["sh", self.script]}},
                  "run": {"grace_seconds": 1, "window": 9}, "gates": list(gates)}
        self.write("liza.yaml", json.dumps(config, indent=1) + "\n")
        self.before = self.checkout()

    def processes(self):
        """Also processes without environment, by working directory and command line."""
        found = super().processes()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace")
                if self.mark in words or self.home in words or os.readlink(f"/proc/{pid}/cwd").startswith(self.home):
                    found[int(pid)] = words.split("\0")
            except OSError:
                continue
        return found

    def asked(self, *args, who=None, exits=(0,), env=None):
        """The JSON answer of a command; fails on another exit code."""
        ran = self.liza("--json", *args, who=who, env=env)
        if ran.returncode not in exits:
            raise Failed(f"liza {' '.join(args)}: exit {ran.returncode}: {(ran.stdout + ran.stderr).decode(errors='replace')[-3000:]}")
        return json.loads(ran.stdout)

    def judged(self, rev="main"):
        """The gates' results on a commit: name -> result."""
        return self.asked("gate", "run", "--tree", rev, "--fresh", exits=(0, 7))["data"]["gates"]

    def begun(self, task, paths, *more, who="coder-1", title=None):
        """Claims a task and writes its checkpoint; returns its worktree."""
        self.must("task", "add", "--id", task, "--title", title or task, "--spec", "specs/vision.md", "--done", "it works",
                  "--kind", "docs", "--finalize", *[word for path in paths for word in ("--in", path)], *more)
        worktree = self.data("task", "claim", task, who=who)["worktree"]
        self.must("task", "checkpoint", task, "--intent", "the files say what the spec asks for", "--risks", "none that matter",
                  "--validate", "echo ok", "--expect", "ok", *[word for path in paths for word in ("--file", path)], who=who)
        return worktree

    def written(self, worktree, files, message="work"):
        for name, text in files.items():
            put(os.path.join(worktree, name), text)
        self.git("add", "-A", cwd=worktree)
        self.git("commit", "-q", "-m", message, cwd=worktree)

    def submitted(self, task, files, *more, **others):
        self.written(self.begun(task, list(files), *more, **others), files)
        return self.data("task", "submit", task, who=others.get("who", "coder-1"))["review_commit"]

    def approved(self, task, files, *more, **others):
        commit = self.submitted(task, files, *more, **others)
        self.must("review", "claim", task, who="reviewer-1")
        self.must("review", "approve", task, "--commit", commit, "--summary", "fine", who="reviewer-1")
        return commit

    def close(self):
        if not self.keep:
            return super().close()
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        print(f"  kept: {self.home}", flush=True)

    def sound_board(self):
        self.sound()
        if self.checkout() != self.before:
            raise Failed("the user's checkout was touched")


# Ways in which a gate does not end; @MARK@ is the seconds that its processes sleep.
HANGING = {
    "plain": "sleep @MARK@",
    "deaf": "trap '' TERM INT HUP USR1; while :; do sleep @MARK@; done",
    "grandchildren": "(sleep @MARK@ & (sleep @MARK@ & (sleep @MARK@ & wait) & wait) & wait) & wait",
    "session": "setsid sh -c 'trap \"\" TERM; sleep @MARK@; :' & wait",
    "sessions": "setsid setsid sh -c 'setsid sh -c \"trap \\\"\\\" TERM HUP; sleep @MARK@; :\" & sleep @MARK@' & sleep @MARK@",
    "bare": "env -i setsid sh -c 'cd /; trap \"\" TERM; sleep @MARK@; :' >/dev/null 2>&1 & sleep @MARK@",
    "respawning": "setsid sh -c 'trap \"\" TERM; while :; do sh -c \"sleep @MARK@; :\"; done' & wait",
    "stopped": "sleep @MARK@ & kill -STOP $$",
    "daemon": "(setsid sh -c 'trap \"\" TERM; (sleep @MARK@ & sleep @MARK@) & exec sleep @MARK@' >/dev/null 2>&1 </dev/null &) ; sleep @MARK@",
    "talking": "trap '' TERM; (while :; do echo still here @MARK@; done) & wait",
}


def part_hang(options):
    """F5: the gate is stopped at its time limit, the reason names it, and no process of the gate is left when liza answers."""
    took, world = [], GateWorld(options)
    names = list(HANGING)
    gates = [{"name": name, "command": HANGING[name].replace("@MARK@", world.mark), "timeout": 1, "optional": True} for name in names]

    def check(trial):
        world.gates(*gates)
        began = time.time()
        said = world.judged()
        left = world.processes()
        took.append((time.time() - began) / len(names))
        for name in names:
            if said[name]["status"] != "could_not_run" or "longer than 1 s" not in said[name]["reason"]:
                raise Failed(f"{name}: {said[name]}")
        if left:
            raise Failed(f"survivors: {left}")
        world.sound_board()

    try:
        rounds = 1 if options.quick else 10
        return each("hang", range(rounds), check,
                    lambda: f"{rounds * len(names)} gates of {len(names)} kinds, {sum(took) / len(took):.2f} s each")
    finally:
        world.close()


DAEMONS = {
    "twice": "(setsid sh -c '(sleep @MARK@ >/dev/null 2>&1 &) ; exit 0' &)",
    "deaf": "(setsid sh -c 'trap \"\" TERM HUP INT; (trap \"\" TERM; sleep @MARK@; :) >/dev/null 2>&1 & exit 0' &)",
    "pipe": "(setsid sleep @MARK@ &)",
    "bare": "(env -i setsid sh -c 'cd /; (setsid sleep @MARK@ &) ; exit 0' >/dev/null 2>&1 </dev/null &)",
    "python": "python3 -c 'import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  os.chdir(\"/\"); os.closerange(0, 64); time.sleep(@MARK@)\n os._exit(0)\nos.wait()'",
}


def part_daemons(options):
    """F6: daemons of a gate do not outlive it, and do not change its result."""
    world, each_code = GateWorld(options), 4

    def check(code):
        gates = [{"name": f"{name}-{number}", "command": f"{DAEMONS[name].replace('@MARK@', world.mark)}; sleep 0.1; exit {code}", "optional": True}
                 for name in DAEMONS for number in range(1 if options.quick else each_code)]
        world.gates(*gates)
        said = world.judged()
        left = world.processes()
        wrong = {name: result for name, result in said.items() if result["status"] != ("pass", "fail")[code]}
        if wrong or len(said) != len(gates):
            raise Failed(f"wrong words, exit {code}: {wrong}")
        if left:
            raise Failed(f"survivors: {left}")
        world.sound_board()

    try:
        many = len(DAEMONS) * (1 if options.quick else each_code)
        return each("daemons", [0, 1], check, lambda: f"{many} gates that exit 0 and {many} that exit 1")
    finally:
        world.close()


def peak_of(process, world):
    """Peak memory in KiB of liza and its holders, each alone and all together."""
    peaks = {}
    while process.poll() is None:
        for pid in [process.pid, *(pid for pid, words in world.processes().items() if "__hold" in words)]:
            try:
                with open(f"/proc/{pid}/status") as file:
                    found = re.search(r"VmHWM:\s+(\d+)", file.read())
                if found:
                    peaks[pid] = int(found.group(1))
            except OSError:
                continue
        time.sleep(0.05)
    return max(peaks.values(), default=0), sum(peaks.values())


def part_flood(options):
    """F7: a gate that prints without end: head and tail are kept, and memory stays small."""
    size = (64 if options.quick else 1024) * 1024 * 1024
    figures = []
    floods = {
        "lines": f"yes 'a line of nothing in particular' | head -c {size}",
        "one line": f"head -c {size} /dev/zero | tr '\\0' x",
        "both": f"yes 'a line of nothing in particular' | head -c {size // 2} >&2; head -c {size // 2} /dev/zero | tr '\\0' x",
    }

    def check(name):
        world = GateWorld(options)
        try:
            world.gates({"name": "flood", "command": f"echo THE-HEAD; {floods[name]}; echo; echo THE-TAIL; true"})
            began = time.time()
            with open(os.path.join(world.home, "answer"), "w+b") as answer:
                process = subprocess.Popen([world.binary, "--json", "gate", "run", "--tree", "main"], cwd=world.root, env=world.env,
                                           stdin=subprocess.DEVNULL, stdout=answer, stderr=subprocess.DEVNULL)
                peak, together = peak_of(process, world)
                answer.seek(0)
                said = json.loads(answer.read())["data"]["gates"]["flood"]
            if said["status"] != "pass":
                raise Failed(str(said))
            with open(world.path(said["log"]), "rb") as file:
                log = file.read()
            figures.append(f"{name}: {time.time() - began:.0f} s, log {len(log) // 1024} KiB, memory {peak / 1024:.0f} MiB "
                           f"({together / 1024:.0f} with its holder)")
            if b"THE-HEAD" not in log[:4096] or b"THE-TAIL" not in log[-4096:]:
                raise Failed(f"head or tail is missing: {log[:200]} … {log[-200:]}")
            if len(log) > 5 * 1024 * 1024 or peak > 64 * 1024 or peak == 0:
                raise Failed(figures[-1])
            world.gone(1)
            world.sound_board()
        finally:
            world.close()

    return each("flood", list(floods), check, lambda: f"{size // 1024 // 1024} MiB; " + "; ".join(figures))


def part_secrets(options):
    """F4: no secret of the caller reaches a gate, and one that was passed on purpose reaches no file."""
    names = ["API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
             "NPM_TOKEN", "CARGO_REGISTRY_TOKEN", "DATABASE_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "SSH_AUTH_SOCK", "GIT_ASKPASS",
             "GIT_CONFIG_COUNT", "GIT_SSH_COMMAND", "LIZA_AGENT_TOKEN", "LIZA_AGENT_ID", "LIZA_CLAIM", "LIZA_AGENT_TOKEN_FILE",
             "SLACK_WEBHOOK", "STRIPE_SECRET", "JWT_SECRET", "VAULT_TOKEN", "KUBECONFIG", "DOCKER_AUTH_CONFIG", "NETRC", "COOKIE",
             "CREDENTIALS", "MY_OWN_VARIABLE"]
    values = {name: f"canary{number:02}{'v' * 24}" for number, name in enumerate(names)}

    def check(kind):
        world = GateWorld(options)
        try:
            passed = ["API_KEY", "GITHUB_TOKEN", "DATABASE_PASSWORD"] if kind == "passed on" else []
            tell = "env; env >&2; env > \"$HOME/out/environment\"; printf '%s' \"$API_KEY\" | sed 's/./&/g'"
            world.gates({"name": "tell", "command": tell, "pass_environment": passed})
            # Not variables that would stop git or liza itself.
            env = {name: value for name, value in values.items() if not name.startswith(("LIZA_", "GIT_"))}
            world.asked("gate", "run", "--tree", "main", env=env)
            got = "\n".join(world.lines_in("environment"))
            reached = [name for name in env if values[name] in got]
            if reached != passed:
                raise Failed(f"the gate got {reached}")
            for place, _, files in os.walk(world.path(".liza")):
                for name in files:
                    with open(os.path.join(place, name), "rb") as file:
                        text = file.read()
                    found = [of for of in names if values[of].encode() in text]
                    if found:
                        raise Failed(f"{name} holds {found}")
            # The tokens of agents, too, by variable and through git's configuration variables.
            ran = world.asked("gate", "run", "--tree", "main", "--fresh", who="reviewer-1", env={"GIT_CONFIG_PARAMETERS": "'user.name=canary'"})
            got = "\n".join(world.lines_in("environment"))
            wrong = re.findall(r"^(?:GIT_\w+|LIZA_(?!GATE(?:_COMMIT)?=)\w+)", got, re.M)
            if wrong or world.tokens["reviewer-1"] in got or ran["data"]["gates"]["tell"]["status"] != "pass":
                raise Failed(f"the gate got {wrong}: {ran}")
            world.sound_board()
        finally:
            world.close()

    return each("secrets", ["not passed on", "passed on"], check, lambda: f"{len(names)} canaries")


# Each creates a file `canary` if a shell executes it.
PAYLOADS = [
    "$(touch canary)", "`touch canary`", "; touch canary", "& touch canary", "&& touch canary", "|| touch canary", "| touch canary",
    "x; touch canary #", "'; touch canary; '", "\"; touch canary; \"", "'$(touch canary)'", "\"$(touch canary)\"", "\\\\$(touch canary)",
    "$(touch${IFS}canary)", "`touch${IFS}canary`", ";touch<>canary", ">canary", "</dev/null >canary", ">>canary", "2>canary", "a>canary b",
    "{touch,canary}", "$( (touch canary) )", "${x:-$(touch canary)}", "${x=`touch canary`}", "$(eval 'touch canary')", "!touch canary",
    "--upload-pack=touch canary", "--exec=touch canary", "-c core.fsmonitor='touch canary'", "-oProxyCommand=touch canary",
    "{{ touch canary }}", "{% touch canary %}", "%(touch canary)", "~$(touch canary)", "*;touch canary;*", "[$(touch canary)]",
    "x@$(touch canary)", "ext::sh -c touch% canary", "$'\\n'touch canary", "\ttouch canary", "x) touch canary ;; (",
]
# Neither separators nor what is unseen may be part of a name.
NAMEABLE = re.compile(r"^[^/\\\x00-\x1f]+$")


def canaries(world):
    found = []
    for place, dirs, files in os.walk(world.home):
        found += [os.path.join(place, name) for name in files + dirs if name == "canary"]
    return found


def part_metacharacters(options):
    """F2: texts of tasks, names of files and tests, and what looks like a branch are never read by a shell."""
    world = GateWorld(options)
    # Prints what is in the tree: the names of tests and of files come from the change itself.
    world.gates({"name": "names", "command": "ls -R . ; cat cases/* 2>/dev/null; git log -1; true"},
                {"name": "tests", "command": ["sh", "-c", "cat cases/*.out; exit 1"], "adapter": "cargo-test", "optional": True})
    live, done = [], {"commands": 0}

    def said(*args, who=None):
        # Refused or not: only the started processes matter here.
        done["commands"] += 1
        ran = world.liza("--json", *args, who=who)
        if ran.returncode not in range(0, 12):
            raise Failed(f"{args}: exit {ran.returncode}: {ran.stderr.decode(errors='replace')}")
        return json.loads(ran.stdout).get("data") or {}

    def check(number):
        try:
            work_on(number)
        except Failed:
            world.must("task", "abandon", f"t{number}", "--reason", "it has failed")
            raise

    def work_on(number):
        text = PAYLOADS[number]
        task, name = f"t{number}", text if NAMEABLE.match(text) else f"x{number}"
        output = f"running 1 test\ntest {text} ... FAILED\n\nfailures:\n    {text}\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
        world.must("task", "add", "--id", task, f"--title={text}", f"--desc={text}", "--spec", "specs/vision.md", f"--done={text}",
                   "--finalize", "--in", f"p{number}/", "--in", "cases/", "--owns", f"p{number}/", "--kind", "docs", f"--check={text}")
        worktree = world.data("task", "claim", task, who="coder-1")["worktree"]
        world.must("task", "checkpoint", task, f"--intent={text} and so on, as it should", f"--risks={text} none that matter", f"--assume={text}",
                   "--validate", "echo ok", "--expect", "ok", "--file", f"p{number}/", "--file", f"cases/{task}.out", who="coder-1")
        world.written(worktree, {f"p{number}/{name}": text, f"cases/{task}.out": output}, f"{text}\n\n{text}")
        commit = world.data("task", "submit", task, who="coder-1")["review_commit"]
        said("agent", "run", "--role", "code_reviewer", "--task", task, "--explain")
        said("bundle", "create", task, who="coder-1")
        bundle = world.status_of(task).get("patch_bundle")
        if not bundle:
            raise Failed("no bundle was made")
        for args in (["bundle", "check", bundle], ["bundle", "check", bundle, f"--onto={text}"], ["gate", "run", task], ["gate", "show", task],
                     ["gate", "run", f"--tree={text}"], ["diff", task], ["task", "show", task], ["integration", "advance", f"--reason={text}", "--", text],
                     ["deliver", f"--to={text}"], ["note", f"--task={task}", "--", text], ["lock", "show", "--", text], ["report"], ["graph", "--format", "dot"],
                     ["gate", "bless", f"--hash=00112233", f"--reason={text}", "--", text]):
            said(*args)
        said("bundle", "review", bundle, f"--answer=1=no: {text}", f"--answer=2=no: {text}", who="reviewer-2")
        world.must("review", "claim", task, who="reviewer-1")
        if number % 2:
            world.must("review", "reject", task, "--commit", commit, f"--reason={text}", f"--issue=major:{f'cases/{task}.out' if ':' in name else f'p{number}/{name}'}:1:{text}",
                       "--answer", f"1=no: {text}", who="reviewer-1")
            said("agent", "run", "--role", "coder", "--task", task, "--explain")
        else:
            world.must("review", "approve", task, "--commit", commit, f"--summary={text}", "--answer", f"1=yes: {text}", who="reviewer-1")
            merged = world.asked("merge", task, who="reviewer-1")["data"]
            if merged["outcome"] != "merged":
                raise Failed(str(merged))
        # With those of the payload's own name in a file of the tree the gates ran all the same.
        gates = world.data("gate", "show", task)["gates"]
        if gates["names"]["status"] != "pass" or gates["tests"]["status"] != "fail":
            raise Failed(f"{gates}")
        if found := canaries(world):
            for path in found:
                os.remove(path)
            raise Failed(f"{text!r} was run: {found}")

    try:
        # A control: handed to a shell, most of them create the file.
        for text in PAYLOADS:
            for line in (f"true {text}", f"false {text}", f"true '{text}'", f"true \"{text}\"", text):
                subprocess.run(["bash", "-c", line], cwd=world.out, env=world.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, timeout=10, check=False)
                if found := canaries(world):
                    live.append(text)
                    for path in found:
                        os.remove(path)
                    break
        few = random.Random(options.seed).sample(range(len(PAYLOADS)), 8) if options.quick else range(len(PAYLOADS))
        failed = each("metacharacters", few, check,
                      lambda: f"seed {options.seed}, {done['commands']} commands; {len(live)} of the {len(PAYLOADS)} payloads run in a shell")
        world.sound_board()
        if len(live) < 30:
            print(f"  FAILED metacharacters: only {len(live)} payloads do anything at all", flush=True)
            failed += 1
        return failed
    finally:
        world.close()


def board_of(world):
    """Everything that a gate must not change."""
    found = {}
    for place, dirs, files in os.walk(world.path(".liza")):
        inside = os.path.relpath(place, world.path(".liza")).split(os.sep)[0]
        # What liza itself writes for the gate that runs.
        dirs[:] = [name for name in dirs if not (inside == "." and name in ("gates", "runs", "locks"))]
        for name in files + dirs:
            path = os.path.join(place, name)
            if name.endswith(".lock"):
                continue
            with open(path if os.path.isfile(path) else os.devnull, "rb") as file:
                found[os.path.relpath(path, world.root)] = file.read()
    # The place of the gate itself moves, and what is submitted is kept before it is judged.
    for what, own in ((["for-each-ref"], "refs/liza/submitted/check/"), (["worktree", "list"], "/.gates/"), (["config", "--list", "--local"], None)):
        found[what[0]] = [line for line in world.git(*what).splitlines() if not (own and own in line)]
    found["hooks"] = sorted(os.listdir(world.path(".git/hooks")))
    found["checkout"] = world.checkout()
    return found


def acts_on(world, commits):
    """Every command that changes something, and as whom it would succeed outside of a gate."""
    add = ["task", "add", "--id", "evil", "--title", "evil", "--spec", "specs/vision.md", "--done", "x", "--in", "evil/"]
    plan = world.words["PLAN"]
    return [
        (None, ["note", "hacked"]), (None, ["pause", "--reason", "hacked"]), (None, ["abort", "--reason", "hacked"]),
        (None, ["checkpoint", "--reason", "hacked"]), (None, ["pause", "--task", "idle"]), (None, add), (None, [*add, "--finalize"]),
        (None, ["task", "finalize", "draft"]), (None, ["plan", plan]), (None, ["task", "abandon", "idle", "--reason", "hacked"]),
        (None, ["task", "rescope", "idle", "--into", plan, "--reason", "hacked"]), (None, ["task", "unblock", "blocked", "--answer", "hacked"]),
        ("coder-2", ["task", "claim", "idle"]), ("coder-2", ["next", "--role", "coder"]), ("coder-1", ["task", "renew", "working"]),
        ("coder-1", ["task", "submit", "working"]), ("coder-1", ["task", "release", "working"]),
        ("coder-1", ["task", "handoff", "working", "--summary", "s", "--next", "n"]),
        ("coder-1", ["task", "block", "working", "--reason", "r", "--question", "q"]), ("coder-1", ["agent", "heartbeat"]),
        ("coder-1", ["bundle", "create", "working"]), ("reviewer-1", ["review", "claim", "submitted"]),
        ("reviewer-1", ["review", "approve", "reviewing", "--commit", commits["reviewing"], "--summary", "hacked"]),
        ("reviewer-1", ["review", "reject", "reviewing", "--commit", commits["reviewing"], "--reason", "r", "--issue", "major:r.txt:1:bad"]),
        ("reviewer-1", ["review", "discuss", "reviewing", "--commit", commits["reviewing"], "--reason", "r", "--question", "q"]),
        ("reviewer-1", ["review", "release", "reviewing"]), ("reviewer-1", ["merge", "approved"]), (None, ["merge", "--all"]),
        (None, ["integration", "advance", "by-hand", "--reason", "hacked"]), (None, ["deliver", "--to", "release", "--create"]),
        (None, ["agent", "register", "--role", "code_reviewer", "--id", "evil"]), (None, ["agent", "retire", "coder-2"]),
        ("coder-1", ["anomaly", "retry_loop", "--task", "working", "--detail", "count=3", "--detail", "error_pattern=x"]),
        ("coder-1", ["discover", "hacked", "--task", "working", "--severity", "minor", "--urgency", "deferred"]),
        (None, ["spec-change", "hacked", "--spec", "specs/vision.md"]), (None, ["archive", "--all"]), (None, ["hooks", "install"]),
        (None, ["lock", "release", "working", "--reason", "hacked"]), (None, ["status", "--force-unlock", "working"]),
        (None, ["uninstall", "--yes"]), (None, ["gc", "--keep-days", "0"]), (None, ["worktree", "prune"]), (None, ["doctor", "--fix"]),
        (None, ["gate", "run", "submitted"]), (None, ["trash", "empty", "--older-than", "0"]), (None, ["resume"]),
    ]


# Commands that have nothing to do on this board: outside of a gate they change nothing either.
IDLE_HERE = ("gc", "worktree", "doctor", "gate", "trash", "resume", "hooks", "task renew", "agent heartbeat")


def ways_of(world, act):
    """Thirty ways to start a command so that its origin is hidden; @ACT@ is tried from the root."""
    root, liza = world.root, world.binary
    token = f"LIZA_AGENT_ID=reviewer-1 LIZA_AGENT_TOKEN='{world.tokens['reviewer-1']}'"
    copy, link = f"{world.home}/copied-liza", f"{world.home}/linked-liza"
    if not os.path.exists(link):
        subprocess.run(["cp", liza, copy], check=True)
        os.symlink(liza, link)
        os.symlink(root, f"{world.home}/linked")
    deep = f"'{liza}' --json {act}"
    for _ in range(3):
        deep = "sh -c '" + deep.replace("'", "'\\''") + "; :'"
    python = (f"python3 -c 'import ctypes, os, subprocess, time\nctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n"
              f"  os.chdir(\"{root}\"); os.execve(\"{liza}\", [\"liza\", \"--json\", *\"\"\"{act}\"\"\".replace(chr(34), \"\").split()], {{}})\n os._exit(0)\ntime.sleep(1.5)'")
    line = f"cd '{root}' && '{liza}' --json {act}"
    ways = {
        "from the gate's tree": f"'{liza}' --json {act}",
        "from the root": line,
        "env -i": f"cd '{root}' && env -i '{liza}' --json {act}",
        "env -i with a token": f"cd '{root}' && env -i {token} '{liza}' --json {act}",
        "with a token": f"cd '{root}' && {token} '{liza}' --json {act}",
        "with a token file": f"cd '{root}' && LIZA_AGENT_ID=reviewer-1 LIZA_AGENT_TOKEN_FILE='{root}/.liza/tokens/reviewer-1' '{liza}' --json {act}",
        "without variables": f"unset LIZA_GATE LIZA_GATE_COMMIT HOME PATH; cd '{root}' && '{liza}' --json {act}",
        "other variables": f"cd '{root}' && LIZA_GATE= LIZA_AGENT_ID= LIZA_CLAIM= '{liza}' --json {act}",
        "--board": f"cd / && '{liza}' --board '{root}/.liza' --json {act}",
        "--board by a link": f"cd / && '{liza}' --board '{world.home}/linked/.liza' --json {act}",
        "LIZA_DIR": f"cd / && LIZA_DIR='{root}/.worktrees/../.liza' '{liza}' --json {act}",
        "GIT_DIR": f"cd / && GIT_DIR='{root}/.git' GIT_WORK_TREE='{root}' LIZA_DIR='{root}/.liza' '{liza}' --json {act}",
        "from another worktree": f"cd '{root}/.worktrees/working' && '{liza}' --json {act}",
        "setsid": f"setsid -w sh -c \"cd '{root}'; setsid -w '{liza}' --json {act}\"",
        "set free": f"setsid sh -c \"(sleep 0.3; cd '{root}'; env -i '{liza}' --json {act}) & exit 0\"; sleep 2",
        "set free twice": f"(setsid sh -c \"(setsid sh -c \\\"sleep 0.3; cd '{root}'; '{liza}' --json {act}; :\\\" &) ; exit 0\" &) ; sleep 2",
        "nohup": f"cd '{root}' && nohup '{liza}' --json {act} 2>&1 | cat",
        "timeout": f"cd '{root}' && timeout 20 '{liza}' --json {act}",
        "xargs": f"cd '{root}' && printf '%s' '{act}' | xargs '{liza}' --json",
        "git alias": f"cd '{root}' && git -c alias.act='!\"{liza}\" --json {act}' act",
        "exec": f"cd '{root}' && exec '{liza}' --json {act}",
        "another name": f"cd '{root}' && exec '{link}' --json {act}",
        "a copy": f"cd '{root}' && '{copy}' --json {act}",
        "below a holder of its own": f"cd '{root}' && '{liza}' __hold --gate /nonexistent $$ -- '{liza}' --json {act}",
        "below a plain holder": f"cd '{root}' && '{liza}' __hold -- '{liza}' --json {act} || {{ cd '{root}' && '{liza}' --json {act}; }}",
        "deep": f"cd '{root}' && {deep}",
        "a subreaper of its own": python,
        "another process group": f"cd '{root}' && bash -mc \"'{liza}' --json {act} & wait\"",
        "a terminal": f"cd '{root}' && script -qec \"'{liza}' --json {act}\" /dev/null",
        "a coprocess": f"cd '{root}' && bash -c \"coproc '{liza}' --json {act}; cat <&\\${{COPROC[0]}}\"",
    }
    allowed = subprocess.run(["unshare", "-p", "-f", "true"], capture_output=True, check=False).returncode == 0
    if allowed:
        ways |= {
            "unshare -p": f"cd '{root}' && unshare -p -f '{liza}' --json {act}",
            "unshare -p with /proc": f"cd '{root}' && unshare -p -f --mount-proc '{liza}' --json {act}",
            "unshare -U": f"cd '{root}' && unshare -U -r -p -f --mount-proc '{liza}' --json {act}",
            "no /proc": f"cd '{root}' && unshare -m sh -c \"mount -t tmpfs none /proc && '{liza}' --json {act}\"",
        }
    return ways


def known_ways(world, act):
    """Ways that succeed, as documented (decision 0021): a token presented where ancestors cannot be read."""
    shown = f"cd '{world.root}' && LIZA_AGENT_ID=reviewer-1 LIZA_AGENT_TOKEN_FILE='{world.root}/.liza/tokens/reviewer-1'"
    return {
        "another pid namespace": f"{shown} unshare -p -f --mount-proc '{world.binary}' --json {act}",
        "a user namespace": f"{shown} unshare -U -r -p -f --mount-proc '{world.binary}' --json {act}",
        "no /proc": f"{shown} unshare -m sh -c \"mount -t tmpfs none /proc && '{world.binary}' --json {act}\"",
    }


def rebel(world, act):
    """Kills its holder, stops the liza process that started the gate, and acts."""
    def parent(of):
        return f"$(awk '/^PPid/{{print $2}}' /proc/{of}/status)"
    return (f"asker={parent('$PPID')}; kill -STOP $asker; kill -9 $PPID; cd '{world.root}'; '{world.binary}' --json {act}; "
            f"env -i '{world.binary}' --json {act}; setsid -w '{world.binary}' --json {act}; kill -CONT $asker; sleep {world.mark}")


def quoted(words):
    return " ".join(word if re.match(r"^[\w./=:-]+$", word) else f"'{word}'" for word in words)


def part_gate_processes(options):
    """Processes started by a gate or a validation may not change the board: not one byte of it changes."""
    world = GateWorld(options)
    figures = {"attempts": 0, "known": []}

    def prepare():
        commits = {"submitted": world.submitted("submitted", {"s.txt": "s\n"}), "reviewing": world.submitted("reviewing", {"r.txt": "r\n"})}
        commits["approved"] = world.approved("approved", {"a.txt": "a\n"})
        world.approved("merged", {"m.txt": "m\n"})
        world.must("merge", "merged", who="reviewer-1")
        world.must("review", "claim", "reviewing", who="reviewer-1")
        world.must("task", "add", "--id", "idle", "--title", "i", "--spec", "specs/vision.md", "--done", "x", "--in", "i/", "--finalize", "--kind", "docs")
        world.must("task", "add", "--id", "draft", "--title", "d", "--spec", "specs/vision.md", "--done", "x", "--in", "d/", "--kind", "docs")
        world.begun("blocked", ["b.txt"], who="coder-2")
        world.must("task", "block", "blocked", "--reason", "r", "--question", "q", who="coder-2")
        world.written(world.begun("working", ["w.txt"]), {"w.txt": "w\n"})
        world.git("branch", "by-hand", world.git("commit-tree", "-p", "integration", "-m", "by hand", "integration^{tree}"))
        world.gates({"name": "actor", "command": "true"})
        world.judged()
        world.must("gate", "run", "submitted")
        world.save("ready")
        return commits

    def outcome(place, number):
        with open(os.path.join(place, str(number))) as file:
            return file.read()

    def tried(kind, scripts, words):
        """Has all of them run by a gate or a validation; each must be refused as a gate's process."""
        world.restore("ready")
        place = os.path.join(world.out, kind)
        os.makedirs(place, exist_ok=True)
        body = "".join(f"(\n{script}\n) > '{place}/{number}' 2>&1 </dev/null\n" for number, script in enumerate(scripts))
        put(os.path.join(world.home, "attempts.sh"), body + "echo ok\n")
        figures["attempts"] += len(scripts)
        if kind.startswith("gate"):
            world.gates({"name": "actor", "command": f"sh '{world.home}/attempts.sh'", "timeout": 900})
            before = board_of(world)
            said = world.judged()["actor"]
            if said["status"] != "pass":
                raise Failed(f"{said}")
            after = board_of(world)
        else:
            world.must("task", "release", "working", who="coder-1")
            world.must("task", "add", "--id", "check", "--title", "c", "--spec", "specs/vision.md", "--done", "x", "--in", "c.txt", "--finalize", "--kind", "docs")
            worktree = world.data("task", "claim", "check", who="coder-1")["worktree"]
            world.must("task", "checkpoint", "check", "--intent", "the files say what the spec asks for", "--risks", "none that matter",
                       "--validate", f"sh '{world.home}/attempts.sh' && exit 3", "--expect", "ok", "--file", "c.txt", who="coder-1")
            world.written(worktree, {"c.txt": "c\n"})
            before = board_of(world)
            # Red on purpose, so that nothing is written by the submission itself.
            world.asked("task", "submit", "check", who="coder-1", exits=(7,))
            after = board_of(world)
        differ = sorted(name for name in {**before, **after} if before.get(name) != after.get(name))
        free = [f"{words[number]}: {outcome(place, number)[:300]}" for number in range(len(scripts)) if "refused.identity" not in outcome(place, number)]
        if differ or free:
            raise Failed(f"changed: {differ}; not refused as a gate's process: {free}")

    def check(job):
        kind, which = job
        if which == "commands":
            acts = [(who, quoted(args)) for who, args in acts_on(world, commits)]
            scripts = []
            for who, act in acts:
                token = f"LIZA_AGENT_ID={who} LIZA_AGENT_TOKEN='{world.tokens[who]}' " if who else ""
                scripts.append(f"cd '{world.root}' && {token}'{world.binary}' --json {act}")
            tried(kind, scripts, [act for _, act in acts])
        elif which == "ways":
            for act in ("note hacked",) if options.quick else ("note hacked", "merge approved", "pause"):
                ways = ways_of(world, act)
                tried(kind, list(ways.values()), list(ways))
        elif which == "known":
            world.restore("ready")
            ways = known_ways(world, "note hacked")
            world.gates(*[{"name": f"actor-{number}", "command": way, "optional": True} for number, way in enumerate(ways.values())])
            said = world.judged()
            figures["known"] = [name for number, name in enumerate(ways) if said[f"actor-{number}"]["status"] == "pass"]
            world.sound()
        else:
            world.restore("ready")
            put(os.path.join(world.out, "rebel"), "")
            put(os.path.join(world.home, "rebel.sh"), f"exec >> '{world.out}/rebel' 2>&1\n{rebel(world, 'note hacked')}\n")
            world.gates({"name": "actor", "command": ["sh", f"{world.home}/rebel.sh"]})
            before = board_of(world)
            said = world.judged()["actor"]
            heard = "\n".join(world.lines_in("rebel")).count("refused.identity")
            figures["attempts"] += 9
            if said["status"] != "could_not_run" or heard != 9 or board_of(world) != before:
                raise Failed(f"{said}, {heard} refusals of 9: {world.lines_in('rebel')}")
            world.gone(2)

    def live(job):
        """A control: outside of a gate the same commands change something."""
        who, args = job
        world.restore("ready")
        before = board_of(world)
        ran = world.liza("--json", *args, who=who)
        changed = board_of(world) != before
        if ran.returncode != 0 or (not changed and not quoted(args).startswith(IDLE_HERE)):
            raise Failed(f"exit {ran.returncode}, changed: {changed}: {ran.stdout.decode(errors='replace')[:600]}")

    try:
        commits = prepare()
        acts = acts_on(world, commits)
        # `uninstall` is refused while the board is in use.
        possible = [act for act in acts if act[1][0] != "uninstall"]
        failed = each("gate-processes, control", possible if not options.quick else possible[::6], live)
        kinds = [("gate", "commands"), ("gate", "ways"), ("gate", "rebel"), ("gate", "known"), ("validation", "commands"), ("validation", "ways")]
        failed += each("gate-processes", kinds, check, lambda: f"{figures['attempts']} attempts, {len(acts)} commands, {len(ways_of(world, 'x'))} ways; "
                       f"a token gets through from {', '.join(figures['known']) or 'nowhere'}, as documented")
        world.restore("ready")
        world.must("note", "a person is a person")
        world.sound()
        return failed
    finally:
        world.close()


PARTS = {
    "hang": part_hang, "daemons": part_daemons, "flood": part_flood, "secrets": part_secrets, "metacharacters": part_metacharacters,
    "gate-processes": part_gate_processes,
}
