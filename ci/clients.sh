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

ready_seconds=30
stop_seconds=30

fail() {
  echo "clients: $*" >&2
  exit 1
}

# within SECONDS COMMAND...: asks ten times a second until the command succeeds, or fails at the end.
within() {
  local tries=$(($1 * 10))
  shift
  until "$@"; do
    ((tries-- > 0)) || return 1
    sleep 0.1
  done
}

is_ready() { grep -q '^ready ' "$work/stdout" || is_gone; }
is_gone() { ! kill -0 "$server" 2>/dev/null; }

start_server() {
  NAVEN_ADMIN_KEY=$key "$naven" serve --data "$work/data" --http 127.0.0.1:0 --redis 127.0.0.1:0 \
    >"$work/stdout" 2>"$work/stderr" &
  server=$!
  within "$ready_seconds" is_ready || fail "the server was not ready within $ready_seconds s"
  local ready
  ready=$(grep '^ready ' "$work/stdout") || fail "the server ended before it was ready"
  [[ $ready =~ ^ready\ http=([^ ]+)\ redis=[^\ ]+\ engine=embedded$ ]] || fail "not the agreed ready line: $ready"
  url=http://${BASH_REMATCH[1]}
}

stop_server() {
  local status=0
  kill -TERM "$server" || fail "the server was gone before it was told to stop"
  within "$stop_seconds" is_gone || fail "the server did not stop within $stop_seconds s of SIGTERM"
  wait "$server" || status=$?
  server=
  [ "$status" = 0 ] || fail "the server ended with exit code $status after SIGTERM"
}

# Whatever ends this script, no server outlives it, and a failure shows what the server had to say.
clean_up() {
  local status=$?
  if [ -n "$server" ]; then kill -KILL "$server" 2>/dev/null || true; fi
  if [ "$status" != 0 ] && [ -s "$work/stderr" ]; then
    echo "--- the end of the server's log" >&2
    tail -n 40 "$work/stderr" >&2
  fi
  rm -rf "$work"
}

new_queue() {
  curl --silent --show-error --fail-with-body --max-time 10 --header "Authorization: Bearer $key" \
    --json "{\"name\":\"$1\"}" "$url/v1/event-queues" >"$work/reply" || fail "no queue $1: $(cat "$work/reply")"
  node -pe 'JSON.parse(require("fs").readFileSync(0, "utf8")).data.id' <"$work/reply"
}

# run_client NAME SCRIPT: copied first, since `shared` may be read-only and npm writes beside the script.
run_client() {
  local name=$1 script=$2 queue status=0
  local folder=$target/clients/$name
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  cp -R "$shared/clients/$name" "$folder"
  chmod -R u+w "$folder"
  if [ -e "$folder/package-lock.json" ]; then
    npm --prefix "$folder" ci --no-audit --no-fund --loglevel=error
  fi
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

server='' url='' failed=()
mkdir -p "$target"
work=$(mktemp -d "$target/clients-run.XXXXXX")
trap clean_up EXIT
trap 'exit 130' INT TERM

key=$("$naven" key generate)
start_server
run_client reference-http run.mjs
run_client naven-http driver.js
stop_server
[ ${#failed[@]} = 0 ] || fail "failed: ${failed[*]}"
echo "both clients passed, and the server stopped with exit code 0"
