//! Files that appear at their path whole or not at all.
//!
//! Knows nothing of what is in them.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// Bytes of a name that file systems take: the least of those in use.
const MOST_NAME_BYTES: usize = 255;

/// A file being written beside the path at which it will appear; removed unless it does.
///
/// Whoever is killed meanwhile leaves it, under a name that begins with the path's own, as far as there is room for that, and ends with
/// `.partial`: nothing reads it, and it may be deleted.
///
/// ```
/// use std::fs;
///
/// use tablemodel_store::place::Unplaced;
///
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("report.json");
/// let report = Unplaced::new(&path)?;
/// fs::write(report.path(), "{}")?;
/// assert!(!path.exists()); // not before it is whole
/// fs::File::options().write(true).open(report.path())?.sync_all()?;
/// report.place(|| ())?;
/// assert_eq!(fs::read_to_string(&path)?, "{}");
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Unplaced {
    path: PathBuf,
    destination: PathBuf,
}

impl Unplaced {
    /// An empty file for `path`, under a name of its own in the same directory. What is at `path` is not looked at.
    ///
    /// What another process left there, or is writing, is never taken: numbers of processes and counters repeat, as in
    /// containers, so the name is a random one.
    ///
    /// # Errors
    ///
    /// Those of creating a file.
    pub fn new(path: &Path) -> io::Result<Self> {
        Self::named(path, RandomState::new().build_hasher().finish())
    }

    /// `AlreadyExists` if there is a file of this name: that one stays.
    fn named(path: &Path, random: u64) -> io::Result<Self> {
        let partial = path.with_file_name(partial_name(path.file_name().unwrap_or_default(), random));
        OpenOptions::new().write(true).create_new(true).open(&partial)?;
        Ok(Self { path: partial, destination: path.to_owned() })
    }

    /// Where to write it. Whoever does brings it to the disk.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the file, already on the disk, appear, calls `placed`, and brings its name to the disk too, where its directory may be read and
    /// the file system knows how.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is a file at its path: that one stays. Where a file system has no hard links, one that appears in the same
    /// moment may be written over. Others are those of the file system; where `placed` was called, the file is there all the same.
    pub fn place(self, placed: impl FnOnce()) -> io::Result<()> {
        match fs::hard_link(&self.path, &self.destination) {
            // Perhaps a file system without hard links, of which each tells in its own way. What is wrong otherwise the renaming meets too.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                if self.destination.exists() {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                fs::rename(&self.path, &self.destination)?;
            }
            linked => linked?,
        }
        placed();
        let directory = self.destination.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_directory(directory.unwrap_or(Path::new(".")))
    }
}

impl Drop for Unplaced {
    fn drop(&mut self) {
        // It may have been renamed.
        let _ = fs::remove_file(&self.path);
    }
}

/// A name of its own for the file of this name.
fn partial_name(name: &OsStr, random: u64) -> OsString {
    let end = format!(".{random:016x}.partial");
    let mut partial = name.to_owned();
    if name.len() + end.len() > MOST_NAME_BYTES {
        let (name, mut left) = (name.to_string_lossy(), MOST_NAME_BYTES - end.len());
        let fits = |c: &char| {
            left = left.saturating_sub(c.len_utf8());
            left > 0
        };
        partial = name.chars().take_while(fits).collect::<String>().into();
    }
    partial.push(end);
    partial
}

/// Brings the names of a directory to the disk: of one that may not be read, or of which a file system brings none, that cannot be asked.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        Err(error) if is_beyond(error.kind()) => Ok(()),
        synced => synced,
    }
}

/// Whether it is no failure of the disk.
const fn is_beyond(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::Unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_file_is_told_that_it_is_there_before_anything_else_can_fail() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for is_first in [true, false] {
            let unplaced = Unplaced::new(&path).unwrap();
            fs::write(unplaced.path(), "text").unwrap();
            let mut told = false;
            let result = unplaced.place(|| told = path.exists());
            assert_eq!((result.is_ok(), told), (is_first, is_first));
        }
    }

    /// To the administrator all is readable: then it is as any other.
    #[cfg(unix)]
    #[test]
    fn a_file_appears_in_a_directory_that_may_be_written_and_not_read() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let unplaced = Unplaced::new(&inner.join("file")).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o300)).unwrap();
        let placed = unplaced.place(|| ());
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o700)).unwrap();
        placed.unwrap();
        assert!(inner.join("file").exists());
    }

    #[test]
    fn what_a_file_system_cannot_be_asked_is_no_failure_of_the_disk() {
        use ErrorKind::*;
        assert!([PermissionDenied, InvalidInput, Unsupported].into_iter().all(is_beyond));
        assert!(![NotFound, StorageFull, Other].into_iter().any(is_beyond));
    }

    #[test]
    fn a_file_that_somebody_else_writes_is_neither_taken_nor_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let theirs = Unplaced::named(&path, 7).unwrap();
        fs::write(theirs.path(), "theirs").unwrap();
        assert_eq!(Unplaced::named(&path, 7).err().map(|error| error.kind()), Some(ErrorKind::AlreadyExists));
        assert_eq!(fs::read_to_string(theirs.path()).unwrap(), "theirs");
        assert_ne!(Unplaced::new(&path).unwrap().path(), Unplaced::new(&path).unwrap().path());
    }

    #[test]
    fn a_file_whose_name_is_as_long_as_it_may_be_appears_too() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["n".repeat(MOST_NAME_BYTES), "é".repeat(MOST_NAME_BYTES / 2)] {
            let path = directory.path().join(name);
            Unplaced::new(&path).unwrap().place(|| ()).unwrap();
            assert!(path.exists());
        }
    }

    #[test]
    fn a_file_appears_once_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let place = |text: &str| {
            let unplaced = Unplaced::new(&path).unwrap();
            fs::write(unplaced.path(), text).unwrap();
            unplaced.place(|| ())
        };
        place("first").unwrap();
        assert_eq!(place("second").unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
