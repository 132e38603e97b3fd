//! Parameters of the binary protocol as values, and as the general log writes them.

use value::Datum;
use wire::prepared::{DateTime, Param, Time};

/// Parameters whose values lie on the stack.
pub(super) const FEW: usize = 16;

#[inline]
pub(super) const fn is_text(code: wire::ColumnCode) -> bool {
    use wire::ColumnCode::{String, VarChar, VarString};
    matches!(code, String | VarChar | VarString)
}

/// A parameter as the general log writes it.
pub(super) fn shown(param: &Param<'_>) -> String {
    match param {
        Param::Null => "NULL".into(),
        Param::Int(n) => n.to_string(),
        Param::UInt(n) => n.to_string(),
        Param::Float(n) => n.to_string(),
        Param::Double(n) => n.to_string(),
        Param::Bytes(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
        }
        Param::Long => "<long data>".into(),
        other => format!("'{}'", temporal_text(other).unwrap_or_default()),
    }
}

#[inline]
pub(super) fn is_temporal(p: &Param<'_>) -> bool {
    matches!(p, Param::DateTime(_) | Param::Time(_))
}

pub(super) fn temporal_text(p: &Param<'_>) -> Option<String> {
    match p {
        Param::DateTime(d) => Some(date_time_text(d)),
        Param::Time(t) => Some(time_text(t)),
        _ => None,
    }
}

/// A temporal parameter, or its text when it is no date or time.
#[inline]
pub(super) fn temporal<'t>(
    value: Option<Datum<'t>>,
    text: Option<&'t Option<String>>,
) -> Datum<'t> {
    match (value, text) {
        (Some(value), _) => value,
        (None, Some(Some(text))) => Datum::Bytes(text.as_bytes()),
        _ => Datum::Null,
    }
}

#[inline]
pub(super) fn date_time(d: &DateTime) -> Option<Datum<'static>> {
    let date = value::Date::new(d.year, d.month, d.day)?;
    if d.date_only {
        return Some(Datum::Date(date));
    }
    let fsp = if d.micros == 0 { 0 } else { value::time::FSP_MAX };
    let moment = value::DateTime::new(date, d.hour, d.minute, d.second, d.micros, fsp);
    moment.map(Datum::DateTime)
}

#[inline]
pub(super) fn time(t: &Time) -> Option<Datum<'static>> {
    let hours = t.days.checked_mul(24)?.checked_add(u32::from(t.hour))?;
    let fsp = if t.micros == 0 { 0 } else { value::time::FSP_MAX };
    value::Time::new(t.negative, hours, t.minute, t.second, t.micros, fsp).map(Datum::Time)
}

fn date_time_text(d: &DateTime) -> String {
    let date = format!("{:04}-{:02}-{:02}", d.year, d.month, d.day);
    if d.date_only {
        return date;
    }
    let time = format!("{date} {:02}:{:02}:{:02}", d.hour, d.minute, d.second);
    if d.micros == 0 { time } else { format!("{time}.{:06}", d.micros) }
}

fn time_text(t: &Time) -> String {
    let sign = if t.negative { "-" } else { "" };
    let hours = u64::from(t.days) * 24 + u64::from(t.hour);
    let time = format!("{sign}{hours:02}:{:02}:{:02}", t.minute, t.second);
    if t.micros == 0 { time } else { format!("{time}.{:06}", t.micros) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporal_parameters_become_text() {
        let d = DateTime { year: 2024, month: 2, day: 3, micros: 5, ..DateTime::default() };
        assert_eq!(date_time_text(&d), "2024-02-03 00:00:00.000005");
        assert_eq!(date_time_text(&DateTime { date_only: true, ..d }), "2024-02-03");
        let t = Time { negative: true, days: 1, hour: 2, minute: 3, ..Time::default() };
        assert_eq!(time_text(&t), "-26:03:00");
    }
}
