#!/usr/bin/env bash
# Runs clients and frameworks of Redis, as their users get them, against the Redis door of a real `naven serve`, and
# compares answers with those of redis-server 7 and Valkey 9. Fails if one of them fails or an answer differs.
#
#   ci/redis.sh [--naven PATH] [--full] [PART...]
#
# Parts: reference stream node faststream walrus redis_py diff restarts; all of them where none is named. --full runs
# stream-diff at the size of a release. What is wanted of it otherwise: SEED (1), STEPS (100) and RUNS_RESP2, RUNS_RESP3,
# RUNS_REDIS7, RUNS_RESTARTS. NAVEN_REDIS_STANDIN=PASSWORD@HOST:PORT takes another server in place of ours, to try the
# clients themselves; it loses what it holds.
#
# Two clients and stream-diff lie in the folder `shared` beside the checkout, or where NAVEN_SHARED says. Needs curl,
# Python 3 with venv, Node 20 or newer with npm, and redis-server; the rest is installed below target. Reports of what
# failed are in target/redis-clients/reports.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
naven=$target/debug/naven
shared=${NAVEN_SHARED:-$root/../shared}
standin=${NAVEN_REDIS_STANDIN:-}
# The server and the clients read variables of this name; what the caller has set is not meant for them.
for name in "${!NAVEN_@}"; do unset "$name"; done

seed=${SEED:-1}
steps=${STEPS:-100}
sizes=(100 25 25 5)
parts=()

fail() {
  echo "redis clients: $*" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case "$1" in
    --naven) naven=${2:?--naven wants a path} && shift ;;
    --full) sizes=(2000 500 400 100) ;;
    reference | stream | node | faststream | walrus | redis_py | diff | restarts) parts+=("$1") ;;
    *) fail "unknown argument '$1': see the head of ci/redis.sh" ;;
  esac
  shift
done
[ ${#parts[@]} -gt 0 ] || parts=(reference stream node faststream walrus redis_py diff restarts)
runs_resp2=${RUNS_RESP2:-${sizes[0]}}
runs_resp3=${RUNS_RESP3:-${sizes[1]}}
runs_redis7=${RUNS_REDIS7:-${sizes[2]}}
runs_restarts=${RUNS_RESTARTS:-${sizes[3]}}

source "$root/ci/server.sh"
source "$root/ci/client_copy.sh"
source "$root/ci/redis/tools.sh"
source "$root/ci/redis/servers.sh"
source "$root/ci/redis/parts.sh"

lines=() failed=()

# check TITLE COMMAND...: runs it, and keeps a line for the end.
check() {
  local title=$1 began=$SECONDS status=0 line
  shift
  echo "--- $title"
  "$@" || status=$?
  case "$status" in
    0) line="ok       $title" ;;
    124 | 137) line="TIMEOUT  $title" ;;
    *) line="FAILED   $title (exit code $status)" ;;
  esac
  [ "$status" = 0 ] || failed+=("$title")
  line+=", $((SECONDS - began)) s"
  lines+=("$line")
  echo "$line"
}

lies_in_shared() { [[ $1 =~ ^(reference|stream|diff|restarts)$ ]]; }

if ! [ -d "$shared/clients" ] || ! [ -d "$shared/tools/stream-diff" ]; then
  [ "${CI:-}" != true ] || fail "there is no folder $shared with clients and tools, and in CI nothing may be skipped"
  kept=()
  for part in "${parts[@]}"; do
    if lies_in_shared "$part"; then lines+=("SKIPPED  $part: its folder, in ../shared, is not there"); else kept+=("$part"); fi
  done
  parts=("${kept[@]}")
fi

reports=$target/redis-clients/reports
rm -rf "$reports"
mkdir -p "$reports"
install_redis_tools
make_workplace redis
trap 'kill -TERM $running 2>/dev/null || true; exit 130' INT TERM
start_reference redis7 redis-server && redis7=$address
start_reference valkey9 "$valkey" && valkey9=$address
if [ -n "$standin" ]; then
  ours=$standin
  echo "NOT OURS: a stand-in is tried at ${standin##*@}"
else
  [ -x "$naven" ] || fail "there is no $naven: build it with cargo build --workspace --bins"
  key=$("$naven" key generate)
  # redis-py's tests begin and end with FLUSHDB.
  serve_options=(--allow-flush)
  start_server
  ours=${redis_url#redis://:}
fi

for part in "${parts[@]}"; do
  # Installing what it needs may fail before any of its runs.
  "part_$part" || failed+=("$part, before its first run")
done
[ -n "$standin" ] || stop_server

echo
printf '%s\n' "${lines[@]}"
[ ${#failed[@]} = 0 ] || fail "failed: $(IFS=';' && echo "${failed[*]}")"
echo "all of it in $SECONDS s"
