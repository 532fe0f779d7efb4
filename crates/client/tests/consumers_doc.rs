//! The loops printed in `docs/consumers.md` are the ones that are compiled and run.
//!
//! Lives here: the comparison. Not here: running them.

const PAGE: &str = include_str!("../../../docs/consumers.md");

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
