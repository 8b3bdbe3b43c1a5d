//! Reads files that any process of this user may have replaced: by a pipe without a writer, a device, or a huge sparse
//! file.

use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Larger than any file that liza reads whole.
pub const LARGEST_PLAIN: u64 = 64 * 1024 * 1024;

/// The content of a regular file. Links are followed; liza waits for nothing.
pub fn read_plain(path: &Path) -> std::io::Result<Vec<u8>> {
    let wait_for_nothing = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(wait_for_nothing).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if meta.len() > LARGEST_PLAIN {
        let why = format!("it is {} bytes long; the limit is {LARGEST_PLAIN}", meta.len());
        return Err(Error::new(ErrorKind::FileTooLarge, why));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or_default() + 1);
    (&mut file).take(LARGEST_PLAIN).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same as text.
pub fn plain_text(path: &Path) -> std::io::Result<String> {
    String::from_utf8(read_plain(path)?).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_devices_and_endless_files_are_not_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("plain"), "text").expect("a file");
        std::os::unix::fs::symlink(at("plain"), at("link")).expect("a link");
        assert_eq!(plain_text(&at("plain")).expect("text"), "text");
        assert_eq!(plain_text(&at("link")).expect("text"), "text");
        std::os::unix::fs::symlink("/dev/zero", at("zero")).expect("a link");
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
        let sparse = std::fs::File::create(at("sparse")).expect("a file");
        sparse.set_len(20 << 30).expect("a size");
        for name in ["zero", "pipe", "sparse", "missing"] {
            assert!(read_plain(&at(name)).is_err(), "{name}");
        }
    }
}
