#!/usr/bin/env bash
# Tries orders of threads: those of the log's group commit, and of those who wait for events. Each test runs its scene
# under a scheduler of its own, some thousand times, and fails at the first order that breaks a law, which it prints.
#
#   ci/shuttle.sh [ARGUMENT...]
#
# ARGUMENTs are for `cargo nextest run`, as the name of one test.
#
# The flag is for the packages of this workspace alone: what they depend on is not built again. These tests build
# longer than they run, so the store is optimised less for them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export RUSTC_WORKSPACE_WRAPPER="$root/ci/shuttle_rustc.sh"
cargo nextest run --lib --package naven-store --package naven-server --all-features --no-fail-fast \
  --success-output final --config 'profile.dev.package.naven-store.opt-level=1' -E 'test(/(^|::)schedules::/)' "$@"
