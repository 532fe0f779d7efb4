//! What is known of a command before it runs.
//!
//! Lives here: the shape of a row of the command table. Not here: the rows (`connection.rs`, `keys.rs`,
//! `stream.rs`).

/// One command, or one subcommand of another.
#[derive(Debug)]
pub(crate) struct Command {
    /// In lower case; that of a subcommand follows its container's after a bar: `xgroup|create`.
    pub(crate) name: &'static str,
    pub(crate) arity: Arity,
    pub(crate) flags: &'static [Flag],
    pub(super) group: Group,
    pub(super) is_dangerous: bool,
    /// Which arguments are keys; none for a command without keys, and for one whose keys move.
    pub(crate) keys: Option<KeyRange>,
    /// Empty but for containers.
    pub(crate) subcommands: &'static [Command],
}

/// How many parts a call has, the command's name (and a subcommand's) included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    Exactly(usize),
    AtLeast(usize),
}

impl Arity {
    /// Whether a call of `count` parts is one.
    pub(crate) fn takes(self, count: usize) -> bool {
        match self {
            Self::Exactly(wanted) => count == wanted,
            Self::AtLeast(wanted) => count >= wanted,
        }
    }
}

/// Where a call's keys stand, counted from the command's name, which is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) first: usize,
    pub(crate) last: LastKey,
    pub(crate) step: usize,
}

/// The last key of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastKey {
    At(usize),
    /// The call's last part, however many there are.
    AtEnd,
}

/// What Redis says of a command in one word, in the order in which it says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flag {
    Write,
    ReadOnly,
    /// Takes memory, and is refused where there is none.
    DenyOom,
    Admin,
    NoScript,
    Blocking,
    Loading,
    Stale,
    SkipCommandLog,
    Fast,
    /// Runs before AUTH.
    NoAuth,
    /// Refused in MULTI.
    NoMulti,
    MovableKeys,
    AllowBusy,
}

/// The family that a command belongs to among the categories of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// Containers, and what is about the server itself: no category.
    Server,
    Connection,
    Keyspace,
    Stream,
    Transaction,
    Scripting,
}

impl Command {
    /// A command without keys and subcommands.
    pub(super) const fn of(name: &'static str, arity: Arity, flags: &'static [Flag], group: Group) -> Self {
        Self { name, arity, flags, group, is_dangerous: false, keys: None, subcommands: &[] }
    }

    /// A name that is nothing without a subcommand.
    pub(super) const fn container(name: &'static str, subcommands: &'static [Command]) -> Self {
        Self::of(name, Arity::AtLeast(2), &[], Group::Server).with(subcommands)
    }

    /// The list of a container's subcommands, for people.
    pub(super) const fn help(name: &'static str, group: Group) -> Self {
        Self::of(name, Arity::Exactly(2), &[Flag::Loading, Flag::Stale], group)
    }

    pub(super) const fn with(mut self, subcommands: &'static [Command]) -> Self {
        self.subcommands = subcommands;
        self
    }

    /// With one key, at this place.
    pub(super) const fn key(self, at: usize) -> Self {
        self.keys(at, LastKey::At(at))
    }

    /// With keys from `first` to `last`.
    pub(super) const fn keys(mut self, first: usize, last: LastKey) -> Self {
        self.keys = Some(KeyRange { first, last, step: 1 });
        self
    }

    /// Of those that can harm others: by themselves, or by what they tell.
    pub(super) const fn dangerous(mut self) -> Self {
        self.is_dangerous = true;
        self
    }

    /// Whether the command has this flag.
    pub(crate) fn is(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// The subcommand of this name, in any case.
    pub(crate) fn subcommand(&self, name: &[u8]) -> Option<&'static Command> {
        self.subcommands.iter().find(|command| command.own_name().as_bytes().eq_ignore_ascii_case(name))
    }

    /// The name without that of the container.
    pub(crate) fn own_name(&self) -> &'static str {
        self.name.split_once('|').map_or(self.name, |(_, own)| own)
    }
}
