"""Runs one scenario with one CLI: a scripted model, a world, `liza run`, and the check of the result."""

import shutil
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from .model_server import ModelServer
from .process import Running
from .script import Script
from .world import World


@dataclass
class Result:
    cli: str
    version: str
    scenario: str
    passed: bool
    seconds: float
    problems: list = field(default_factory=list)
    kept: str = ""


def run_liza(world, scenario):
    """Runs `liza run`, or the scenario's own command, to its end or the scenario's deadline."""
    running = Running([world.liza_path, *scenario.command], scenario.seconds, cwd=world.repo, env=world.own_env())
    scenario.running = running
    while running.is_running():
        scenario.watch(running.output())
        time.sleep(0.1)
    return running.finish()


def play(cli, version, scenario_type, cache: Path, liza: Path, keep: bool, record=None) -> Result:
    began = time.monotonic()
    scenario = scenario_type()
    root = cache / "runs" / f"{cli}-{scenario.name}"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    script = Script(scenario)
    server = ModelServer(script)
    problems = []
    try:
        world = World(root, cache, liza, cli, server.url, scenario.config_for(cli))
        script.world = scenario.world = world
        scenario.script = script
        scenario.start_again = lambda: run_liza(world, scenario)
        scenario.prepare()
        run = run_liza(world, scenario)
        run = scenario.after(run)
        (root / "run.out").write_text(run.stdout + run.stderr)
        if run.timed_out:
            problems.append(f"liza did not end within {scenario.seconds} s")
        problems += scenario.problems(run, server.requests)
        write_transcript(root, script, server)
        if record:
            record_output(record, cli, scenario.name, world, cache)
    except (RuntimeError, OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        problems.append(f"the rig failed: {error}")
        (root / "rig-failure.txt").write_text(traceback.format_exc())
    finally:
        server.close()
    passed = not problems
    if passed and not keep:
        shutil.rmtree(root, ignore_errors=True)
    kept = "" if passed and not keep else str(root)
    return Result(cli, version, scenario.name, passed, time.monotonic() - began, problems, kept)


def write_transcript(root, script, server):
    """The model's requests and answers, for people who look why a scenario failed."""
    lines = []
    for session, step in script.asked:
        if session.results:
            lines.append(f"    -> {session.results[-1][:400]}")
        lines.append(f"{session.agent} {session.task} session {session.number} step {session.step}: {step}")
    lines.append(f"refused: {sorted(set(server.refused))}")
    lines.append(f"requests: {len(server.requests)}; tools of the last: {sorted(server.requests[-1].tools) if server.requests else []}")
    (root / "transcript.txt").write_text("\n".join(lines) + "\n")


def record_output(to: Path, cli, scenario, world, cache):
    """The output of the coder's sessions as the CLI wrote it, without paths of this machine."""
    to.mkdir(parents=True, exist_ok=True)
    places = [(world.repo, "/r"), (world.home, "/home/me"), (world.root, "/run"), (cache, "/agents")]
    places += [(world.liza_path, "/usr/bin/liza"), (str(world.root).replace("/", "-").replace(".", "-"), "-run")]
    for number, prompt in enumerate(world.sessions("coder"), 1):
        for kind in ("out.log", "err.log", "usage.json"):
            source = prompt.with_name(prompt.name.replace("prompt.md", kind))
            if kind == "usage.json":
                source = prompt.parent / "usage.json"
            if not source.exists() or not source.read_bytes().strip():
                continue
            text = source.read_text(errors="replace")
            for place, name in places:
                text = text.replace(str(place), name)
            (to / f"{cli}.{scenario}.{number}.{kind.split('.')[0]}").write_text(text)
