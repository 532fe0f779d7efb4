//! What must hold of bearer keys, whatever text is sent as one.
//!
//! Lives here: the law of their text. Not here: lease tokens and ids (`naven_store::token`).

use crate::auth::BearerKey;

/// Holds one input to the law: what is taken for a key is that text, of one form, and is not shown by accident.
///
/// # Panics
/// Where it is broken.
pub fn check(input: &[u8]) {
    let Some(text) = std::str::from_utf8(input).ok() else { return };
    let Ok(key) = text.parse::<BearerKey>() else { return };
    assert_eq!(key.reveal(), text);
    assert_eq!((text.len(), key.prefix().len()), (83, 26), "{text}");
    assert!(!format!("{key:?}").contains(&text[31..]), "{key:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_saved_inputs_of_the_fuzzer_keep_every_law_of_keys() {
        crate::laws::saved_inputs("tokens", check);
    }
}
