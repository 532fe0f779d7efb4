//! Holds every file of the repository to the house rules that a compiler does not check.
//!
//! Lives here: the rules on length, headers, names, leftovers and places, each with a snippet that
//! breaks it. Not here: what rustfmt and clippy see.

use std::fs;
use std::path::Path;

/// Longest Rust file, in lines, its tests included.
const FILE_LINES_MAX: usize = 400;
/// Longest function, in lines, from its `fn` through its closing brace.
const FUNCTION_LINES_MAX: usize = 60;

/// File and folder names that say what kind of thing is inside instead of which idea.
const BANNED_NAMES: [&str; 9] =
    ["utils", "util", "common", "helpers", "helper", "misc", "manager", "types", "traits"];
/// Folders that hold what was built, installed or stored, and nothing that was written.
const SKIPPED_FOLDERS: [&str; 4] = [".git", "target", "node_modules", "naven-data"];
/// Written by cargo alone, which names the registry in it.
const SKIPPED_FILE: &str = "Cargo.lock";

// These needles are put together from halves, so that this file does not contain them.
const UNFINISHED: &str = concat!("TO", "DO");
const PRIVATE_PLACES: [&str; 3] = [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/")];
const REGISTRY_HOSTS: [&str; 7] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("npmjs", ".org"),
    concat!("deb.deb", "ian.org"),
    concat!("proxy.golang", ".org"),
    concat!("static.rust-lang", ".org"),
];

/// One text file: its path from the root of the repository, parts joined by `/`, and its text.
struct Source {
    path: String,
    text: String,
}

/// Says what in a file breaks one rule, and on which line.
type Rule = fn(&Source) -> Vec<String>;

const RULES: [Rule; 9] = [
    over_long_file,
    missing_header,
    banned_name,
    over_long_functions,
    banned_words,
    unowned_leftovers,
    unfinished_pages,
    private_places_and_registries,
    code_in_a_table_of_contents,
];

#[test]
fn the_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = Vec::new();
    collect(&root, "", &mut sources);
    let sees_itself = sources.iter().any(|source| source.path == "crates/cli/tests/tidy.rs");
    assert!(sees_itself, "the walk missed this very file, so it may have missed others");

    let findings: Vec<String> =
        sources.iter().flat_map(|source| RULES.iter().flat_map(|rule| rule(source))).collect();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

fn collect(folder: &Path, prefix: &str, sources: &mut Vec<Source>) {
    let entries = fs::read_dir(folder).expect("a folder of the checkout can be read");
    for entry in entries {
        let entry = entry.expect("a folder of the checkout can be listed");
        let kind = entry.file_type().expect("the file system tells files from folders");
        let name = entry.file_name().into_string().expect("file names in the repository are UTF-8");
        if kind.is_dir() && !SKIPPED_FOLDERS.contains(&name.as_str()) {
            collect(&entry.path(), &format!("{prefix}{name}/"), sources);
        } else if kind.is_file() && name != SKIPPED_FILE {
            let bytes = fs::read(entry.path()).expect("a file of the checkout can be read");
            // What is not UTF-8 is a picture or a font, and no rule speaks of those.
            if let Ok(text) = String::from_utf8(bytes) {
                sources.push(Source { path: format!("{prefix}{name}"), text });
            }
        }
    }
}

impl Source {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    fn finding(&self, line: usize, text: impl AsRef<str>) -> String {
        format!("{}:{}: {}", self.path, line + 1, text.as_ref())
    }

    /// The findings of `check` on each line by itself.
    fn by_line(&self, check: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let lines = self.text.lines().enumerate();
        lines.filter_map(|(at, line)| Some(self.finding(at, check(line)?))).collect()
    }
}

fn over_long_file(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    if !source.is_rust() || lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    vec![source.finding(FILE_LINES_MAX, format!("{lines} lines, and {FILE_LINES_MAX} is the most"))]
}

fn missing_header(source: &Source) -> Vec<String> {
    let says_something = |line: &str| line.strip_prefix("//!").is_some_and(|text| !text.trim().is_empty());
    if !source.is_rust() || source.text.lines().next().is_some_and(says_something) {
        return Vec::new();
    }
    vec![source.finding(0, "does not open with a //! line that says what lives here")]
}

fn banned_name(source: &Source) -> Vec<String> {
    let stem = |part: &str| part.split('.').next().unwrap_or(part).to_lowercase();
    let banned = source.path.split('/').map(stem).find(|name| BANNED_NAMES.contains(&name.as_str()));
    banned.map(|name| source.finding(0, format!("'{name}' names a kind, not an idea"))).into_iter().collect()
}

fn over_long_functions(source: &Source) -> Vec<String> {
    if !source.is_rust() {
        return Vec::new();
    }
    let lines: Vec<&str> = source.text.lines().collect();
    let mut findings = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = declared_as(line, &["fn"]) else { continue };
        match function_length(&lines[at..]) {
            Some(length) if length <= FUNCTION_LINES_MAX => {}
            Some(length) => {
                findings.push(source.finding(
                    at,
                    format!("fn {name} has {length} lines, and {FUNCTION_LINES_MAX} is the most"),
                ))
            }
            None => {
                findings.push(source.finding(at, format!("fn {name} has no closing brace at its indent")))
            }
        }
    }
    findings
}

/// Lines from a function's first through its closing brace, which rustfmt puts at the same indent.
/// A function without a body, as in a trait, ends where its signature does.
fn function_length(lines: &[&str]) -> Option<usize> {
    let first = lines.first()?;
    let closing = format!("{}}}", &first[..first.len() - first.trim_start().len()]);
    let signature = lines.iter().position(|line| code_of(line).ends_with(['{', '}', ';']))?;
    if !code_of(lines[signature]).ends_with('{') {
        return Some(signature + 1);
    }
    let body = lines[signature + 1..].iter().position(|line| line.starts_with(&closing))?;
    Some(signature + 1 + body + 1)
}

/// The name that this line declares, when one of `keywords` declares it.
fn declared_as<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    const MODIFIERS: [&str; 7] = ["pub", "async", "const", "default", "unsafe", "extern", "\"C\""];
    let line = line.trim_start();
    let after_scope = line.strip_prefix("pub(").and_then(|rest| rest.split_once(')'));
    let rest = after_scope.map_or(line, |(_, rest)| rest);
    let mut words = rest.split_whitespace().skip_while(|word| MODIFIERS.contains(word));
    keywords.contains(&words.next()?).then_some(())?;
    // A macro declares a name such as `$name`.
    let ends_name = |c: char| !(c.is_alphanumeric() || c == '_' || c == '$');
    words.next()?.split(ends_name).next().filter(|name| !name.is_empty())
}

/// The line without a comment that follows code.
fn code_of(line: &str) -> &str {
    line.split(" //").next().unwrap_or(line).trim_end()
}

fn banned_words(source: &Source) -> Vec<String> {
    let check = |line: &str| {
        let kind = declared_as(line, &["struct", "enum", "trait", "type", "union"]);
        let kind = kind.filter(|name| name.starts_with("Job") || name.starts_with("Message"));
        let verb = declared_as(line, &["fn"]).filter(|name| name.contains("job"));
        kind.or(verb).map(|name| format!("'{name}': the word is event"))
    };
    if source.is_rust() { source.by_line(check) } else { Vec::new() }
}

fn unowned_leftovers(source: &Source) -> Vec<String> {
    // Prose may speak of the rule without leaving anything over.
    if source.path.ends_with(".md") {
        return Vec::new();
    }
    let names_issue = |rest: &str| {
        let number = rest.strip_prefix("(#").and_then(|rest| rest.split_once(')'));
        number.is_some_and(|(number, _)| number.parse::<u32>().is_ok())
    };
    source.by_line(|line| {
        let is_owned = line.split(UNFINISHED).skip(1).all(names_issue);
        (!is_owned).then(|| format!("a {UNFINISHED} names its issue: {UNFINISHED}(#n)"))
    })
}

fn unfinished_pages(source: &Source) -> Vec<String> {
    if !(source.path.starts_with("docs/") && source.path.ends_with(".md")) {
        return Vec::new();
    }
    source.by_line(|line| line.contains(UNFINISHED).then(|| "a page is finished when it lands".to_owned()))
}

fn private_places_and_registries(source: &Source) -> Vec<String> {
    // In "a/b/" the second slash does not begin a path, and neither does the one in "../b/".
    let goes_on = |c: char| c.is_alphanumeric() || "._-})".contains(c);
    let begins_in =
        |line: &str, place: &str| line.match_indices(place).any(|(at, _)| !line[..at].ends_with(goes_on));
    source.by_line(|line| {
        let place = PRIVATE_PLACES.into_iter().find(|place| begins_in(line, place));
        let host = REGISTRY_HOSTS.into_iter().find(|host| line.contains(host));
        place.or(host).map(|found| format!("'{found}' belongs to one machine, not to the project"))
    })
}

/// `lib.rs` and `mod.rs` hold docs, attributes, `mod name;`, `pub use` and macros.
fn code_in_a_table_of_contents(source: &Source) -> Vec<String> {
    if !matches!(source.name(), "lib.rs" | "mod.rs") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut open_until: Option<&[char]> = None;
    for (at, line) in source.text.lines().enumerate() {
        let line = code_of(line);
        if open_until.is_none() && (line.is_empty() || line.starts_with("//")) {
            continue;
        }
        let Some(ends) = open_until.take().or_else(|| ends_of_item(line)) else {
            findings.push(source.finding(at, format!("'{line}' is code: it belongs in a file of its own")));
            continue;
        };
        let is_over = line.ends_with(ends) && !line.starts_with(' ');
        open_until = (!is_over).then_some(ends);
    }
    findings
}

/// How the last line of an allowed item may end, when this line begins one.
fn ends_of_item(line: &str) -> Option<&'static [char]> {
    let names_macro = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || "_:".contains(c));
    let is_macro = line.split_once('!').is_some_and(|(name, _)| !name.is_empty() && names_macro(name));
    let is_module = declared_as(line, &["mod"]).is_some() && line.ends_with(';');
    let is_export = line.starts_with("pub") && line.split_whitespace().nth(1) == Some("use");
    if line.starts_with("#[") || line.starts_with("#![") {
        Some(&[']'])
    } else if is_module || is_export {
        Some(&[';'])
    } else if is_macro {
        Some(&['}', ';'])
    } else {
        None
    }
}

/// The findings of one rule on a file made up for a test.
fn found(rule: Rule, path: &str, text: impl Into<String>) -> Vec<String> {
    rule(&Source { path: path.to_owned(), text: text.into() })
}

/// A function of this many lines, indented as in an `impl`.
fn function_of(lines: usize) -> String {
    let body = "        step();\n".repeat(lines - 2);
    format!("impl X {{\n    pub(crate) async fn long(&self) {{\n{body}    }}\n\n    fn next();\n}}\n")
}

#[test]
fn a_file_of_one_line_too_many_is_found() {
    assert!(found(over_long_file, "a.rs", "x\n".repeat(400)).is_empty());
    assert_eq!(
        found(over_long_file, "a.rs", "x\n".repeat(401)),
        ["a.rs:401: 401 lines, and 400 is the most"]
    );
    assert!(found(over_long_file, "a.html", "x\n".repeat(401)).is_empty());
}

#[test]
fn a_file_that_opens_without_saying_what_it_holds_is_found() {
    assert!(found(missing_header, "a.rs", "//! Leases.\nfn a() {}").is_empty());
    for opening in ["", "fn a() {}", "//!\n", "// Leases.", "\n//! Leases.", "/// Leases."] {
        assert_eq!(found(missing_header, "a.rs", opening).len(), 1, "{opening:?}");
    }
}

#[test]
fn a_file_or_folder_named_for_its_kind_is_found() {
    for path in
        ["a/utils.rs", "a/utils/b.rs", "types.rs", "a/Manager.rs", "tests/common/mod.rs", "traits.d.ts"]
    {
        assert_eq!(found(banned_name, path, "").len(), 1, "{path}");
    }
    assert!(found(banned_name, "a/uncommon.rs", "").is_empty());
}

#[test]
fn a_function_of_one_line_too_many_is_found() {
    assert!(found(over_long_functions, "a.rs", function_of(60)).is_empty());
    let findings = found(over_long_functions, "a.rs", function_of(61));
    assert_eq!(findings, ["a.rs:2: fn long has 61 lines, and 60 is the most"]);
}

#[test]
fn a_signature_of_many_lines_counts_and_one_without_a_body_ends_there() {
    let body = "    step();\n".repeat(56);
    let long = format!("const fn long(\n    a: u8,\n)\nwhere\n    A: B,\n{{ // why\n{body}}}\n");
    assert_eq!(found(over_long_functions, "a.rs", long).len(), 1);
    let short = format!("    fn a(\n    );\n    fn b() {{}}\n{}", "    x();\n".repeat(90));
    assert!(found(over_long_functions, "a.rs", short).is_empty());
    assert_eq!(found(over_long_functions, "a.rs", "    fn a() {\n}\n").len(), 1, "never closed");
}

#[test]
fn another_word_for_an_event_is_found() {
    let bad = [
        "pub struct Job;",
        "enum MessageKind {",
        "    pub(crate) trait Jobs {",
        "pub(super) async fn next_job() {",
    ];
    for line in bad {
        assert_eq!(found(banned_words, "a.rs", line).len(), 1, "{line}");
    }
    for line in ["struct Event;", "// a struct Job;", "let job = 1;", "fn message(&self) -> &str {"] {
        assert!(found(banned_words, "a.rs", line).is_empty(), "{line}");
    }
}

#[test]
fn a_leftover_without_an_issue_is_found() {
    for rest in ["", ": later", "(#)", "(#x)", "(7)", "(#7"] {
        assert_eq!(found(unowned_leftovers, "a.sh", format!("# {UNFINISHED}{rest}")).len(), 1, "{rest}");
    }
    assert!(found(unowned_leftovers, "a.rs", format!("// {UNFINISHED}(#7): later")).is_empty());
}

#[test]
fn an_unfinished_page_is_found() {
    let text = format!("Text.\n{UNFINISHED}(#7)\n");
    assert_eq!(found(unfinished_pages, "docs/adr/1.md", text.as_str()).len(), 1);
    assert!(found(unfinished_pages, "CONTRIBUTING.md", text).is_empty());
}

#[test]
fn a_path_or_host_that_only_one_machine_knows_is_found() {
    for needle in PRIVATE_PLACES.into_iter().chain(REGISTRY_HOSTS) {
        for line in [format!("{needle}x"), format!("cd \"{needle}x\"")] {
            assert_eq!(found(private_places_and_registries, "a.md", line).len(), 1, "{needle}");
        }
    }
    for place in PRIVATE_PLACES {
        let line = format!("..{place}x a{place}x ${{b}}{place}x");
        assert!(found(private_places_and_registries, "a.md", line).is_empty(), "{place}");
    }
}

#[test]
fn code_in_a_table_of_contents_is_found() {
    let allowed = "//! Docs.\n#![warn(\n    x\n)]\n\nmod a;\n/// B.\npub(crate) mod b;\n#[cfg(test)] // why\nmod c;\n\
        pub use a::{\n    A, // why\n    B,\n};\npub use b::*;\nmacro_rules! m {\n    () => { fn x() {} };\n}\nm!();\n";
    assert_eq!(found(code_in_a_table_of_contents, "a/lib.rs", allowed), Vec::<String>::new());
    for line in ["fn a() {}", "pub struct A;", "use a::B;", "mod a {}", "const A: u8 = 1;", "impl A {}"] {
        assert_eq!(
            found(code_in_a_table_of_contents, "a/mod.rs", format!("{allowed}{line}")).len(),
            1,
            "{line}"
        );
        assert!(found(code_in_a_table_of_contents, "a/b.rs", line).is_empty());
    }
}
