"""redis-py's own tests of streams, on two servers: each must end the same on both.

    python redis_py.py FOLDER_OF_REDIS_PY REPORTS URL_TO_COMPARE_WITH URL

Lives here: the choice of tests, both runs and the comparison, test by test. Not here: the tests, which come with the
source of redis-py, and the servers, which both lose all that is in them.
Prints each test that ends differently and one line of JSON; ends with 0 when there is none.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

FILES = ["tests/test_commands.py", "tests/test_asyncio/test_commands.py"]
CHOICE = "test_x"
PROTOCOLS = ["2", "3"]
# Fewer passed tests than this on the server to compare with prove too little.
PASSED_MIN = 70
TEST_SECONDS = 60
RUN_SECONDS = 240


def begin(source: Path, report: Path, url: str, protocol: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "pytest", *FILES, "-k", CHOICE, "--redis-url", url, "--protocol", protocol]
    # Nothing listens there: these tests need no modules, and must not find some by accident.
    command += ["--redis-mod-url", "redis://127.0.0.1:1", "--timeout", str(TEST_SECONDS), f"--junit-xml={report}"]
    command += ["-q", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:warnings"]
    log = report.with_suffix(".log").open("wb")
    return subprocess.Popen(command, cwd=source, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


def outcomes(report: Path) -> dict[str, tuple[str, str]]:
    """What became of each test, and a line that says why."""
    if not report.exists():
        return {}
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        outcome, why = "passed", ""
        for child in case:
            if child.tag in ("failure", "error", "skipped"):
                outcome, why = child.tag, (child.get("message") or "").splitlines()[:1]
                why = why[0][:200] if why else ""
        key = f"{case.get('classname')}.{case.get('name')}"
        # A test whose clearing up fails is there twice.
        if key not in found or outcome != "passed":
            found[key] = (outcome, why)
    return found


def compare(source: Path, reports: Path, urls: list[str], protocol: str) -> bool:
    began = time.monotonic()
    files = [reports / f"redis-py-{protocol}-{side}.xml" for side in "ab"]
    runs = [begin(source, file, url, protocol) for file, url in zip(files, urls)]
    for run in runs:
        try:
            run.wait(max(1, began + RUN_SECONDS - time.monotonic()))
        except subprocess.TimeoutExpired:
            run.kill()
            print(f"redis-py, RESP{protocol}: not done within {RUN_SECONDS} s")
    there, here = [outcomes(file) for file in files]
    nothing = ("not run", "")
    differ = [key for key in sorted({*there, *here}) if there.get(key, nothing)[0] != here.get(key, nothing)[0]]
    for key in differ:
        (a, _), (b, why) = there.get(key, nothing), here.get(key, nothing)
        print(f"  differs: {key}: {a} there, {b} here {why}")
    counts = [dict(sorted(Counter(outcome for outcome, _ in side.values()).items())) for side in (there, here)]
    enough = counts[0].get("passed", 0) >= PASSED_MIN
    if not enough:
        tail = files[0].with_suffix(".log").read_text(errors="replace").splitlines()[-15:]
        print(f"  too few tests passed on the server to compare with, at least {PASSED_MIN} are wanted:", *tail, sep="\n  ")
    fails_on_both = [key.rpartition(".")[2] for key in there if key not in differ and there[key][0] in ("failure", "error")]
    ok = enough and not differ
    summary = {"ok": ok, "client": "redis-py", "protocol": int(protocol), "there": counts[0], "here": counts[1]}
    summary |= {"differ": len(differ), "fail on both": fails_on_both, "ms": round((time.monotonic() - began) * 1000)}
    print(json.dumps(summary), flush=True)
    return ok


def main() -> int:
    source, reports = Path(sys.argv[1]), Path(sys.argv[2])
    same = [compare(source, reports, sys.argv[3:5], protocol) for protocol in PROTOCOLS]
    return 0 if all(same) else 1


sys.exit(main())
