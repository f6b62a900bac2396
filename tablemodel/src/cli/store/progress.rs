//! One line that says how far a command is: in place on a terminal, elsewhere anew every few seconds. On stderr.
//! Reckons nothing.

use std::{
    io::{IsTerminal, Write, stderr},
    time::{Duration, Instant},
};

use crate::migrations::Progress;

/// Between two lines on a terminal, and elsewhere.
const OFTEN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

pub(super) struct Line {
    is_terminal: bool,
    told: Option<Instant>,
}

impl Line {
    pub(super) fn new() -> Self {
        Self { is_terminal: stderr().is_terminal(), told: None }
    }

    /// Says it, if it was not said just before.
    pub(super) fn tell(&mut self, text: impl FnOnce() -> String) {
        let every = if self.is_terminal { OFTEN.0 } else { OFTEN.1 };
        if self.told.is_some_and(|told| told.elapsed() < every) {
            return;
        }
        self.told = Some(Instant::now());
        let text = text();
        // Whoever does not read it needs no answer.
        let _ = match self.is_terminal {
            true => write!(stderr(), "\r\x1b[2K{text}").and_then(|()| stderr().flush()),
            false => writeln!(stderr(), "{text}"),
        };
    }

    /// Leaves the line to others.
    pub(super) fn end(&self) {
        if self.is_terminal && self.told.is_some() {
            let _ = write!(stderr(), "\r\x1b[2K").and_then(|()| stderr().flush());
        }
    }
}

/// How far an application is: `61 %  783000/1284000  498/s  16 min left  2 set aside`.
pub(super) fn text(progress: &Progress) -> String {
    let Progress { entities, done, failed, rate, left } = *progress;
    let share = done.min(entities) * 100 / entities.max(1);
    let mut text = format!("{share} %  {done}/{entities}  {rate:.0}/s");
    if let Some(left) = left {
        text.extend(["  ", &duration(left), " left"]);
    }
    if failed > 0 {
        text.push_str(&format!("  {failed} set aside"));
    }
    text
}

/// A time in two units at most: `41 s`, `16 min`, `2 h 5 min`.
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is above 0, and cut to what there is"
    )]
    let seconds = seconds as u64;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_count_rate_time_and_failures() {
        let progress = Progress {
            entities: 1_284_000,
            done: 783_000,
            failed: 2,
            rate: 498.4,
            left: Some(Duration::from_secs(901)),
        };
        assert_eq!(text(&progress), "60 %  783000/1284000  498/s  16 min left  2 set aside");
        let begun = Progress { entities: 0, done: 0, failed: 0, rate: 0.0, left: None };
        assert_eq!(text(&begun), "0 %  0/0  0/s");
    }

    #[test]
    fn a_time_has_two_units_at_most() {
        for (seconds, told) in [(0, "0 s"), (119, "119 s"), (120, "2 min"), (121, "3 min"), (7_500, "2 h 5 min")] {
            assert_eq!(duration(Duration::from_secs(seconds)), told);
        }
        assert_eq!(duration(Duration::MAX), "5124095576030431 h 0 min");
    }
}
