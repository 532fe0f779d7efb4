//! Scripts: the steps that look at an entry and act on it at once.
//!
//! Lives here: their texts and names. Not here: their arguments and answers (`scripted.rs`).

/// A script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Take,
    Beat,
    Ack,
    Wait,
    Bury,
    Leave,
    Trim,
}

/// How the server calls those that it has.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    shas: [String; Script::ALL.len()],
}

impl Script {
    pub(super) const ALL: [Self; 7] =
        [Self::Take, Self::Beat, Self::Ack, Self::Wait, Self::Bury, Self::Leave, Self::Trim];

    /// What the server runs.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Take => concat!(include_str!("lua/dead_letter.lua"), include_str!("lua/take.lua")),
            Self::Beat => concat!(include_str!("lua/standing.lua"), include_str!("lua/beat.lua")),
            Self::Ack => concat!(include_str!("lua/standing.lua"), include_str!("lua/ack.lua")),
            Self::Wait => concat!(include_str!("lua/standing.lua"), include_str!("lua/wait.lua")),
            Self::Bury => concat!(
                include_str!("lua/dead_letter.lua"),
                include_str!("lua/standing.lua"),
                include_str!("lua/bury.lua")
            ),
            Self::Leave => include_str!("lua/leave.lua"),
            Self::Trim => include_str!("lua/trim.lua"),
        }
    }
}

impl Scripts {
    pub(super) fn loaded(&mut self, script: Script, sha: String) {
        self.shas[script as usize] = sha;
    }

    /// A script with its name.
    pub(super) fn named(&self, script: Script) -> (Script, &str) {
        (script, &self.shas[script as usize])
    }
}
