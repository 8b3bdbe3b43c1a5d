"""Starts each process in its own session, with a deadline at which the whole session is killed."""

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass


@dataclass
class Done:
    exit: int
    stdout: str
    stderr: str
    timed_out: bool
    seconds: float


def descendants(root: int) -> list:
    """Every living process below `root`, parents before children."""
    parents = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                    parents[int(entry)] = int(stat.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    found, frontier = [], [root]
    while frontier:
        frontier = [pid for pid, parent in parents.items() if parent in frontier]
        found += frontier
    return found


def kill_tree(root: int) -> None:
    """Kills a process, its group, and all its descendants, also in other sessions."""
    for pid in [*descendants(root), root]:
        for kill in (os.killpg, os.kill):
            try:
                kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass


class Running:
    """A process with its output collected, which cannot outlive its deadline."""

    def __init__(self, command, seconds, cwd=None, env=None, text_in=None):
        self.started = time.monotonic()
        self.deadline = self.started + seconds
        self.timed_out = False
        self.process = subprocess.Popen(
            [str(word) for word in command], cwd=cwd, env=env, start_new_session=True,
            stdin=subprocess.PIPE if text_in is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self._out, self._err = [], []
        self._threads = [
            threading.Thread(target=self._drain, args=(self.process.stdout, self._out), daemon=True),
            threading.Thread(target=self._drain, args=(self.process.stderr, self._err), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        if text_in is not None:
            try:
                self.process.stdin.write(text_in.encode())
                self.process.stdin.close()
            except BrokenPipeError:
                pass

    @staticmethod
    def _drain(pipe, parts):
        for part in iter(lambda: pipe.read1(65536), b""):
            parts.append(part)

    def output(self) -> str:
        return b"".join(self._out + self._err).decode("utf-8", "replace")

    def is_running(self) -> bool:
        if self.process.poll() is not None:
            return False
        if time.monotonic() > self.deadline:
            self.timed_out = True
            self.kill()
            return False
        return True

    def kill(self) -> None:
        kill_tree(self.process.pid)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            pass

    def finish(self) -> Done:
        while self.is_running():
            try:
                self.process.wait(min(0.5, max(0.01, self.deadline - time.monotonic())))
            except subprocess.TimeoutExpired:
                continue
        for thread in self._threads:
            thread.join(5)
        exit_code = self.process.returncode if self.process.returncode is not None else -9
        return Done(
            exit_code, b"".join(self._out).decode("utf-8", "replace"),
            b"".join(self._err).decode("utf-8", "replace"), self.timed_out, time.monotonic() - self.started,
        )


def run_bounded(command, seconds, cwd=None, env=None, text_in=None) -> Done:
    return Running(command, seconds, cwd, env, text_in).finish()
