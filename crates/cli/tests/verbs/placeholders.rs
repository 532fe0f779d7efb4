//! What differs from run to run, replaced.
//!
//! Lives here: which words and numbers do. Not here: what a scene knows by itself, such as its folder
//! (`verb.rs`).

/// Fields of JSON whose numbers differ.
const NUMBERS: [&str; 13] = [
    "leaseMs",
    "waitMs",
    "runMs",
    "bytes",
    "rows",
    "uptoLsn",
    "lsn",
    "oldestReadyAgeSeconds",
    "idleSeconds",
    "replayedUptoLsn",
    "p50",
    "p95",
    "p99",
];
/// Lines of tables whose numbers differ.
const LINES: [&str; 5] = ["bytes ", "rows ", "upto lsn ", "lsn ", "replayed up to lsn "];

/// `text` with placeholders.
pub(crate) fn placed(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(line).collect();
    lines.join("\n")
}

fn line(line: &str) -> String {
    if let Some(name) = LINES.iter().find(|name| line.starts_with(**name)) {
        return format!("{name}<n>");
    }
    let mut line = words(&cursors(line));
    for name in NUMBERS {
        for start in [format!("\"{name}\":"), format!("\"{name}\": ")] {
            line = numbered(&line, &start);
        }
    }
    quantiles(&followed(&line))
}

/// What stands behind each word that a cursor follows.
fn cursors(line: &str) -> String {
    let mut line = line.to_owned();
    for start in ["--cursor ", "\"nextCursor\":\"", "\"nextCursor\": \""] {
        if let Some((before, rest)) = line.split_once(start) {
            let is_of_a_cursor = |c: char| c.is_ascii_alphanumeric() || "_-=".contains(c);
            let after = rest.trim_start_matches(is_of_a_cursor);
            // In a help there is a placeholder already.
            if after.len() < rest.len() {
                line = format!("{before}{start}<cursor>{after}");
            }
        }
    }
    line
}

/// Cells of three times with slashes between, and the gap behind them, which is as wide as they are short.
fn quantiles(line: &str) -> String {
    let is_cell = |word: &str| {
        let times: Vec<&str> = word.split('/').collect();
        times.len() == 3
            && times.iter().all(|time| !time.is_empty() && time.chars().all(|c| c.is_ascii_digit()))
    };
    let mut placed: Vec<&str> = Vec::new();
    let mut is_behind = false;
    for word in line.split(' ') {
        let is_next = is_cell(word);
        match (is_behind, word) {
            (true, "") => continue,
            // A gap of two.
            (true, _) => placed.push(""),
            (false, _) => {}
        }
        placed.push(if is_next { "<n>/<n>/<n>" } else { word });
        is_behind = is_next;
    }
    placed.join(" ")
}

/// The digits behind each `start`.
fn numbered(line: &str, start: &str) -> String {
    let mut parts = line.split(start);
    let mut placed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        placed.push_str(start);
        placed.push_str(if rest.len() == part.len() { "" } else { "<n>" });
        placed.push_str(rest);
    }
    placed
}

/// Milliseconds, and the seconds that something has been there: one digit behind a gap or "for".
fn followed(line: &str) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for at in 1..words.len() {
        let is_number = !words[at - 1].is_empty() && words[at - 1].chars().all(|c| c.is_ascii_digit());
        let before = at.checked_sub(2).map(|before| words[before].as_str());
        let is_age = words[at] == "s" && words[at - 1].len() == 1 && matches!(before, Some("" | "for"));
        if is_number && (words[at] == "ms" || is_age) {
            words[at - 1] = if is_age { "?".to_owned() } else { "<n>".to_owned() };
        }
    }
    words.join(" ")
}

fn is_of_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-:.".contains(c)
}

fn words(line: &str) -> String {
    let (mut placed, mut rest) = (String::new(), line);
    while let Some(start) = rest.find(is_of_a_word) {
        placed.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c| !is_of_a_word(c)).unwrap_or(rest.len());
        let word = rest[..end].trim_end_matches([':', '.']);
        placed.push_str(word_of(word).unwrap_or(word));
        placed.push_str(&rest[word.len()..end]);
        rest = &rest[end..];
    }
    placed + rest
}

fn word_of(word: &str) -> Option<&'static str> {
    let all = |text: &str, is: fn(char) -> bool| !text.is_empty() && text.chars().all(is);
    let digits = |text: &str| all(text, |c| c.is_ascii_digit());
    for (prefix, name) in
        [("evt_", "<evt>"), ("evq_", "<evq>"), ("op_", "<op>"), ("key_", "<key>"), ("req_", "<req>")]
    {
        let id = word.strip_prefix(prefix).filter(|id| id.len() == 26 && !all(id, |c| c == '0'));
        if id.is_some_and(|id| all(id, |c| c.is_ascii_lowercase() || c.is_ascii_digit())) {
            return Some(name);
        }
    }
    if let Some(key) = word.strip_prefix("nvk_").filter(|key| key.len() > 8) {
        return Some(if key.contains('_') { "<secret>" } else { "<key prefix>" });
    }
    let is_time = word.len() == 24 && word.ends_with('Z') && word.as_bytes()[10] == b'T';
    let is_place = word.split_once('-').is_some_and(|(ms, seq)| ms.len() == 13 && digits(ms) && digits(seq));
    let has = |is: fn(char) -> bool| word.chars().any(is);
    let is_token = word.len() == 43 && has(|c| c.is_ascii_lowercase()) && has(|c| c.is_ascii_uppercase());
    let is_hash = word.len() == 64 && all(word, |c| c.is_ascii_hexdigit());
    let is_hex = is_hash || word.len() == 32 && all(word, |c| c.is_ascii_hexdigit());
    match (is_time, is_place, is_token, is_hex) {
        (true, ..) => Some("<time>"),
        (_, true, ..) => Some("<place>"),
        (_, _, true, _) => Some("<token>"),
        (_, _, _, true) => Some("<hex>"),
        _ => None,
    }
}

#[test]
fn what_differs_has_a_placeholder_and_nothing_else() {
    for (text, expected) in [
        ("event  evt_01kb7pn7zzzzzzzzzzzzzzzzzz", "event  <evt>"),
        (r#"{"at":"2026-11-30T01:02:03.004Z","n":1}"#, r#"{"at":"<time>","n":1}"#),
        ("place  1764426154123-0", "place  <place>"),
        ("0-0 and mail.v-1:", "0-0 and mail.v-1:"),
        (r#""waitMs": 12, "maxMs": 12"#, r#""waitMs": <n>, "maxMs": 12"#),
        ("waited  12 ms", "waited  <n> ms"),
        ("lease  60 s", "lease  60 s"),
        ("oldest  ready for 0 s", "oldest  ready for ? s"),
        ("bytes  123", "bytes <n>"),
        ("9df01234567890abcdef01234567890a", "<hex>"),
        (r#"{"nextCursor":"Ab-_1","n":1}"#, r#"{"nextCursor":"<cursor>","n":1}"#),
        ("list mail --cursor AbC --limit 1", "list mail --cursor <cursor> --limit 1"),
        ("0  1/2/3       10/20/30", "0  <n>/<n>/<n>  <n>/<n>/<n>"),
        ("a/b/c  d  1/2", "a/b/c  d  1/2"),
    ] {
        assert_eq!(placed(text), expected, "{text}");
    }
}
