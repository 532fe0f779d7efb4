#!/usr/bin/env bash
# The servers that `ci/redis.sh` compares with, and one that comes back after each kill.
#
# Lives here: their start, and what they need to be told apart from servers of others on this machine. Not here: our own
# server without kills (`../server.sh`, which `work`, `within` and `others` come from). Sourced.

password=reference-password
next_port=7100
last_port=7199

# start_reference NAME BINARY: on the next port that is free; sets `address`, PASSWORD@HOST:PORT.
start_reference() {
  local name=$1 binary=$2 folder=$work/$1 port process
  mkdir -p "$folder"
  while ((next_port <= last_port)); do
    port=$((next_port++))
    "$binary" --port "$port" --bind 127.0.0.1 --requirepass "$password" --save '' --dir "$folder" >"$folder/log" 2>&1 &
    process=$!
    # Not waited for, so bash need not tell how it ended.
    disown "$process"
    others+=("$process")
    within 10 is_settled "$folder/log" "$process" || fail "$name neither started nor ended within 10 s"
    if is_open "$folder/log" && kill -0 "$process" 2>/dev/null; then
      address=$password@127.0.0.1:$port
      return
    fi
  done
  fail "$name does not start on any port from 7100 to $last_port: $(tail -n 3 "$folder/log")"
}

is_open() { grep -qs 'Ready to accept connections' "$1"; }
is_settled() { is_open "$1" || ! kill -0 "$2" 2>/dev/null; }

# keep_running FOLDER COMMAND...: starts it again whenever it ends, until the file `enough` is there. `pid` says who runs
# now, `stdout` what that one said. For a process in the background.
keep_running() {
  local folder=$1
  shift
  until [ -e "$folder/enough" ]; do
    : >"$folder/stdout"
    "$@" >>"$folder/stdout" 2>>"$folder/stderr" &
    echo $! >"$folder/pid"
    wait $! 2>/dev/null || true
    sleep 0.1
  done
}

# stop_running FOLDER SUPERVISOR
stop_running() {
  touch "$1/enough"
  kill -KILL "$(cat "$1/pid")" 2>/dev/null || true
  wait "$2" 2>/dev/null || true
  rm -f "$1/pid"
}
