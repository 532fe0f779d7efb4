//! The loops printed in `docs/consumers.md` are the ones that are compiled and run.
//!
//! Lives here: the comparison. Not here: running them.

const PAGE: &str = include_str!("../../../docs/consumers.md");
const REDIS_PAGE: &str = include_str!("../../../docs/redis-consumers.md");

#[test]
fn the_page_prints_the_files_word_for_word() {
    for (language, text) in [
        ("js", include_str!("../../../docs/consumer.mjs")),
        ("rust", include_str!("../examples/consumer.rs")),
        ("rust", include_str!("../examples/ledger.rs")),
    ] {
        let block = format!("```{language}\n{text}```\n");
        assert!(PAGE.contains(&block), "docs/consumers.md has another text than the {language} file");
    }
}

#[test]
fn the_page_on_redis_prints_its_file_word_for_word() {
    let block = format!("```rust\n{}```\n", include_str!("../examples/redis_worker.rs"));
    assert!(REDIS_PAGE.contains(&block), "docs/redis-consumers.md has another text than the file");
}

#[test]
fn the_page_on_redis_names_tests_that_are_there() {
    let suite = include_str!("streams/main.rs");
    let (_, faults) = REDIS_PAGE.split_once("| Fault |").expect("it has a table of faults");
    let named: Vec<&str> = faults.split('`').filter(|name| name.contains('_') && name.len() > 30).collect();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        assert!(suite.contains(name), "there is no test {name}");
    }
}
