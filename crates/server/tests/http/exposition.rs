//! The text format of Prometheus, read strictly.
//!
//! Lives here: a parser that takes what the format says and nothing else. Not here: what is in the texts
//! (`metrics.rs`).

use std::collections::{BTreeMap, BTreeSet};

/// One family.
#[derive(Debug, Clone, Default)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) help: String,
    pub(crate) samples: Vec<Sample>,
}

/// One line with a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

/// A whole text.
#[derive(Debug, Clone)]
pub(crate) struct Exposition {
    pub(crate) families: BTreeMap<String, Family>,
}

impl Exposition {
    /// Panics at the first line that breaks a rule.
    pub(crate) fn parse(text: &str) -> Self {
        assert!(
            text.ends_with('\n') && !text.contains("\n\n"),
            "lines end with a line feed, and none is empty"
        );
        let mut families: BTreeMap<String, Family> = BTreeMap::new();
        let mut current = String::new();
        for line in text[..text.len() - 1].split('\n') {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a help has a text");
                assert!(is_name(name), "{name}");
                let family = Family { help: unescaped(help, false), ..Family::default() };
                assert!(families.insert(name.to_owned(), family).is_none(), "{name} comes twice");
                name.clone_into(&mut current);
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a type has a word");
                let family = families.get_mut(name).filter(|_| name == current).expect("help comes first");
                assert!(family.kind.is_empty() && family.samples.is_empty(), "{name} has its type twice");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{kind}");
                kind.clone_into(&mut family.kind);
            } else {
                let sample = sample(line);
                let family = families.get_mut(&current).expect("a sample is in a family");
                let end = sample.name.strip_prefix(&current).expect("samples of a family are together");
                let ends: &[&str] =
                    if family.kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(!family.kind.is_empty() && ends.contains(&end), "{line}");
                family.samples.push(sample);
            }
        }
        families.iter().for_each(|(name, family)| check(name, family));
        Self { families }
    }

    /// The value of the one sample of this name whose labels hold all of these.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let found = self.samples(name, labels);
        assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?}");
        found[0].value
    }

    /// The samples of this name whose labels hold all of these.
    pub(crate) fn samples(&self, name: &str, labels: &[(&str, &str)]) -> Vec<&Sample> {
        let all = self.families.values().flat_map(|family| &family.samples);
        let has = |sample: &Sample, (name, value): (&str, &str)| {
            sample.labels.get(name).is_some_and(|its| its == value)
        };
        all.filter(|one| one.name == name && labels.iter().all(|label| has(one, *label))).collect()
    }

    /// Every value that a label has anywhere.
    pub(crate) fn label_values(&self, label: &str) -> BTreeSet<String> {
        let samples = self.families.values().flat_map(|family| &family.samples);
        samples.filter_map(|sample| sample.labels.get(label).cloned()).collect()
    }
}

fn check(name: &str, family: &Family) {
    assert!(!family.help.is_empty() && !family.samples.is_empty(), "{name} says something");
    assert_eq!(family.kind == "counter", name.ends_with("_total"), "{name} is a {}", family.kind);
    let mut series = BTreeSet::new();
    for sample in &family.samples {
        assert!(series.insert((&sample.name, &sample.labels)), "{sample:?} comes twice");
        assert!(family.kind == "gauge" || sample.value >= 0.0, "{sample:?}");
    }
    if family.kind == "histogram" {
        check_histogram(name, family);
    }
}

/// Buckets rise, and the last one holds what is counted.
fn check_histogram(name: &str, family: &Family) {
    let mut buckets: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
    for sample in family.samples.iter().filter(|sample| sample.name.ends_with("_bucket")) {
        let mut labels = sample.labels.clone();
        let bound = labels.remove("le").expect("a bucket has a bound");
        let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().expect("a bound is a number") };
        buckets.entry(labels).or_default().push((bound, sample.value));
    }
    for (labels, bounds) in buckets {
        assert!(
            bounds.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1),
            "{name} {labels:?}"
        );
        let count = |sample: &&Sample| sample.name.ends_with("_count") && sample.labels == labels;
        let counted = family.samples.iter().find(count).expect("a histogram has a count").value;
        assert_eq!(bounds.last(), Some(&(f64::INFINITY, counted)), "{name} {labels:?}");
    }
}

fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).expect("a sample has a value");
    let name = &line[..end];
    assert!(is_name(name), "{line}");
    let (labels, rest) = match line[end..].strip_prefix('{') {
        Some(rest) => labels(rest),
        None => (BTreeMap::new(), &line[end..]),
    };
    let value = rest.strip_prefix(' ').expect("a space stands before the value");
    let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}: {value} is no number"));
    assert!(value.is_finite(), "{line}");
    Sample { name: name.to_owned(), labels, value }
}

/// The labels up to their closing brace, and what follows.
fn labels(mut rest: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    loop {
        let (name, behind) = rest.split_once("=\"").expect("a label has a value");
        assert!(is_name(name) && !name.contains(':') && !name.starts_with("__"), "{name}");
        let mut escaped = false;
        let end = behind.find(|c| {
            let is_end = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            is_end
        });
        let end = end.expect("a value has an end");
        let value = unescaped(&behind[..end], true);
        assert!(labels.insert(name.to_owned(), value).is_none(), "{name} comes twice");
        rest = &behind[end + 1..];
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => return (labels, rest.strip_prefix('}').expect("labels end with a brace")),
        }
    }
}

fn unescaped(text: &str, with_quotes: bool) -> String {
    let (mut plain, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next() {
                Some('\\') => '\\',
                Some('n') => '\n',
                Some('"') if with_quotes => '"',
                other => panic!("{text}: \\ before {other:?}"),
            },
            '"' if with_quotes => panic!("{text}: a quote that is not escaped"),
            c => c,
        });
    }
    plain
}

fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

#[test]
fn what_breaks_a_rule_is_no_text() {
    let head = "# HELP a_total A.\n# TYPE a_total counter\n";
    let good = format!("{head}a_total{{x=\"\\\\\\n\\\"\",y=\"\"}} 1\na_total 2.5\n");
    let parsed = Exposition::parse(&good);
    assert_eq!(parsed.value("a_total", &[("x", "\\\n\"")]), 1.0);
    for bad in [
        "a_total 1\n".to_owned(),
        head.to_owned(),
        format!("{head}a_total 1"),
        format!("{head}a_total 1\n\n"),
        format!("{head}a_total  1\n"),
        format!("{head}a_total 1 x\n"),
        format!("{head}a_total NaN\n"),
        format!("{head}a_total -1\n"),
        format!("{head}a_total 1\na_total 2\n"),
        format!("{head}b_total 1\n"),
        format!("{head}a_total{{x=\"1\"}} 1\na_total{{x=\"1\"}} 1\n"),
        format!("{head}a_total{{x=\"1\",x=\"2\"}} 1\n"),
        format!("{head}a_total{{x=1}} 1\n"),
        format!("{head}a_total{{x=\"\\t\"}} 1\n"),
        format!("{head}a_total{{1x=\"\"}} 1\n"),
        format!("{head}a_total 1\n{head}a_total 1\n"),
        "# HELP a A.\n# TYPE a counter\na 1\n".to_owned(),
        "# TYPE a gauge\na 1\n".to_owned(),
        "# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n".to_owned(),
    ] {
        assert!(std::panic::catch_unwind(|| Exposition::parse(&bad)).is_err(), "{bad}");
    }
}
