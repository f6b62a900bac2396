//! The peak of memory while a whole database is streamed, taken in a process of its own for each file.
//!
//! Linux only: elsewhere the peak is 0.

use std::{
    hint::black_box,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    Result,
    alone::{BY_HAND, OURS},
    by_hand::ByHand,
    ours::Ours,
    report::Memory,
    side::Side,
};

/// Memory for pages of the file: so little that the cache cannot hide what streaming takes.
const SMALL_CACHE_BYTES: usize = 4 * 1024 * 1024;

/// The peaks of both sides' files, each streamed by a child.
pub(crate) fn peaks(entities: u32, ours: &Path, by_hand: &Path) -> Result<Memory> {
    Ok(Memory { entities, ours: peak_of(OURS, ours)?, by_hand: peak_of(BY_HAND, by_hand)? })
}

fn peak_of(side: &str, path: &Path) -> Result<u64> {
    let mut child = Command::new(std::env::current_exe()?);
    let output = child.arg("--stream").arg(side).arg(path).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the process that streams `{}` failed", path.display()).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// The child's work: streams the file, and prints the peak in KiB.
pub(crate) async fn stream(side: &str, path: &Path) -> Result<()> {
    match side {
        OURS => stream_all::<Ours>(path).await?,
        BY_HAND => stream_all::<ByHand>(path).await?,
        unknown => return Err(format!("no side is called `{unknown}`").into()),
    }
    println!("{}", peak_kib()?);
    Ok(())
}

async fn stream_all<S: Side>(path: &Path) -> Result<()> {
    let side = S::open(path, SMALL_CACHE_BYTES).await?;
    let mut seen = 0_u64;
    side.each(|employee| seen += u64::from(black_box(employee).id > 0)).await?;
    if seen == 0 { Err("there was nothing to stream".into()) } else { Ok(()) }
}

fn peak_kib() -> Result<u64> {
    if !cfg!(target_os = "linux") {
        return Ok(0);
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}
