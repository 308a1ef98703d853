"""Load from wrk."""

import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CONNECTIONS = 16


def load_with(contender, method, path, callers, seconds, body=None, connections=CONNECTIONS):
    """The figures of one run of wrk: wrk's own, `rate` (requests/s), `cpu` (the handler's µs per request) and `database`
    (MariaDB's)."""
    command = ["wrk", f"-t{min(2, connections)}", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s",
               HERE / "drive.lua", contender.url + path, "--", method, callers] + ([body] if body else [])
    before = contender.cpu(), contender.site.database_cpu()
    output = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True, timeout=seconds + 60).stdout
    cpu, database = contender.cpu() - before[0], contender.site.database_cpu() - before[1]
    run = json.loads(output.splitlines()[-1])
    if run["refused"] or run["broken"] or not run["requests"]:
        raise SystemExit(f"error: {contender.name} did not answer every {method} {path} with 200: {run}")
    rate = run["requests"] / run["microseconds"] * 1e6
    return run | {"name": contender.name, "method": method, "connections": connections, "rate": rate,
                  "cpu": cpu / run["requests"] * 1e6, "database": database / run["requests"] * 1e6}
