"""The worlds of `scripts/torture`: a repository at every stage of a task's life, and every command that changes
something, each with the stage it needs and a check that it was done."""

import json
import os
import shutil
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIXTURES = os.path.join(HERE, "tests/cli/fixtures")
PLAN = """tasks:
  - {id: p1, title: One, spec_ref: specs/vision.md, done_when: [works], scope: {in: [p1/]}}
  - {id: p2, title: Two, spec_ref: specs/vision.md, done_when: [works], scope: {in: [p2/]}, depends_on: [p1]}
"""
STREAMS = """workstreams:
  - {id: a, goal: The files of a, ownership_paths: [a/], timebox_minutes: 10}
"""
# The planner of a routed goal plans nothing: a person does, so that each stage is made by one command.
IDLE_TEAM = "version: 1\nprovider: idle\nproviders:\n  idle: { command: [sh, -c, 'exit 0'] }\nteam: [{role: planner, count: 1}]\n"
CHECKPOINT = ["task", "checkpoint", "t1", "--intent", "the files say what the spec asks for", "--risks", "none that matter",
              "--validate", "echo ok", "--expect", "ok", "--file", "t1/a.txt", "--file", "t1/tests/test_a.sh"]


class Failed(Exception):
    pass


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


class World:
    """A repository with a board at every stage of one task's life; each stage is saved and can be restored."""

    def __init__(self, options, parent):
        self.binary = options.binary
        self.home = tempfile.mkdtemp(prefix="torture-", dir=parent)
        self.root = os.path.join(self.home, "repo")
        self.tokens = {}
        self.saved = {}
        # Values of placeholders in commands that only this world knows: COMMIT, PLAN and so on.
        self.words = {"PLAN": os.path.join(self.home, "plan.yaml"), "STREAMS": os.path.join(self.home, "streams.yaml")}
        put(self.words["PLAN"], PLAN)
        put(self.words["STREAMS"], STREAMS)
        self.temporary = os.path.join(self.home, "tmp")
        os.mkdir(self.temporary)
        self.env = {
            "PATH": os.environ["PATH"], "HOME": self.home, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C",
            "XDG_CONFIG_HOME": os.path.join(self.home, "config"), "TMPDIR": self.temporary,
        }

    def run(self, argv, who=None, env=None, cwd=None, timeout=120):
        full = dict(self.env, **(env or {}))
        if who:
            full.update(LIZA_AGENT_ID=who, LIZA_AGENT_TOKEN=self.tokens[who])
        return subprocess.run(argv, cwd=cwd or self.root, env=full, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)

    def liza(self, *args, who=None, env=None, wrap=()):
        return self.run([*wrap, self.binary, *args], who=who, env=env)

    def must(self, *args, who=None, env=None):
        ran = self.liza(*args, who=who, env=env)
        if ran.returncode != 0:
            said = (ran.stdout + ran.stderr).decode(errors="replace").strip()
            raise Failed(f"liza {' '.join(args)}: exit {ran.returncode}: {said}")
        return ran.stdout

    def data(self, *args, who=None):
        return json.loads(self.must("--json", *args, who=who))["data"]

    def git(self, *args, cwd=None):
        identity = {f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        ran = self.run(["git", *args], env=identity, cwd=cwd)
        if ran.returncode != 0:
            raise Failed(f"git {' '.join(args)}: {ran.stderr.decode(errors='replace').strip()}")
        return ran.stdout.decode().strip()

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def there(self, *parts):
        return os.path.lexists(self.path(*parts))

    def write(self, relative, text):
        put(self.path(relative), text)

    def save(self, stage):
        self.saved[stage] = os.path.join(self.home, f"saved-{stage}")
        subprocess.run(["cp", "-a", self.root, self.saved[stage]], check=True)

    def restore(self, stage):
        # What earlier killed commands left in the temporary directory gets old enough to be a finding in the middle of a later check.
        for directory in (self.root, self.temporary):
            shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(self.temporary, exist_ok=True)
        subprocess.run(["cp", "-a", self.saved[stage], self.root], check=True)

    def commit_in(self, directory, files):
        for name in files:
            put(os.path.join(directory, name), "true\n")
        self.git("add", "-A", cwd=directory)
        self.git("commit", "-q", "-m", "work", cwd=directory)

    def prepare(self):
        self.prepare_bare()
        self.prepare_task()
        self.prepare_ends()
        self.prepare_faults()
        self.prepare_old()
        self.prepare_routed()
        self.prepare_dead()
        self.restore("idle")
        return self

    def prepare_bare(self):
        os.mkdir(self.root)
        self.git("init", "-q", "-b", "main")
        for name in os.listdir(self.path(".git/hooks")):
            os.remove(self.path(".git/hooks", name))
        for name in ("specs/vision.md", "README.md"):
            self.write(name, "text\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "start")
        self.git("branch", "release")
        self.save("bare")

    def prepare_task(self):
        self.must("init", "A goal")
        agents = (("coder", "coder-1"), ("coder", "coder-2"), ("code_reviewer", "reviewer-1"), ("planner", "planner-1"))
        for role, who in agents:
            self.tokens[who] = self.data("agent", "register", "--role", role, "--id", who)["token"]
        for task in ("t1", "t2"):
            self.must("task", "add", "--id", task, "--title", task, "--spec", "specs/vision.md", "--done", "it works",
                      "--finalize", "--in", f"{task}/")
        self.must("task", "add", "--id", "d1", "--title", "d1", "--spec", "specs/vision.md", "--done", "it works",
                  "--in", "d1/")
        self.words["REVISION"] = str(json.loads(self.must("--json", "status"))["revision"])
        self.save("idle")
        self.must("pause", "--reason", "a break")
        self.save("paused")
        self.restore("idle")
        # A board in use: its next change is written over the file of the oldest image.
        for number in range(66):
            self.must("note", f"note {number}")
        self.save("worn")
        self.restore("idle")
        self.must("note", "an answer")
        self.words["NOTE"] = self.data("inbox")["human_notes"][0]["id"]
        self.save("noted")
        self.restore("idle")
        self.must("task", "abandon", "t2", "--reason", "no use")
        self.save("changed")
        self.restore("idle")
        worktree = self.data("task", "claim", "t1", who="coder-1")["worktree"]
        self.save("claimed")
        self.must("task", "block", "t1", "--reason", "unclear", "--question", "which?", who="coder-1")
        self.save("blocked")
        self.restore("claimed")
        self.must(*CHECKPOINT, who="coder-1")
        self.commit_in(worktree, ["t1/a.txt", "t1/tests/test_a.sh"])
        self.save("worked")
        # Uncommitted as well: a release must save it first.
        put(os.path.join(worktree, "t1/more.txt"), "only here\n")
        self.save("dirty")
        self.must("task", "release", "t1", who="coder-1")
        self.save("released")
        self.restore("worked")
        self.commit_in(self.root, ["upstream.txt"])
        self.save("upstream")
        self.must("integration", "advance", "main", "--reason", "needed")
        self.save("behind")
        self.restore("worked")
        self.words["COMMIT"] = self.data("task", "submit", "t1", who="coder-1")["review_commit"]
        self.save("submitted")
        self.must("review", "claim", "t1", who="reviewer-1")
        self.save("reviewing")
        self.must("review", "approve", "t1", "--commit", self.words["COMMIT"], "--summary", "fine", who="reviewer-1")
        self.save("approved")

    def prepare_ends(self):
        self.restore("approved")
        self.must("merge", "t1", who="reviewer-1")
        self.save("merged")
        # The next merge deletes the worktree of this one, and first keeps its ignored file.
        self.must("config", "set", "worktrees.keep_merged", "1")
        with open(self.path(".git/info/exclude"), "a") as file:
            file.write("*.log\n")
        self.write(".worktrees/t1/t1/kept.log", "only here\n")
        worktree = self.data("task", "claim", "t2", who="coder-2")["worktree"]
        self.must(*[word.replace("t1", "t2") for word in CHECKPOINT], who="coder-2")
        self.commit_in(worktree, ["t2/a.txt", "t2/tests/test_a.sh"])
        commit = self.data("task", "submit", "t2", who="coder-2")["review_commit"]
        self.must("review", "claim", "t2", who="reviewer-1")
        self.must("review", "approve", "t2", "--commit", commit, "--summary", "fine", who="reviewer-1")
        self.save("crowded")
        self.restore("merged")
        self.must("archive", "--all")
        self.save("archived")
        thing = next(thing for thing in self.data("trash", "list")["trash"] if thing["origin"].endswith("/.worktrees/t1"))
        self.words["TRASHED"], self.words["BACK"] = thing["name"], thing["origin"]
        # Two worktrees that are no longer used: of an ended review, and of a finished task with uncommitted work.
        self.restore("merged")
        put(self.path(".worktrees/t1/t1/thoughts.txt"), "only here\n")
        self.must("archive", "--all")
        self.save("prunable")
        self.restore("idle")
        self.must("hooks", "install")
        self.save("hooked")
        # Two worktrees with uncommitted work, hooks, a merged task: all that an uninstall removes.
        self.restore("released")
        self.must("task", "claim", "t2", who="coder-2")
        self.write(".worktrees/t2/t2/x.txt", "only here\n")
        self.must("task", "release", "t2", who="coder-2")
        self.must("hooks", "install")
        self.save("leaving")

    def prepare_routed(self):
        """A goal of route multi: its workstream, the plan of that, its slices; and one that no auditor has approved."""
        self.restore("merged")
        self.write("liza.yaml", IDLE_TEAM)
        self.must("goal", "abandon", "goal-1", "--reason", "another one comes")
        stuck = self.liza("run", "Write the files of a", "--multi", env={"LIZA_TEST_BACKOFF_MS": "20", "LIZA_TEST_AT_ONCE_MS": "100"})
        if stuck.returncode != 1 or not self.data("status")["routes"]:
            raise Failed(f"run: exit {stuck.returncode}: {(stuck.stdout + stuck.stderr).decode(errors='replace')}")
        os.remove(self.path("liza.yaml"))
        for role, who in (("supervisor", "supervisor-1"), ("operator", "operator-1")):
            self.tokens[who] = self.data("agent", "register", "--role", role, "--id", who)["token"]
        self.save("routed")
        self.must("plan", self.words["STREAMS"])
        self.save("streamed")
        self.must("task", "claim", "a-plan", who="supervisor-1")
        self.words["PLANNED"] = self.result("a-plan", "worker-result.supervisor/1", dispatch_plan={
            "workstream": "a", "timebox_minutes": 10, "ownership_paths": ["a/"], "allowed_paths": ["a/"], "slices": [{
                "slice_id": "a1", "agent_type": "coder_spark", "slice_kind": "work", "timebox_minutes": 8, "ownership_paths": ["a/one/"],
                "allowed_paths": ["a/one/"], "task_contract": {"goal": "Write one", "acceptance": ["it is there"]}}]})
        self.save("planning")
        self.must("task", "submit", "a-plan", "--result", self.words["PLANNED"], who="supervisor-1")
        self.save("planned")
        self.must("result", "accept", "a-plan", who="planner-1")
        self.save("sliced")
        self.restore("idle")
        self.tokens["operator-2"] = self.data("agent", "register", "--role", "operator", "--id", "operator-2")["token"]
        self.must("task", "add", "--id", "probe", "--title", "Look", "--kind", "report", "--role", "operator", "--slice-kind", "probe",
                  "--spec", "specs/vision.md", "--done", "it is known", "--finalize")
        self.must("task", "claim", "probe", who="operator-2")
        self.words["PROBED"] = self.result("probe", "worker-result.operator/1", commands=[{"cmd": "ls", "exit": 0}])
        self.save("probing")

    def result(self, task, schema, **more):
        """A file with a complete result of this task."""
        path = os.path.join(self.home, f"{task}.json")
        value = {"schema": schema, "ssot_id": self.task(task)["ssot_id"], "slice_id": task, "status": "complete", "summary": "done", **more}
        put(path, json.dumps(value))
        return path

    def prepare_faults(self):
        """Faults that `doctor --fix` repairs, planted all at once."""
        self.restore("worked")
        for name in (".liza/state.yaml", ".liza/log.yaml"):
            os.chmod(self.path(name), 0o644)
        os.chmod(self.path(".liza/tokens"), 0o755)
        self.old_file(".git/packed-refs.lock", 3600)
        self.old_file(".git/refs/heads/task/t1.lock", 3600)
        self.old_file(".liza/images/.some.yaml.999999.tmp", 3600)
        os.remove(self.path(".liza/state.yaml.lock"))
        self.git("worktree", "add", "-q", "--detach", ".worktrees/stranger", "main")
        self.git("worktree", "add", "-q", "--lock", "-b", "ghost", ".worktrees/ghost")
        shutil.rmtree(self.path(".worktrees/ghost"))
        os.mkdir(self.path(".worktrees/empty"))
        self.save("ill")
        # A worktree without its `.git`, and a half-made record, which breaks git in the whole repository.
        self.restore("worked")
        os.remove(self.path(".worktrees/t1/.git"))
        self.save("ill-worktree")
        self.restore("worked")
        for name, text in (("gitdir", self.path(".worktrees/ghost/.git") + "\n"), ("HEAD", "ref: refs/heads/main\n"),
                           ("commondir", "")):
            self.write(f".git/worktrees/ghost/{name}", text)
        self.save("ill-git")
        # A missing board and a truncated one: rebuilt from image and log.
        self.restore("worked")
        os.remove(self.path(".liza/state.yaml"))
        self.save("ill-gone")
        self.restore("worked")
        os.truncate(self.path(".liza/state.yaml"), os.path.getsize(self.path(".liza/state.yaml")) // 2)
        self.save("ill-torn")

    def old_file(self, relative, seconds):
        self.write(relative, "")
        os.chmod(self.path(relative), 0o600)
        then = time.time() - seconds
        os.utime(self.path(relative), (then, then))

    def prepare_old(self):
        """The board of the older shell implementation in the middle of a sprint, with the repository it speaks of."""
        def worktree(task, name):
            path = f".worktrees/{task}"
            self.git("worktree", "add", "-q", path, "-b", f"task/{task}", "integration")
            self.commit_in(self.path(path), [name, f"tests/test_{task}.sh"])
            return self.git("rev-parse", f"task/{task}")

        self.restore("bare")
        self.git("branch", "integration")
        base = self.git("rev-parse", "integration")
        first = worktree("task-1", "users.txt")
        self.git("worktree", "remove", ".worktrees/task-1")
        self.git("worktree", "add", "-q", ".worktrees/merge", "integration")
        self.git("merge", "-q", "--no-ff", "-m", "Merge task-1", "task/task-1", cwd=self.path(".worktrees/merge"))
        merged = self.git("rev-parse", "integration")
        self.git("worktree", "remove", ".worktrees/merge")
        second = worktree("task-2", "orders.txt")
        worktree("task-3", "payments.txt")
        self.write(".worktrees/task-3/unsaved.txt", "not committed\n")
        fifth, seventh = worktree("task-5", "limits.txt"), worktree("task-7", "metrics.txt")
        with open(os.path.join(FIXTURES, "v1-mid-sprint.yaml")) as file:
            text = file.read()
        for name, value in (("BASE", base), ("REVIEW1", first[:8]), ("MERGE1", merged[:10]), ("REVIEW2", second),
                            ("REVIEW5", fifth[:7]), ("REVIEW7", seventh)):
            text = text.replace(f"@{name}@", value)
        self.write(".liza/state.yaml", text)
        shutil.copy(os.path.join(FIXTURES, "v1-log.yaml"), self.path(".liza/log.yaml"))
        self.write(".liza/state.yaml.lock", "")
        self.write(".liza/alerts.log", "")
        self.write(".git/info/exclude", "/.liza/\n/.worktrees/\n")
        self.save("old")

    def prepare_dead(self):
        """The state after commands that were killed at a named point."""
        for what, start, who, args, points in (
            ("merge", "approved", "reviewer-1", ["merge", "t1"], ["merge.moved", "merge.recorded"]),
            ("claim", "approved", "coder-2", ["task", "claim", "t2"], ["claim.added"]),
            ("record", "approved", None, ["note", "never published"], ["commit.5"]),
            ("advance", "upstream", None, ["integration", "advance", "main", "--reason", "needed"], ["move.moved"]),
            ("archive", "merged", None, ["archive", "--all"],
             ["archive.written", "archive.committed", "archive.files", "prune.moved", "commit.5"]),
            ("gc", "archived", None, ["gc", "--keep-days", "0"], ["gc.pruned", "gc.kept", "gc.refs", "trash.going"]),
            ("prune", "prunable", None, ["worktree", "prune", "--save"], ["prune.saved", "prune.moved"]),
            ("migration", "old", None, ["doctor", "--fix"], ["migrate.prepared", "migrate.kept", "commit.5", "commit.7"]),
            ("doctor", "ill", None, ["doctor", "--fix"], ["prune.moved", "commit.5"]),
            ("submit-result", "planning", "supervisor-1", ["task", "submit", "a-plan", "--result", "PLANNED"], ["commit.5", "commit.7"]),
            ("doctor-torn", "ill-torn", None, ["doctor", "--fix"], ["commit.5", "recover.taken"]),
            ("uninstall", "leaving", None, ["uninstall", "--yes"],
             ["uninstall.paused", "uninstall.hooks", "uninstall.worktree", "uninstall.excludes", "uninstall.tokens",
              "uninstall.renamed"]),
        ):
            for at in points:
                self.restore(start)
                died = self.liza(*(self.words.get(arg, arg) for arg in args), who=who, env={"LIZA_CRASH_AT": at})
                if died.returncode == -9:
                    self.save(f"dead-{what}-{at}")

    def state(self):
        try:
            with open(self.path(".liza/state.yaml"), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def task(self, task):
        return self.data("task", "show", task)

    def sound(self):
        self.must("validate")
        self.must("verify")
        if b"\nintents: []\n" not in self.state():
            raise Failed("an intent is left open")

    def findings(self):
        return self.liza("doctor").stdout.decode(errors="replace").strip()

    def recovers(self, op):
        """One ordinary command repairs everything; then the operation is done, or can be done."""
        if op.again:
            # Repeating a command that repairs or removes a board gives the same answer.
            self.must(*op.args_in(self), who=op.who, env=op.env)
            if not op.done(self):
                raise Failed(f"it was done again without effect; `liza doctor` says: {self.findings()}")
            if self.there(".liza"):
                self.must("note", "afterwards")
                self.sound()
            return
        if op.name == "init" and self.state() is None:
            self.must(*op.args)
        self.must("note", "afterwards")
        self.sound()
        if not op.done(self):
            self.must(*op.args_in(self), who=op.who, env=op.env)
            if not op.done(self):
                raise Failed("it was done again without effect")
            self.sound()

    def close(self):
        shutil.rmtree(self.home, ignore_errors=True)


class Op:
    """`again`: the same command completes what a killed one left; elsewhere any ordinary command does. `atomic`: one commit of
    the board and nothing else, so that a failure means that the board is byte for byte what it was. `unless_said`: the
text with which the command says, with exit 0, that it left something unchanged."""

    def __init__(self, name, stage, args, done, who=None, again=False, atomic=False, env=None, unless_said=None):
        self.name, self.stage, self.args, self.done, self.who = name, stage, args, done, who
        self.again, self.atomic, self.env, self.unless_said = again, atomic, env, unless_said

    def args_in(self, world):
        return [world.words.get(arg, arg) for arg in self.args]


def status_is(task, *wanted):
    return lambda world: world.task(task)["status"] in wanted


def board_contains(text):
    return lambda world: text.encode() in world.state()


def gone_from_board(task):
    return lambda world: f"\n- id: {task}\n".encode() not in world.state() and world.there(".liza/archive") \
        and any(task in name for name in os.listdir(world.path(".liza/archive")))


def healthy(world):
    return world.liza("doctor").returncode == 0


def migrated(world):
    return b"\nversion: 1\n" not in b"\n" + world.state() and world.task("task-1")["status"] == "MERGED"


def hooks_of(world):
    return os.listdir(world.path(".git/hooks")) if world.there(".git/hooks") else []


def uninstalled(world):
    with open(world.path(".git/info/exclude")) as file:
        excluded = file.read()
    saved = [world.git("for-each-ref", "--format=%(refname)", f"refs/liza/wip/{task}").splitlines()[:1] for task in ("t1", "t2")]
    kept = [world.git("show", f"{refs[0]}:{name}") for refs, name in zip(saved, ("t1/more.txt", "t2/x.txt")) if refs]
    return not world.there(".liza") and not world.there(".worktrees") and "liza" not in excluded \
        and kept == ["only here"] * 2 and not hooks_of(world) and len(world.git("worktree", "list").splitlines()) == 1


def restored(world):
    return os.path.exists(os.path.join(world.words["BACK"], ".git")) \
        and world.run(["git", "status"], cwd=world.words["BACK"]).returncode == 0


def trash_is_empty(world):
    return not world.data("trash", "list")["trash"]


def merged_over(world):
    """Merged, and the ignored file of the task before is in its worktree or kept."""
    if not status_is("t2", "MERGED")(world):
        return False
    refs = world.git("for-each-ref", "--format=%(refname)", "refs/liza/wip/t1").splitlines()
    return world.there(".worktrees/t1/t1/kept.log") or any(world.git("show", f"{ref}:t1/kept.log") == "only here" for ref in refs)


def no_refs_of(task):
    return lambda world: not world.git("for-each-ref", f"refs/heads/task/{task}", f"refs/liza/submitted/{task}")


def hooked(world):
    return all(world.there(".git/hooks", name) for name in ("pre-commit", "commit-msg", "pre-push", "reference-transaction")) \
        and world.liza("hooks", "status").returncode == 0


def delivered(world):
    return world.git("rev-parse", "release") == world.git("rev-parse", "integration")


OPS = [
    Op("init", "bare", ["init", "A goal"], lambda w: w.liza("status").returncode == 0),
    Op("note", "idle", ["note", "something to say"], board_contains("something to say"), atomic=True),
    # The same written into the file of the oldest image: of a small board, and of a large one, of which fewer are kept.
    Op("note-over", "worn", ["note", "something to say"], board_contains("something to say"), atomic=True),
    Op("note-over-large", "idle", ["note", "something to say"], board_contains("something to say"), atomic=True,
       env={"LIZA_TEST_FEW_IMAGES": "1"}),
    Op("anomaly", "claimed", ["anomaly", "spec_ambiguity", "--task", "t1", "--detail", "question=Is it so?"],
       board_contains("spec_ambiguity"), "coder-1", atomic=True),
    Op("discover", "claimed", ["discover", "something found", "--task", "t1", "--severity", "minor", "--urgency", "deferred"],
       board_contains("something found"), "coder-1", atomic=True),
    # Two commits: the change, then a message to the agent, whose failure is reported and undoes nothing.
    Op("spec-change", "claimed", ["spec-change", "--spec", "specs/vision.md", "names may be empty", "--affects", "t1"],
       board_contains("names may be empty")),
    Op("inbox", "noted", ["inbox", "--done", "NOTE"],
       lambda w: w.words["NOTE"] not in [note["id"] for note in w.data("inbox")["human_notes"]], atomic=True),
    Op("agent register", "idle", ["agent", "register", "--role", "coder", "--id", "coder-9"], board_contains("coder-9")),
    Op("agent heartbeat", "claimed", ["agent", "heartbeat"], lambda w: True, "coder-1", atomic=True),
    Op("agent retire", "claimed", ["agent", "retire", "coder-1"], lambda w: "retired" in json.dumps(
        [one for one in w.data("agent", "list")["agents"] if one["id"] == "coder-1"]).lower()),
    Op("task add", "idle", ["task", "add", "--id", "t9", "--title", "x", "--spec", "specs/vision.md", "--done", "d",
                            "--in", "t9/", "--finalize"], board_contains("id: t9"), atomic=True),
    Op("finalize", "idle", ["task", "finalize", "d1"], status_is("d1", "IDLE"), atomic=True),
    Op("plan", "idle", ["plan", "PLAN"], board_contains("id: p2"), atomic=True),
    Op("claim", "idle", ["task", "claim", "t1"], status_is("t1", "WORKING"), "coder-1"),
    Op("claim again", "released", ["task", "claim", "t1"], status_is("t1", "WORKING"), "coder-2"),
    Op("next", "idle", ["next", "--role", "coder"], status_is("t1", "WORKING"), "coder-1"),
    Op("renew", "claimed", ["task", "renew", "t1"], lambda w: True, "coder-1", atomic=True),
    Op("checkpoint", "claimed", CHECKPOINT, board_contains("pre_execution_checkpoint"), "coder-1", atomic=True),
    Op("block", "claimed", ["task", "block", "t1", "--reason", "unclear", "--question", "which?"],
       status_is("t1", "BLOCKED"), "coder-1"),
    Op("unblock", "blocked", ["task", "unblock", "t1", "--answer", "this one"], status_is("t1", "IDLE"), atomic=True),
    Op("handoff", "dirty", ["task", "handoff", "t1", "--summary", "half", "--next", "the rest"], status_is("t1", "IDLE"),
       "coder-1"),
    Op("release", "dirty", ["task", "release", "t1", "--reason", "out of time"], status_is("t1", "IDLE"), "coder-1"),
    Op("rescope", "dirty", ["task", "rescope", "t1", "--into", "PLAN", "--reason", "two features in one"],
       status_is("t1", "SUPERSEDED")),
    Op("abandon", "dirty", ["task", "abandon", "t1", "--reason", "no use"], status_is("t1", "ABANDONED")),
    Op("sync", "behind", ["task", "sync", "t1"], lambda w: os.path.exists(w.path(".worktrees/t1/upstream.txt")), "coder-1"),
    Op("submit", "worked", ["task", "submit", "t1"], status_is("t1", "READY_FOR_REVIEW"), "coder-1"),
    Op("review claim", "submitted", ["review", "claim", "t1"],
       lambda w: w.liza("review", "claim", "t1", who="reviewer-1").returncode == 0
       and os.path.exists(w.path(".worktrees/.review/t1/README.md")), "reviewer-1"),
    Op("review renew", "reviewing", ["review", "renew", "t1"], lambda w: True, "reviewer-1", atomic=True),
    Op("review release", "reviewing", ["review", "release", "t1"], lambda w: not w.task("t1").get("reviewing_by"), "reviewer-1"),
    Op("approve", "reviewing", ["review", "approve", "t1", "--commit", "COMMIT", "--summary", "fine"],
       status_is("t1", "APPROVED"), "reviewer-1", atomic=True),
    Op("reject", "reviewing", ["review", "reject", "t1", "--commit", "COMMIT", "--reason", "wrong", "--issue",
                               "major:t1/a.txt:1:it is wrong"], status_is("t1", "REJECTED"), "reviewer-1", atomic=True),
    Op("discuss", "reviewing", ["review", "discuss", "t1", "--commit", "COMMIT", "--reason", "silent", "--question",
                                "which?"], status_is("t1", "BLOCKED"), "reviewer-1", atomic=True),
    Op("merge", "approved", ["merge", "t1"], status_is("t1", "MERGED"), "reviewer-1"),
    Op("merge-over", "crowded", ["merge", "t2"], merged_over, "reviewer-1"),
    Op("advance", "upstream", ["integration", "advance", "main", "--reason", "needed"],
       lambda w: w.git("rev-parse", "integration") == w.git("rev-parse", "main")),
    Op("deliver", "merged", ["deliver", "--to", "release", "--create"], delivered),
    Op("deliver unaudited", "routed", ["deliver", "--to", "release", "--create", "--unaudited", "a person has read it"],
       lambda w: delivered(w) and board_contains("a person has read it")(w)),
    Op("plan streams", "routed", ["plan", "STREAMS"], board_contains("id: a-plan"), atomic=True),
    Op("submit result", "probing", ["task", "submit", "probe", "--result", "PROBED"],
       lambda w: status_is("probe", "MERGED")(w) and b"complete" in w.must("result", "show", "probe"), "operator-2"),
    Op("submit plan", "planning", ["task", "submit", "a-plan", "--result", "PLANNED"],
       lambda w: status_is("a-plan", "READY_FOR_REVIEW")(w) and b"dispatch_plan" in w.must("result", "show", "a-plan", "--raw"), "supervisor-1"),
    Op("result accept", "planned", ["result", "accept", "a-plan"],
       lambda w: status_is("a-plan", "MERGED")(w) and status_is("a1", "IDLE")(w) and status_is("a-merge", "IDLE")(w), "planner-1"),
    Op("result reject", "planned", ["result", "reject", "a-plan", "--reason", "a slice is missing", "--finding", "no slice for two"],
       status_is("a-plan", "REJECTED"), "planner-1", atomic=True),
    Op("stream collapse", "sliced", ["stream", "collapse", "a", "--reason", "it hangs together with another part"],
       lambda w: status_is("a1", "ABANDONED")(w) and status_is("a-merge", "ABANDONED")(w), "planner-1", atomic=True),
    Op("pause", "idle", ["pause", "--reason", "r"], lambda w: w.there(".liza/PAUSE")),
    Op("pause task", "claimed", ["pause", "--task", "t1"], lambda w: b"t1" in w.must("status")),
    Op("abort", "claimed", ["abort", "--reason", "wrong goal"], lambda w: w.there(".liza/ABORT")),
    Op("halt", "claimed", ["checkpoint", "--reason", "end of the day"], lambda w: w.there(".liza/CHECKPOINT")),
    Op("resume", "paused", ["resume"], lambda w: not w.there(".liza/PAUSE")),
    Op("archive", "merged", ["archive", "--all"], gone_from_board("t1")),
    Op("prune", "prunable", ["worktree", "prune", "--save"], lambda w: not w.there(".worktrees/t1"),
       unless_said="it cannot be read"),
    Op("gc", "archived", ["gc", "--keep-days", "0"], no_refs_of("t1")),
    Op("trash restore", "archived", ["trash", "restore", "TRASHED"], restored),
    Op("trash empty", "archived", ["trash", "empty", "--older-than", "0"], trash_is_empty),
    Op("hooks install", "idle", ["hooks", "install"], hooked),
    Op("hooks uninstall", "hooked", ["hooks", "uninstall"], lambda w: not hooks_of(w)),
    Op("doctor restore", "changed", ["doctor", "--restore", "REVISION"], status_is("t2", "IDLE")),
    Op("doctor faults", "ill", ["doctor", "--fix"], healthy, again=True),
    Op("doctor worktree", "ill-worktree", ["doctor", "--fix"], healthy, again=True),
    Op("doctor git", "ill-git", ["doctor", "--fix"], healthy, again=True),
    Op("doctor gone", "ill-gone", ["doctor", "--fix"], healthy, again=True),
    Op("doctor torn", "ill-torn", ["doctor", "--fix"], healthy, again=True),
    Op("migration", "old", ["doctor", "--fix"], migrated, again=True),
    Op("uninstall", "leaving", ["uninstall", "--yes"], uninstalled, again=True, unless_said="removing it failed"),
]


def recoveries(world):
    """Commands that complete what a killed one left behind."""
    for stage in sorted(world.saved):
        if not stage.startswith("dead-"):
            continue
        kind = stage.split("-")[1]
        if kind == "uninstall":
            yield Op(f"uninstall after {stage}", stage, ["uninstall", "--yes"], uninstalled, again=True,
                     unless_said="removing it failed")
        elif kind in ("migration", "doctor"):
            done = migrated if kind == "migration" else healthy
            yield Op(f"doctor after {stage}", stage, ["doctor", "--fix"], done, again=True)
        else:
            yield Op(f"note after {stage}", stage, ["note", "something to say"], board_contains("something to say"), atomic=True)
            for op in OPS:
                if op.name == kind and kind in ("archive", "gc", "prune"):
                    yield Op(f"{kind} after {stage}", stage, op.args, op.done, unless_said=op.unless_said)
