//! Former boards, each complete, by revision.
//!
//! Keeping a superseded board is free: its file gets a second name. Removing the oldest image for it is not:
//! for a large board that costs as much as writing the new one, and some file systems take long to make a new file
//! where many were just deleted. So the file of the removed image is overwritten: it loses its name before the
//! record is appended, and gets the name of the temporary file beside the board.
//!
//! Only a file that no process can still need is overwritten: liza's own, with no other name. After a power cut its
//! former name may be back and show another board, or half of one. So either the loss of the name is synced first, or
//! the image is so old that `verify` ignores it (`images_before`); rebuilding skips every image whose checksum or
//! revision is wrong. A reader of an image checks afterwards that the image still exists; a slow reader of the board
//! itself finds a wrong checksum and reads again.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::host::crash;
use crate::wire::content::NewState;

use super::error::{IoContext, StoreError};
use super::files::{
    FileIdentity, beside, make_private_dir, read_whole, read_whole_into, replace, write_over_pieces,
};
use super::handle::Store;
use super::lock::open_no_follow;
use super::read::LARGEST_STATE;

/// How many former boards are kept while they are small.
pub const IMAGES_KEPT: u64 = 64;
const IMAGES_AT_LEAST: u64 = 4;
/// One commit in so many syncs the directory of images. A power cut may
/// undo what was done to it since, and leave that many images fewer.
const SYNCED_EVERY: u64 = 16;

/// How many bytes all images may take; the last few are kept regardless. In a debug build a test may lower it.
fn most_bytes() -> u64 {
    #[cfg(debug_assertions)]
    if std::env::var_os("LIZA_TEST_FEW_IMAGES").is_some() {
        return 0;
    }
    64 * 1024 * 1024
}

/// The file of a removed image, under the name of the temporary file beside the board; or none.
#[derive(Debug, Default)]
pub(super) struct Room {
    file: Option<PathBuf>,
    /// The directory of images is synced before the board is written: the loss of the file's former name must be on disk,
    /// or it is time to sync what was done to images since.
    is_synced_first: bool,
}

impl Room {
    /// Removes the file: nothing will be written into it.
    pub fn give_up(&self) {
        if let Some(temp) = &self.file {
            let _ = fs::remove_file(temp);
        }
    }
}

impl Store {
    /// Removes images that are too old, or too much once `former`, of `size` bytes, becomes an image. Returns a
    /// file that may be overwritten. `is_durable`: the board of `former` is on disk.
    pub(super) fn make_room(&self, former: u64, size: u64, is_durable: bool) -> Room {
        let mut room = Room { file: None, is_synced_first: former.is_multiple_of(SYNCED_EVERY) };
        if room.is_synced_first {
            self.remove_returned(former);
        }
        for revision in self.surplus(former, size, most_bytes()) {
            let image = self.layout().image(revision);
            let temp = beside(&self.layout().state());
            let reusable = || fs::symlink_metadata(&image).is_ok_and(|meta| is_free(&meta));
            if room.file.is_none() && reusable() && fs::rename(&image, &temp).is_ok() {
                make_young(&temp);
                crash::point("commit.4-room");
                // After a power cut, readers of an older board would rely on this image.
                room.is_synced_first |= !is_durable || is_relied_on(revision, former);
                room.file = Some(temp);
            } else {
                let _ = fs::remove_file(image);
            }
        }
        room
    }

    /// Removes names of overwritten images that a power cut brought back. Much older images are from before the log was
    /// started again, and stay.
    fn remove_returned(&self, former: u64) {
        let past = former.saturating_sub(IMAGES_KEPT);
        let returned = past.saturating_sub(2 * SYNCED_EVERY)..past;
        for image in self.image_revisions().into_iter().filter(|image| returned.contains(image)) {
            let _ = fs::remove_file(self.layout().image(image));
        }
    }

    fn surplus(&self, former: u64, size: u64, most: u64) -> Vec<u64> {
        let mut surplus = Vec::new();
        let mut bytes = size;
        let few = size.saturating_mul(IMAGES_KEPT) > most;
        for age in 1..IMAGES_KEPT.min(former).min(if few { u64::MAX } else { 0 }) {
            let too_much = age >= IMAGES_AT_LEAST && bytes > most;
            match fs::symlink_metadata(self.layout().image(former - age)) {
                Ok(meta) => {
                    bytes += meta.len();
                    if age >= IMAGES_AT_LEAST && bytes > most {
                        surplus.push(former - age);
                    }
                }
                // The lower revisions were removed before.
                Err(_) if too_much => break,
                Err(_) => {}
            }
        }
        surplus.extend(former.checked_sub(IMAGES_KEPT));
        surplus
    }

    /// Writes a board into the freed file; returns false, leaving no file, if none can be used.
    pub(super) fn write_over(&self, room: &Room, new: &NewState) -> Result<bool, StoreError> {
        if room.is_synced_first {
            let images = self.layout().images();
            let Ok(directory) = fs::File::open(&images) else {
                room.give_up();
                return Ok(false);
            };
            if let Err(error) = directory.sync_all() {
                room.give_up();
                return Err(error).doing("sync", &images);
            }
        }
        let Some(temp) = &room.file else { return Ok(false) };
        let opened = open_no_follow(temp, OpenOptions::new().write(true))
            .and_then(|file| Ok((file.metadata()?, file)));
        match opened {
            Ok((meta, file)) if is_free(&meta) => {
                write_over_pieces(&file, temp, new.pieces(), meta.len()).map(|()| true)
            }
            _ => {
                room.give_up();
                Ok(false)
            }
        }
    }

    /// The revisions of the images that a reader of the board of `revision` may rely on, oldest first.
    pub fn images_before(&self, revision: u64) -> Vec<u64> {
        let mut images = self.image_revisions();
        images.retain(|image| is_relied_on(*image, revision) && *image <= revision);
        images
    }

    /// The revisions of the images that must be what the log says. A power cut may have brought back the name of one
    /// that was just overwritten: it says nothing, and a later commit removes it.
    pub fn images_to_prove(&self, revision: u64) -> BTreeSet<u64> {
        let past = revision.saturating_sub(IMAGES_KEPT);
        let overwritten = past.saturating_sub(2 * SYNCED_EVERY)..=past;
        self.image_revisions().into_iter().filter(|image| !overwritten.contains(image)).collect()
    }

    /// Keeps the superseded board as an image: its file, if it is `fit` and still has this identity, or else
    /// its text.
    pub(super) fn keep_image(
        &self,
        former: u64,
        text: &str,
        fit: bool,
        identity: &FileIdentity,
    ) -> Result<(), StoreError> {
        let (state, image) = (self.layout().state(), self.layout().image(former));
        make_private_dir(&self.layout().images())?;
        if fit && fs::hard_link(state, &image).is_ok() {
            // If the state was replaced since it was read, its file is not the board of that revision.
            if FileIdentity::at(&image).ok().as_ref() != Some(identity) {
                let _ = fs::remove_file(&image);
            }
        } else if read_whole(&image, LARGEST_STATE).ok().is_none_or(|(kept, _)| kept != text.as_bytes()) {
            // `init` or a commit that died has kept the same bytes. Otherwise the image was linked to a file
            // that was then edited in place, or the file system has no links: write a copy.
            replace(&image, text.as_bytes())?;
        }
        Ok(())
    }

    /// The bytes of an image, if it still exists after reading: a commit may have overwritten its file
    /// meanwhile.
    pub(super) fn image_bytes(&self, revision: u64) -> std::io::Result<Vec<u8>> {
        self.image_bytes_into(revision, Vec::new())
    }

    /// The same, read into this empty memory.
    pub(super) fn image_bytes_into(&self, revision: u64, memory: Vec<u8>) -> std::io::Result<Vec<u8>> {
        let path = self.layout().image(revision);
        let (bytes, identity) = read_whole_into(&path, LARGEST_STATE, memory)?;
        match FileIdentity::at(&path)? == identity {
            true => Ok(bytes),
            false => Err(std::io::ErrorKind::NotFound.into()),
        }
    }
}

/// Whether readers of the board of `revision` rely on this image. The next commit may be overwriting an older one.
fn is_relied_on(image: u64, revision: u64) -> bool {
    image.saturating_add(IMAGES_KEPT) > revision
}

/// Gives a temporary file the present time: `doctor` takes an old one for what a killed command left.
fn make_young(temp: &Path) {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    let _ = utimensat(CWD, temp, &times, AtFlags::SYMLINK_NOFOLLOW);
}

/// Whether this is a file as liza makes it, of this user, without another name.
fn is_free(meta: &fs::Metadata) -> bool {
    meta.is_file()
        && meta.nlink() == 1
        && meta.uid() == rustix::process::geteuid().as_raw()
        && meta.mode() & 0o7777 == 0o600
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The images kept of 100 with these sizes, newest last, within 1,000 bytes.
    fn kept(size: impl Fn(u64) -> u64) -> Vec<u64> {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::new(dir.path());
        fs::create_dir(store.layout().images()).expect("a directory");
        for revision in 1..=100 {
            for old in store.surplus(revision, size(revision), 1_000) {
                let _ = fs::remove_file(store.layout().image(old));
            }
            let file = fs::File::create(store.layout().image(revision)).expect("a file");
            file.set_len(size(revision)).expect("a size");
        }
        store.image_revisions()
    }

    #[test]
    fn only_images_out_of_reach_are_overwritten_unsynced() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::new(dir.path());
        fs::create_dir(store.layout().images()).expect("a directory");
        let mut synced = Vec::new();
        for former in 1..=200 {
            let image = fs::File::create(store.layout().image(former)).expect("a file");
            image.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("private");
            let room = store.make_room(former, 1, true);
            assert_eq!(room.file.is_some(), former > IMAGES_KEPT, "{former}");
            if room.is_synced_first {
                synced.push(former);
            }
            let read = store.images_before(former);
            assert!(room.file.is_none() || read.first() == Some(&(former - IMAGES_KEPT + 1)), "{former}");
            room.give_up();
        }
        assert_eq!(synced, (1..=200).filter(|former| former % SYNCED_EVERY == 0).collect::<Vec<_>>());
        // The former board may not be on disk: then a reader may need the image.
        assert!(store.make_room(201, 1, false).is_synced_first);
        // Names that a power cut brought back do not stay, and no number is too high.
        for returned in [3, 127, u64::MAX] {
            fs::write(store.layout().image(returned), "").expect("written");
        }
        store.make_room(208, 1, true).give_up();
        assert_eq!(store.image_revisions()[..2], [3, 208 - IMAGES_KEPT + 1]);
        assert_eq!(store.images_before(208).last(), Some(&200));
    }

    #[test]
    fn reused_file_is_young() {
        let dir = tempfile::tempdir().expect("a directory");
        let old = dir.path().join("old");
        let past = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
        fs::File::create(&old).and_then(|file| file.set_modified(past)).expect("aged");
        make_young(&old);
        let age = fs::metadata(&old).and_then(|meta| meta.modified()).expect("a time").elapsed();
        assert!(age.unwrap_or_default().as_secs() < 60);
    }

    #[test]
    fn images_are_bounded_in_number_and_bytes() {
        assert_eq!(kept(|_| 10), (37..=100).collect::<Vec<_>>());
        assert_eq!(kept(|_| 100), (91..=100).collect::<Vec<_>>());
        assert_eq!(kept(|_| 10_000), [97, 98, 99, 100]);
        // Images from before the board grew stay while there is room.
        assert_eq!(kept(|revision| if revision < 98 { 10 } else { 200 }), (58..=100).collect::<Vec<_>>());
    }

    #[test]
    fn files_with_another_name_are_not_written_over() {
        let dir = tempfile::tempdir().expect("a directory");
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        super::super::files::write_new(&one, b"text").expect("a file");
        let free = |path: &Path| is_free(&fs::symlink_metadata(path).expect("a file"));
        assert!(free(&one));
        fs::hard_link(&one, &two).expect("a link");
        assert!(!free(&one));
        fs::remove_file(&one).expect("removed");
        assert!(free(&two));
        fs::set_permissions(&two, std::os::unix::fs::PermissionsExt::from_mode(0o640)).expect("set");
        assert!(!free(&two), "a person gave others rights to it");
        std::os::unix::fs::symlink(&two, &one).expect("a link");
        assert!(!free(&one));
    }
}
