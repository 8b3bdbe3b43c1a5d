"""The test suite with its sweeps at full length: the model's 120,000 boards, storms of 16 and 32 processes, a kill at
every step of every commit, 10,000 messages, 600 archived tasks. `cargo test` runs a short version of each."""

import os
import subprocess

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONGEST_SECONDS = 3600


def suite(options):
    command = ["cargo", "test", "--locked", "--no-fail-fast"]
    done = subprocess.run(command, cwd=HERE, env={**os.environ, "LIZA_SWEEP": "full"}, timeout=LONGEST_SECONDS)
    print(f"suite: {'all tests passed' if done.returncode == 0 else 'tests failed'} with whole sweeps", flush=True)
    return 0 if done.returncode == 0 else 1


PARTS = {"suite": suite}
