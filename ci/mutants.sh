#!/usr/bin/env bash
# Changes the product in small ways, one at a time, and counts how many changes the narrow tests of a part see.
#
#   ci/mutants.sh core|log|frame [ARGUMENT...]
#
# core: the lease rules; log: the log of the embedded engine; frame: the bytes of the Redis door. What follows goes to
# cargo mutants: `--shard 1/8` for a part, `--list` to see them, `--re settle.rs` for those of one file. Nine of ten should be
# caught. Results are in target/mutants/PART/mutants.out. Wants `cargo install --locked cargo-mutants`.
#
# Log and frame are built by themselves, out of copies of their files: a change then costs seconds, and not the build of a whole
# engine or server. What only tests of the whole see counts as missed here.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

fail() {
  echo "mutants: $*" >&2
  exit 1
}

part=${1:-}
case "$part" in
  core | log | frame) shift ;;
  *) fail "usage is ci/mutants.sh core|log|frame [ARGUMENT...]" ;;
esac
command -v cargo-mutants >/dev/null || fail "please install it first: cargo install --locked cargo-mutants"

out=${CARGO_TARGET_DIR:-$root/target}/mutants/$part
alone=$out/alone
rm -rf "$alone"
mkdir -p "$alone/src"
unset CARGO_TARGET_DIR

# manifest NAME DEPENDENCIES DEV-DEPENDENCIES: a package of its own, with the versions of the whole.
manifest() {
  cp Cargo.lock "$alone/Cargo.lock"
  cat >"$alone/Cargo.toml" <<END
[package]
name = "$1"
version = "0.1.0"
edition = "2024"

[features]
default = ["conformance"]
conformance = []

[dependencies]
naven-api = { path = "$root/crates/api" }
$2

[dev-dependencies]
proptest = { version = "1", default-features = false, features = ["std"] }
$3

[profile.dev]
opt-level = 1
debug = false

[workspace]
END
}

case "$part" in
  core)
    exec cargo mutants --package naven-core --test-package naven-core --output "$out" "$@"
    ;;

  log)
    manifest naven-store 'bytes = "1"
crc32c = "0.6"
naven-core = { path = "'"$root"'/crates/core" }
rustix = { version = "1", default-features = false, features = ["std", "fs"] }
subtle = "2"
thiserror = "2"
tracing = "0.1"' 'tempfile = "3"'
    mkdir -p "$alone/src/embedded" "$alone/tests"
    cp crates/store/src/sync.rs "$alone/src/"
    for name in disk folder lock log meta stand_in storage_error; do
      cp -r crates/store/src/embedded/$name* "$alone/src/embedded/"
    done
    cp -r crates/store/tests/log_crash "$alone/tests/"
    # These know records, which are not the log's affair.
    rm -f "$alone/src/embedded/log/laws.rs"
    sed -i '/^pub mod laws;/d; /^#\[cfg(any(fuzzing, all(test/d' "$alone/src/embedded/log/mod.rs"
    cat >"$alone/src/lib.rs" <<'END'
#![allow(missing_docs, dead_code)]
pub mod embedded;
mod sync;
END
    cat >"$alone/src/embedded/mod.rs" <<'END'
pub mod disk;
pub mod folder;
pub mod lock;
pub mod log;
pub mod meta;
mod stand_in;
pub mod storage_error;
// No folder of this part's tests was ever restored.
pub mod backup {
    pub fn is_restore_cut_short(_: &[String]) -> bool {
        false
    }
    pub mod leftover {
        pub fn unmark_store(_: &dyn super::super::disk::Disk) -> super::super::disk::DiskResult<()> {
            Ok(())
        }
    }
}
END
    files=(--file 'src/embedded/log/**/*.rs' --exclude 'src/embedded/log/torn.rs' --exclude 'src/embedded/log/schedules.rs')
    ;;

  frame)
    manifest frame 'bytes = "1"
tokio = { version = "1", features = ["sync", "time", "rt", "macros", "test-util"] }' ''
    mkdir -p "$alone/src/redis"
    cp -r crates/server/src/redis/frame "$alone/src/redis/"
    cp crates/server/src/room.rs "$alone/src/"
    # Saved inputs lie beside the fuzz targets.
    sed -i "s|Path::new(env!(\"CARGO_MANIFEST_DIR\")).join(\"../../fuzz|Path::new(\"$root\").join(\"fuzz|" \
      "$alone/src/redis/frame/tests/corpus.rs"
    cat >"$alone/src/lib.rs" <<'END'
#![allow(missing_docs, dead_code, unused_imports)]
mod redis {
    pub(crate) mod frame;
}
mod room;
END
    files=(--file 'src/redis/frame/**/*.rs' --exclude 'src/redis/frame/laws/**')
    ;;
esac

exec cargo mutants --dir "$alone" --output "$out" --no-config --test-tool nextest \
  "${files[@]}" --exclude '**/tests/**' --exclude '**/tests.rs' \
  --exclude-re 'impl (std::)?fmt::(Debug|Display)' "$@"
