"""Rules between fields that an OpenAPI document cannot state, for the calls of ci/openapi.sh.

A valid call is made to keep them; an invalid one is sent as it was made up. Long polls are cut short,
since one that waits tells nothing more.
"""

import datetime
import re
import uuid

import schemathesis

PLACE = re.compile(r"^(new|start|[0-9]+-[0-9]+)$")


def soon(seconds):
    """An instant so many seconds from now."""
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def whole(value):
    """JSON Schema takes 2.0 for an integer; the contract does not, and bounds decimals."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, 3)
    return value


def fit(body):
    """Makes a body keep the rules between its fields, and those of its instants."""
    for name in list(body):
        if name not in ("payload", "result"):
            body[name] = whole(body[name])
    for name, ahead in (("scheduledAt", 0), ("olderThan", 0), ("expiresAt", 3_600)):
        if isinstance(body.get(name), str):
            body[name] = soon(ahead)
    if "scheduledAt" in body:
        body.pop("delaySeconds", None)
    if "expiresAt" in body and body.get("delaySeconds"):
        body["delaySeconds"] = 1
    if body.get("mode") in ("fatal", "release"):
        body.pop("retryDelaySeconds", None)
    if "stream" not in body:
        body.pop("from", None)
    elif not PLACE.match(body.get("from", "new")):
        body["from"] = soon(0)
    if "targetQueue" in body:
        body.pop("resetAttempts", None)
    for name, value in body.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and name not in ("payload", "headers", "result"):
                fit(one)


def is_valid(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    polls = case.operation.path.endswith(("/claim", "/claim-batch"))
    if isinstance(case.body, dict):
        if is_valid(case):
            fit(case.body)
        wait = case.body.get("waitSeconds", 20)
        if polls and type(wait) is int and 0 <= wait <= 60:
            case.body["waitSeconds"] = 0
    elif polls and is_valid(case) and case.operation.path.endswith("/claim"):
        case.body, case.media_type = {"waitSeconds": 0}, "application/json"
    if is_valid(case) and case.query:
        # A cursor is one that a list gave out, and only that.
        case.query.pop("cursor", None)
        for name in ("start", "end"):
            if name in case.query and not PLACE.match(str(case.query[name])):
                case.query[name] = soon(0)
        if case.operation.path.endswith("/stats"):
            case.query.pop("from", None)
            case.query.pop("to", None)
            if "stepSeconds" in case.query:
                case.query["stepSeconds"] = max(60, int(case.query["stepSeconds"]) // 60 * 60)
        if "groupBy" in case.query:
            case.query.pop("includePayload", None)
        if isinstance(case.body, dict) and "queue" in case.body:
            case.query.pop("queue", None)
    if is_valid(case) and case.operation.path == "/v1/event-queues" and "Idempotency-Key" in (case.headers or {}):
        # A repetition answers with the queue that was made first, also where that was deleted since.
        case.headers["Idempotency-Key"] = uuid.uuid4().hex
    for name, value in (case.path_parameters or {}).items():
        if value == "":
            case.path_parameters[name] = "0"
