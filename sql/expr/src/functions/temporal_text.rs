//! Dates and times as text: DATE_FORMAT, TIME_FORMAT, STR_TO_DATE, FROM_UNIXTIME, names.

use super::call::{Answer, Call, NULL};
use super::moments::{self, MomentForm, argument, time_argument, value_of};
use super::temporal::{Weeks, day_of_year, week_of};
use super::{Function, function};
use crate::SqlError;
use crate::build::Derive;
use crate::eval::Value;
use crate::tree::{Extra, OwnedDatum};
use value::time::{day_number, from_day_number};
use value::{ColumnType, Date, DateTime, Datum, Decimal, Kind, Time};

pub static FUNCTIONS: &[Function] = &[
    function("date_format", (2, 2), format_type, date_format, "a date as a format says"),
    function("time_format", (2, 2), format_type, time_format, "a time as a format says"),
    function(
        "str_to_date",
        (2, 2),
        parsed_type,
        str_to_date,
        "the date or time that a text in a format is",
    ),
    function("get_format", (1, 1), name_type, get_format, "the format of a region"),
    function("dayname", (1, 1), name_type, dayname, "the name of the weekday"),
    function("monthname", (1, 1), name_type, monthname, "the name of the month"),
    function(
        "from_unixtime",
        (1, 2),
        unixtime_type,
        from_unixtime,
        "the date and time of seconds since 1970",
    )
    .per_statement(),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

type Derived = Result<ColumnType, SqlError>;

fn format_type(d: &mut Derive<'_>) -> Derived {
    let chars = match d.args[1].constant() {
        Some(OwnedDatum::Bytes(format)) => format_chars(format),
        _ => d.chars(1).saturating_mul(10),
    };
    Ok(d.own_string(chars))
}

/// Most characters that a format makes.
fn format_chars(format: &[u8]) -> u32 {
    let mut chars = 0;
    let mut rest = format.iter();
    while let Some(b) = rest.next() {
        chars += match (b, rest.as_slice().first()) {
            (b'%', Some(_)) => match rest.next().copied().unwrap_or(0) {
                b'M' | b'W' => 64,
                b'D' | b'Y' | b'x' | b'X' => 4,
                b'a' | b'b' => 32,
                b'j' => 3,
                b'f' => 6,
                b'w' | b'%' => 1,
                b'r' => 11,
                b'T' => 8,
                b'u' | b'U' | b'v' | b'V' | b'y' | b'm' | b'd' | b'h' | b'i' | b'I' | b'l'
                | b'p' | b'S' | b's' | b'c' | b'e' => 2,
                b'k' | b'H' => 7,
                _ => 1,
            },
            _ => 1,
        };
    }
    chars
}

fn name_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.own_string(9))
}

fn unixtime_type(d: &mut Derive<'_>) -> Derived {
    if d.args.len() > 1 {
        return format_type(d);
    }
    let digits = super::temporal::digits(d, 0);
    Ok(ColumnType::temporal(Kind::DateTime, digits))
}

fn parsed_type(d: &mut Derive<'_>) -> Derived {
    let Some(OwnedDatum::Bytes(format)) = &crate::build::folded(&d.args[1], d.settings) else {
        return Ok(ColumnType::temporal(Kind::DateTime, 6));
    };
    let has = |letters: &[u8]| format.windows(2).any(|w| w[0] == b'%' && letters.contains(&w[1]));
    let (date, time) = (has(b"abcDdejMmUuVvWwXxYy"), has(b"fHIhiklprSsT"));
    let digits = if has(b"f") { 6 } else { 0 };
    Ok(match (date, time) {
        (false, true) => ColumnType::temporal(Kind::Time, digits),
        (true, true) => ColumnType::temporal(Kind::DateTime, digits),
        _ => ColumnType::of(Kind::Date),
    })
}

/// A date and time while it is formatted; a time has no date, and more than 23 hours.
struct Formatted {
    date: Option<Date>,
    time: Time,
}

/// Room for most texts that a format makes.
fn room_for(format: &[u8]) -> Vec<u8> {
    Vec::with_capacity(2 * format.len() + 8)
}

fn ordinal(n: u8) -> &'static str {
    match (n % 10, n) {
        (_, 10..=19) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

/// Appends a number in so many characters at least.
#[inline]
fn put(v: impl Into<i64>, chars_min: usize, out: &mut Vec<u8>) {
    let v: i64 = v.into();
    let two = |v: i64| [b'0' + (v / 10) as u8, b'0' + (v % 10) as u8];
    match (v, chars_min) {
        (0..100, 2) => out.extend_from_slice(&two(v)),
        (0..10_000, 4) => {
            let [[a, b], [c, d]] = [two(v / 100), two(v % 100)];
            out.extend_from_slice(&[a, b, c, d]);
        }
        _ => put_other(v, chars_min, out),
    }
}

/// As [`put`], of what is no usual number of a date.
#[inline(never)]
fn put_other(v: i64, chars_min: usize, out: &mut Vec<u8>) {
    if v < 0 {
        out.push(b'-');
    }
    let chars_min = chars_min.saturating_sub(usize::from(v < 0));
    let mut rest = v.unsigned_abs();
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while rest > 0 {
        at -= 1;
        digits[at] += (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[at.min(digits.len() - chars_min)..]);
}

impl Formatted {
    /// Appends the text; `None` for a name of a month or day that there is not.
    fn append(&self, format: &[u8], out: &mut Vec<u8>) -> Option<()> {
        // A time has zeros for its date, and no name.
        let date = self.date.unwrap_or(Date::ZERO);
        let mut at = 0;
        while let Some(&plain) = format.get(at) {
            at += 1;
            let letter = match format.get(at) {
                Some(&letter) if plain == b'%' => letter,
                _ => {
                    out.push(plain);
                    continue;
                }
            };
            // Of a character of several bytes behind the sign each is itself.
            at += 1;
            match letter {
                // What most formats are made of, without a call.
                b'Y' => put(date.year(), 4, out),
                b'm' => put(date.month(), 2, out),
                b'd' => put(date.day(), 2, out),
                _ => self.one(date, letter, out)?,
            }
        }
        Some(())
    }

    /// Appends what any letter but `Y`, `m` and `d` stands for.
    fn one(&self, date: Date, letter: u8, out: &mut Vec<u8>) -> Option<()> {
        match letter {
            b'a' | b'b' | b'c' | b'D' | b'e' | b'j' | b'M' | b'U' | b'u' | b'V' | b'v' | b'W'
            | b'w' | b'X' | b'x' | b'y' => of_date(date, letter, out),
            _ => {
                self.of_time(letter, out);
                Some(())
            }
        }
    }

    /// Apart, so that who shows dates alone divides no time.
    #[inline(never)]
    fn of_time(&self, letter: u8, out: &mut Vec<u8>) {
        let t = self.time;
        let twelve = || (t.hours() % 24 + 11) % 12 + 1;
        let half = || if t.hours() % 24 < 12 { "AM" } else { "PM" };
        let clock = |hours: u32, out: &mut Vec<u8>| {
            put(hours, 2, out);
            for part in [t.minute(), t.second()] {
                out.push(b':');
                put(part, 2, out);
            }
        };
        match letter {
            b'H' => put(t.hours(), 2, out),
            b'k' => put(t.hours(), 1, out),
            b'h' | b'I' => put(twelve(), 2, out),
            b'l' => put(twelve(), 1, out),
            b'i' => put(t.minute(), 2, out),
            b'S' | b's' => put(t.second(), 2, out),
            b'f' => put(t.fraction(), 6, out),
            b'p' => out.extend_from_slice(half().as_bytes()),
            b'r' => {
                clock(twelve(), out);
                out.push(b' ');
                out.extend_from_slice(half().as_bytes());
            }
            b'T' => clock(t.hours(), out),
            other => out.push(other),
        }
    }
}

/// Appends what a letter tells of a date, but for `Y`, `m` and `d`, which [`Formatted::append`] writes; `None` for a name that there is
/// not.
fn of_date(date: Date, letter: u8, out: &mut Vec<u8>) -> Option<()> {
    let (month, day) = (date.month(), date.day());
    let month_name = || MONTHS.get(usize::from(month).checked_sub(1)?).copied();
    let weekday = || (!date.is_zero()).then(|| (day_number(date) + 5).rem_euclid(7) as usize);
    let week = |mode| week_of(date, Weeks::of(mode));
    let mut name = |name: &str| out.extend_from_slice(name.as_bytes());
    match letter {
        b'a' => name(&DAYS[weekday()?][..3]),
        b'W' => name(DAYS[weekday()?]),
        b'b' => name(&month_name()?[..3]),
        b'M' => name(month_name()?),
        b'w' => put((weekday()? as i64 + 1) % 7, 1, out),
        b'c' => put(month, 1, out),
        b'e' => put(day, 1, out),
        b'D' => {
            put(day, 1, out);
            out.extend_from_slice(ordinal(day).as_bytes());
        }
        b'j' if date.is_zero() => name("000"),
        b'j' => put(day_of_year(date), 3, out),
        b'U' => put(week(0).0, 2, out),
        b'u' => put(week(1).0, 2, out),
        b'V' => put(week(2).0, 2, out),
        b'v' => put(week(3).0, 2, out),
        b'X' => put(week(2).1, 4, out),
        b'x' => put(week(3).1, 4, out),
        _ => put(date.year() % 100, 2, out),
    }
    Some(())
}

fn date_format<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(moment) = argument(c, 0, MomentForm::FUZZY) else { return Ok(NULL) };
    formatted(c, moment)
}

fn formatted<'v>(c: &mut Call<'_, 'v>, moment: DateTime) -> Answer<'v> {
    let format = c.text(1);
    if format.is_empty() {
        return Ok(NULL);
    }
    let parts = Formatted { date: Some(moment.date()), time: moment.time() };
    let mut out = room_for(&format);
    let done = parts.append(&format, &mut out);
    Ok(done.map_or(NULL, |()| out.into()))
}

fn time_format<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(time) = time_argument(c, 0, 6) else { return Ok(NULL) };
    let format = c.text(1);
    if format.is_empty() {
        return Ok(NULL);
    }
    let mut out = room_for(&format);
    if time.is_negative() {
        out.push(b'-');
    }
    let done = Formatted { date: None, time }.append(&format, &mut out);
    Ok(done.map_or(NULL, |()| out.into()))
}

fn dayname<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    named(c, b'W')
}

fn monthname<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    named(c, b'M')
}

fn named<'v>(c: &mut Call<'_, 'v>, letter: u8) -> Answer<'v> {
    let wanted = if letter == b'W' { MomentForm::MOMENT } else { MomentForm::FUZZY };
    let Some(moment) = argument(c, 0, wanted) else { return Ok(NULL) };
    let mut out = Vec::new();
    Ok(of_date(moment.date(), letter, &mut out).map_or(NULL, |()| out.into()))
}

fn from_unixtime<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    const LAST: i128 = 32_536_771_199_999_999;
    let micros = match c.number(0) {
        Datum::Int(v) => Some(i128::from(v) * 1_000_000),
        _ => {
            let v = c.decimal(0);
            if v.is_negative() {
                return Ok(NULL);
            }
            let million = Decimal::from_i128(1_000_000, 0);
            let v = if moments::truncates(c.env) { Some(v.truncate(6)) } else { v.round(6) };
            v.and_then(|v| v.mul(&million)).and_then(|v| v.trunc_to_i128())
        }
    };
    let Some(micros) = micros.filter(|m| (0..=LAST).contains(m)) else { return Ok(NULL) };
    let formats = c.len() > 1;
    let digits = if formats { 6 } else { c.site.ty.decimals.min(6) };
    let moment = c.env.time_zone().to_local(micros as i64, digits);
    match moment {
        Some(moment) if formats => formatted(c, moment),
        moment => Ok(value_of(moment)),
    }
}

fn get_format<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let region = c.text(0).to_ascii_uppercase();
    let Extra::Word(kind) = c.site.extra else { return Ok(NULL) };
    let format = match (kind, &region[..]) {
        ("DATE", b"USA") => "%m.%d.%Y",
        ("DATE", b"JIS" | b"ISO") => "%Y-%m-%d",
        ("DATE", b"EUR") => "%d.%m.%Y",
        ("DATE", b"INTERNAL") => "%Y%m%d",
        ("DATETIME", b"USA" | b"EUR") => "%Y-%m-%d %H.%i.%s",
        ("DATETIME", b"JIS" | b"ISO") => "%Y-%m-%d %H:%i:%s",
        ("DATETIME", b"INTERNAL") => "%Y%m%d%H%i%s",
        ("TIME", b"USA") => "%h:%i:%s %p",
        ("TIME", b"JIS" | b"ISO") => "%H:%i:%s",
        ("TIME", b"EUR") => "%H.%i.%s",
        ("TIME", b"INTERNAL") => "%H%i%s",
        _ => return Ok(NULL),
    };
    Ok(Value::Datum(Datum::Bytes(format.as_bytes())))
}

/// What STR_TO_DATE has read.
#[derive(Default)]
struct Parsed {
    year: u16,
    month: u8,
    day: u8,
    hour: u32,
    minute: u8,
    second: u8,
    micros: u32,
    pm: Option<bool>,
    day_of_year: Option<i64>,
    /// From Monday, 0 to 6.
    weekday: Option<i64>,
    week: Option<Week>,
    /// `%X` or `%x`, and whether its weeks begin on Sunday.
    week_year: Option<(u16, bool)>,
}

/// A week's number.
#[derive(Clone, Copy)]
struct Week {
    number: i64,
    /// Weeks begin on Sunday: `%U`, `%V`.
    sunday: bool,
    /// It belongs to `%X` or `%x`, not to `%Y`.
    strict: bool,
}

/// Digits at the start, at most so many.
fn number(text: &mut &[u8], digits_max: usize) -> Option<u32> {
    let digits = text.iter().take(digits_max).take_while(|b| b.is_ascii_digit()).count();
    let (taken, rest) = text.split_at(digits);
    *text = rest;
    (digits > 0).then(|| taken.iter().fold(0, |v, d| v * 10 + u32::from(d - b'0')))
}

fn name(text: &mut &[u8], names: &[&str], short: bool) -> Option<usize> {
    let shown = |n: &str| if short { n[..3].to_string() } else { n.to_string() };
    let at = names.iter().position(|n| {
        text.get(..shown(n).len()).is_some_and(|t| t.eq_ignore_ascii_case(shown(n).as_bytes()))
    })?;
    *text = &text[shown(names[at]).len()..];
    Some(at)
}

impl Parsed {
    fn read(format: &[u8], text: &mut &[u8]) -> Option<Parsed> {
        let mut parsed = Parsed::default();
        let mut format = format.iter().copied();
        while let Some(ch) = format.next() {
            if ch == b'%' {
                let letter = format.next()?;
                *text = text.trim_ascii_start();
                parsed.one(letter, text)?;
            } else if ch.is_ascii_whitespace() {
                *text = text.trim_ascii_start();
            } else {
                *text = text.trim_ascii_start();
                *text = text.strip_prefix(&[ch])?;
            }
        }
        Some(parsed)
    }

    fn one(&mut self, letter: u8, text: &mut &[u8]) -> Option<()> {
        match letter {
            b'Y' => {
                let before = text.len();
                let year = number(text, 4)?;
                let two = before - text.len() <= 2;
                self.year = if two { full(year) } else { year } as u16;
            }
            b'y' => self.year = full(number(text, 2)?) as u16,
            b'm' | b'c' => self.month = number(text, 2)? as u8,
            b'd' | b'e' => self.day = number(text, 2)? as u8,
            b'D' => {
                self.day = number(text, 2)? as u8;
                *text = text.get(2..)?;
            }
            b'M' => self.month = name(text, &MONTHS, false)? as u8 + 1,
            b'b' => self.month = name(text, &MONTHS, true)? as u8 + 1,
            b'W' => self.weekday = Some(name(text, &DAYS, false)? as i64),
            b'a' => self.weekday = Some(name(text, &DAYS, true)? as i64),
            b'w' => self.weekday = Some((i64::from(number(text, 1).filter(|d| *d < 7)?) + 6) % 7),
            b'U' | b'u' | b'V' | b'v' => {
                let (sunday, strict) =
                    (letter.is_ascii_uppercase(), letter.eq_ignore_ascii_case(&b'v'));
                let number = i64::from(number(text, 2)?);
                if number > 53 || strict && number == 0 {
                    return None;
                }
                self.week = Some(Week { number, sunday, strict });
            }
            b'X' | b'x' => self.week_year = Some((number(text, 4)? as u16, letter == b'X')),
            b'H' | b'k' => self.hour = number(text, 2)?,
            b'h' | b'I' | b'l' => {
                self.hour = number(text, 2).filter(|h| (1..=12).contains(h))?;
                self.pm.get_or_insert(false);
            }
            b'i' => self.minute = number(text, 2)? as u8,
            b's' | b'S' => self.second = number(text, 2)? as u8,
            b'f' => {
                let before = text.len();
                let v = number(text, 6)?;
                self.micros = v * 10u32.pow(6 - (before - text.len()) as u32);
            }
            b'p' => {
                let half = text.get(..2)?.to_ascii_uppercase();
                self.pm = Some(match &half[..] {
                    b"AM" => false,
                    b"PM" => true,
                    _ => return None,
                });
                *text = &text[2..];
            }
            b'j' => self.day_of_year = Some(i64::from(number(text, 3)?)),
            b'T' | b'r' => {
                let twelve = letter == b'r';
                self.one(if twelve { b'I' } else { b'H' }, text)?;
                *text = text.strip_prefix(b":")?;
                self.one(b'i', text)?;
                *text = text.strip_prefix(b":")?;
                self.one(b's', text)?;
                if twelve {
                    *text = text.trim_ascii_start();
                    self.one(b'p', text)?;
                }
            }
            b'%' => *text = text.strip_prefix(b"%")?,
            _ => return None,
        }
        Some(())
    }

    fn hours(&self) -> u32 {
        match self.pm {
            Some(pm) => self.hour % 12 + if pm { 12 } else { 0 },
            None => self.hour,
        }
    }

    /// Whether it is a time of day, be it one of a span.
    fn is_of_a_day(&self) -> bool {
        self.hour < 24
    }

    /// The date of a week and a day in it, when both are written; its year must be one of such weeks.
    fn date_of_week(&self) -> Option<Option<Date>> {
        let (week, weekday) = (self.week?, self.weekday?);
        let fits = match self.week_year {
            Some((_, sunday)) => week.strict && sunday == week.sunday,
            None => !week.strict,
        };
        let year = self.week_year.map_or(self.year, |(year, _)| year);
        let first = Date::new(year, 1, 1).filter(|_| fits).map(day_number);
        Some(first.and_then(|first| {
            // The day number of a Sunday leaves 1 when divided by 7.
            let shift = if week.sunday { 6 } else { 5 };
            let begin = (first + shift) % 7;
            let late = if week.sunday { begin != 0 } else { begin > 3 };
            let day = if week.sunday { (weekday + 1) % 7 } else { weekday };
            let late = if late { 7 } else { 0 };
            from_day_number(first + late - begin + (week.number - 1) * 7 + day)
        }))
    }

    fn date(&self) -> Option<Date> {
        if let Some(date) = self.date_of_week() {
            return date;
        }
        match self.day_of_year {
            Some(day) => from_day_number(day_number(Date::new(self.year, 1, 1)?) + day - 1),
            None => Date::new(self.year, self.month, self.day),
        }
    }
}

fn full(two: u32) -> u32 {
    if two < 70 { two + 2000 } else { two + 1900 }
}

fn str_to_date<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (whole, format) = (c.text(0), c.text(1));
    let mut text = &whole[..];
    let read = Parsed::read(&format, &mut text);
    let ty = c.site.ty;
    let value = read.filter(Parsed::is_of_a_day).and_then(|p| match ty.kind {
        Kind::Time => {
            Time::new(false, p.hours(), p.minute, p.second, p.micros, ty.decimals).map(Datum::Time)
        }
        kind => {
            let date = p.date()?;
            let hour = u8::try_from(p.hours()).ok()?;
            let moment = DateTime::new(date, hour, p.minute, p.second, p.micros, ty.decimals)?;
            let any = c.env.sql_mode() & moments::mode::ALLOW_INVALID_DATES != 0;
            let real =
                moments::is_allowed(date, c.env) && (any || date.has_zero() || date.is_real());
            real.then_some(match kind {
                Kind::Date => Datum::Date(date),
                _ => Datum::DateTime(moment),
            })
        }
    });
    let shown = String::from_utf8_lossy(&whole).into_owned();
    match value {
        Some(value) => {
            if !text.trim_ascii().is_empty() {
                let kind = match ty.kind {
                    Kind::Time => "time",
                    Kind::Date => "date",
                    _ => "datetime",
                };
                super::call::incorrect(c.env, kind, shown.as_bytes());
            }
            Ok(OwnedDatum::of(&value).into())
        }
        None => {
            c.incorrect_value("datetime", &whole, "str_to_date");
            Ok(NULL)
        }
    }
}
