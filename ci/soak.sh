#!/usr/bin/env bash
# Soaks a real `naven serve`: a load by a schedule over both doors, with faults and restarts, judged by the lease checker;
# memory, descriptors and disk are measured. Fails if one of them is beyond its bound. docs/reliability.md says more.
#
#   ci/soak.sh                       60 seconds, what every change is held to
#   ci/soak.sh [OPTION...]           as `naven-torture soak` takes them: --seconds 7200 is the whole soak
#
# What is wrong stays in target/soak: the server's folder and log, and histories for `naven-torture check`.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
target=${CARGO_TARGET_DIR:-$root/target}
# The server reads variables of this name; what the caller has set is not meant for it.
for name in "${!NAVEN_@}"; do unset "$name"; done

options=("$@")
has() { [[ " ${options[*]} " == *" $1"[\ =]* ]]; }
has --seconds || options+=(--seconds 60)
has --naven || options+=(--naven "$target/debug/naven")
own=
if ! has --dir; then
  own=$target/soak
  rm -rf "$own"
  options+=(--dir "$own")
fi

# Where they are there, nothing is built.
if ! [ -x "$target/debug/naven-torture" ] || ! [ -x "$target/debug/naven" ]; then
  # The whole workspace, so that dependencies keep the features they are built with already.
  cargo build --workspace --bins
fi
"$target/debug/naven-torture" soak "${options[@]}"
if [ -n "$own" ]; then rm -rf "$own"; fi
