#!/usr/bin/env bash
# Builds the fuzz targets and runs each for a while, two at a time, from its saved corpus on. Fails where an input
# breaks a law, shows it, and keeps it in target/fuzz/found.
#
#   ci/fuzz.sh [--keep] [SECONDS]
#
# SECONDS are for each target (60). --keep writes back into fuzz/corpus what reaches code that no saved input reaches.
#
# The flags are those of cargo-fuzz (ci/fuzz_rustc.sh), but for the address sanitizer: that wants a nightly compiler, and
# this is safe code. Needs a C++ compiler, for libFuzzer. One input again: target/fuzz/TARGET FILE.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${CARGO_TARGET_DIR:-$root/target}/fuzz

# Each target with its fewest inputs in a second, and its longest input in bytes. Fewer prove too little; a machine that
# does other things too reaches several times as many. A folder is opened by four threads, and its inputs are changes.
targets='
resp           500  4096
json_requests  500  4096
filters        500  2048
cursors        500   512
tokens         500   512
log_record     150  4096
folder_open     10   256
'
at_once=2
saved_max=150

fail() {
  echo "fuzz: $*" >&2
  exit 1
}

keep=false
if [ "${1:-}" = --keep ]; then keep=true && shift; fi
seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] && [ $# -le 1 ] || fail "usage is ci/fuzz.sh [--keep] [SECONDS]"
command -v c++ >/dev/null || fail "there is no c++, and libFuzzer is written in it"

# One build of what the targets need of ours, beside those of ordinary builds: dependencies stay as they are, without
# the counters. The whole workspace and every feature, so that theirs are what they were.
built=$(sed -n '/^\[\[bin\]\]/,/^$/s/^name = "\(.*\)"/\1/p' "$root/fuzz/Cargo.toml")
mapfile -t bins < <(sed 's/^/--bin=/' <<<"$built")
(cd "$root" && RUSTC_WORKSPACE_WRAPPER="$root/ci/fuzz_rustc.sh" \
  cargo build --locked --workspace --all-features "${bins[@]}")
mkdir -p "$out"
for target in $built; do cp "$(dirname "$out")/debug/$target" "$out/$target"; done

# A copy of the saved inputs, for the fuzzer adds to them.
copy_corpus() {
  rm -rf "$out/corpus/$1"
  mkdir -p "$out/corpus/$1" "$out/found/$1"
  cp -r "$root/fuzz/corpus/$1/." "$out/corpus/$1"
}

# What was found, as it may be typed into a file.
show() {
  local file
  for file in "$out/found/$1"/*; do
    [ -f "$file" ] || continue
    printf '%s, %d bytes:\n' "${file#"$root/"}" "$(wc -c <"$file")"
    head -c 2000 "$file" | od -An -c -v
  done
}

# of TARGET COLUMN: what the table says.
of() { sed -n "s/^$1  *//p" <<<"$targets" | awk -v column="$2" '{ print $column }'; }

run() {
  local target=$1 options=() log="$out/$1.log" executed
  rm -rf "$out/found/$target"
  copy_corpus "$target"
  [ ! -e "$root/fuzz/$target.dict" ] || options+=(-dict="$root/fuzz/$target.dict")
  "$out/$target" "$out/corpus/$target" -max_total_time="$seconds" -max_len="$(of "$target" 2)" \
    -timeout=10 -rss_limit_mb=512 -print_final_stats=1 -artifact_prefix="$out/found/$target/" "${options[@]}" \
    >"$log" 2>&1 || {
    tail -n 60 "$log"
    show "$target"
    fail "$target: an input breaks a law, see above"
  }
  # Without counters the fuzzer would be blind, and say nothing.
  grep -q 'inline 8-bit counters' "$log" || fail "$target: it was built without coverage, see $log"
  executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  [ "${executed:-0}" -ge $((seconds * $(of "$target" 1))) ] || fail "$target: only ${executed:-0} inputs, see $log"
  echo "$target: $executed inputs in $seconds s kept every law; $(grep -oE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -n 1)"
}

# What each says comes in one piece, in the table's order. All of them run, whatever one finds.
run_together() {
  local target runs=() failed=false
  for target in "$@"; do
    run "$target" >"$out/$target.said" 2>&1 &
    runs+=("$!:$target")
  done
  for target in "${runs[@]}"; do
    wait "${target%%:*}" || failed=true
    cat "$out/${target#*:}.said"
  done
  [ "$failed" = false ]
}

# What reaches further code counts, and not how often it does: so a few files are enough.
keep_corpus() {
  local target=$1 least="$out/least/$1" count
  rm -rf "$least"
  mkdir -p "$least"
  "$out/$target" -merge=1 -use_counters=0 -max_len="$(of "$target" 2)" "$least" "$root/fuzz/corpus/$target" \
    "$out/corpus/$target" >"$out/$target.merge.log" 2>&1 || fail "$target: see $out/$target.merge.log"
  # Saved inputs stay under the names that people gave them.
  (cd "$root/fuzz/corpus/$target" && sha1sum ./*) | cut -d ' ' -f 1 | while read -r known; do rm -f "$least/$known"; done
  count=$(find "$least" "$root/fuzz/corpus/$target" -type f | wc -l)
  [ "$count" -le "$saved_max" ] || fail "$target: $count inputs are too many to save, look through $least"
  cp -r "$least/." "$root/fuzz/corpus/$target"
  echo "$target: $(find "$least" -type f | wc -l) new inputs saved"
}

names=$(awk 'NF { print $1 }' <<<"$targets")
[ "$(sort <<<"$names")" = "$(sort <<<"$built")" ] || fail "the table of targets and fuzz/Cargo.toml name others"
failed=false
# Read as a whole first: what runs inside must not take the rest.
mapfile -t names <<<"$names"
for ((at = 0; at < ${#names[@]}; at += at_once)); do
  run_together "${names[@]:at:at_once}" || failed=true
done
[ "$failed" = false ] || fail "laws were broken, see above"
[ "$keep" = false ] || for target in "${names[@]}"; do keep_corpus "$target"; done
