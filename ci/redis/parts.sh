#!/usr/bin/env bash
# The runs of `ci/redis.sh`, each against our server and, where answers are compared, against another.
#
# Lives here: one function for each client. Not here: the servers' start, and what is said in the end. Sourced: the script
# says what `check`, `ours`, `redis7` and `valkey9` (addresses as PASSWORD@HOST:PORT) and the sizes of stream-diff are.
# These run where errexit is off, so each step that may fail says what then.

client_seconds=120

# The reference worker's text as it stands: what it sees and what stays pending is the same everywhere.
part_reference() {
  local folder version
  copy_client reference-redis || return
  for version in 5 6; do
    check "reference worker, ioredis $version: the same here as on redis-server 7" reference_worker "$folder" "$version"
  done
}

reference_worker() {
  local folder=$1 version=$2 side address
  for side in there here; do
    address=$redis7
    [ "$side" = there ] || address=$ours
    REFERENCE_WORKER=$shared/reference/redis-stream.ts IOREDIS=$version REDIS_URL=redis://:$address \
      bounded "$client_seconds" node "$folder/run.mjs" >"$work/reference.$side" || {
      echo "$side:" && cat "$work/reference.$side"
      return 1
    }
    # How long its end took is all that differs from run to run.
    node -e '
      const { stopMs, ...rest } = JSON.parse(require("fs").readFileSync(0, "utf8"));
      console.log(JSON.stringify(rest));' <"$work/reference.$side" >"$work/reference.$side.same" || return
  done
  cat "$work/reference.here"
  diff "$work/reference.there.same" "$work/reference.here.same"
}

part_stream() {
  local folder version
  copy_client redis-stream || return
  for version in 5 6; do
    check "stream consumer, ioredis $version, on redis-server 7" stream_consumer "$folder" "$version" "$redis7"
    check "stream consumer, ioredis $version, here" stream_consumer "$folder" "$version" "$ours"
  done
}

stream_consumer() { IOREDIS=$2 REDIS_URL=redis://:$3 bounded "$client_seconds" node "$1/driver.js"; }

part_node() {
  check "ioredis 5" node_client ioredis.mjs 5 2
  check "ioredis 6, RESP2" node_client ioredis.mjs 6 2
  check "ioredis 6, RESP3" node_client ioredis.mjs 6 3
  check "node-redis 6, RESP2" node_client node_redis.mjs 2
  check "node-redis 6, RESP3" node_client node_redis.mjs 3
}

node_client() { REDIS_URL=redis://:$ours bounded "$client_seconds" node "$npm_folder/$1" "${@:2}"; }

part_faststream() {
  check "FastStream, RESP2" python_client faststream_groups.py 2
  check "FastStream, RESP3" python_client faststream_groups.py 3
}

part_walrus() {
  check "walrus, RESP2" python_client walrus_groups.py 2
  check "walrus, as it comes" python_client walrus_groups.py default
}

python_client() { bounded "$client_seconds" "$python" "$root/ci/redis/$1" "redis://:$ours" "$2"; }

part_redis_py() { check "redis-py's own tests of streams: the same here as on Valkey 9" redis_py_tests; }

redis_py_tests() {
  local status=0
  bounded 600 "$python" "$root/ci/redis/redis_py.py" "$redis_py" "$work" "redis://:$valkey9" "redis://:$ours" || status=$?
  [ "$status" = 0 ] || cp "$work"/redis-py-* "$reports"
  return "$status"
}

part_diff() {
  # What we mean to differ in, and for Redis 7 also what it and Valkey 9 differ in.
  local allow=$root/ci/redis/allow-valkey9.json both=$work/allow-redis7.json
  python3 -c 'import json, sys; print(json.dumps([rule for path in sys.argv[1:] for rule in json.load(open(path))]))' \
    "$allow" "$shared/tools/stream-diff/allow-redis7.0-valkey9.json" >"$both"
  check "stream-diff, Valkey 9, RESP2" stream_diff resp2 "$runs_resp2" "$valkey9" "$ours" --allow "$allow"
  check "stream-diff, Valkey 9, RESP3" stream_diff resp3 "$runs_resp3" "$valkey9" "$ours" --resp 3 --allow "$allow"
  check "stream-diff, redis-server 7" stream_diff redis7 "$runs_redis7" "$redis7" "$ours" --allow "$both"
}

# stream_diff NAME RUNS A B ARGUMENTS...
stream_diff() {
  local name=$1 runs=$2 status=0
  shift 2
  # A run takes some 0.3 s, and one that diverges some hundred times that, once for each kind.
  bounded $((300 + 3 * runs)) python3 "$shared/tools/stream-diff/stream_diff.py" "$@" --seed "$seed" --runs "$runs" \
    --steps "$steps" >"$work/stream-diff-$name.log" 2>&1 || status=$?
  if [ "$status" = 0 ]; then
    grep -oE '"runs": [0-9]+, "steps": [0-9]+, "diverged": [0-9]+' "$work/stream-diff-$name.log"
  else
    cp "$work/stream-diff-$name.log" "$reports"
    cut -c 1-400 "$work/stream-diff-$name.log" | tail -n 80
  fi
  return "$status"
}

part_restarts() {
  check "stream-diff, Valkey 9, with kill -9 in the middle of each run" diff_with_restarts
}

diff_with_restarts() {
  local folder=$work/restarts supervisor address pattern restarts status=0
  mkdir -p "$folder"
  : >"$folder/restarts"
  begin_restarts || return
  within 30 grep -q "$pattern" "$folder/stdout" || fail "the server that is to be killed does not start"
  stream_diff restarts "$runs_restarts" "$valkey9" "$address" --resp 3 \
    --allow "$root/ci/redis/allow-valkey9.json" --restart-b "bash '$root/ci/redis/restart.sh' '$folder' '$pattern'" || status=$?
  stop_running "$folder" "$supervisor"
  restarts=$(wc -l <"$folder/restarts")
  echo "$restarts restarts"
  if [ "$status" = 1 ] && [ -n "$standin" ] && [ "$restarts" -gt 0 ]; then
    echo "not held against the stand-in: Redis itself forgets consumers without entries, and counts of reads"
    return 0
  fi
  # A run that ends where we mean to differ may end before its restart.
  [ "$status" != 0 ] || [ "$restarts" -ge $((runs_restarts * 9 / 10)) ] || status=1
  return "$status"
}

# A port that is free is asked of the system once; from then on it is the address that clients come back to.
begin_restarts() {
  local port
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])') || return
  if [ -n "$standin" ]; then
    address=$password@127.0.0.1:$port pattern='Ready to accept connections'
    keep_running "$folder" "$valkey" --port "$port" --bind 127.0.0.1 --requirepass "$password" --save '' \
      --appendonly yes --appendfsync always --dir "$folder" &
  else
    address=$key@127.0.0.1:$port pattern='^ready '
    NAVEN_ADMIN_KEY=$key keep_running "$folder" "$naven" serve --data "$folder/data" --http 127.0.0.1:0 \
      --redis "127.0.0.1:$port" "${serve_options[@]}" &
  fi
  supervisor=$!
  others+=("$supervisor")
}
