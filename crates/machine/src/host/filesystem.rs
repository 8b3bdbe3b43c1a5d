//! Properties of the file system under a path.

use std::path::Path;

/// File systems whose locks are not reliable between machines.
const NETWORK: [(u64, &str); 12] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x7375_7245, "Coda"),
    (0x564c, "NCP"),
];

fn network_name(magic: u64) -> Option<&'static str> {
    NETWORK.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

/// The name of the network file system of a path; none if it is local.
pub fn network_file_system(path: &Path) -> Option<&'static str> {
    let magic = rustix::fs::statfs(path).ok()?.f_type;
    network_name((magic as u64) & 0xffff_ffff)
}

/// Space on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes this user may still write.
    pub free: u64,
    pub total: u64,
}

/// The space under a path. In debug builds a test may set how much of it is free.
pub fn room(path: &Path) -> Option<Room> {
    let found = rustix::fs::statvfs(path).ok()?;
    #[cfg_attr(not(debug_assertions), expect(unused_mut, reason = "only a debug build changes it"))]
    let mut room = Room {
        free: found.f_bavail.saturating_mul(found.f_frsize),
        total: found.f_blocks.saturating_mul(found.f_frsize),
    };
    #[cfg(debug_assertions)]
    if let Some(bytes) = std::env::var("LIZA_TEST_FREE_BYTES").ok().and_then(|text| text.parse().ok()) {
        room.free = bytes;
    }
    Some(room)
}

/// How many bytes all programs have written that are not on disk yet; none if the kernel does not report it.
pub fn unwritten() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Dirty:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Whether another file system is mounted over that name in the directory, as this process sees it.
pub fn is_mounted_over(dir: &Path, name: &str) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let Ok(dir) = openat(rustix::fs::CWD, dir, flags | OFlags::DIRECTORY, Mode::empty()) else {
            return false;
        };
        let found = openat2(&dir, name, flags | OFlags::NOFOLLOW, Mode::empty(), ResolveFlags::NO_XDEV);
        matches!(found, Err(rustix::io::Errno::XDEV))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (dir, name);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_file_system_is_known_by_its_magic() {
        for (magic, name) in NETWORK {
            assert_eq!(network_name(magic), Some(name));
        }
        for local in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994] {
            assert_eq!(network_name(local), None);
        }
    }
}
