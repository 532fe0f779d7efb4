#!/usr/bin/env bash
# Kills the server of a folder and waits until it is there again: `keep_running` of `servers.sh` starts it.
#
#   restart.sh FOLDER PATTERN     PATTERN is in its output once it takes connections
set -euo pipefail
folder=$1 pattern=$2
gone=$(cat "$folder/pid")
kill -KILL "$gone"
for ((tries = 0; tries < 600; tries++)); do
  if [ "$(cat "$folder/pid")" != "$gone" ] && grep -q "$pattern" "$folder/stdout"; then
    echo . >>"$folder/restarts"
    exit 0
  fi
  sleep 0.05
done
echo "the server was not there again within 30 s: $(tail -n 3 "$folder/stderr")" >&2
exit 1
