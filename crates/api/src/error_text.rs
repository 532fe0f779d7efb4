//! What a consumer says went wrong, as it is kept.
//!
//! Lives here: the one place where such text is cleaned and cut. Not here: where it is stored.

use std::fmt;

use serde::Serialize;

use crate::limits::ERROR_BYTES_MAX;

/// An error text of at most 8 KiB: longer ones are cut on a character border, NUL is shown as `\u0000`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct ErrorText(String);

impl ErrorText {
    /// `text` as it will be kept. Never fails: an attempt's failure must always be recordable.
    pub fn new(text: &str) -> Self {
        Self(kept(text, ERROR_BYTES_MAX))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first `bytes` of it, cut on a character border.
    pub fn head(&self, bytes: usize) -> String {
        let mut head = self.0.clone();
        cut(&mut head, bytes);
        head
    }
}

/// `text` as it is kept: at most so many bytes, cut on a character border, NUL shown as an escape.
pub(crate) fn kept(text: &str, bytes_max: usize) -> String {
    let mut kept = text.replace('\0', "\\u0000");
    cut(&mut kept, bytes_max);
    kept
}

fn cut(text: &mut String, bytes: usize) {
    text.truncate(text.floor_char_boundary(bytes));
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_is_shown_and_long_text_is_cut_between_characters() {
        assert_eq!(ErrorText::new("a\0b").as_str(), "a\\u0000b");
        let long = ErrorText::new(&format!("x{}", "é".repeat(ERROR_BYTES_MAX)));
        assert_eq!(long.as_str().len(), ERROR_BYTES_MAX - 1, "a whole character less");
        assert_eq!(ErrorText::new(&"y".repeat(ERROR_BYTES_MAX)).as_str().len(), ERROR_BYTES_MAX);
        assert_eq!(ErrorText::new(&"y".repeat(ERROR_BYTES_MAX + 1)).as_str().len(), ERROR_BYTES_MAX);
        assert_eq!(ErrorText::new("aé").head(2), "a");
    }
}
