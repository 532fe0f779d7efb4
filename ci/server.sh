#!/usr/bin/env bash
# A real `naven serve` for the scripts beside this file, which source it. They say what `naven`, `target`
# and `fail` are; they get `work`, a folder that goes with them, and `server`, `url`, `redis_url` and `key`.

ready_seconds=30
stop_seconds=30
serve_options=() # further arguments of `naven serve`
others=()        # further processes of the script, which end with it

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
    "${serve_options[@]}" >"$work/stdout" 2>"$work/stderr" &
  server=$!
  within "$ready_seconds" is_ready || fail "the server was not ready within $ready_seconds s"
  local ready
  ready=$(grep '^ready ' "$work/stdout") || fail "the server ended before it was ready"
  [[ $ready =~ ^ready\ http=([^ ]+)\ redis=([^ ]+)\ engine=embedded$ ]] || fail "not the agreed ready line: $ready"
  url=http://${BASH_REMATCH[1]}
  redis_url=redis://:$key@${BASH_REMATCH[2]}
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
  local status=$? process
  for process in $server "${others[@]}"; do kill -KILL "$process" 2>/dev/null || true; done
  # What one of these others started in turn.
  for process in $(cat "$work"/*/pid 2>/dev/null); do kill -KILL "$process" 2>/dev/null || true; done
  if [ "$status" != 0 ] && [ -s "$work/stderr" ]; then
    echo "--- the end of the server's log" >&2
    tail -n 40 "$work/stderr" >&2
  fi
  rm -rf "$work"
}

# make_workplace NAME: everything that the server and the script write goes there.
make_workplace() {
  server='' url='' redis_url=''
  mkdir -p "$target"
  work=$(mktemp -d "$target/$1-run.XXXXXX")
  trap clean_up EXIT
  trap 'exit 130' INT TERM
}

# call PATH BODY: posts it with the key, and prints the answer.
call() {
  curl --silent --show-error --fail-with-body --max-time 10 --header "Authorization: Bearer $key" \
    --json "$2" "$url/v1/$1"
}
