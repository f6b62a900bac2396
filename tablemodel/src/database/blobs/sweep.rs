//! Files of uploads that a crash cut short: the local object store leaves them under names that it never lists.
//!
//! Only files of the form that uploads of blobs have are touched.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

/// Deletes such files that were last written at least `grace` before `now`, and gives their number.
///
/// What cannot be read or deleted is left for the next time: nothing depends on it.
pub(super) fn sweep(folder: &Path, now: SystemTime, grace: Duration) -> u64 {
    let mut folders = vec![folder.to_owned()];
    let mut deleted = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if is_cut_short(&path) && is_old(&path, now, grace) {
                deleted += u64::from(fs::remove_file(&path).is_ok());
            }
        }
    }
    deleted
}

/// `{32 hexadecimal digits}#{digits}`, with what stands beside a blob.
fn is_cut_short(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some((name, number)) = name.and_then(|name| name.split_once('#')) else { return false };
    let end = name.split_once('.').map_or(name, |(end, _)| end);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && end.len() == 32 && end.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_old(path: &Path, now: SystemTime, grace: Duration) -> bool {
    let written = fs::metadata(path).and_then(|metadata| metadata.modified());
    written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age >= grace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_uploads_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("people/a");
        fs::create_dir_all(&inner).unwrap();
        let random = "0123456789abcdef0123456789abcdef";
        let kept = [random.to_owned(), format!("{random}#x"), "notes#1".to_owned(), format!("{random}#")];
        let swept = [format!("{random}#1"), format!("{random}.gone#12")];
        for name in kept.iter().chain(&swept) {
            fs::write(inner.join(name), "x").unwrap();
        }
        let grace = Duration::from_secs(60);
        let now = SystemTime::now();
        assert_eq!(sweep(folder.path(), now, grace), 0);
        assert_eq!(sweep(folder.path(), now + grace, grace), 2);
        assert!(kept.iter().all(|name| inner.join(name).exists()));
        assert_eq!(sweep(&folder.path().join("absent"), now, grace), 0);
    }
}
