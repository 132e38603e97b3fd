//! The loop with instruments (row 20): what calls of instruments cost a program that does little else.
//!
//! A level loops N times for work, then calls the next level M times. Around each call, when compiled with instruments: the global flag
//! is looked at, then the level's; a timed level reads the clock before and after, as the program of the text did.

use crate::experiments::Aim;
use crate::outcome::{Drawn, Outcome, Table};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::stats::Estimate;
use crate::{interrupt, verdict};
use chart::{Chart, Series, XTicks};
use std::hint::black_box;

/// A level: loops of work, calls of the next level, and its instrument.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    work: u32,
    calls: u32,
    is_enabled: bool,
    is_timed: bool,
    count: u64,
    time_us: u64,
}

/// A case of the text: name, compiled with instruments, global flag, the level that is timed, what it took there by the first.
struct Case {
    name: &'static str,
    is_compiled: bool,
    is_on: bool,
    timed: Option<usize>,
    aim: Aim,
}

const fn case(
    name: &'static str,
    is_compiled: bool,
    is_on: bool,
    timed: Option<usize>,
    aim: Aim,
) -> Case {
    Case { name, is_compiled, is_on, timed, aim }
}

const CASES: [Case; 6] = [
    case("not compiled in", false, false, None, Aim::None),
    case("off (text: 1.04)", true, false, None, Aim::AtMost(1.04)),
    case("on, no level (text: 1.07)", true, true, None, Aim::AtMost(1.07)),
    case("level 1 timed (text: 1.07)", true, true, Some(0), Aim::AtMost(1.07)),
    case("level 2 timed (text: 1.07)", true, true, Some(1), Aim::AtMost(1.073)),
    case("level 3 timed (text: 2.94)", true, true, Some(2), Aim::None),
];
/// The arguments of the text: work and calls of a level, work of the last one.
const WORK: u32 = 1_000;
const CALLS: u32 = 500;
const LAST_WORK: u32 = 10;
/// Calls with `--quick`, and of runs shorter than a second.
const CALLS_QUICK: u32 = 150;
const CALLS_SHORT: u32 = 40;

/// Runs all cases in rounds; those before an interrupt are told.
///
/// # Errors
/// An interrupt.
pub fn run(plan: &Plan, outcome: &mut Outcome, progress: &Progress) -> Result<(), String> {
    let calls = match plan.length.as_secs_f64() {
        short if short < 1.0 => CALLS_SHORT,
        _ if plan.quick => CALLS_QUICK,
        _ => CALLS,
    };
    progress.expect(u64::from(plan.rounds) * CASES.len() as u64);
    let mut seconds: [Vec<f64>; CASES.len()] = Default::default();
    let went = rounds(plan, calls, &mut seconds, progress);
    if seconds.iter().any(|of| !of.is_empty()) {
        tell(outcome, &seconds, calls);
    }
    went
}

/// All rounds, each second one backwards.
fn rounds(
    plan: &Plan,
    calls: u32,
    seconds: &mut [Vec<f64>],
    progress: &Progress,
) -> Result<(), String> {
    for round in 1..=plan.rounds {
        let mut order: Vec<usize> = (0..CASES.len()).collect();
        if round % 2 == 0 {
            order.reverse();
        }
        for place in order {
            if interrupt::is_asked() {
                return Err(interrupt::WORD.into());
            }
            progress.say(&format!("loop: {}, round {round}", CASES[place].name));
            seconds[place].push(time(&CASES[place], calls));
            progress.step();
        }
    }
    Ok(())
}

/// Seconds of a case.
fn time(case: &Case, calls: u32) -> f64 {
    let level = Level { work: WORK, calls, ..Level::default() };
    let mut levels = [level, level, level, Level { work: LAST_WORK, ..Level::default() }];
    if let Some(timed) = case.timed {
        (levels[timed].is_enabled, levels[timed].is_timed) = (true, true);
    }
    let begin = host::clock::now();
    match case.is_compiled {
        true => descend::<true>(&mut levels, 0, black_box(case.is_on)),
        false => descend::<false>(&mut levels, 0, false),
    }
    black_box(&levels);
    begin.elapsed().as_secs_f64()
}

/// One level, and those below it.
fn descend<const COMPILED: bool>(levels: &mut [Level; 4], at: usize, is_on: bool) {
    for n in 0..levels[at].work {
        black_box(n);
    }
    for _ in 0..levels[at].calls {
        let mut begin = 0;
        if COMPILED && is_on {
            levels[at].count += u64::from(levels[at].is_enabled);
            if levels[at].is_timed {
                begin = host::clock::unix_micros();
            }
        }
        descend::<COMPILED>(levels, at + 1, is_on);
        if COMPILED && is_on && levels[at].is_enabled && levels[at].is_timed {
            levels[at].time_us += host::clock::unix_micros().saturating_sub(begin);
        }
    }
}

/// Findings, a table and a chart of what was measured.
fn tell(outcome: &mut Outcome, seconds: &[Vec<f64>], calls: u32) {
    let mut lines = Vec::new();
    let mut points = Vec::new();
    for (place, (case, rounds)) in CASES.iter().zip(seconds).enumerate() {
        let ratio = Estimate::ratio(rounds, &seconds[0]);
        let median = crate::stats::median(rounds).unwrap_or(f64::NAN);
        lines.push(vec![case.name.to_string(), format!("{median:.4}")]);
        points.push((place as f64, median));
        if place > 0 {
            let what = format!("{}: time by that without instruments", case.name);
            let measured = ratio.ok_or_else(|| "no rounds".to_string());
            outcome.findings.push(verdict::find(20, "the loop", &what, measured, case.aim));
        }
    }
    let each = per_call(seconds, calls).ok_or_else(|| "no rounds".to_string());
    let what = "level 3 timed: nanoseconds of a timed call, two readings of the clock";
    outcome.findings.push(verdict::find(20, "the loop", what, each, Aim::None));
    let heads = vec!["case".into(), "seconds, median".into()];
    let title = format!(
        "Four levels: {WORK} loops of work and {calls} calls on three, {LAST_WORK} loops on the last"
    );
    outcome.tables.push(Table { title: title.clone(), heads, lines });
    let chart = Chart {
        title: "Time of the loop".into(),
        subtitle: title.clone(),
        y_label: "seconds".into(),
        y_unit: "s".into(),
        x_ticks: XTicks::Names(CASES.iter().map(|case| case.name.to_string()).collect()),
        series: vec![Series { name: "median".into(), points }],
        size: (1000, 360),
        ..Chart::default()
    };
    outcome.charts.push(Drawn {
        file: "loop.svg".into(),
        title: chart.title.clone(),
        svg: chart.bars(),
    });
}

/// What a timed call costs beyond one that is not, in nanoseconds.
fn per_call(seconds: &[Vec<f64>], calls: u32) -> Option<Estimate> {
    let timed_calls = f64::from(calls).powi(3);
    let beyond = seconds[5].iter().zip(&seconds[2]);
    let rounds: Vec<f64> = beyond.map(|(timed, on)| (timed - on) * 1e9 / timed_calls).collect();
    Estimate::of(&rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruments_count_what_they_are_set_to() {
        let level = Level { work: 1, calls: 3, ..Level::default() };
        let of = |is_on: bool| {
            let mut levels = [level, level, level, Level::default()];
            levels[1].is_enabled = true;
            levels[1].is_timed = true;
            descend::<true>(&mut levels, 0, is_on);
            levels.map(|level| level.count)
        };
        assert_eq!(of(true), [0, 9, 0, 0]);
        assert_eq!(of(false), [0; 4]);
    }
}
