"""The part of `scripts/torture` with hostile agents: a grammar of shell steps, drawn by a seed, that real agents do below
real runners of a real `liza run`, between honest work. `HostileWorld.judge` says what must hold afterwards.

A step does not touch what liza cannot protect from a process of the same user: the person's files,
branches and home, and the copies below `.git/liza`. The world records what a step plants; everything else must be unchanged."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time

from torture_team import TEAM, TeamWorld, count, words_of
from torture_world import Failed, put

# Which git started a planted program, and which process started that git: liza itself must never run one.
CANARY = """#!/bin/sh
parent=$(sed 's/.*) //' "/proc/$PPID/stat" 2>/dev/null | cut -d ' ' -f 2)
case "$(readlink "/proc/$PPID/exe") $(readlink "/proc/$parent/exe")" in
*/git\\ */liza) tr '\\0' ' ' < "/proc/$PPID/cmdline" >> '@OUT@/by-liza'; echo >> '@OUT@/by-liza' ;;
esac
[ -t 0 ] || cat
exit 0
"""

# The steps; `@…@` is drawn from DRAWN. `$GIT` is the common git directory, `$B` removes the identity, `$T` is the task.
GRAMMAR = {
    "identity": [
        "$B liza @verb@", "$B setsid -w liza @verb@", "LIZA_AGENT_ID=@agent@ LIZA_AGENT_TOKEN_FILE=$ROOT/.liza/tokens/@agent@ liza @verb@",
        "($B setsid liza @verb@ &)", "liza @verb@", "LIZA_CLAIM=@number@ liza @verb@", "cat $ROOT/.liza/tokens/* > $OUT/stolen",
    ],
    "namespaces": [
        "unshare -rm sh -c 'mount -t tmpfs none /proc && exec \"$@\"' sh $B liza @verb@", "unshare -rpf --mount-proc $B liza @verb@",
        "unshare -r $B liza @verb@", "unshare -rT --monotonic @number@000 --fork liza @verb@",
        "unshare -rpf --mount-proc sh -c 'mount -t tmpfs none '$ROOT'/.liza/locks && exec \"$@\"' sh $B liza @verb@",
    ],
    "names": [
        "n=$OUT/$(printf '\\377 ) \\376'); cp $(command -v sh) \"$n\"; \"$n\" -c '\"$@\"; exit 0' sh $B liza @verb@",
        "touch \"$(printf 'odd\\377name')\" \"-rf\" 'a b' \"$(printf 'line\\nbreak')\"", "mkdir -p \"$(printf 'd\\200/e')\" && touch \"$(printf 'd\\200/e/f')\"",
        "liza note \"$(printf 'odd \\033[2J \\302\\205 text')\"", "git branch \"evil-@number@\" HEAD", "git tag integration HEAD", "git tag task/$T HEAD",
    ],
    "config": [
        "git config @program@ $OUT/canary", "git config filter.evil.@way@ $OUT/canary; echo '* filter=evil' > $GIT/info/attributes",
        "git config merge.evil.driver '$OUT/canary %O %A %B'; git config merge.default evil", "git config core.hooksPath $OUT/hooks",
        "git config core.attributesFile $OUT/attributes", "git config include.path $OUT/included", "git config --worktree core.fsmonitor $OUT/canary",
        "git config extensions.worktreeConfig true", "git config alias.@command@ '!$OUT/canary'", "echo '* merge=union' > $GIT/info/attributes",
    ],
    "hooks": [
        "mkdir -p $GIT/hooks; cp $OUT/canary $GIT/hooks/@hook@", "mkdir -p $OUT/hooks; cp $OUT/canary $OUT/hooks/@hook@",
        "mkdir -p $GIT/hooks; printf '#!/bin/sh\\ncd @ROOT@; liza @verb@\\n' > $GIT/hooks/@hook@; chmod +x $GIT/hooks/@hook@",
    ],
    "attributes": ["echo '* @attribute@' >> .gitattributes", "echo '* @attribute@' >> $GIT/info/attributes", "echo '* @attribute@' > $OUT/attributes"],
    "plumbing": [
        "git replace -f HEAD $(git commit-tree HEAD^{tree} -m evil)", "git rev-parse HEAD > $GIT/info/grafts",
        "echo $OUT/objects > $GIT/objects/info/alternates", "git update-ref refs/heads/task/@task@ $(git commit-tree HEAD^{tree} -p HEAD -m evil)",
        "git update-ref --no-deref refs/heads/integration $(git commit-tree HEAD^{tree} -p refs/heads/integration -m evil)",
        "git symbolic-ref refs/heads/integration refs/heads/release", "git update-ref -d refs/liza/submitted/@task@/1-1", "git pack-refs --all",
        "git gc -q --prune=now", "git commit-graph write --reachable 2>/dev/null", "git worktree prune", "git worktree unlock .; git worktree remove --force .",
        "b=$(git rev-parse HEAD:README.md); f=$GIT/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); [ ! -f $f ] || { chmod u+w $f; head -c 9 /dev/urandom > $OUT/bytes; }",
        "git commit -q --allow-empty -m evil", "git reset -q --hard HEAD~1", "git checkout -q --detach", "git rm -rq --cached . ; git add -A",
        "git update-index --assume-unchanged README.md; echo evil >> README.md", "rm -f $GIT/worktrees/*/index",
    ],
    "links": [
        "mv .git $OUT/gitfile-$T-@number@ && ln -s $OUT/gitfile-$T-@number@ .git", "ln -sfn $OUT/victim evil-link", "ln -sfn / tests/root",
        "ln -sfn $OUT/victim $ROOT/.liza/evil", "echo 'gitdir: '$OUT'/elsewhere' > .git", "echo $OUT/elsewhere > $(git rev-parse --git-dir)/commondir",
        "mkdir -p $GIT/@above@refs/liza/@pins@; ln -sT $OUT/victim-dir $GIT/@above@refs/liza/@pins@/@task@",
        "for d in $ROOT/.liza/runs/*/*; do for n in 1 2 3; do ln -s $OUT/victim $d/@agent@-$n.out.log; ln $OUT/victim $d/@agent@-$n.err.log; done; done",
        "p=$(pwd); cd $OUT; mv $p moved-$T-$$ || exit 1; ln -s $OUT/victim-dir $p; cd moved-$T-$$ || exit 1",
    ],
    "writes": [
        "sed -i 's/\\(max_[a-z_]*: \\)[0-9]*$/\\1@number@/' $ROOT/.liza/state.yaml", "sed -i 's/READY_FOR_REVIEW/APPROVED/' $ROOT/.liza/state.yaml",
        "echo evil >> $ROOT/.liza/log.yaml", "cp $ROOT/.liza/state.yaml $OUT/old.state; cp $ROOT/.liza/log.yaml $OUT/old.log",
        "[ ! -e $OUT/old.state ] || cp $OUT/old.state $ROOT/.liza/state.yaml", "[ ! -e $OUT/old.log ] || { cp $OUT/old.log $ROOT/.liza/log.yaml; cp $OUT/old.state $ROOT/.liza/state.yaml; }",
        "rm -f $ROOT/.liza/@file@", "head -c 100 /dev/urandom > $ROOT/.liza/@file@", "rm -rf $ROOT/.liza/gates/cache", "rm -rf $ROOT/.liza/locks",
        "mkdir -p $ROOT/.liza/gates/cache; echo '{\"status\":\"pass\"}' > $ROOT/.liza/gates/cache/@number@.json", "touch $ROOT/.liza/PAUSE.agent-@agent@",
        "head -c 200000 /dev/zero | tr '\\0' x | liza note -", "mkdir -p deep/$(printf '%0900d' 0 | sed 's|0|d/|g')", "rm -rf $ROOT/.liza",
    ],
    "kills": [
        "kill -9 $PPID", "kill -STOP $PPID; sleep 0.3; kill -CONT $PPID", "kill -9 $(sed 's/.*) //' /proc/$PPID/stat | cut -d ' ' -f 2)",
        "for p in $(mine | sort -R | head -n 1); do kill -@signal@ $p; done", "(sleep 0.@number@; kill -9 $$) &", "(setsid sleep 30 > /dev/null 2>&1 &)",
    ],
}
DRAWN = {
    "verb": ["agent register --role code_reviewer --id evil", "review claim $T", "review approve $T --commit $(git rev-parse HEAD) --summary evil",
             "merge $T", "merge --all", "resume", "pause", "task claim @task@", "task release @task@ --reason evil", "gate accept", "doctor --accept-git",
             "doctor --fix", "integration advance HEAD --reason evil", "agent retire @agent@", "task abandon @task@ --reason evil", "uninstall --yes",
             "agent run --role code_reviewer --once", "verify", "status", "deliver --to release", "gc", "worktree prune"],
    "agent": ["coder-1", "coder-2", "code-reviewer-1", "code-reviewer-2"],
    "task": ["t0", "t1", "t2", "t3"],
    "number": ["1", "2", "3", "7", "99"],
    "program": ["core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "diff.external", "credential.helper", "gpg.program"],
    "way": ["clean", "smudge"],
    "command": ["status", "rev-parse", "worktree", "update-ref", "merge-tree"],
    "hook": ["post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-commit", "pre-merge-commit"],
    "attribute": ["filter=evil", "merge=evil", "text eol=crlf", "-merge", "ident", "diff=evil", "working-tree-encoding=UTF-16"],
    "above": ["", "logs/"],
    "pins": ["merges", "submitted", "attempts"],
    "file": ["state.yaml.lock", "log.yaml", "state.yaml"],
    "signal": ["KILL", "STOP", "TERM"],
}
# Honest work that can land, unless a step destroys it.
FIRST = r"""
ROOT=$PROJECT_ROOT; GIT=$ROOT/.git; T=${LIZA_TASK:-t0}; B="env -i PATH=$PATH HOME=$HOME"
# Processes of this world alone: nothing else is ever killed.
mine() { for p in $(pgrep -u "$(id -u)" liza); do grep -qz "^HOME=$HOME$" /proc/$p/environ 2>/dev/null && echo $p; done; }
n=$(ls "$OUT" | grep -c '^session-'); : > "$OUT/session-$LIZA_AGENT_ID-$$"
if liza note "ack-$$-$n" > /dev/null 2>&1; then echo "ack-$$-$n" >> "$OUT/acks"; fi
[ ! -d "$OUT/steps" ] || . "$OUT/steps/$((n % @SCRIPTS@)).sh" > "$OUT/steps.log" 2>&1 < /dev/null
cd "$PWD" 2>/dev/null && [ "$(pwd -P)" != "$ROOT" ] || exit 1
"""
SCRIPTS = 40


def draw(chance, text):
    while "@" in text:
        before, name, after = text.split("@", 2)
        if name not in DRAWN:
            break
        text = before + chance.choice(DRAWN[name]) + after
    return text


class HostileWorld(TeamWorld):
    def __init__(self, options, chance):
        super().__init__(options, first=FIRST.replace("@SCRIPTS@", str(SCRIPTS)))
        self.chance, self.done = chance, {}
        self.git("branch", "mine")
        self.git("tag", "v1")
        put(os.path.join(self.home, ".gitconfig"), "[user]\n\tname = Person\n\temail = person@localhost\n")
        for name in ("victim-dir", "elsewhere", "objects", "hooks"):
            os.makedirs(os.path.join(self.out, name))
        put(os.path.join(self.out, "victim"), "of the person")
        put(os.path.join(self.out, "victim-dir", "kept"), "of the person")
        put(os.path.join(self.out, "included"), f"[core]\n\tfsmonitor = {self.out}/canary\n")
        put(os.path.join(self.out, "canary"), CANARY.replace("@OUT@", self.out))
        os.chmod(os.path.join(self.out, "canary"), 0o755)
        self.add(4)
        self.before, self.things = self.checkout(), self.persons()
        self.plan()

    def plan(self):
        """The steps of each session, from the seed alone."""
        os.mkdir(os.path.join(self.out, "steps"))
        self.planted = ""
        for number in range(SCRIPTS):
            lines = []
            for _ in range(self.chance.randint(1, 3)):
                kind = self.chance.choice(list(GRAMMAR))
                line = draw(self.chance, self.chance.choice(GRAMMAR[kind])).replace("@ROOT@", self.root)
                self.done[kind] = self.done.get(kind, 0) + 1
                lines.append(f"( timeout -k 1 8 true; {line} )" if kind != "links" else line)
            put(os.path.join(self.out, "steps", f"{number}.sh"), "\n".join(lines) + "\n")
            self.planted += "\n".join(lines)

    def persons(self):
        """The person's things outside the checkout: settings, branches and tags that no step makes, files elsewhere."""
        with open(self.path(".git/config")) as file:
            config = [line for line in file.read().splitlines() if line.strip()]
        with open(os.path.join(self.home, ".gitconfig"), "rb") as file:
            own = hashlib.sha256(file.read()).hexdigest()
        refs = {}
        for line in self.clean_git("for-each-ref", "--format=%(refname) %(objectname)").splitlines():
            name, commit = line.split()
            if name in ("refs/heads/main", "refs/heads/mine", "refs/heads/release", "refs/tags/v1"):
                refs[name] = commit
        with open(os.path.join(self.out, "victim")) as one, open(os.path.join(self.out, "victim-dir", "kept")) as two:
            files = (one.read(), two.read(), sorted(os.listdir(os.path.join(self.out, "victim-dir"))))
        return {"config": config, "gitconfig": own, "refs": refs, "files": files}

    def clean_git(self, *args):
        """Git without planted settings: a separate repository with the same objects and refs."""
        clean = os.path.join(self.home, "clean.git")
        if not os.path.isdir(clean):
            subprocess.run(["git", "init", "-q", "--bare", clean], env=self.env, check=True)
            shutil.rmtree(os.path.join(clean, "hooks"), ignore_errors=True)
        put(os.path.join(clean, "objects/info/alternates"), self.path(".git/objects") + "\n")
        shutil.rmtree(os.path.join(clean, "refs"), ignore_errors=True)
        shutil.copytree(self.path(".git/refs"), os.path.join(clean, "refs"), symlinks=True, dirs_exist_ok=True)
        if os.path.exists(self.path(".git/packed-refs")):
            shutil.copy(self.path(".git/packed-refs"), os.path.join(clean, "packed-refs"))
        env = dict(self.env, GIT_NO_REPLACE_OBJECTS="1", GIT_CONFIG_GLOBAL="/dev/null", GIT_DIR=clean)
        ran = subprocess.run(["git", *args], env=env, cwd=self.home, capture_output=True, timeout=60)
        if ran.returncode != 0:
            raise Failed(f"git {args}: {ran.stderr.decode(errors='replace')}")
        return ran.stdout.decode(errors="replace").strip()

    def repair(self):
        """A person's repair: the commands that liza names, and moving the branch back to where liza left it."""
        for _ in range(4):
            self.liza("resume")
            fixed = self.liza("doctor", "--fix")
            self.unblock_quietly()
            ran = self.liza("--json", "verify")
            if ran.returncode == 0:
                return
            said = ran.stdout.decode(errors="replace") + fixed.stdout.decode(errors="replace")
            if "integration" in said:
                head = self.recorded_head()
                subprocess.run(["git", "symbolic-ref", "-d", "refs/heads/integration"], cwd=self.root, env=self.env, capture_output=True)
                subprocess.run(["git", "-c", "core.hooksPath=/dev/null", "update-ref", "--no-deref", "refs/heads/integration", head],
                               cwd=self.root, env=self.env, capture_output=True)
                self.note("integration put back")
        raise Failed(f"a person cannot repair it: {said[-1500:]}")

    def note(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    def unblock_quietly(self):
        try:
            self.unblock()
        except Failed:
            pass

    def recorded_head(self):
        with open(self.path(".liza/state.yaml")) as file:
            lines = file.read().splitlines()
        at = lines.index("integration:") if "integration:" in lines else -1
        for line in lines[at + 1:at + 6] if at >= 0 else []:
            if line.strip().startswith("head:"):
                return line.split()[-1].strip("'\"")
        raise Failed("the board names no head of integration")

    def judge(self):
        """What must hold, whatever the agents did."""
        self.must("validate")
        self.must("verify")
        if ran := self.lines_in("by-liza"):
            raise Failed(f"liza ran a planted program: {ran[0]}")
        if self.checkout() != self.before:
            raise Failed(f"the user's checkout was touched: {set(map(str, self.checkout())) ^ set(map(str, self.before))}")
        self.compare(self.persons())
        with open(self.path(".liza/log.yaml"), errors="replace") as file:
            journal = file.read()
        for ack in self.lines_in("acks"):
            if f"{ack}\"" not in journal and f"{ack}'" not in journal and f"{ack}\n" not in journal and f"{ack}," not in journal:
                raise Failed(f"the acknowledged note {ack} is not in the journal")
        self.only_approved()

    def compare(self, now):
        for name in ("gitconfig", "refs", "files"):
            if now[name] != self.things[name]:
                raise Failed(f"{name} of the person: {self.things[name]} is now {now[name]}")
        if lost := [line for line in self.things["config"] if line not in now["config"]]:
            raise Failed(f"settings of the person are gone: {lost}")

    def only_approved(self):
        """Every commit on integration is liza's merge of exactly the commit that another agent approved."""
        start = self.clean_git("rev-parse", "refs/heads/main")
        merges = {}
        for row in self.data("task", "list")["tasks"]:
            task = self.status_of(row["id"])
            if task.get("merge"):
                merges[task["merge"]["commit"]] = task
        line = self.clean_git("rev-list", "--first-parent", f"{start}..refs/heads/integration").split()
        for commit in line:
            task = merges.pop(commit, None)
            if task is None:
                raise Failed(f"{commit} on integration is no merge on record: {self.clean_git('log', '-1', '--format=%s', commit)}")
            approval = task["approval"]
            if approval["reviewer"] in task["implementers"]:
                raise Failed(f"{task['id']} was approved by {approval['reviewer']}, who made it")
            first, approved = f"{commit}^1", approval["commit"]
            if self.clean_git("rev-parse", f"{commit}^2") != approved:
                raise Failed(f"{commit} holds another commit than the approved {approved}")
            tree = self.clean_git("merge-tree", "--write-tree", first, approved).splitlines()[0]
            if tree != self.clean_git("rev-parse", f"{commit}^{{tree}}"):
                raise Failed(f"the tree of {commit} is not the merge of {first} and {approved}")
        if merges:
            raise Failed(f"merged on the board and not on integration: {list(merges)}")
        self.done["merges"] = self.done.get("merges", 0) + len(line)


def one_world(options, chance, seconds):
    world = HostileWorld(options, chance)
    try:
        for _ in range(2):
            run = world.start("run", "--window", "9", *TEAM)
            try:
                run.process.wait(seconds)
            except subprocess.TimeoutExpired:
                # A step may have stopped it.
                for pid in world.processes():
                    try:
                        os.kill(pid, signal.SIGCONT)
                    except OSError:
                        pass
                run.process.terminate()
            code = run.end(60)
            world.note(f"exit {code}")
            if code not in (0, 1, 3, 4, 5, 6, 7, 8, 9, 137, 143):
                raise Failed(f"run ended with {code}: {run.answer()} {run.process.stderr.read()[-1500:]}")
            for pid in world.processes():
                try:
                    os.kill(pid, 9)
                except OSError:
                    pass
            world.gone(10)
            world.repair()
            world.judge()
        world.done["sessions"] = sum(name.startswith("session-") for name in os.listdir(world.out))
        return world.done
    except (Failed, OSError, ValueError, KeyError, subprocess.SubprocessError):
        if options.keep:
            print(f"  kept: {world.home}", flush=True)
            world.home = os.devnull
        raise
    finally:
        if world.home != os.devnull:
            world.close()


# What each kind of step needs, and a check for it.
NEEDS = {
    "namespaces": (["unshare", "-rmpf", "--mount-proc", "true"], "this user may not make namespaces"),
    "kills": (["pgrep", "-V"], "there is no pgrep"),
}


def lacking():
    """Kinds of steps that cannot be done here, with the reason."""
    def works(command):
        try:
            return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
        except OSError:
            return False
    return {kind: why for kind, (command, why) in NEEDS.items() if not works(command)}


def part_agents(options):
    """Random hostile agents until the time is over, or two worlds with `--quick`; each world has the next seed."""
    began, seed, tried, failed, total = time.time(), options.seed, 0, 0, {}
    for kind, why in lacking().items():
        print(f"agents: skipped: {kind}: {why}", flush=True)
        del GRAMMAR[kind]
    until = began + options.minutes * 60
    while tried < 2 if options.quick else not tried or time.time() < until:
        tried += 1
        try:
            done = one_world(options, random.Random(seed), 4 if options.quick else 15)
            for what, times in done.items():
                total[what] = total.get(what, 0) + times
            print(f"agents: seed {seed}: {words_of(done)}", flush=True)
        except (Failed, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"  FAILED agents seed {seed}: {type(error).__name__}: {error}", flush=True)
        seed += 1
    return count("agents", tried, failed, began, words_of(total))


PARTS = {"agents": part_agents}
