"""The parts of `scripts/torture` that kill what depends on gate results: the merge queue, integration itself while gates
run, every command that runs them, and patch bundles."""

import fcntl
import json
import os
import random
import signal
import subprocess
import time

from torture_gates import GateWorld
from torture_team import each, words_of
from torture_world import Failed, put

# Only what the shell itself can do: a helper that is killed would turn a green tree red.
CHECK = ("set -- limit/*; [ ! -e \"$1\" ] || [ $# -le 1 ] || exit 1; n=0; while read -r line; do n=$((n + 1)); done < shared.txt; "
         "[ $n -eq 60 ] && [ ! -e red.txt ]")


def gate_of(seconds, **more):
    return {"name": "check", "command": f"sleep {seconds}; {CHECK}", **more}


LINES = [f"line {number}" for number in range(60)]


def shared(at, text):
    lines = list(LINES)
    lines[at] = text
    return "\n".join(lines) + "\n"


class QueueWorld(GateWorld):
    """A world whose integration has a file that many tasks share."""

    def prepare_bare(self):
        super().prepare_bare()
        self.write("shared.txt", "\n".join(LINES) + "\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "shared")
        self.base = self.git("rev-parse", "HEAD")

    def statuses(self):
        return {row["id"]: row["status"] for row in self.data("task", "list")["tasks"]}

    def green_all_along(self):
        """Checks every commit of integration's first-parent history with git alone; returns how many there are."""
        commits = self.git("rev-list", "--first-parent", f"{self.base}..integration").splitlines()
        place = os.path.join(self.home, "looked-at")
        self.git("clone", "-q", "--shared", "--no-checkout", self.root, place)
        try:
            for commit in commits:
                self.git("checkout", "-q", "--detach", commit, cwd=place)
                if self.run(["sh", "-c", CHECK], cwd=place).returncode != 0:
                    raise Failed(f"{commit} is red: {self.git('log', '-1', '--format=%s', commit)}")
        finally:
            subprocess.run(["rm", "-rf", place], check=True)
        return len(commits)

    def nothing_left(self):
        """Checks that no process, held lock, unknown ref or unknown worktree is left."""
        self.gone(10)
        for place, _, names in os.walk(self.path(".liza")):
            for name in names:
                if name.endswith(".lock"):
                    with open(os.path.join(place, name)) as file:
                        try:
                            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        except BlockingIOError:
                            raise Failed(f"{name} is held") from None
        self.sound_board()
        known = ("refs/heads/main", "refs/heads/release", "refs/heads/integration", "refs/heads/by-hand", "refs/heads/task/", "refs/liza/")
        refs = [ref for ref in self.git("for-each-ref", "--format=%(refname)").splitlines() if not ref.startswith(known)]
        if refs:
            raise Failed(f"stray refs: {refs}")
        found = json.loads(self.liza("--json", "doctor").stdout)["data"]["findings"]
        # A kill may leave temporary files; `doctor --fix` finds nothing else.
        wrong = [f"{one['code']}: {one['what']}" for one in found if one["code"] not in ("leftover.temporary", "lock.dead")]
        if wrong:
            raise Failed(f"doctor: {wrong}")
        self.git("fsck", "--no-dangling")


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def stands_still(process, seconds=60):
    """Waits until the process has stopped at its point."""
    end = time.time() + seconds
    while time.time() < end and process.poll() is None:
        with open(f"/proc/{process.pid}/stat") as file:
            if file.read().rsplit(")", 1)[1].split()[0] == "T":
                return
        time.sleep(0.005)
    raise Failed("it never came to that point")


class Mergers:
    """Several mergers at once; mergers, holders of gates and gates are killed at random."""

    def __init__(self, world, chance):
        self.world, self.chance, self.alive, self.done = world, chance, [], {}

    def note(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    def start(self):
        if self.chance.random() < 0.6:
            who = self.chance.choice(["reviewer-1", "reviewer-2", None])
            env = {"LIZA_AGENT_ID": who, "LIZA_AGENT_TOKEN": self.world.tokens[who]} if who else {}
            self.alive.append(("merge --all", self.world.start("merge", "--all", env=env)))
        else:
            self.alive.append(("runner", self.world.start("agent", "run", "--role", "code_reviewer")))

    def shoot(self):
        kind = self.chance.choice(["merger", "merger", "holder", "gate", "gate"])
        if kind == "merger":
            name, target = self.chance.choice(self.alive)
            if target.process.poll() is None:
                target.kill()
                self.note(f"{name} killed")
            return
        found = self.world.processes()
        holders = [pid for pid, words in found.items() if "__hold" in words]
        gates = [pid for pid, words in found.items() if words[0] == "sh" and any(CHECK in word for word in words) and "__hold" not in words]
        targets = sorted(holders if kind == "holder" else gates)
        if targets and kill(self.chance.choice(targets)):
            self.note(f"{kind} killed")

    def until_done(self, seconds):
        end = time.time() + seconds
        try:
            while "APPROVED" in (statuses := self.world.statuses()).values():
                if time.time() > end:
                    raise Failed(f"after {seconds} s still {statuses}")
                ended = [one for one in self.alive if one[1].process.poll() is not None]
                for name, one in ended:
                    self.alive.remove((name, one))
                    code = one.end()
                    self.note(f"{name}: exit {code}")
                    if code not in (0, 3, 7, 11, 137):
                        raise Failed(f"{name} ended with {code}: {one.answer()} {one.process.stderr.read()[-2000:]}")
                while len(self.alive) < 3:
                    self.start()
                time.sleep(self.chance.uniform(0.02, 0.35))
                if self.chance.random() < 0.75:
                    self.shoot()
        finally:
            for _, one in self.alive:
                one.kill(signal.SIGTERM)
            for _, one in self.alive:
                one.end(30)


def queued(world, many):
    """Approved tasks from one base; the expected outcome of each, and what its reason must name."""
    right = {}
    for number in range(many):
        task, part = f"t{number:02}", number % 30
        if part == 0:
            files, end = {"shared.txt": shared(number // 30 * 3, "first")}, ("MERGED", None)
        elif part <= 5:
            files, end = {"shared.txt": shared(number // 30 * 3, f"also {task}")}, ("BLOCKED", "shared.txt")
        elif part <= 9:
            files, end = {f"limit/{task}": "x\n"}, (("MERGED", None) if number == 6 else ("INTEGRATION_FAILED", "check"))
        elif part <= 17:
            files, end = {"shared.txt": shared(8 + (part - 10) * 6 + number // 30 * 3, f"by {task}")}, ("MERGED", None)
        else:
            files, end = {f"{task}.txt": "alone\n"}, ("MERGED", None)
        # The first of each kind is the most urgent, so the winner is known.
        urgent = "9" if part == 0 or number == 6 else "1"
        world.approved(task, files, "--owns", f"own-{task}/", "--priority", urgent, who=("coder-1", "coder-2")[number % 2])
        right[task] = end
    return right


def part_queue(options):
    """Tasks that share files, conflict, or fail only together; mergers and gates are killed until every task has its outcome."""
    many, figures = (30 if options.quick else 60), []

    def check(seed):
        began, world = time.time(), QueueWorld(options)
        mergers = Mergers(world, random.Random(seed))
        try:
            right = queued(world, many)
            world.gates(gate_of(0.15))
            mergers.until_done(900)
            # The next command recovers the work of a killed one.
            world.must("note", "afterwards")
            for task, (status, names) in right.items():
                found = world.status_of(task)
                reason = {"BLOCKED": found.get("blocked_reason"), "INTEGRATION_FAILED": (found.get("integration_failure") or {}).get("gate")}.get(found["status"])
                if found["status"] != status or (names and names not in (reason or "")):
                    raise Failed(f"{task} is {found['status']} ({reason}), not {status}: {found}")
            commits = world.green_all_along()
            merged = sum(status == "MERGED" for status, _ in right.values())
            if commits != merged:
                raise Failed(f"{commits} commits on integration, {merged} tasks merged")
            world.nothing_left()
            figures.append(f"seed {seed}: {merged} of {many} merged in {time.time() - began:.0f} s, {words_of(mergers.done)}")
        except Failed:
            print(f"  queue, seed {seed}: {words_of(mergers.done)}", flush=True)
            raise
        finally:
            world.close()

    return each("queue", range(options.seed, options.seed + options.rounds), check, lambda: "; ".join(figures))


class MovedWorld(QueueWorld):
    def commit_on(self, parent, name):
        """A commit by hand that adds a file to `parent`, without any checkout."""
        env = {"GIT_INDEX_FILE": os.path.join(self.home, "index")}
        blob = self.git("hash-object", "-w", "README.md")
        for args in (["read-tree", parent], ["update-index", "--add", "--cacheinfo", f"100644,{blob},{name}"]):
            if self.run(["git", *args], env=env).returncode != 0:
                raise Failed(f"git {args}")
        tree = self.run(["git", "write-tree"], env=env).stdout.decode().strip()
        return self.git("commit-tree", "-p", parent, "-m", f"by hand: {name}", tree)

    def push(self, name):
        """Moves integration without liza to a new commit on its head; returns old and new head."""
        for _ in range(20):
            head = self.git("rev-parse", "integration")
            new = self.commit_on(head, name)
            if self.run(["git", "update-ref", "refs/heads/integration", new, head]).returncode == 0:
                return head, new
        raise Failed("integration cannot be moved by hand")


def why_stopped(answer):
    """The error codes with which a queue, or the rest of one, was not merged."""
    codes = {one.get("code") for one in (answer.get("data") or {}).get("merges", []) if one["outcome"] == "refused"}
    return codes | {answer.get("error", {}).get("code")} - {None}


def part_moved(options):
    """A person moves integration while gates run: with liza, or with git alone."""
    world = MovedWorld(options)
    chance, seen = random.Random(options.seed), {}
    kinds = ["advance green", "advance red", "raw green", "raw red", "raw rewind"]

    def note(what):
        seen[what] = seen.get(what, 0) + 1

    def merge_all(*exits):
        return world.asked("merge", "--all", who="reviewer-1", exits=exits)

    def check(job):
        kind, moment = job
        world.restore("ready")
        merging = world.start("merge", "--all", env={"LIZA_AGENT_ID": "reviewer-1", "LIZA_AGENT_TOKEN": world.tokens["reviewer-1"]})
        time.sleep(moment)
        first = world.git("rev-parse", "integration")
        name = "red.txt" if kind.endswith("red") else "by-hand.txt"
        if kind.startswith("advance"):
            rev = world.commit_on(world.base, name)
            for _ in range(30):
                said = world.asked("integration", "advance", rev, "--reason", "upstream", exits=(0, 3, 7))
                if said["ok"] or said["error"]["exit"] == 7:
                    break
                note("advance said again")
                time.sleep(0.1)
            if said["ok"] != (kind == "advance green") or not said["ok"] and said["error"]["code"] != "gate.red":
                raise Failed(f"{said}")
            code = merging.end()
            if code != 0:
                raise Failed(f"the merge ended with {code}: {merging.answer()}")
        elif kind == "raw rewind":
            # Back to where it was before a merge landed, if one has: merged work is gone from it.
            while world.git("rev-parse", "integration") == world.base and merging.process.poll() is None:
                time.sleep(0.02)
            was = world.git("rev-parse", "integration")
            world.git("update-ref", "refs/heads/integration", world.base)
            code = merging.end()
            answer = merging.answer()
            if world.liza("verify").returncode != 6:
                # The running merge noticed the move, and its compare-and-swap failed.
                raise Failed(f"liza did not notice that merged work is gone; the merge ended with {code}: {answer}")
            if merge_all(0, 6, 7)["ok"] and "APPROVED" in world.statuses().values():
                raise Failed("merging goes on without the work that is gone")
            refused = world.asked("integration", "advance", "integration", "--reason", "so be it", exits=(1, 6, 7))
            if refused["error"]["code"] not in ("refused.not_ancestor", "board.integration_moved"):
                raise Failed(f"{refused}")
            world.asked("integration", "advance", was, "--reason", "put back")
            note("put back by advance")
        else:
            old, new = world.push(name)
            code = merging.end()
            answer = merging.answer()
            stopped = code in (6, 7)
            note(f"{kind}: merge {'stopped' if stopped else 'was over'}")
            wanted = ("board.integration_moved",) if kind == "raw green" else ("gate.integration_red", "board.integration_moved")
            if stopped and not why_stopped(answer) & set(wanted) or not stopped and "APPROVED" in world.statuses().values():
                raise Failed(f"the merge ended with {code}: {answer}")
            # Liza does not build on it until a person accepts it.
            if "APPROVED" in world.statuses().values():
                again = merge_all(6, 7)
                if not why_stopped(again) & set(wanted):
                    raise Failed(f"{again}")
            if world.git("rev-parse", "integration") != new:
                raise Failed("liza has built on a commit that no person accepted")
            if kind == "raw green":
                world.asked("integration", "advance", "integration", "--reason", "it was me")
            else:
                red = world.asked("integration", "advance", "integration", "--reason", "it was me", exits=(7,))
                if red["error"]["code"] not in ("gate.integration_red", "gate.red"):
                    raise Failed(f"{red}")
                world.git("update-ref", "refs/heads/integration", old, new)
        merge_all(0)
        left = {task: status for task, status in world.statuses().items() if status != "MERGED"}
        if left:
            raise Failed(f"not merged: {left}")
        # Every commit that liza made, and by now also every other, is green.
        world.green_all_along()
        contains = world.git("ls-tree", "--name-only", "integration").splitlines()
        if (name in contains) != (kind in ("advance green", "raw green")):
            raise Failed(f"{name} is {'' if name in contains else 'not '}on integration")
        note(f"{kind}, first at {'the base' if first == world.base else 'a merge'}")
        world.nothing_left()

    try:
        for task in ("a", "b", "c"):
            world.approved(task, {f"{task}.txt": "x\n"})
        world.gates(gate_of(0.25))
        world.save("ready")
        began = time.time()
        merge_all(0)
        whole = time.time() - began
        jobs = [(kind, round(chance.uniform(0, whole * 1.1), 3)) for kind in kinds for _ in range(2 if options.quick else 12)]
        return each("moved", jobs, check, lambda: f"seed {options.seed}: {words_of(seen)}")
    finally:
        world.close()


class KillWorld(GateWorld):
    """One task at each stage, and two gates that write down when they are asked."""

    def __init__(self, options):
        super().__init__(options)
        self.written(self.begun("t1", ["a.txt"]), {"a.txt": "a\n"})
        self.git("branch", "by-hand", self.git("commit-tree", "-p", "integration", "-m", "by hand", "integration^{tree}"))
        self.configure()
        self.save("submit")
        self.save("advance")
        self.gates()
        self.words["COMMIT"] = self.data("task", "submit", "t1", who="coder-1")["review_commit"]
        self.must("review", "claim", "t1", who="reviewer-1")
        self.configure()
        self.save("approve")
        self.gates()
        self.must("review", "approve", "t1", "--commit", self.words["COMMIT"], "--summary", "fine", who="reviewer-1")
        self.configure()
        self.save("merge")

    def configure(self):
        self.gates(*[{"name": name, "command": f"echo asked >> '{self.out}/asked-{name}'; sleep 0.15", "on": ["submit", "merge"]} for name in ("one", "two")])

    def asks(self):
        return [len(self.lines_in(f"asked-{name}")) for name in ("one", "two")]

    def known(self):
        """How many passes are kept for reuse."""
        place = self.path(".liza/gates/cache")
        return len([name for name in os.listdir(place) if not name.startswith(".")]) if os.path.isdir(place) else 0


ASKING = {
    "submit": ("coder-1", ["task", "submit", "t1"], "READY_FOR_REVIEW", ["submit.validated", "submit.gated"]),
    "approve": ("reviewer-1", ["review", "approve", "t1", "--commit", "COMMIT", "--summary", "fine"], "APPROVED", []),
    "merge": ("reviewer-1", ["merge", "t1"], "MERGED", ["merge.begun", "merge.commit", "merge.gated", "merge.recorded", "merge.moved", "merge.synced"]),
    "advance": (None, ["integration", "advance", "by-hand", "--reason", "upstream"], None, ["move.begun", "move.gated", "move.recorded", "move.moved"]),
}
COMMITS = ["commit.1", "commit.2", "commit.4", "commit.5", "commit.5-appended", "commit.6", "commit.6-written", "commit.7", "commit.8"]


def part_killgates(options):
    """SIGKILL at every named point and at random moments of commands that run gates: the next command recovers, and recorded results stay."""
    world, chance = KillWorld(options), random.Random(options.seed)
    seen = {}

    def note(what):
        seen[what] = seen.get(what, 0) + 1

    def done(kind):
        wanted = ASKING[kind][2]
        if wanted is None:
            return world.git("rev-parse", "integration") == world.git("rev-parse", "by-hand")
        return world.task("t1")["status"] == wanted

    def check(job):
        kind, where = job
        who, args, _, _ = ASKING[kind]
        args = [world.words.get(word, word) for word in args]
        world.restore(kind)
        for name in ("one", "two"):
            put(os.path.join(world.out, f"asked-{name}"), "")
        env = {"LIZA_AGENT_ID": who, "LIZA_AGENT_TOKEN": world.tokens[who]} if who else {}
        if isinstance(where, str):
            code = world.start(*args, env={**env, "LIZA_CRASH_AT": where}).end()
            if code not in (137, 0):
                raise Failed(f"exit {code} instead of a kill")
            note("killed at a point" if code == 137 else "point not reached")
        else:
            point, after = where if isinstance(where, tuple) else (None, where)
            started = world.start(*args, env={**env, **({"LIZA_STOP_AT": point} if point else {})})
            if point:
                stands_still(started.process)
                started.kill(signal.SIGCONT)
            time.sleep(after)
            over = started.process.poll() is not None
            started.kill()
            code = started.end()
            if code not in (137, 0):
                raise Failed(f"exit {code}: {started.answer()}")
            note("was over" if over else "killed at random")
        known = world.known()
        world.must("note", "afterwards")
        world.sound()
        # A gate that had begun may just have passed; whether its pass was kept in time is undecidable.
        again = not done(kind)
        if again:
            note("said again")
            world.must(*args, who=who)
            if not done(kind):
                raise Failed("it was done again without effect")
        for number, asks in enumerate(world.asks()):
            if number < known and asks != 1:
                raise Failed(f"gate {number + 1} was asked {asks} times, although its pass was kept")
            if asks not in (1, 2) or asks == 2 and not again:
                raise Failed(f"gate {number + 1} was asked {asks} times")
        if known and again:
            note("passes taken again")
        world.gone(10)
        world.sound_board()

    try:
        whole = {}
        for kind, (who, args, _, _) in ASKING.items():
            world.restore(kind)
            began = time.time()
            world.must(*[world.words.get(word, word) for word in args], who=who)
            whole[kind] = time.time() - began
        jobs = []
        for kind, (_, _, _, points) in ASKING.items():
            jobs += [(kind, point) for point in points]
            jobs += [(kind, f"{point}:{nth}") for point in COMMITS for nth in ((1,) if kind in ("submit", "approve") else (1, 2, 3))][::3 if options.quick else 1]
            jobs += [(kind, round(chance.uniform(0, whole[kind] * 1.1), 3)) for _ in range(5 if options.quick else 50)]
            # The time between the gate result and the branch move is short: stopped at its beginning, killed soon after.
            jobs += [(kind, (point, round(chance.uniform(0, 0.06), 4))) for point in points if not point.endswith((".begun", ".validated"))
                     for _ in range(1 if options.quick else 8)]
        return each("killgates", jobs, check, lambda: f"seed {options.seed}: {words_of(seen)}")
    finally:
        world.close()


class BundleWorld(GateWorld):
    """A task with much to put into a bundle, and another to apply it to."""

    def __init__(self, options):
        super().__init__(options)
        chance = random.Random(7)
        self.files = {f"work/f{number}.txt": "".join(f"{chance.random()}\n" for _ in range(100)) for number in range(60)}
        self.files["work/large.txt"] = "".join(f"{chance.random()} {number}\n" for number in range(120_000))
        self.gates({"name": "check", "command": "test -e work/large.txt"})
        self.written(self.begun("t1", ["work/"]), self.files)
        self.save("create")
        path = self.data("bundle", "create", "t1", who="coder-1")["path"]
        self.bundle = os.path.join(self.home, "some.patchbundle.json")
        os.rename(self.path(path), self.bundle)
        self.must("task", "abandon", "t1", "--reason", "only its bundle is wanted")
        self.worktree = self.begun("t2", ["work/"], who="coder-2")
        self.base = self.git("rev-parse", "task/t2")
        self.save("apply")

    def wanted(self, commit):
        return self.git("rev-parse", f"{commit}:work") == self.git("rev-parse", "task/t1:work")


def part_bundles(options):
    """D19: killed while a bundle is made it is there whole or not at all; killed while one is applied, the same command completes it."""
    world, chance, seen = BundleWorld(options), random.Random(options.seed), {}

    def note(what):
        seen[what] = seen.get(what, 0) + 1

    def killed(args, who, where, group, env=None):
        """Starts liza and kills it, alone or with all git processes below it."""
        full = dict(world.env, LIZA_AGENT_ID=who, LIZA_AGENT_TOKEN=world.tokens[who], **(env or {}))
        process = subprocess.Popen([world.binary, *args], cwd=world.root, env=full, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        if "LIZA_STOP_AT" in full:
            stands_still(process)
            process.send_signal(signal.SIGCONT)
        try:
            process.wait(where)
        except subprocess.TimeoutExpired:
            (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
            process.wait(30)
        note("killed" if process.returncode == -9 else "was over")

    def create(where, group, env=None):
        world.restore("create")
        out = os.path.join(world.home, "given.patchbundle.json")
        given = ["--out", out] if chance.random() < 0.5 else []
        if os.path.exists(out):
            os.remove(out)
        killed(["bundle", "create", "t1", *given], "coder-1", where, group, env)
        place = world.path(".liza/bundles")
        files = [os.path.join(place, name) for name in (os.listdir(place) if os.path.isdir(place) else []) if name.endswith(".patchbundle.json")]
        for path in files + ([out] if os.path.exists(out) else []):
            with open(path, "rb") as file:
                found = json.load(file)
            if sum(len(patch["hunks"]) for patch in found["patches"]) != len(world.files):
                raise Failed(f"{path} is not whole")
            note("a whole bundle was there")
            world.must("bundle", "check", path, "--task", "t1")
        if given and os.path.exists(out):
            os.remove(out)
        world.must("note", "afterwards")
        path = world.data("bundle", "create", "t1", *given, who="coder-1")["path"]
        world.must("bundle", "check", path, "--task", "t1")
        world.sound_board()

    def apply(where, group, env=None):
        world.restore("apply")
        args = ["bundle", "apply", world.bundle, "--task", "t2"]
        killed(args, "coder-2", where, group, env)
        head = world.git("rev-parse", "task/t2")
        if head == world.base:
            note("branch as before")
            if not group:
                # A liza process that is killed alone leaves a git process that still completes its work.
                deadline = time.time() + 5
                while world.processes() and time.time() < deadline:
                    time.sleep(0.02)
            if world.git("rev-parse", "task/t2") == world.base and (dirty := world.git("status", "--porcelain", cwd=world.worktree)):
                raise Failed(f"nothing was applied, but the worktree has {dirty[:300]}")
        elif world.wanted(head):
            note("branch moved")
        else:
            raise Failed(f"task/t2 is at {head}, which is neither before nor after")
        world.must("note", "afterwards")
        world.must("validate")
        world.must("verify")
        world.asked(*args, who="coder-2")
        if not world.wanted("task/t2") or world.git("status", "--porcelain", cwd=world.worktree):
            raise Failed("saying it again does not end it")
        if world.git("rev-list", "--count", f"{world.base}..task/t2") != "1":
            raise Failed("it was applied twice")
        applied = [line for line in world.task("t2")["history"] if line["event"] == "bundle_applied"]
        if len(applied) != 1:
            raise Failed(f"recorded {len(applied)} times")
        world.must("task", "submit", "t2", who="coder-2")
        world.gone(10)
        world.sound_board()

    def check(job):
        kind, where, group = job
        act = create if kind == "create" else apply
        if isinstance(where, str):
            act(60, False, {"LIZA_CRASH_AT": where})
        elif isinstance(where, tuple):
            act(where[1], group, {"LIZA_STOP_AT": where[0]})
        else:
            act(where, group)

    try:
        whole = {}
        for kind, args, who in (("create", ["bundle", "create", "t1"], "coder-1"), ("apply", ["bundle", "apply", world.bundle, "--task", "t2"], "coder-2")):
            world.restore(kind)
            began = time.time()
            world.must(*args, who=who)
            whole[kind] = time.time() - began
        jobs = [("create", point, False) for point in ("bundle.making", "bundle.made")]
        jobs += [("apply", point, False) for point in ("bundle.built", "bundle.judged", "bundle.moved", "bundle.brought")]
        jobs += [(kind, round(chance.uniform(0, whole[kind] * 1.05), 3), number % 2 == 1) for kind in ("create", "apply")
                 for number in range(6 if options.quick else 50)]
        # The relevant moments are short: the process is stopped at their beginning, continued, and killed soon after.
        jobs += [(kind, (point, round(chance.uniform(0, most), 4)), number % 4 != 0)
                 for kind, point, most in (("create", "bundle.making", 0.1), ("apply", "bundle.judged", 0.1), ("apply", "bundle.moved", 0.2))
                 for number in range(4 if options.quick else 40)]
        return each("bundles", jobs, check, lambda: f"seed {options.seed}: {words_of(seen)}")
    finally:
        world.close()


PARTS = {"queue": part_queue, "moved": part_moved, "killgates": part_killgates, "bundles": part_bundles}
