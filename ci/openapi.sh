#!/usr/bin/env bash
# Makes up calls from the OpenAPI document, valid ones and others, alone and in chains, and holds every
# answer to the document: no 5xx, only what is documented, invalid calls refused and valid ones taken.
#
#   ci/openapi.sh [PATH OF naven]
#
# Needs curl and schemathesis, which ./test installs into target/tools.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
naven=${1:-$target/debug/naven}
schemathesis=${SCHEMATHESIS:-$root/target/tools/bin/schemathesis}
for name in "${!NAVEN_@}"; do unset "$name"; done

# Fewer made-up calls than this prove too little.
cases_min=5000
examples=50

fail() {
  echo "openapi: $*" >&2
  exit 1
}

source "$root/ci/server.sh"

[ -x "$naven" ] || fail "there is no $naven: build it with cargo build --workspace --bins"
[ -x "$schemathesis" ] || fail "there is no $schemathesis: ./test installs it"
make_workplace openapi
key=$("$naven" key generate)
start_server

# Something to find: calls that are made up seldom meet the name of a queue that holds anything.
call event-queues '{"name":"mail","defaultLeaseSeconds":1,"maxAttempts":2,"keepDonePayload":true}' >"$work/reply"
for batch in 1 2 3 4; do
  events=$(seq -s, 1 500 | sed -E "s/[0-9]+/{\"payload\":{\"n\":$batch}}/g")
  call event-queues/mail/events/batch "{\"events\":[$events]}" >"$work/reply"
done

cp "$root/ci/openapi_hooks.py" "$root/ci/schemathesis.toml" "$work"
status=0
(cd "$work" && SCHEMATHESIS_HOOKS=openapi_hooks "$schemathesis" --config-file schemathesis.toml run \
  "$url/openapi.json" --header "Authorization: Bearer $key" --checks all --max-examples "$examples" \
  --exclude-path-regex '/(backup|tail)$' --request-timeout 20 --no-shrink --continue-on-failure \
  --seed "${SEED:-1}") >"$work/report" 2>&1 || status=$?
tail -n 60 "$work/report"
[ "$status" = 0 ] || { cp "$work/report" "$target/openapi.report"; fail "see target/openapi.report"; }
cases=$(sed -nE 's/^ *([0-9]+) generated.*/\1/p' "$work/report")
[ "${cases:-0}" -ge "$cases_min" ] || fail "only ${cases:-0} calls were made up, at least $cases_min are wanted"
stop_server
echo "$cases calls were answered as the document says, and the server stopped with exit code 0"
