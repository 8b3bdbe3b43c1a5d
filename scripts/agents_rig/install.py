"""Installs the agent CLIs from the npm and PyPI registries into a cache directory of their own."""

import json
import os
import platform
import shutil
import sys
from pathlib import Path

from .process import run_bounded

VERSIONS = Path(__file__).resolve().parent.parent / "agents_versions.json"
INSTALL_SECONDS = 900


def default_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("LIZA_AGENTS_CACHE") or Path(base) / "liza-agents")


def pinned() -> dict:
    return json.loads(VERSIONS.read_text())


def clis() -> list:
    """Every CLI that can be installed; Node is only what they run on."""
    return [name for name in pinned() if name != "node"]


def installed(cache: Path) -> dict:
    """The version of each installed CLI, as recorded when it was installed."""
    found = {}
    for name in pinned():
        record = cache / name / "installed.json"
        if record.exists() and (cache / "bin" / _linked(pinned()[name])).exists():
            found[name] = json.loads(record.read_text())["version"]
    return found


def _linked(entry: dict) -> str:
    """Its name in the cache; an older version of a CLI has its own name."""
    return entry.get("link", entry["bin"])


def _platform() -> str:
    system = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system())
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine())
    if not system or not machine:
        raise SystemExit(f"agents: no Node package is known for {platform.system()} {platform.machine()}")
    return f"{system}-{machine}"


def _link(cache: Path, name: str, program: Path) -> None:
    (cache / "bin").mkdir(parents=True, exist_ok=True)
    link = cache / "bin" / name
    if link.is_symlink() or link.exists():
        link.unlink()
    link.symlink_to(program)


def _npm_version(home: Path, package: str) -> str:
    return json.loads((home / "node_modules" / package / "package.json").read_text())["version"].lstrip("v")


def _install_npm(cache: Path, name: str, entry: dict, latest: bool) -> str:
    home = cache / name
    package = entry["npm"].replace("{platform}", _platform())
    # The CLIs were tried with one version of Node, so Node stays pinned.
    wanted = f"{package}@latest" if latest and name != "node" and "link" not in entry else f"{package}@{entry['version']}"
    path = os.pathsep.join([str(cache / "bin"), os.environ.get("PATH", "")])
    command = ["npm", "install", "--prefix", str(home), "--no-audit", "--no-fund", "--no-save", "--loglevel=error", wanted]
    _checked(command, home, dict(os.environ, PATH=path))
    program = home / "node_modules" / ".bin" / entry["bin"]
    if name == "node":
        program = home / "node_modules" / package / "bin" / "node"
    _link(cache, _linked(entry), program)
    return _npm_version(home, package)


def _python(at_least: str) -> str:
    low = tuple(int(part) for part in at_least.split("."))
    names = [f"python3.{minor}" for minor in range(low[1], low[1] + 4)] + ["python3"]
    candidates = [shutil.which(name) for name in names] + [sys.executable]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += [str(one / "bin" / "python3") for one in sorted(pyenv.glob("3.*"))]
    for candidate in candidates:
        if not candidate or not Path(candidate).exists():
            continue
        code = f"import sys; sys.exit(sys.version_info < {low})"
        if run_bounded([candidate, "-c", code], seconds=20).exit == 0:
            return candidate
    raise SystemExit(f"agents: this CLI needs Python {at_least} or newer, and none was found on PATH")


def _install_pip(cache: Path, name: str, entry: dict, latest: bool) -> str:
    home = cache / name
    venv = home / "venv"
    shutil.rmtree(venv, ignore_errors=True)
    _checked([_python(entry["python"]), "-m", "venv", str(venv)], home, dict(os.environ))
    wanted = entry["pip"] if latest else f"{entry['pip']}=={entry['version']}"
    pip = str(venv / "bin" / "pip")
    _checked([pip, "install", "--quiet", "--disable-pip-version-check", wanted], home, dict(os.environ))
    _link(cache, entry["bin"], venv / "bin" / entry["bin"])
    shown = run_bounded([pip, "show", entry["pip"]], seconds=60).stdout
    return next(line.split(": ", 1)[1] for line in shown.splitlines() if line.startswith("Version: "))


def _checked(command: list, home: Path, env: dict) -> None:
    home.mkdir(parents=True, exist_ok=True)
    done = run_bounded(command, seconds=INSTALL_SECONDS, cwd=home, env=env)
    if done.exit != 0:
        why = "took too long" if done.timed_out else f"ended with exit {done.exit}"
        raise RuntimeError(f"`{' '.join(command)}` {why}:\n{(done.stdout + done.stderr)[-2000:]}")


def install(cache: Path, names: list, latest: bool) -> int:
    """Installs Node and the named CLIs; returns an exit code."""
    failed = 0
    have = installed(cache)
    for name in ["node"] + [one for one in names if one != "node"]:
        entry = pinned()[name]
        if not latest and have.get(name) == entry["version"]:
            print(f"{name:10} {have[name]} is installed already")
            continue
        try:
            version = (_install_pip if "pip" in entry else _install_npm)(cache, name, entry, latest)
            (cache / name / "installed.json").write_text(json.dumps({"version": version}) + "\n")
            print(f"{name:10} {version} installed", flush=True)
        except (RuntimeError, OSError, SystemExit) as error:
            failed += 1
            print(f"{name:10} failed: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0
