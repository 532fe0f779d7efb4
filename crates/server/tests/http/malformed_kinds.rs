//! Malformed requests: what is wrong for each kind of field.
//!
//! Lives here: kinds, and for each the values that it does not take. Not here: which field is of which kind
//! (`malformed_rows.rs`), and playing them (`malformed_play.rs`).

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// An integer of this range.
    Integer(i64, i64),
    /// A number of this range with at most three decimals.
    Decimal(i64, i64),
    Flag,
    /// True and nothing else.
    True,
    /// A text of so many bytes.
    Text(usize, usize),
    /// Any text.
    AnyText,
    /// What a queue may be called by: any text but none.
    QueueRef,
    QueueName,
    StreamName,
    ConsumerId,
    StartFrom,
    EntryId,
    Time,
    /// A time at most ten years ahead.
    TimeWithin,
    /// The same, and ahead.
    TimeAhead,
    /// One of some words, of which this is one.
    Word(&'static str),
    Scopes,
    Patterns,
    Ids,
    /// An object of named fields.
    Object,
    /// The same, of which one field at least has to be there, this one if no other.
    Filter(&'static str),
    /// A list of 1 to 500 objects.
    Objects,
    Payload,
    Headers,
    /// Any JSON of at most 4 KiB.
    Value,
    /// A list of states of what waits.
    States,
}

/// A value, as JSON, with the code that it gets and where in the field it is wrong.
pub(crate) struct Bad {
    pub(crate) json: String,
    pub(crate) code: u64,
    /// Behind the field's own path.
    pub(crate) within: &'static str,
}

/// Values of other types, by a letter each.
const TYPES: [(char, &str); 9] = [
    ('0', "null"),
    ('b', "true"),
    ('i', "1"),
    ('f', "1.5"),
    ('s', "\"x\""),
    ('e', "\"\""),
    ('a', "[]"),
    ('l', "[1]"),
    ('o', "{}"),
];

/// What no text may hold.
const HALVES: [&str; 3] = ["\"\\ud800\"", "\"\\udc00x\"", "\"a\\ud83d\""];

const NO_TIMES: [&str; 17] = [
    "\"now\"",
    "\"tomorrow\"",
    "\"1764426154123\"",
    "\"2026-11-29\"",
    "\"2026-11-29T00:00:00\"",
    "\"2026-11-29T00:00Z\"",
    "\"2026-11-29T24:00:00Z\"",
    "\"2026-11-29T23:59:60Z\"",
    "\"2026-02-30T00:00:00Z\"",
    "\"2026-13-01T00:00:00Z\"",
    "\"0000-01-01T00:00:00Z\"",
    "\"2026-11-29T00:00:00.Z\"",
    "\"2026-11-29T00:00:00+24:00\"",
    "\"2026-11-29T00:00:00+01:60\"",
    "\"20261129T000000Z\"",
    "\" 2026-11-29T00:00:00Z\"",
    "\"2026-11-29T00:00:00Z[UTC]\"",
];

const NO_ENTRIES: [&str; 11] = [
    "\"$\"",
    "\"-\"",
    "\"5\"",
    "\"5-\"",
    "\"-5\"",
    "\"+5-0\"",
    "\"5-+0\"",
    "\"5-0-0\"",
    "\"a-b\"",
    "\"18446744073709551616-0\"",
    "\"0-18446744073709551616\"",
];

impl Kind {
    /// A value that it takes.
    pub(crate) fn good(self) -> String {
        match self {
            Self::Integer(min, _) => min.to_string(),
            Self::Decimal(_, max) => max.to_string(),
            Self::Flag | Self::True => "true".to_owned(),
            Self::Text(..)
            | Self::AnyText
            | Self::QueueRef
            | Self::QueueName
            | Self::StreamName
            | Self::ConsumerId => "\"x\"".to_owned(),
            Self::StartFrom => "\"new\"".to_owned(),
            Self::EntryId => "\"0-0\"".to_owned(),
            Self::Time | Self::TimeWithin => "\"1970-01-01T00:00:00Z\"".to_owned(),
            // Far enough ahead of any clock of a test, and not too far: filled in by whoever plays it.
            Self::TimeAhead => "\"{ahead}\"".to_owned(),
            Self::Word(word) => format!("\"{word}\""),
            Self::Scopes => "[\"read\"]".to_owned(),
            Self::Patterns => "[\"*\"]".to_owned(),
            Self::Ids => "[\"e\"]".to_owned(),
            Self::Object | Self::Payload | Self::Headers | Self::Value => "{}".to_owned(),
            Self::States => "[\"dead\"]".to_owned(),
            Self::Filter(field) => format!("{{\"{field}\":\"fatal\"}}"),
            Self::Objects => "[{}]".to_owned(),
        }
    }

    /// The letters of those types that are not its own.
    fn foreign(self) -> &'static str {
        match self {
            Self::Integer(..) => "0bfsealo",
            Self::Decimal(..) => "0bsealo",
            Self::Flag | Self::True => "0ifsealo",
            Self::Text(0, _) | Self::AnyText => "0bifalo",
            Self::Text(..) | Self::QueueRef | Self::QueueName | Self::StreamName | Self::ConsumerId => {
                "0bifealo"
            }
            Self::StartFrom | Self::EntryId | Self::Time | Self::TimeWithin | Self::TimeAhead => "0bifsealo",
            Self::Word(_) | Self::Scopes | Self::Ids | Self::States => "0bifsealo",
            Self::Value => "",
            Self::Patterns => "0bifsealo",
            Self::Object | Self::Payload | Self::Headers | Self::Filter(_) => "0bifseal",
            Self::Objects => "0bifseao",
        }
    }

    /// Every value that it does not take. `null` is not among them where `takes_null`.
    pub(crate) fn bad(self, takes_null: bool) -> Vec<Bad> {
        let letters = self.foreign().chars().filter(|letter| !(takes_null && *letter == '0'));
        // The types of a list of ids, where one number in it is no id, are its own below.
        let of_types = letters.filter_map(|letter| TYPES.iter().find(|(known, _)| *known == letter));
        let mut all: Vec<Bad> = of_types.map(|(_, json)| Bad::new((*json).to_owned())).collect();
        all.extend(self.own().into_iter().map(Bad::new));
        all.extend(self.within());
        if !matches!(self, Self::Payload | Self::Value) {
            let halves = HALVES.iter().map(|json| Bad { code: 40_000, ..Bad::new((*json).to_owned()) });
            all.extend(halves);
        }
        all
    }

    /// Those of its own type.
    fn own(self) -> Vec<String> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let long = |bytes: usize| format!("\"{}\"", "x".repeat(bytes));
        match self {
            Self::Integer(min, max) => integers(min, max),
            Self::Decimal(min, max) => decimals(min, max),
            Self::Flag => owned(&["\"true\"", "\"false\"", "0", "[true]"]),
            Self::True => owned(&["false", "\"true\"", "[true]"]),
            Self::Text(_, max) => vec![long(max + 1)],
            Self::AnyText | Self::QueueRef | Self::Object | Self::Headers => Vec::new(),
            Self::QueueName | Self::StreamName | Self::ConsumerId => self.names(),
            Self::StartFrom => {
                let words = ["\"New\"", "\"end\"", "\"latest\""];
                owned(&[&words[..], &NO_ENTRIES[..], &NO_TIMES[..]].concat())
            }
            Self::EntryId => owned(&NO_ENTRIES),
            Self::Time => owned(&NO_TIMES),
            Self::TimeWithin => owned(&[&NO_TIMES[..], &["\"9999-12-31T23:59:59Z\""]].concat()),
            Self::TimeAhead => {
                owned(&[&NO_TIMES[..], &["\"9999-12-31T23:59:59Z\"", "\"1960-01-01T00:00:00Z\""]].concat())
            }
            Self::Word(word) => vec![
                format!("\"{}\"", word.to_uppercase()),
                format!("\" {word}\""),
                format!("[\"{word}\"]"),
                format!("{{\"{word}\":null}}"),
                "\"other\"".to_owned(),
            ],
            Self::Scopes => scopes(),
            Self::Patterns => patterns(),
            Self::Ids => {
                let mut lists = owned(&["[null]", "[[]]", "[\"e\",1]", "{\"0\":\"e\"}"]);
                lists.push(format!("[{}]", vec!["\"e\""; 501].join(",")));
                lists
            }
            Self::Filter(_) => Vec::new(),
            Self::Value => values(),
            Self::States => owned(&[
                "[\"leased\"]",
                "[\"done\"]",
                "[\"READY\"]",
                "[\"ready\",null]",
                "[\"\"]",
                "\"dead\"",
            ]),
            Self::Objects => vec![format!("[{}]", vec!["{}"; 501].join(","))],
            Self::Payload => vec![
                "[{}]".to_owned(),
                format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65)),
                format!("{{\"a\":\"{}\"}}", "x".repeat(256 * 1_024)),
            ],
        }
    }

    /// Names that are none.
    fn names(self) -> Vec<String> {
        const QUEUES: &[&str] =
            &["A", "-a", ".a", "_a", "a b", "a/b", "\u{e9}", "evq_a", "a\\u0000", "a\\n", " a"];
        const STREAMS: &[&str] = &[".", "..", "a\\nb", "\\u0000", "\\u007f", "\\u0085"];
        const CONSUMERS: &[&str] = &["\u{e9}", "a\\nb", "\\u007f", "\\u0000"];
        let (names, bytes_max) = match self {
            Self::QueueName => (QUEUES, 128),
            Self::StreamName => (STREAMS, 512),
            _ => (CONSUMERS, 128),
        };
        let long = "x".repeat(bytes_max + 1);
        names.iter().copied().chain([long.as_str()]).map(|name| format!("\"{name}\"")).collect()
    }

    /// Those that are wrong in a part, which is then named.
    fn within(self) -> Vec<Bad> {
        let at = |json: String, code: u64, within: &'static str| Bad { json, code, within };
        match self {
            Self::Object => vec![at("{\"x\":1}".to_owned(), 40_002, ".x")],
            Self::Filter(field) => {
                let of = if field == "reason" { ".reason" } else { panic!("which part of {field}?") };
                vec![
                    at("{}".to_owned(), 40_001, of),
                    at("{\"x\":1,\"error\":\"a\"}".to_owned(), 40_002, ".x"),
                ]
            }
            Self::Objects => ["[1]", "[null]", "[\"x\"]", "[[]]", "[true]"]
                .map(|json| at(json.to_owned(), 40_001, "[0]"))
                .into(),
            Self::Headers => vec![
                at("{\"a\":1}".to_owned(), 40_001, ".a"),
                at("{\"a\":null}".to_owned(), 40_001, ".a"),
                at("{\"a\":[]}".to_owned(), 40_001, ".a"),
                at("{\"a\":\"x\",\"a\":\"y\"}".to_owned(), 40_001, ".a"),
                at(format!("{{\"a\":\"{}\"}}", "x".repeat(1_025)), 40_001, ".a"),
                at("{\"\":\"x\"}".to_owned(), 40_001, "."),
                at("{\"a\":\"\\ud800\"}".to_owned(), 40_000, ""),
                at(headers(33), 40_001, ""),
            ],
            _ => Vec::new(),
        }
    }
}

impl Bad {
    fn new(json: String) -> Self {
        Self { json, code: 40_001, within: "" }
    }
}

fn integers(min: i64, max: i64) -> Vec<String> {
    let edges = [min - 1, max + 1, -1_000_000, max + 4_294_967_296];
    let texts = [
        "1.0",
        "1e0",
        "1E1",
        "\"1\"",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551617",
        "1e308",
        "-1e308",
        "0.1",
    ];
    edges.iter().map(i64::to_string).chain(texts.map(str::to_owned)).collect()
}

fn decimals(min: i64, max: i64) -> Vec<String> {
    let edges = [(min - 1).to_string(), (max + 1).to_string(), format!("{max}.001"), format!("{min}.0001")];
    let texts = ["1e0", "1E0", "\"1\"", "-0.5", "99999999999", "1e308", "1.00000"];
    edges.into_iter().chain(texts.map(str::to_owned)).collect()
}

/// JSON that is larger or deeper than a result may be.
fn values() -> Vec<String> {
    let long = |bytes: usize| format!("\"{}\"", "x".repeat(bytes));
    vec![
        long(4_095),
        "9".repeat(4_097),
        format!("-{}", "9".repeat(4_096)),
        format!("\"{}\"", "\u{e9}".repeat(2_048)),
        format!("[{}]", " ".repeat(4_095)),
        format!("{{\"a\":\"{}\"}}", "x".repeat(4_096)),
        format!("{}1{}", "[".repeat(65), "]".repeat(65)),
        format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65)),
    ]
}

fn scopes() -> Vec<String> {
    let lists = [
        "[\"bogus\"]",
        "[\"*\"]",
        "[\"\"]",
        "[\"READ\"]",
        "[\"read\",\"read\"]",
        "[\"read\",null]",
        "[[\"read\"]]",
        "{\"read\":true}",
        "\"read\"",
    ];
    let thousand = format!("[{}]", vec!["\"read\""; 1_000].join(","));
    lists.map(str::to_owned).into_iter().chain([thousand]).collect()
}

fn patterns() -> Vec<String> {
    let lists = [
        "[\"\"]",
        "[\"a*b\"]",
        "[\"**\"]",
        "[\"*a\"]",
        "[\"a\\n\"]",
        "[null]",
        "[\"a\",[]]",
        "\"*\"",
        "{\"a\":1}",
    ];
    let many = format!("[{}]", vec!["\"a\""; 101].join(","));
    let long = format!("[\"{}\"]", "x".repeat(513));
    lists.map(str::to_owned).into_iter().chain([many, long]).collect()
}

fn headers(count: usize) -> String {
    let pairs: Vec<String> = (0..count).map(|n| format!("\"h{n}\":\"x\"")).collect();
    format!("{{{}}}", pairs.join(","))
}
