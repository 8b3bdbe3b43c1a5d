"""The test suite with its sweeps at full length: the model's 120,000 boards, storms of 16 and 32 processes, a kill at
every step of every commit, 10,000 messages, 600 archived tasks. `cargo test` runs a short version of each."""

import os
import signal
import subprocess

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONGEST_SECONDS = 3600


def suite(options):
    command = ["cargo", "test", "--locked", "--no-fail-fast"]
    environment = {**os.environ, "LIZA_SWEEP": "full"}
    with subprocess.Popen(command, cwd=HERE, env=environment, start_new_session=True) as running:
        try:
            passed = running.wait(timeout=LONGEST_SECONDS) == 0
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            print(f"suite: killed after {LONGEST_SECONDS} s", flush=True)
            return 1
    print(f"suite: {'all tests passed' if passed else 'tests failed'} with whole sweeps", flush=True)
    return 0 if passed else 1


PARTS = {"suite": suite}
