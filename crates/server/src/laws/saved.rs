//! The saved inputs of the fuzz targets.
//!
//! Lives here: finding those of one target. Not here: their laws.

use std::fs;
use std::path::Path;

/// So few that a person can look through them.
const FILES_MAX: usize = 200;

/// Hands each saved input of `target` to `check`.
pub(crate) fn saved_inputs(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files: Vec<_> = fs::read_dir(folder).expect("the saved inputs are there").collect();
    assert!((1..=FILES_MAX).contains(&files.len()), "{} saved inputs", files.len());
    for file in files {
        let path = file.expect("listed").path();
        // What fails shows the last name that was printed.
        println!("{}", path.display());
        check(&fs::read(path).expect("it can be read"));
    }
}
