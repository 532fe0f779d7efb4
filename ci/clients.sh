#!/usr/bin/env bash
# Runs the black-box clients against a real `naven serve` and fails if one of them does.
#
#   ci/clients.sh [PATH OF naven]
#
# The clients lie in the folder `shared` beside the checkout, or where NAVEN_SHARED says. They know
# the server by its address, a key and a queue only. Needs curl, and Node 20 or newer with npm.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
naven=${1:-$target/debug/naven}
shared=${NAVEN_SHARED:-$root/../shared}
# The server and the clients read variables of this name; what the caller has set is not meant for them.
for name in "${!NAVEN_@}"; do unset "$name"; done

fail() {
  echo "clients: $*" >&2
  exit 1
}

source "$root/ci/server.sh"
source "$root/ci/client_copy.sh"

new_queue() {
  call event-queues "{\"name\":\"$1\"}" >"$work/reply" || fail "no queue $1: $(cat "$work/reply")"
  node -pe 'JSON.parse(require("fs").readFileSync(0, "utf8")).data.id' <"$work/reply"
}

# run_client NAME SCRIPT
run_client() {
  local name=$1 script=$2 folder queue status=0
  copy_client "$name"
  queue=$(new_queue "$name")
  echo "$name:"
  NAVEN_API_URL=$url NAVEN_API_KEY=$key NAVEN_QUEUE_ID=$queue \
    REFERENCE_PAGE=$shared/reference/reliable-consumers.txt node "$folder/$script" || status=$?
  [ "$status" = 0 ] || failed+=("$name (exit code $status)")
}

if ! [ -d "$shared/clients" ]; then
  [ "${CI:-}" != true ] || fail "there is no folder $shared/clients, and in CI nothing may be skipped"
  echo "SKIPPED: the black-box clients. Their folder, clients in ../shared, is not there."
  exit 0
fi
[ -x "$naven" ] || fail "there is no $naven: build it with cargo build --workspace --bins"

failed=()
make_workplace clients

key=$("$naven" key generate)
start_server
run_client reference-http run.mjs
run_client naven-http driver.js
stop_server
[ ${#failed[@]} = 0 ] || fail "failed: ${failed[*]}"
echo "both clients passed, and the server stopped with exit code 0"
