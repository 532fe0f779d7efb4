#!/usr/bin/env bash
# The compiler of this workspace's own packages where they are fuzzed: see ci/fuzz.sh. What it counts, libFuzzer reads.
exec "$@" --cfg fuzzing -Dwarnings -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares
