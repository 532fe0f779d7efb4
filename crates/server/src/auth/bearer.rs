//! A bearer key as its owner holds it.
//!
//! Lives here: making and reading one. Not here: what is stored of it (`naven_store::key`).

use std::fmt;
use std::str::FromStr;

use naven_api::base32;
use naven_api::id::uuid_v7_bits;
use naven_store::key::KeySecret;
use naven_store::{Clock, Random};
use sha2::{Digest, Sha256};

const PREFIX_CHARS: usize = 26;
const SECRET_CHARS: usize = 52;

/// A bearer key: `nvk_` + 26 base32 + `_` + 52 base32 (256 bits). A secret: `Debug` hides it.
#[derive(Clone)]
pub struct BearerKey {
    text: String,
}

/// Why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a key: expected nvk_, 26 base32 characters, _ and 52 base32 characters")]
pub struct ParseKeyError;

impl BearerKey {
    /// A new key.
    pub fn generate(clock: &dyn Clock, random: &dyn Random) -> Self {
        let mut secret = [0; 32];
        random.fill(&mut secret);
        let public = uuid_v7_bits(clock.wall().as_ms(), random.draw_u128());
        Self { text: format!("nvk_{}_{}", base32::encode_u128(public), base32::encode_bytes(&secret)) }
    }

    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The public part, by which it is looked up and may be named in logs.
    pub fn prefix(&self) -> &str {
        &self.text["nvk_".len()..][..PREFIX_CHARS]
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// The public part as it is stored and shown.
    pub(super) fn shown_prefix(&self) -> String {
        format!("nvk_{}", self.prefix())
    }

    /// What is stored of it.
    pub(crate) fn stored(&self) -> KeySecret {
        KeySecret { prefix: self.shown_prefix(), digest: self.digest(), until: None }
    }
}

impl FromStr for BearerKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let (public, secret) =
            text.strip_prefix("nvk_").and_then(|rest| rest.split_once('_')).ok_or(ParseKeyError)?;
        let fits = public.len() == PREFIX_CHARS
            && secret.len() == SECRET_CHARS
            && base32::is_base32(public)
            && base32::is_base32(secret);
        if fits { Ok(Self { text: text.to_owned() }) } else { Err(ParseKeyError) }
    }
}

impl fmt::Debug for BearerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BearerKey({}..)", self.shown_prefix())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{SystemClock, SystemRandom};

    #[test]
    fn a_generated_key_is_one_and_hides_itself() {
        let key = BearerKey::generate(&SystemClock::new(), &SystemRandom);
        assert_eq!(key.reveal().len(), 4 + 26 + 1 + 52);
        assert!(key.reveal().parse::<BearerKey>().is_ok());
        assert!(!format!("{key:?}").contains(&key.reveal()[31..]));
    }

    #[test]
    fn near_misses_are_not_keys() {
        let key = BearerKey::generate(&SystemClock::new(), &SystemRandom);
        let text = key.reveal();
        for bad in ["", "nvk_", "not-the-key", &text[1..], &text[..text.len() - 1], &text.to_uppercase()] {
            assert!(bad.parse::<BearerKey>().is_err(), "{bad}");
        }
        assert!(format!("{text}0").parse::<BearerKey>().is_err());
    }
}
