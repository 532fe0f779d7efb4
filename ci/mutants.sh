#!/usr/bin/env bash
# Changes the product in small ways, one at a time, and counts how many changes the narrow tests of a part see.
#
#   ci/mutants.sh core|log|frame [ARGUMENT...]
#
# core: the lease rules; log: the log of the embedded engine; frame: the bytes of the Redis door. What follows goes to
# cargo mutants: `--shard 1/8` for a part, `--list` to see them, `--re settle.rs` for those of one file. Takes hours; nine of ten
# should be caught. Results are in target/mutants/PART/mutants.out. Wants `cargo install --locked cargo-mutants`.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

fail() {
  echo "mutants: $*" >&2
  exit 1
}

part=${1:-}
case "$part" in
  core) package=naven-core filter='all()' ;;
  # The images of whole scripts take a minute each; these see the same faults one by one.
  log) package=naven-store filter='binary_id(=naven-store::log_crash) | (kind(lib) & test(/^embedded::log/)) |
    (binary_id(=naven-store::crash) & (test(/^syncs/) | test(/^position/) | test(/^replayed/) | test(/^held/)))' ;;
  frame) package=naven-server filter='kind(lib) & test(/^redis::frame/)' ;;
  *) fail "usage is ci/mutants.sh core|log|frame [ARGUMENT...]" ;;
esac
shift
command -v cargo-mutants >/dev/null || fail "please install it first: cargo install --locked cargo-mutants"

out=${CARGO_TARGET_DIR:-$root/target}/mutants/$part
mkdir -p "$out"
exec cargo mutants --package "$package" --test-package "$package" --output "$out" --cargo-test-arg=-E \
  --cargo-test-arg="$filter" "$@"
