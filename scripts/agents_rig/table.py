"""Prints the results, for people and for programs."""

import json
from dataclasses import asdict


def show(results) -> str:
    rows = [("CLI", "version", "scenario", "result", "seconds")]
    rows += [(one.cli, one.version, one.scenario, "passed" if one.passed else "FAILED", f"{one.seconds:.0f}") for one in results]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    for one in results:
        if not one.passed:
            lines += ["", f"{one.cli} {one.scenario}: see {one.kept}"]
            lines += [f"  - {problem}" for problem in one.problems]
    passed = sum(one.passed for one in results)
    return "\n".join(lines + ["", f"{passed} of {len(results)} passed"])


def as_json(results) -> str:
    return json.dumps({"passed": all(one.passed for one in results), "results": [asdict(one) for one in results]}, indent=2)
