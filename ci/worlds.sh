#!/usr/bin/env bash
# Lives simulated worlds: of the engine alone, and of the whole server with both doors. Fails at the first worlds that
# break a promise, and prints the command that lives each of them again.
#
#   ci/worlds.sh                      what every change is held to
#   ci/worlds.sh ENGINE NODE [SEED]   so many worlds of each kind, from this seed on (0)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
torture=${CARGO_TARGET_DIR:-$root/target}/debug/naven-torture
engine=${1:-20000} node=${2:-300} seed=${3:-0}

# The whole workspace, so that dependencies keep the features they are built with already.
cargo build --workspace --bins
"$torture" simulate --seed "$seed" --seeds "$engine"
"$torture" simulate --node --seed "$seed" --seeds "$node"
# The same seed lives the same world.
"$torture" simulate --seed "$seed" --seeds 100 --twice
"$torture" simulate --node --seed "$seed" --seeds 10 --twice
