//! One verb's transcript.
//!
//! Lives here: running a verb, writing down what came of it, and comparing that with its file. Not here: what it
//! is shown (`scene.rs`).

use std::fmt::Write;
use std::path::PathBuf;

use crate::placeholders::placed;
use crate::scene::Scene;
use crate::support::{Ended, run};

/// The forms of output.
const FORMS: [&str; 3] = ["table", "json", "jsonl"];
/// Where nobody listens.
const NOWHERE: &str = "http://127.0.0.1:9";

/// One verb and what it did so far.
pub(crate) struct Verb<'a> {
    scene: &'a Scene,
    words: Vec<String>,
    transcript: String,
}

impl<'a> Verb<'a> {
    /// Begins with the verb's help.
    pub(crate) fn new(scene: &'a Scene, verb: &str) -> Self {
        let words = verb.split(' ').map(str::to_owned).collect();
        let mut verb = Self { scene, words, transcript: String::new() };
        verb.help();
        verb
    }

    /// The help shows what variables hold: none are set.
    fn help(&mut self) {
        let args: Vec<&str> = self.words.iter().map(String::as_str).chain(["--help"]).collect();
        let ended = run(&args, &[]);
        self.note(&format!("naven {}", args.join(" ")), &ended);
    }

    /// Runs it with these arguments.
    pub(crate) fn run(&mut self, args: &[&str]) {
        self.run_with(args, "");
    }

    /// The same with something on standard input.
    pub(crate) fn run_with(&mut self, args: &[&str], input: &str) {
        let all: Vec<&str> = self.words.iter().map(String::as_str).chain(args.iter().copied()).collect();
        let ended = self.scene.run(&all, input);
        let from = if input.is_empty() { String::new() } else { format!(" <<< {}", quoted(input)) };
        let args: Vec<String> = all.iter().map(|arg| quoted(arg)).collect();
        self.note(&format!("naven {}{from}", args.join(" ")), &ended);
    }

    /// Runs it once for each form of output, with the arguments of the first, second and third time.
    pub(crate) fn forms(&mut self, args: impl Fn(usize) -> Vec<String>) {
        for (time, form) in FORMS.into_iter().enumerate() {
            let mut args = args(time);
            args.extend(["--output".to_owned(), form.to_owned()]);
            self.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    /// Runs it where nobody listens, and under a key that nobody knows.
    pub(crate) fn outside(&mut self, args: &[&str]) {
        self.run(&[args, &["--url", NOWHERE]].concat());
        self.run(&[args, &["--key", "nvk_wrong"]].concat());
    }

    /// Writes down what came of a command.
    pub(crate) fn note(&mut self, command: &str, ended: &Ended) {
        let mut text = format!("$ {command}\n");
        for line in ended.stdout.lines() {
            writeln!(text, "{}", line.trim_end()).expect("a text takes all");
        }
        for line in ended.stderr.lines() {
            writeln!(text, "{}", format!("stderr: {line}").trim_end()).expect("a text takes all");
        }
        let code = ended.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        writeln!(text, "exit {code}\n").expect("a text takes all");
        let folder = self.scene.naven.cwd().display().to_string();
        let text = text.replace(&self.scene.naven.url(), "<url>").replace(&self.scene.naven.http, "<http>");
        self.transcript.push_str(&placed(&text.replace(&folder, "<folder>")));
        self.transcript.push_str("\n\n");
    }

    /// Compares the transcript with its file.
    pub(crate) fn check(self) {
        let name = format!("{}.txt", self.words.join("-"));
        let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "snapshots", &name].iter().collect();
        let found = format!("{}\n", self.transcript.trim_end());
        #[expect(clippy::disallowed_methods, reason = "whether the files are to be written anew")]
        if std::env::var_os("NAVEN_BLESS").is_some() {
            std::fs::write(&path, found).expect("the snapshot can be written");
            return;
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = expected.lines().zip(found.lines()).position(|(before, now)| before != now);
        let at = differs.unwrap_or_else(|| expected.lines().count().min(found.lines().count()));
        assert!(
            expected == found,
            "tests/snapshots/{name}, line {}: expected\n  {}\nfound\n  {}\nin:\n{found}",
            at + 1,
            expected.lines().nth(at).unwrap_or("nothing more"),
            found.lines().nth(at).unwrap_or("nothing more"),
        );
    }
}

/// As one types it in a shell.
fn quoted(arg: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,%+".contains(c);
    if !arg.is_empty() && arg.chars().all(is_plain) {
        arg.to_owned()
    } else {
        format!("'{}'", arg.trim_end())
    }
}
