//! What the server's process and its folder take.
//!
//! Lives here: reading it from the system. Not here: what is right (`verdict.rs`).

use std::fmt;
use std::fs;
use std::path::Path;

use super::trend::slope;

/// One look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sample {
    /// Since the load began.
    pub(super) at_ms: i64,
    /// Resident now, and the most that this process ever was.
    pub(super) rss_bytes: u64,
    pub(super) peak_bytes: u64,
    pub(super) descriptors: u64,
    /// The most connections that the soak had open since the look before.
    pub(super) connections: u64,
    /// The log's files, which are kept at their length.
    pub(super) log_bytes: u64,
    /// Everything else in the folder.
    pub(super) rest_bytes: u64,
    /// What has to be there, by what was published and finished.
    pub(super) live_bytes: u64,
}

impl Sample {
    /// What a line holds.
    pub(super) const TITLES: &str = "at_ms,rss,peak,descriptors,connections,log,rest,live";
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_ms, rss_bytes, peak_bytes, descriptors, connections, .. } = self;
        write!(f, "{at_ms},{rss_bytes},{peak_bytes},{descriptors},{connections},")?;
        write!(f, "{},{},{}", self.log_bytes, self.rest_bytes, self.live_bytes)
    }
}

/// Looks at a process and a folder; none where the process is gone.
pub(super) fn look(pid: u32, data: &Path) -> Option<Sample> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64;
    let log_bytes = bytes_of(&data.join("log"));
    Some(Sample {
        rss_bytes: kilobytes_of(&status, "VmRSS:")? << 10,
        peak_bytes: kilobytes_of(&status, "VmHWM:")? << 10,
        descriptors,
        log_bytes,
        rest_bytes: bytes_of(data).saturating_sub(log_bytes),
        ..Sample::default()
    })
}

fn kilobytes_of(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Bytes of all files below; what goes away meanwhile counts for nothing.
fn bytes_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// What the looks say together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Figures {
    pub(super) looks: usize,
    pub(super) rss_first_bytes: u64,
    pub(super) rss_last_bytes: u64,
    pub(super) peak_bytes: u64,
    /// Of resident memory, in the second half.
    pub(super) slope_bytes_per_hour: f64,
    pub(super) descriptors: u64,
    pub(super) connections: u64,
    /// By how much descriptors were ever more than connections.
    pub(super) other_descriptors: i64,
    pub(super) log_bytes: u64,
    /// Of the look with the largest share of disk, the log's files apart, to live data in the second half.
    pub(super) rest_bytes: u64,
    pub(super) live_bytes: u64,
    pub(super) last_live_bytes: u64,
    pub(super) last_rest_bytes: u64,
}

impl Figures {
    /// Of all looks; `steady_ms` is where the second half begins, `fixed_bytes` what the folder takes for itself.
    pub(super) fn of(samples: &[Sample], steady_ms: i64, fixed_bytes: u64) -> Self {
        let mut figures = Self { looks: samples.len(), ..Self::default() };
        let steady: Vec<_> = samples.iter().filter(|sample| sample.at_ms >= steady_ms).collect();
        let points: Vec<_> = steady
            .iter()
            .map(|sample| (sample.at_ms as f64 / 3_600_000.0, sample.rss_bytes as f64))
            .collect();
        figures.slope_bytes_per_hour = slope(&points);
        if let (Some(first), Some(last)) = (steady.first(), steady.last()) {
            (figures.rss_first_bytes, figures.rss_last_bytes) = (first.rss_bytes, last.rss_bytes);
            (figures.last_live_bytes, figures.last_rest_bytes) = (last.live_bytes, last.rest_bytes);
        }
        let share = |sample: &&&Sample| {
            let net = sample.rest_bytes.saturating_sub(fixed_bytes);
            net * 1_000 / sample.live_bytes.max(1)
        };
        if let Some(most) = steady.iter().max_by_key(share) {
            (figures.rest_bytes, figures.live_bytes) = (most.rest_bytes, most.live_bytes);
        }
        for sample in samples {
            figures.peak_bytes = figures.peak_bytes.max(sample.peak_bytes);
            figures.descriptors = figures.descriptors.max(sample.descriptors);
            figures.connections = figures.connections.max(sample.connections);
            figures.log_bytes = figures.log_bytes.max(sample.log_bytes);
            let other = sample.descriptors as i64 - sample.connections as i64;
            figures.other_descriptors = figures.other_descriptors.max(other);
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_are_read_by_their_name() {
        let status = "Name:\tnaven\nVmHWM:\t   20480 kB\nVmRSS:\t   10240 kB\n";
        assert_eq!(kilobytes_of(status, "VmRSS:"), Some(10_240));
        assert_eq!(kilobytes_of(status, "VmHWM:"), Some(20_480));
        assert_eq!(kilobytes_of(status, "VmSwap:"), None);
    }

    #[test]
    fn this_process_can_be_looked_at() {
        let sample = look(std::process::id(), Path::new("no-such-folder")).unwrap();
        assert!(sample.rss_bytes > 1 << 20 && sample.descriptors > 2);
        assert_eq!((sample.log_bytes, sample.rest_bytes), (0, 0));
        assert_eq!(look(u32::MAX, Path::new(".")), None);
    }

    #[test]
    fn memory_and_disk_are_those_of_the_second_half() {
        let look = |at_ms, rss_bytes, rest_bytes| Sample {
            at_ms,
            rss_bytes,
            rest_bytes,
            live_bytes: 1_000,
            ..Sample::default()
        };
        // A first half that grows wildly and a second that gains 100 bytes an hour.
        let samples = [
            look(0, 0, 90_000),
            look(3_599_999, 50_000, 0),
            look(3_600_000, 1_000, 500),
            look(7_200_000, 1_100, 2_500),
            look(10_800_000, 1_200, 900),
        ];
        let figures = Figures::of(&samples, 3_600_000, 100);
        assert!((figures.slope_bytes_per_hour - 100.0).abs() < 1e-6, "{figures:?}");
        assert_eq!((figures.rest_bytes, figures.live_bytes), (2_500, 1_000));
    }

    #[test]
    fn descriptors_are_held_against_the_connections_of_the_same_time() {
        let look = |descriptors, connections| Sample { descriptors, connections, ..Sample::default() };
        let figures = Figures::of(&[look(120, 100), look(90, 20)], 0, 0);
        assert_eq!((figures.descriptors, figures.connections, figures.other_descriptors), (120, 100, 70));
    }
}
