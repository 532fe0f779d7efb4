//! What came of a soak.
//!
//! Lives here: the bounds that it has to keep, and the table. Not here: the figures (`measure.rs`).

use std::collections::BTreeMap;
use std::fmt;

use super::measure::Figures;

/// Resident memory may rise so fast in the second half of a soak of an hour or more.
const SLOPE_MAX: f64 = (16 << 20) as f64;
/// From this length on the slope counts: before, caches still fill.
const SLOPE_FROM_SECONDS: u32 = 3_600;
/// Descriptors beside those of connections: files, listeners, and connections that both ends are about to close.
const OTHER_DESCRIPTORS_MAX: i64 = 64;
/// The log's files are kept at their length, and used again: so many of them at most.
const LOG_FILES_MAX: u64 = 12;
/// So many times its live data the rest of the folder may take,
const LIVE_TIMES_MAX: u64 = 3;
/// and so much for itself: up to this length the cold store's file is left as it is, however little is in it.
pub(super) const FIXED_BYTES: u64 = 64 << 20;
/// Lives of which the checker could not say whether they are right: one of so many.
const UNDECIDED_EACH: u64 = 10_000;

/// What came of a soak.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    pub(super) seconds: u32,
    pub(super) share: u32,
    pub(super) measured_per_second: f64,
    /// Calls that the checker judged, and lives.
    pub(super) judged: u64,
    pub(super) lives: u64,
    pub(super) undecided: u64,
    pub(super) generations: u64,
    pub(super) published: u64,
    pub(super) finished: u64,
    pub(super) calls: u64,
    pub(super) silent: u64,
    /// Of publishes in the second half, in ms.
    pub(super) late_mean_ms: f64,
    pub(super) late_most_ms: i64,
    pub(super) kills: u64,
    pub(super) stops: u64,
    pub(super) faults: BTreeMap<&'static str, u64>,
    pub(super) segment_bytes: u64,
    pub(super) figures: Figures,
    /// What is wrong: violations, what is not finished, what was answered and may not be.
    pub(super) wrong: Vec<String>,
}

impl Verdict {
    /// Everything that is wrong; nothing where the soak is passed.
    pub fn findings(&self) -> Vec<String> {
        let mut findings = self.wrong.clone();
        let figures = &self.figures;
        if self.seconds >= SLOPE_FROM_SECONDS && figures.slope_bytes_per_hour > SLOPE_MAX {
            let slope = mebibytes(figures.slope_bytes_per_hour);
            findings
                .push(format!("memory rises by {slope} an hour, and {} is the most", mebibytes(SLOPE_MAX)));
        }
        if figures.other_descriptors > OTHER_DESCRIPTORS_MAX {
            let other = figures.other_descriptors;
            findings.push(format!(
                "{other} descriptors beside those of connections, and {OTHER_DESCRIPTORS_MAX} are the most"
            ));
        }
        let most = LIVE_TIMES_MAX * figures.live_bytes + FIXED_BYTES;
        if figures.rest_bytes > most {
            findings.push(format!(
                "{} bytes for {} live ones, and {most} are the most",
                figures.rest_bytes, figures.live_bytes
            ));
        }
        if figures.log_bytes > LOG_FILES_MAX * self.segment_bytes {
            findings
                .push(format!("the log takes {} bytes, more than {LOG_FILES_MAX} files", figures.log_bytes));
        }
        if self.undecided * UNDECIDED_EACH > self.lives {
            findings.push(format!("{} of {} lives are undecided", self.undecided, self.lives));
        }
        if findings.is_empty() && (self.finished == 0 || figures.looks == 0) {
            findings.push("nothing was finished, or nobody looked".to_owned());
        }
        findings
    }

    /// Of disk, the log's files and the fixed part apart, to live data.
    fn ratio(&self) -> f64 {
        let net = self.figures.rest_bytes.saturating_sub(FIXED_BYTES);
        net as f64 / self.figures.live_bytes.max(1) as f64
    }
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (figures, seconds) = (&self.figures, f64::from(self.seconds.max(1)));
        let size = |bytes: u64| mebibytes(bytes as f64);
        let all: u64 = self.faults.values().sum();
        writeln!(f, "| soak of {} s | |\n|---|---|", self.seconds)?;
        writeln!(f, "| measured rate | {:.0} cycles a second |", self.measured_per_second)?;
        writeln!(
            f,
            "| load | {} % of it: {} published, {} finished, {:.0} a second |",
            self.share,
            self.published,
            self.finished,
            self.finished as f64 / seconds
        )?;
        writeln!(
            f,
            "| publishes after their time | {:.1} ms in the mean, {} ms at most |",
            self.late_mean_ms, self.late_most_ms
        )?;
        writeln!(f, "| calls | {} on both doors, {} without an answer |", self.calls, self.silent)?;
        writeln!(
            f,
            "| judged | {} calls, {} lives in {} generations, {} undecided |",
            self.judged, self.lives, self.generations, self.undecided
        )?;
        writeln!(f, "| restarts | {} by kill -9, {} by SIGTERM |", self.kills, self.stops)?;
        let named: Vec<_> = self.faults.iter().map(|(what, count)| format!("{what} {count}")).collect();
        writeln!(f, "| faults | {all}: {} |", named.join(", "))?;
        writeln!(
            f,
            "| memory, second half | {} to {}, peak {}; slope {} an hour{} |",
            size(figures.rss_first_bytes),
            size(figures.rss_last_bytes),
            size(figures.peak_bytes),
            mebibytes(figures.slope_bytes_per_hour),
            if self.seconds < SLOPE_FROM_SECONDS { " (too short to count)" } else { "" }
        )?;
        writeln!(
            f,
            "| descriptors | {} at most, {} connections at most, {} others at most |",
            figures.descriptors, figures.connections, figures.other_descriptors
        )?;
        write!(
            f,
            "| disk | log {}; the rest {} for {} live, at most {:.2} times and {} |",
            size(figures.log_bytes),
            size(figures.last_rest_bytes),
            size(figures.last_live_bytes),
            self.ratio(),
            size(FIXED_BYTES)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed() -> Verdict {
        let figures =
            Figures { looks: 9, live_bytes: 100 << 20, rest_bytes: 250 << 20, ..Figures::default() };
        Verdict {
            seconds: 7_200,
            finished: 5,
            lives: 50_000,
            segment_bytes: 1 << 20,
            figures,
            ..Verdict::default()
        }
    }

    fn finds(change: impl FnOnce(&mut Verdict), what: &str) {
        let mut verdict = passed();
        assert_eq!(verdict.findings(), Vec::<String>::new());
        change(&mut verdict);
        let findings = verdict.findings();
        assert!(findings.len() == 1 && findings[0].contains(what), "{findings:?}");
    }

    #[test]
    fn each_bound_counts() {
        finds(|verdict| verdict.wrong.push("two_live_tokens".to_owned()), "two_live_tokens");
        finds(|verdict| verdict.figures.slope_bytes_per_hour = SLOPE_MAX + 1.0, "memory");
        finds(|verdict| verdict.figures.other_descriptors = OTHER_DESCRIPTORS_MAX + 1, "descriptors");
        finds(|verdict| verdict.figures.rest_bytes = (300 << 20) + FIXED_BYTES + 1, "live ones");
        finds(|verdict| verdict.figures.log_bytes = LOG_FILES_MAX * (1 << 20) + 1, "log");
        finds(|verdict| verdict.undecided = 6, "undecided");
        finds(|verdict| verdict.finished = 0, "nothing");
        finds(|verdict| verdict.figures.looks = 0, "nobody");
    }

    #[test]
    fn what_lies_on_a_bound_is_within() {
        let mut verdict = passed();
        verdict.figures.rest_bytes = (300 << 20) + FIXED_BYTES;
        verdict.figures.log_bytes = LOG_FILES_MAX << 20;
        verdict.figures.other_descriptors = OTHER_DESCRIPTORS_MAX;
        verdict.undecided = 5;
        assert!(verdict.findings().is_empty());
    }

    #[test]
    fn the_slope_of_a_short_soak_is_only_told() {
        let mut verdict = Verdict { seconds: 600, ..passed() };
        verdict.figures.slope_bytes_per_hour = 1e12;
        assert!(verdict.findings().is_empty() && verdict.to_string().contains("an hour"));
    }
}
