"""The parts of `scripts/torture` that inject faults into whole teams: scripted agents, real runners, real worktrees.

Agents, runners and the run itself are killed at random; switches are set and removed, worktrees deleted, the clock shifted.
`finished` checks what must hold at the end."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time

from torture_world import Failed, World, put

# `live-…` names the agent that works on a task at this moment: two at once would be an error.
AGENT = r"""OUT='@OUT@'
trace="$OUT/live-$LIZA_ROLE-$LIZA_TASK"
other=$(cat "$trace" 2>/dev/null)
if [ -n "$other" ] && grep -q '^State:.[RSD]' "/proc/$other/status" 2>/dev/null; then
  echo "$LIZA_TASK: $LIZA_AGENT_ID beside process $other" >> "$OUT/twice"
fi
echo $$ > "$trace"
echo "$LIZA_ROLE $LIZA_TASK $LIZA_AGENT_ID $(date +%s.%N)" >> "$OUT/starts"
@FIRST@
case "$LIZA_ROLE" in
coder)
  liza task checkpoint "$LIZA_TASK" --intent "the file of $LIZA_TASK says hello" --risks "none, a new file" \
    --validate "cat $LIZA_TASK.txt" --expect hello --file "$LIZA_TASK.txt" --file "tests/test_$LIZA_TASK.sh"
  # Refused where a former session has begun: its own checkpoint stands then, and submit decides.
  [ $? = 5 ] && exit 0
  mkdir -p tests && echo hello > "$LIZA_TASK.txt" && echo "grep -q hello $LIZA_TASK.txt" > "tests/test_$LIZA_TASK.sh" || exit 1
  @MIDDLE@
  git add -A || exit 1
  git diff --cached --quiet || git commit -qm "$LIZA_TASK" || exit 1
  liza task submit "$LIZA_TASK"; said=$? ;;
code_reviewer)
  liza review approve "$LIZA_TASK" --commit "$(git rev-parse HEAD)" --summary fine; said=$? ;;
*) said=0 ;;
esac
rm -f "$trace"
[ $said = 5 ] && exit 0
exit $said
"""


class TeamWorld(World):
    """A repository with a board whose agents are played by a script."""

    def __init__(self, options, first="", middle="", config="run: { grace_seconds: 1, window: 9 }\n"):
        super().__init__(options, "/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.out = os.path.join(self.home, "out")
        os.mkdir(self.out)
        self.script = os.path.join(self.home, "agent.sh")
        self.play(first, middle)
        self.prepare_bare()
        self.must("init", "A goal")
        self.write("liza.yaml", f"version: 1\nprovider: scripted\nproviders:\n  scripted: {{ command: [sh, '{self.script}'] }}\n"
                   # A killed agent counts as crashed, and so many crashes would halt the team.
                   f"breaker: {{ responses: {{ crash_loop: warning }} }}\n{config}")
        self.tasks = []
        self.before = self.checkout()

    def play(self, first="", middle=""):
        put(self.script, AGENT.replace("@OUT@", self.out).replace("@FIRST@", first).replace("@MIDDLE@", middle))

    def add(self, count):
        for _ in range(count):
            name = f"t{len(self.tasks)}"
            self.must("task", "add", "--id", name, "--title", name, "--spec", "specs/vision.md", "--done", "it is there",
                      "--finalize", "--in", f"{name}.txt", "--in", f"tests/test_{name}.sh")
            self.tasks.append(name)

    def checkout(self):
        """The person's files, branch and index."""
        found = [self.git("rev-parse", "main"), self.git("symbolic-ref", "HEAD"), self.git("status", "--porcelain")]
        for place, dirs, names in os.walk(self.root):
            dirs[:] = sorted(name for name in dirs if not (place == self.root and name in (".git", ".liza", ".worktrees")))
            for name in sorted(names):
                with open(os.path.join(place, name), "rb") as file:
                    found.append((os.path.relpath(os.path.join(place, name), self.root), hashlib.sha256(file.read()).hexdigest()))
        return found

    def start(self, *args, env=None):
        """A command that goes on; its events are collected as they come."""
        return Started([self.binary, "--json", *args], self.root, dict(self.env, **(env or {})))

    def processes(self):
        """Every living process of this world: pid -> its arguments."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if f"HOME={self.home}\0".encode() not in file.read() + b"\0":
                        continue
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    found[int(pid)] = file.read().decode(errors="replace").split("\0")
            except OSError:
                continue
        return found

    def agents(self):
        return [pid for pid, words in self.processes().items() if self.script in words and "__hold" not in words]

    def runners(self):
        return [pid for pid, words in self.processes().items() if words[0].endswith("liza") and "agent" in words and "run" in words and "--parent" in words]

    def gone(self, seconds):
        """Waits until no process of this world runs; returns the seconds."""
        began = time.time()
        while left := self.processes():
            if time.time() - began > seconds:
                raise Failed(f"after {seconds} s there are still {left}")
            time.sleep(0.02)
        return time.time() - began

    def lines_in(self, name):
        try:
            with open(os.path.join(self.out, name)) as file:
                return file.read().splitlines()
        except OSError:
            return []

    def status_of(self, task):
        return self.data("task", "show", task)

    def unblock(self):
        """Answers the questions as a person; returns how many there were."""
        blocked = [row["id"] for row in self.data("task", "list")["tasks"] if row["status"] == "BLOCKED"]
        for task in blocked:
            self.must("task", "unblock", task, "--answer", "go on")
        return len(blocked)

    def sound_and_untouched(self):
        self.must("validate")
        self.must("verify")
        if twice := self.lines_in("twice"):
            raise Failed(f"two at once: {twice}")
        if self.checkout() != self.before:
            raise Failed("the user's checkout was touched")

    def finished(self, known=()):
        """Every task is merged once, approved by a reviewer who did not work on it, and nothing is left over."""
        self.gone(10)
        merges = self.git("log", "--merges", "--format=%s", "integration").splitlines()
        for name in self.tasks:
            task = self.status_of(name)
            if task["status"] != "MERGED":
                raise Failed(f"{name} is {task['status']}: {task}")
            reviewer = task["approval"]["reviewer"]
            if reviewer in task["implementers"] or not task["implementers"]:
                raise Failed(f"{name}: approved by {reviewer}, made by {task['implementers']}")
            if self.git("show", f"integration:{name}.txt") != "hello":
                raise Failed(f"{name}: its file is not on integration")
            times = sum(1 for subject in merges if name in subject.replace(":", " ").replace("`", " ").split())
            if times != 1:
                raise Failed(f"{name}: {times} merge commits: {[s for s in merges if name in s]}")
        self.sound_and_untouched()
        # It exits with 1 if it found anything at all.
        findings = json.loads(self.liza("--json", "doctor").stdout)["data"]["findings"]
        person = [f"{found['code']}: {found['what']}" for found in findings
                  if not found["fixable"] and found["code"] not in known]
        if person:
            raise Failed(f"doctor: {person}")
        return [found["code"] for found in findings]

    def close(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        shutil.rmtree(self.home, ignore_errors=True)


class Started:
    def __init__(self, argv, cwd, env):
        self.events, self.rest, self.condition = [], [], threading.Condition()
        self.process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            with self.condition:
                if "event" in found:
                    found["at"] = time.time()
                    self.events.append(found)
                else:
                    self.rest.append(found)
                self.condition.notify_all()
        with self.condition:
            self.condition.notify_all()

    def wait_for(self, is_there, seconds=60):
        """Waits until `is_there(events)`; false if the process ended first."""
        end = time.time() + seconds
        with self.condition:
            while not is_there(self.events):
                if self.process.poll() is not None and not self.reader.is_alive():
                    return False
                if time.time() > end:
                    raise Failed(f"nothing of that within {seconds} s: {self.events[-3:]}")
                self.condition.wait(0.05)
        return True

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)

    def end(self, seconds=120):
        """Its exit code as a shell reports it."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"it does not end within {seconds} s: {self.events[-3:]}") from None
        self.reader.join(10)
        return code if code >= 0 else 128 - code

    def answer(self):
        return self.rest[-1] if self.rest else {}


def count(part, tried, failed, began, words=""):
    print(f"{part}: {tried} tried, {tried - failed} as they must be, {failed} failed ({time.time() - began:.0f} s)"
          + (f"; {words}" if words else ""), flush=True)
    return failed


def each(part, jobs, check, words=lambda: ""):
    """Runs `check(job)` for every job and counts those that fail."""
    began, failed = time.time(), 0
    for job in jobs:
        try:
            check(job)
        except (Failed, subprocess.SubprocessError, OSError, KeyError, ValueError) as error:
            failed += 1
            print(f"  FAILED {part} {job}: {error}", flush=True)
    return count(part, len(jobs), failed, began, words())


def summary_of(times):
    times = sorted(times)
    if not times:
        return "none"
    return f"p50 {times[len(times) // 2] * 1000:.0f} ms, max {times[-1] * 1000:.0f} ms"


TEAM = ["--team", "coder=6", "--team", "code_reviewer=3"]


class Fire:
    """A team with injected faults until all its work is done."""

    def __init__(self, world, chance, wild):
        self.world, self.chance, self.wild = world, chance, wild
        self.done = {}
        self.run = None
        self.log = []

    def note(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    def shoot(self):
        """Injects one random fault."""
        kinds = ["agent"] * 6 + ["runner"] * 3 + ["run"]
        if self.wild:
            kinds += ["PAUSE"] * 2 + ["ABORT", "clock", "worktree", "worktree"]
        kind = self.chance.choice(kinds)
        if kind in ("agent", "runner"):
            targets = sorted(self.world.agents() if kind == "agent" else self.world.runners())
            if not targets:
                return
            try:
                os.kill(self.chance.choice(targets), signal.SIGKILL)
            except ProcessLookupError:
                return
        elif kind == "run":
            self.run.kill()
        elif kind == "PAUSE":
            put(self.world.path(".liza/PAUSE"), "")
            time.sleep(self.chance.uniform(0.1, 2))
            self.world.must("resume")
        elif kind == "ABORT":
            put(self.world.path(".liza/ABORT"), "")
            self.run.end(30)
            self.world.gone(15)
            self.world.must("resume")
        elif kind == "clock":
            self.run.kill(signal.SIGTERM)
        elif kind == "worktree":
            places = sorted(name for name in os.listdir(self.world.path(".worktrees")) if not name.startswith("."))
            if not places:
                return
            shutil.rmtree(self.world.path(".worktrees", self.chance.choice(places)), ignore_errors=True)
        self.note(kind)
        return kind

    def to_the_end(self, seconds):
        """Starts the run again and again until it says that the goal is complete."""
        began, last, calm = time.time(), None, 0
        while True:
            if time.time() - began > seconds:
                raise Failed(f"not complete after {seconds} s: {self.run.events[-5:]} {self.run.answer()}")
            env = {}
            if last == "clock":
                env["LIZA_TEST_WALL_SHIFT"] = str(self.chance.randint(-7200, 86400))
            self.run = self.world.start("run", "--window", "9", *TEAM, env=env)
            last = None
            while self.run.process.poll() is None:
                if time.time() - began > seconds:
                    raise Failed(f"not complete after {seconds} s: {self.run.events[-5:]}")
                # Pauses without faults, so that work makes progress.
                calm = calm - 1 if calm > 0 else (8 if self.chance.random() < 0.04 else 0)
                try:
                    self.run.process.wait(self.chance.uniform(0.05, 0.5))
                    break
                except subprocess.TimeoutExpired:
                    if not calm:
                        last = self.shoot() or last
            code = self.run.end()
            self.log.append((code, self.run.answer()))
            if code == 0:
                return
            if code == 137:
                continue
            if code not in (1, 5, 143, 3):
                raise Failed(f"run ended with {code}: {self.run.answer()} {self.run.process.stderr.read()[-2000:]}")
            if code == 3:
                # What the killed run started still ends.
                time.sleep(0.1)
                continue
            self.note(f"run ended with {code}")
            answered = self.world.unblock()
            self.done["questions answered"] = self.done.get("questions answered", 0) + answered
            if code == 1 and not answered and self.log[-1][1].get("data", {}).get("stopped") == []:
                raise Failed(f"stuck, and no person is needed: {self.log[-1][1]}")


def words_of(done):
    return ", ".join(f"{what} {times}" for what, times in sorted(done.items()))


def part_team(options):
    """Fifty tasks, six coders, three reviewers, kills at random."""
    failed = 0
    for number in range(options.rounds):
        seed, began = options.seed + number, time.time()
        print(f"team: seed {seed}", flush=True)
        world = TeamWorld(options, middle="sleep 0.$(( $$ % 8 ))")
        try:
            world.add(6 if options.quick else 50)
            fire = Fire(world, random.Random(seed), wild=False)
            fire.to_the_end(1500)
            fixable = world.finished()
            count("team", len(world.tasks), 0, began, words_of(fire.done) + f"; doctor could fix: {sorted(set(fixable)) or 'nothing'}")
        except (Failed, OSError) as error:
            failed += count("team", len(world.tasks), 1, began, f"{error}; {words_of(fire.done)}")
            if options.keep:
                print(f"  kept: {world.home}")
                continue
        world.close()
    return failed


def part_soak(options):
    """The same with switches, clock jumps and lost worktrees, for so many minutes."""
    began, end = time.time(), time.time() + options.minutes * 60
    print(f"soak: seed {options.seed}, {options.minutes} minutes", flush=True)
    world = TeamWorld(options, middle="sleep 0.$(( $$ % 8 ))")
    fire, fixable = Fire(world, random.Random(options.seed), wild=True), []
    try:
        while time.time() < end:
            world.add(6 if options.quick else 20)
            fire.to_the_end(1500)
            # The clock was ahead on purpose: this finding is expected.
            fixable = world.finished(known=("machine.clock",))
        failed = count("soak", len(world.tasks), 0, began, words_of(fire.done) + f"; doctor could fix: {sorted(set(fixable)) or 'nothing'}")
    except (Failed, OSError) as error:
        failed = count("soak", len(world.tasks), 1, began, f"{error}; {words_of(fire.done)}")
        if options.keep:
            print(f"  kept: {world.home}")
            return failed
    world.close()
    return failed


def part_crashes(options):
    """H1: three starts, a second or more apart, then this runner stops and says why; two crashes do not stop it."""
    gaps = []

    def check(job):
        role, crashes = job
        world = TeamWorld(options, first=f'[ $(wc -l < "$OUT/starts") -gt {crashes} ] || exit 9')
        try:
            world.add(1)
            if role == "code_reviewer":
                world.play()
                world.start("agent", "run", "--role", "coder", "--once").end()
                os.remove(os.path.join(world.out, "starts"))
                world.play(first=f'[ $(wc -l < "$OUT/starts") -gt {crashes} ] || exit 9')
            runner = world.start("agent", "run", "--role", role, *(["--once"] if crashes < 3 else []))
            code = runner.end()
            starts = [float(line.split()[-1]) for line in world.lines_in("starts")]
            between = [b - a for a, b in zip(starts, starts[1:])]
            gaps.extend(between)
            wanted = (3, 1) if crashes == 3 else (crashes + 1, 0)
            if (len(starts), code) != wanted or any(gap < 1 for gap in between):
                raise Failed(f"{len(starts)} starts, {between} apart, exit {code}: {runner.answer()}")
            if crashes == 3 and runner.answer()["error"]["code"] != "refused.crash_loop":
                raise Failed(str(runner.answer()))
            world.gone(5)
            world.sound_and_untouched()
        finally:
            world.close()

    trials = 1 if options.quick else 5
    jobs = [(role, crashes) for role in ("coder", "code_reviewer") for crashes in (3, 2, 1)] * trials
    return each("crashes", jobs, check, lambda: f"shortest pause {min(gaps):.2f} s")


def part_runner(options):
    """H2: the runner, or the run, is killed at every event it reports, at once and a little later."""
    chance = random.Random(options.seed)
    kinds = {
        "coder": ("agent", "run", "--role", "coder", "--once"),
        "reviewer": ("agent", "run", "--role", "code_reviewer", "--once"),
        "run": ("run", "--team", "coder=2", "--team", "code_reviewer=2"),
    }

    def world_for(kind):
        world = TeamWorld(options)
        world.add(2 if kind == "run" else 1)
        if kind == "reviewer":
            if world.start("agent", "run", "--role", "coder", "--once").end() != 0:
                raise Failed("the work to be reviewed could not be made")
        return world

    def check(job):
        kind, number, later = job
        world = world_for(kind)
        try:
            started = world.start(*kinds[kind])
            started.wait_for(lambda events: len(events) >= number)
            time.sleep(later)
            if started.process.poll() is None:
                started.kill()
            started.end()
            deadline = time.time() + 60
            while True:
                again = world.start("run", "--team", "coder=2", "--team", "code_reviewer=2")
                code = again.end()
                # The runners of a killed run take a moment to end.
                if code != 3 or time.time() > deadline:
                    break
                time.sleep(0.05)
            if code != 0:
                raise Failed(f"the next run ended with {code}: {again.answer()}")
            world.finished()
        finally:
            world.close()

    jobs = []
    for kind, args in kinds.items():
        world = world_for(kind)
        try:
            whole = world.start(*args)
            whole.end()
            events = len(whole.events)
        finally:
            world.close()
        for number in range(1, events + 1):
            jobs += [(kind, number, later) for later in [0] + ([] if options.quick else [round(chance.uniform(0, 0.15), 3) for _ in range(2)])]
    return each("runner", jobs, check)


def part_pause(options):
    """H5: no claim after PAUSE, whatever the moment."""
    chance = random.Random(options.seed)
    late = []
    world = TeamWorld(options)
    runners = []
    try:
        runners = [world.start("agent", "run", "--role", "coder") for _ in range(4)]
        for runner in runners:
            runner.wait_for(lambda events: any(event["event"] == "ready" for event in events))

        def check(trial):
            world.add(3)
            time.sleep(chance.uniform(0, 0.6))
            put(world.path(".liza/PAUSE"), "")
            at = time.time()
            # Only now is there a task to claim.
            with open(world.path(".liza/state.yaml"), "rb") as file:
                revision = file.read().split(b"revision:")[1].split()[0]
            time.sleep(2.2)
            claims = [event["at"] - at for runner in runners for event in runner.events
                      if event["event"] == "claimed" and event["at"] > at]
            late.extend(claims)
            world.must("resume")
            if any(claim > 2 for claim in claims):
                raise Failed(f"claimed {claims} s after PAUSE, revision then {revision}")
            gone = [runner for runner in runners if runner.process.poll() is not None]
            if gone:
                runners[:] = [runner for runner in runners if runner not in gone] + [world.start("agent", "run", "--role", "coder") for _ in gone]
                raise Failed(f"a runner has left: {gone[0].answer()} {gone[0].events[-6:]}")

        failed = each("pause", range(1, (5 if options.quick else 100) + 1), check,
                      lambda: f"{len(late)} claims reported after the touch, {summary_of(late)}")
        for runner in runners:
            runner.kill(signal.SIGTERM)
            runner.end()
        world.gone(10)
        world.sound_and_untouched()
        return failed
    finally:
        world.close()


def part_abort(options):
    """H6: ABORT while agents that ignore TERM and have left daemons work: nothing of them is there after 15 s."""
    chance = random.Random(options.seed)
    took = []
    stubborn = "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 600\" >/dev/null 2>&1 &); ( (sleep 600 &) & )"

    def check(trial):
        grace = "" if trial % 2 else "run: { grace_seconds: 1 }\n"
        world = TeamWorld(options, first=stubborn, middle="sleep 600", config=grace)
        try:
            world.add(3)
            run = world.start("run", "--window", "3", "--team", "coder=3", "--team", "code_reviewer")
            run.wait_for(lambda events: any(event["event"] == "started" for event in events))
            time.sleep(chance.uniform(0, 1.5))
            put(world.path(".liza/ABORT"), "")
            began = time.time()
            code = run.end(30)
            world.gone(5)
            took.append(time.time() - began)
            if code != 5 or took[-1] > 15:
                raise Failed(f"exit {code} after {took[-1]:.1f} s")
            world.must("validate")
            world.must("resume")
            world.play()
            code = world.start("run", "--team", "coder=3", "--team", "code_reviewer").end()
            if code != 0:
                raise Failed(f"the next run ended with {code}")
            world.finished()
        finally:
            world.close()

    return each("abort", range(2 if options.quick else 20), check, lambda: f"all gone after {summary_of(took)}")


def part_signals(options):
    """H11: INT, TERM, HUP at any moment: 130, 143, 129, and the next run goes on."""
    chance = random.Random(options.seed)
    plain = {"stopped": 0, "killed": 0}

    def check(job):
        kind, number = job
        world = TeamWorld(options, middle="sleep 0.8")
        try:
            world.add(2)
            args = ("run", "--team", "coder=2", "--team", "code_reviewer") if kind == "run" else ("agent", "run", "--role", "coder")
            started = world.start(*args)
            time.sleep(chance.uniform(0, 1.2))
            if started.process.poll() is not None:
                raise Failed("it had ended before")
            started.kill(number)
            code = started.end(30)
            plain["killed" if started.process.returncode < 0 else "stopped"] += 1
            if code != 128 + number and not (kind == "run" and code == 0):
                raise Failed(f"exit {code} after signal {number}: {started.answer()}")
            world.gone(5)
            world.must("validate")
            if world.start("run", "--team", "coder=2", "--team", "code_reviewer").end() != 0:
                raise Failed("the next run does not complete it")
            world.finished()
        finally:
            world.close()

    jobs = [(kind, number) for kind in ("run", "runner") for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    return each("signals", jobs * (1 if options.quick else 10), check,
                lambda: f"{plain['stopped']} left by themselves, {plain['killed']} were too young to have a handler")


def part_leaks(options):
    """H12: ten thousand wakes, and many sessions, leave descriptors as they were and memory flat."""
    def fds(pid):
        return len(os.listdir(f"/proc/{pid}/fd"))

    def of_status(pid, name):
        with open(f"/proc/{pid}/status") as file:
            return int(next(line for line in file if line.startswith(name)).split()[1])

    def reads(pid):
        with open(f"/proc/{pid}/io") as file:
            return int(next(line for line in file if line.startswith("syscr")).split()[1])

    figures = []

    def check(job):
        kind, wakes = job
        world = TeamWorld(options)
        try:
            world.add(3)
            if kind == "run, paused":
                put(world.path(".liza/PAUSE"), "")
            args = ("agent", "run", "--role", "code_reviewer") if kind == "runner" else ("run", *TEAM)
            started = world.start(*args)
            started.wait_for(lambda events: len(events) >= 1)
            pid = started.process.pid

            def wake(times, pause):
                for number in range(times):
                    put(world.path(".liza/.wake.tmp"), str(number))
                    os.rename(world.path(".liza/.wake.tmp"), world.path(".liza/wake"))
                    time.sleep(pause)

            wake(20, 0.1)
            base = reads(pid)
            wake(20, 0.1)
            each_wake = max((reads(pid) - base) / 20, 1)
            wake(200, 0.01)
            time.sleep(1)
            before = (fds(pid), of_status(pid, "Threads"), of_status(pid, "VmRSS"), reads(pid))
            while (looked := (reads(pid) - before[3]) / each_wake) < wakes:
                wake(100, 0.004)
            time.sleep(1)
            after = (fds(pid), of_status(pid, "Threads"), of_status(pid, "VmRSS"))
            figures.append(f"{kind}: {looked:.0f} looks, fds {before[0]} → {after[0]}, threads {before[1]} → {after[1]}, RSS {before[2]} → {after[2]} kB")
            if after[0] != before[0] or after[1] != before[1] or after[2] - before[2] > 5 * 1024:
                raise Failed(figures[-1])
            started.kill(signal.SIGTERM)
            started.end()
        finally:
            world.close()

    def sessions(kind, tasks):
        world = TeamWorld(options)
        try:
            world.add(tasks)
            args = ("agent", "run", "--role", "coder") if kind == "coder" else ("run", "--team", "coder=2", "--team", "code_reviewer")
            last = "submitted" if kind == "coder" else "merged"
            started = world.start(*args)
            seen = {}
            for number in (3, tasks - (0 if kind == "coder" else 1)):
                started.wait_for(lambda events: sum(event["event"] == last for event in events) >= number, 600)
                time.sleep(0.5 if kind == "coder" else 0)
                pid = started.process.pid
                seen[number] = (fds(pid), of_status(pid, "Threads"), of_status(pid, "VmRSS"))
            before, after = seen.values()
            figures.append(f"{kind}, {tasks} tasks: fds {before[0]} → {after[0]}, threads {before[1]} → {after[1]}, RSS {before[2]} → {after[2]} kB")
            # A run has a pipe for each runner that works at this moment.
            slack = 0 if kind == "coder" else 6
            if after[0] > before[0] + slack or after[1] > before[1] + slack or after[2] - before[2] > 5 * 1024:
                raise Failed(figures[-1])
            started.kill(signal.SIGTERM)
            started.end()
        finally:
            world.close()

    wakes = 500 if options.quick else 10_000
    failed = each("leaks", [("runner", wakes), ("run, paused", wakes)], check, lambda: "; ".join(figures))
    figures.clear()
    few = 6 if options.quick else 60
    return failed + each("leaks, sessions", [("coder", few), ("run", few)], lambda job: sessions(*job), lambda: "; ".join(figures))


PARTS = {
    "team": part_team, "soak": part_soak, "crashes": part_crashes, "runner": part_runner, "pause": part_pause,
    "abort": part_abort, "signals": part_signals, "leaks": part_leaks,
}
