//! The saved inputs of the fuzz target `resp`, each held to the laws.
//!
//! Lives here: finding them. Not here: the laws, and what an input stands for (`laws`).

use std::fs;
use std::path::Path;

use crate::redis::frame::laws::check;

/// So few that a person can look through them.
const FILES_MAX: usize = 200;

#[test]
fn the_saved_inputs_of_the_fuzzer_keep_every_law() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/resp");
    let files: Vec<_> =
        fs::read_dir(folder).expect("the saved inputs are there").map(|file| file.expect("listed")).collect();
    assert!((1..=FILES_MAX).contains(&files.len()), "{} saved inputs", files.len());
    for file in files {
        let input = fs::read(file.path()).expect("it can be read");
        // What fails shows the last name that was printed.
        println!("{}", file.file_name().display());
        check(&input);
    }
}
