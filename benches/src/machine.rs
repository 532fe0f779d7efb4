//! The machine that was measured on.
//!
//! Lives here: what bears on the figures, without names by which it could be told from others. Not here:
//! the server's process (`process.rs`).

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Cores, memory, kernel, and the file system that `place` lies on, in a sentence.
///
/// # Errors
/// Where the system does not tell.
pub(crate) fn facts(place: &Path) -> anyhow::Result<String> {
    let read = |path: &str| fs::read_to_string(path).with_context(|| path.to_owned());
    let cores = std::thread::available_parallelism()?;
    let memory = memory_kib(&read("/proc/meminfo")?).context("the total in /proc/meminfo")?;
    let kernel = read("/proc/sys/kernel/osrelease")?;
    // The rest of a kernel's name is whoever built it.
    let kernel = kernel.trim().split('-').next().unwrap_or_default();
    let place = place.canonicalize().with_context(|| place.display().to_string())?;
    let kind = file_system(&read("/proc/self/mountinfo")?, &place).context("the mount of the folder")?;
    let model = cpu_model(&read("/proc/cpuinfo")?).map_or(String::new(), |model| format!(" ({model})"));
    Ok(format!(
        "Machine: {cores} cores{model}, {} GiB of RAM, Linux {kernel}, data on {kind}. The measuring client runs on the \
         same cores.",
        memory.div_ceil(1 << 20)
    ))
}

fn memory_kib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn cpu_model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

/// The type of the file system that is mounted the closest above `place`.
fn file_system(mountinfo: &str, place: &Path) -> Option<String> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (mount, device) = line.split_once(" - ")?;
        Some((Path::new(mount.split(' ').nth(4)?), device.split(' ').next()?))
    });
    // Of two mounts in one place the later one is seen.
    let closest = mounts.filter(|(point, _)| place.starts_with(point));
    closest.max_by_key(|(point, _)| point.components().count()).map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_on_the_closest_mount_above_it() {
        let mounts = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                      28 27 0:25 / /tmp rw,relatime shared:1 - tmpfs none rw\n\
                      29 27 0:26 / /tmporary rw - xfs none rw\n";
        let of = |place: &str| file_system(mounts, Path::new(place));
        assert_eq!(of("/tmp/x").as_deref(), Some("tmpfs"));
        assert_eq!(of("/tmporary").as_deref(), Some("xfs"));
        assert_eq!(of("/var/lib").as_deref(), Some("ext4"));
    }

    #[test]
    fn the_machine_is_read_from_what_the_system_tells() {
        assert_eq!(memory_kib("MemTotal:       24683652 kB\nMemFree: 1 kB\n"), Some(24_683_652));
        assert_eq!(cpu_model("processor : 0\nmodel name\t: Some CPU @ 2 GHz\n"), Some("Some CPU @ 2 GHz"));
        assert_eq!(cpu_model("processor : 0\n"), None);
        let facts = facts(Path::new(".")).expect("this machine tells");
        assert!(facts.contains(" cores") && facts.contains("Linux "), "{facts}");
    }
}
