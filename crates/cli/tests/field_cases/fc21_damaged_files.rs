//! FC-21: files that a power cut or a disk has damaged.
//!
//! Lives here: every damage of the case, done to copies of one data folder, and how a server that is
//! started on such a copy is judged. Not here: what was answered before (`books.rs`), the engine's own tests
//! with images of torn writes (`naven-store`).
//!
//! Nothing here knows which files there are or what they hold. A start either succeeds, and then every
//! answered event is accounted for, or is refused with a message that names a file. A file that holds
//! nothing of use, such as a log file made ahead, may be damaged without a word.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::books::{Books, Standing};
use crate::clock::{assert_within, now, seconds};
use crate::random::Random;
use crate::scene::{Claim, Scene};
use crate::support::{Ended, Naven, Start};
use crate::wire::Wire;

const PUBLISHED: u64 = 1_200;
const CLAIMED: usize = 900;
const ACKED: usize = 700;
const FATAL: usize = 60;
const RETRIED: usize = 60;
/// The rest of what was claimed gets a heartbeat, which makes 3,000 calls.
const CALLS: usize = PUBLISHED as usize + 2 * CLAIMED;
/// A start takes so long at most.
const START_FIGURE: Duration = seconds(2);
/// Places of one file in each of which one bit is turned, a copy of the folder for each.
const FLIPS: u64 = 50;
const ADDED_BYTES: usize = 4 << 10;
/// Servers at a time: each waits for the disk most of its life.
const THREADS: usize = 4;

/// One damage to one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    CutToNothing,
    CutToHalf,
    CutByOne,
    ZerosAdded,
    NoiseAdded,
    /// This bit of the file is turned.
    Flipped {
        byte: u64,
        bit: u8,
    },
    Removed,
}

/// What a start came to.
#[derive(Debug)]
enum Verdict {
    /// It served, and everything is accounted for, so many events as dead letters.
    Opened {
        damaged: usize,
    },
    Refused,
    /// It served until it met the damage, and then said so.
    Ended,
}

#[test]
fn fc21_damage_to_any_file_is_found_and_loses_nothing_in_silence() {
    let source = Source::made();
    let mut random = Random::fresh("fc21");
    let mut cases = Vec::new();
    for file in &source.files {
        let length = fs::metadata(source.data().join(file)).expect("it is there").len();
        cases.extend(damages(&mut random, length).into_iter().map(|damage| (file.clone(), damage)));
    }
    println!("fc21: {} damages to {} files", cases.len(), source.files.len());
    let (cases, tallies) = (Mutex::new(cases), Mutex::<BTreeMap<PathBuf, [usize; 4]>>::default());
    let (faults, longest) = (Mutex::<Vec<String>>::default(), Mutex::new(Duration::ZERO));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((file, damage)) = next(&cases) {
                    let (verdict, took) = source.judged(&file, damage);
                    let mut longest = longest.lock().expect("no holder of this lock panics");
                    *longest = took.max(*longest);
                    match verdict {
                        Ok(verdict) => note(&tallies, file, &verdict),
                        Err(fault) => {
                            let fault = format!("{}, {damage:?}: {fault}", file.display());
                            faults.lock().expect("no holder of this lock panics").push(fault);
                        }
                    }
                }
            });
        }
    });
    for (file, [opened, letters, refused, ended]) in tallies.into_inner().expect("nobody panicked") {
        println!(
            "fc21: {}: {opened} opened ({letters} with dead letters), {refused} refused, {ended} ended later",
            file.display()
        );
    }
    let faults = faults.into_inner().expect("nobody panicked");
    assert!(faults.is_empty(), "{} faults, the first: {:#?}", faults.len(), &faults[..faults.len().min(5)]);
    assert_within("fc21: longest start", longest.into_inner().expect("nobody panicked"), START_FIGURE);
}

#[test]
fn fc21_a_torn_end_of_the_log_is_cut_and_said() {
    let source = Source::made();
    let copy = source.copy();
    let log = newest_log_file(&source);
    tear_the_end_of(&copy.path().join("naven-data").join(&log));
    let began = now();
    let naven = Start::serve().folder(copy.path()).ready();
    assert_within("fc21: start with a torn end", began.elapsed(), START_FIGURE);
    let cut = naven.client().get("/v1/system").success()["engine"]["cutBytes"].as_u64();
    assert!(cut.is_some_and(|bytes| bytes > 0), "it says how much was cut: {cut:?}");
    source.books.audit(&naven.client()).expect("it serves").assert_whole();
    assert!(!naven.stderr().contains("panicked"), "{}", naven.stderr());
}

#[test]
fn fc21_a_folder_without_damage_opens_and_has_everything() {
    let source = Source::made();
    let copy = source.copy();
    let naven = Start::serve().folder(copy.path()).ready();
    source.books.audit(&naven.client()).expect("it serves").assert_whole();
}

fn next<T>(cases: &Mutex<Vec<T>>) -> Option<T> {
    cases.lock().expect("no holder of this lock panics").pop()
}

fn note(tallies: &Mutex<BTreeMap<PathBuf, [usize; 4]>>, file: PathBuf, verdict: &Verdict) {
    let mut tallies = tallies.lock().expect("no holder of this lock panics");
    let tally = tallies.entry(file).or_default();
    match verdict {
        Verdict::Opened { damaged } => {
            tally[0] += 1;
            tally[1] += usize::from(*damaged > 0);
        }
        Verdict::Refused => tally[2] += 1,
        Verdict::Ended => tally[3] += 1,
    }
}

fn damages(random: &mut Random, length: u64) -> Vec<Damage> {
    let mut damages = vec![
        Damage::CutToNothing,
        Damage::CutToHalf,
        Damage::CutByOne,
        Damage::ZerosAdded,
        Damage::NoiseAdded,
        Damage::Removed,
    ];
    if length > 0 {
        let flip = |_| Damage::Flipped { byte: random.below(length), bit: random.below(8) as u8 };
        damages.extend((0..FLIPS).map(flip));
    }
    damages
}

impl Damage {
    fn do_to(self, file: &Path) {
        if self == Self::Removed {
            return fs::remove_file(file).expect("it can be removed");
        }
        let open = OpenOptions::new().read(true).write(true).open(file).expect("it can be opened");
        let length = open.metadata().expect("it is there").len();
        let noise = || Random::fresh("fc21 noise").bytes(ADDED_BYTES);
        let done = match self {
            Self::CutToNothing => open.set_len(0),
            Self::CutToHalf => open.set_len(length / 2),
            Self::CutByOne => open.set_len(length.saturating_sub(1)),
            Self::ZerosAdded => open.write_all_at(&[0; ADDED_BYTES], length),
            Self::NoiseAdded => open.write_all_at(&noise(), length),
            Self::Flipped { byte, bit } => {
                let mut value = [0];
                open.read_exact_at(&mut value, byte).expect("it is inside the file");
                open.write_all_at(&[value[0] ^ (1 << bit)], byte)
            }
            Self::Removed => Ok(()),
        };
        done.expect("it can be written");
    }
}

/// A folder of a server that was stopped cleanly, and what that server had answered.
struct Source {
    folder: TempDir,
    books: Books,
    /// Every file, from the data folder.
    files: Vec<PathBuf>,
}

impl Source {
    /// Three thousand answered calls, and a clean stop.
    fn made() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on disk");
        let scene = Scene::started(Start::serve().folder(folder.path()), json!({}));
        let books = play(&scene);
        scene.naven.signal("TERM");
        assert_eq!(scene.naven.ended().code, Some(0), "it stops cleanly");
        let data = folder.path().join("naven-data");
        let mut files = Vec::new();
        collect(&data, Path::new(""), &mut files);
        files.sort();
        Self { folder, books, files }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("naven-data")
    }

    fn copy(&self) -> TempDir {
        let copy = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on disk");
        let data = copy.path().join("naven-data");
        fs::create_dir(&data).expect("a folder can be made");
        for file in &self.files {
            let to = data.join(file);
            fs::create_dir_all(to.parent().expect("it is in the data folder")).expect("a folder can be made");
            fs::copy(self.data().join(file), to).expect("a file can be copied");
        }
        copy
    }

    /// Damages a copy and starts a server on it: what came of that, or what is wrong with it, and how long
    /// the start took.
    fn judged(&self, file: &Path, damage: Damage) -> (Result<Verdict, String>, Duration) {
        let copy = self.copy();
        damage.do_to(&copy.path().join("naven-data").join(file));
        let began = now();
        let started = Start::serve().folder(copy.path()).try_ready();
        let took = began.elapsed();
        let verdict = match started {
            Err(ended) => self.judge_end(&ended).map(|()| Verdict::Refused),
            Ok(naven) => self.judge_service(naven),
        };
        (verdict, took)
    }

    fn judge_service(&self, naven: Naven) -> Result<Verdict, String> {
        let Ok(audit) = self.books.audit(&naven.client()) else {
            return self.judge_end(&naven.ended()).map(|()| Verdict::Ended);
        };
        let log = naven.stderr();
        // It met the damage while it was asked, and says so to whoever asks further.
        if log.contains("is damaged") && log.contains("failed for good") {
            return self.judge_end(&naven.ended()).map(|()| Verdict::Ended);
        }
        if log.contains("panicked") {
            return Err(format!("it panicked: {log}"));
        }
        match audit.faults.first() {
            None => Ok(Verdict::Opened { damaged: audit.damaged.len() }),
            Some(first) => {
                Err(format!("{} faults in the audit, the first: {first}; {log}", audit.faults.len()))
            }
        }
    }

    /// A refusal has its exit code and names a file.
    fn judge_end(&self, ended: &Ended) -> Result<(), String> {
        let names_file =
            self.files.iter().any(|file| ended.stderr.contains(&format!("'{}'", file.display())));
        if !matches!(ended.code, Some(65 | 74)) || ended.stderr.contains("panicked") {
            return Err(format!("not an orderly refusal: {ended:?}"));
        }
        if names_file { Ok(()) } else { Err(format!("no file is named: {ended:?}")) }
    }
}

fn collect(folder: &Path, prefix: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder can be listed") {
        let entry = entry.expect("a folder can be listed");
        let name = prefix.join(entry.file_name());
        if entry.file_type().expect("files and folders differ").is_dir() {
            collect(&entry.path(), &name, files);
        } else {
            files.push(name);
        }
    }
}

/// What an event holds: some are longer than a block of a disk.
fn payload(number: u64) -> Value {
    let length = if number.is_multiple_of(50) { 5_000 } else { 40 };
    json!({ "n": number, "text": format!("{number:07}").repeat(length / 7) })
}

/// Every kind of call, each of which is answered.
fn play(scene: &Scene) -> Books {
    let mut books = Books::new(payload);
    let mut wire = scene.wire();
    for number in 0..PUBLISHED {
        let event = wire.post("/v1/event-queues/q/events", &books.body(number)).success();
        books.published(number, &event["id"]);
    }
    let claims: Vec<Claim> = (0..CLAIMED).map(|_| claim(&mut wire)).collect();
    for (at, claim) in claims.iter().enumerate() {
        books.leased(claim);
        let (verb, more, standing) = match at {
            at if at < ACKED => ("ack", json!({}), Standing::Done),
            at if at < ACKED + FATAL => ("nack", json!({ "mode": "fatal", "error": "no" }), Standing::Dead),
            at if at < ACKED + FATAL + RETRIED => {
                ("nack", json!({ "retryDelaySeconds": 0, "error": "again" }), Standing::Ready)
            }
            _ => {
                let beat = claim.proof(json!({ "leaseSeconds": 3_600 }));
                wire.post(&claim.path("heartbeat"), &beat).success();
                continue;
            }
        };
        wire.post(&claim.path(verb), &claim.proof(more)).success();
        books.stands(&claim.id(), standing);
    }
    assert_eq!(CALLS, 3_000);
    books
}

fn claim(wire: &mut Wire) -> Claim {
    let ask = json!({ "leaseSeconds": 3_600, "waitSeconds": 5 });
    Claim::of(wire.post("/v1/event-queues/q/claim", &ask)).expect("there is an event")
}

/// The log file with the highest number that is in use: its batches end in the seal of the clean stop.
fn newest_log_file(source: &Source) -> PathBuf {
    let is_log = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "seg");
    source.files.iter().filter(is_log).max().expect("there is a log").clone()
}

/// Turns a bit in the last thing that was written, as if it had not come out whole.
fn tear_the_end_of(file: &Path) {
    let bytes = fs::read(file).expect("it can be read");
    let last = bytes.iter().rposition(|byte| *byte != 0).expect("something was written");
    Damage::Flipped { byte: last as u64, bit: 0 }.do_to(file);
}
