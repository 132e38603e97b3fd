//! The text of dates and times.

use super::{Date, DateTime, FSP_MAX, Time};
use std::fmt::{Display, Formatter, Result};

impl Display for Date {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{:04}-{:02}-{:02}", self.year(), self.month(), self.day())
    }
}

impl Display for DateTime {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (h, m, s) = (self.hour(), self.minute(), self.second());
        write!(f, "{} {h:02}:{m:02}:{s:02}", self.date())?;
        fraction(f, self.micros(), self.fsp())
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let sign = if self.is_negative() { "-" } else { "" };
        let (h, m, s) = (self.hours(), self.minute(), self.second());
        write!(f, "{sign}{h:02}:{m:02}:{s:02}")?;
        fraction(f, Time::fraction(*self), self.fsp())
    }
}

fn fraction(f: &mut Formatter<'_>, micros: u32, fsp: u8) -> Result {
    if fsp == 0 {
        return Ok(());
    }
    let shown = micros / 10u32.pow(u32::from(FSP_MAX - fsp));
    write!(f, ".{shown:0width$}", width = usize::from(fsp))
}
