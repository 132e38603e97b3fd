//! How figures are computed from cells, and judged.

use crate::cells::is_build;
use crate::experiments::{Aim, At, Check, Figure, Measure, Users};
use crate::outcome::{Cell, Finding, Outcome, Verdict};
use crate::sampler::Growth;
use crate::stats::{Estimate, deviation, median};
use std::collections::BTreeMap;

/// Flatness looks at levels from here on.
const FLAT_FROM: u32 = 16;
/// A variation is that of so many seconds at least.
const SECONDS_MIN: usize = 3;

/// Judges a check for a subject.
pub fn judge(outcome: &Outcome, check: &Check, subject: &str) -> Finding {
    let measured = Judge { outcome, subject }.measure(&check.measure);
    // A cost in percent has its noise in points of a hundred, not in shares of itself.
    let clear = |estimate: &Estimate, limit: f64| match check.measure {
        Measure::Cost(..) => (estimate.value - limit).abs() > 2.0 * estimate.noise * 100.0,
        _ => estimate.is_clear_of(limit),
    };
    let judge = Judge { outcome, subject };
    let what = format!("{}{}", check.what, judge.other_level(&check.measure).unwrap_or_default());
    found(check.row, subject, &what, measured, check.aim, clear)
}

/// A figure that was measured otherwise than in cells, judged.
pub fn find(row: u8, subject: &str, what: &str, measured: Measured, aim: Aim) -> Finding {
    found(row, subject, what, measured, aim, Estimate::is_clear_of)
}

fn found(
    row: u8,
    subject: &str,
    what: &str,
    measured: Measured,
    aim: Aim,
    clear: impl Fn(&Estimate, f64) -> bool,
) -> Finding {
    let verdict = match &measured {
        Ok(estimate) => verdict(estimate, aim, |limit| clear(estimate, limit)),
        Err(why) => Verdict::NotMeasured(why.clone()),
    };
    let (subject, what) = (subject.to_string(), what.to_string());
    Finding { row, subject, what, estimate: measured.ok(), aim, verdict }
}

fn verdict(estimate: &Estimate, aim: Aim, clear: impl Fn(f64) -> bool) -> Verdict {
    match aim {
        Aim::None => Verdict::Told,
        Aim::AtLeast(limit) | Aim::AtMost(limit) if !clear(limit) => Verdict::NoClaim,
        Aim::AtLeast(limit) if estimate.value >= limit => Verdict::Holds,
        Aim::AtMost(limit) if estimate.value <= limit => Verdict::Holds,
        Aim::AtLeast(_) | Aim::AtMost(_) => Verdict::Fails,
    }
}

/// Queries a second of a cell.
pub fn qps(cell: &Cell) -> f64 {
    cell.driven.counts.queries / cell.driven.seconds
}

/// Transactions a second of a cell.
pub fn tps(cell: &Cell) -> f64 {
    cell.driven.counts.transactions / cell.driven.seconds
}

/// Server CPU of a query, in microseconds; `None` where the process is not known.
pub fn cpu_us(cell: &Cell) -> Option<f64> {
    let cpu = cell.growth.server?.cpu_s() * 1e6 / cell.driven.counts.queries;
    // The kernel counts hundredths of a second.
    Some(cpu).filter(|cpu| cpu.is_finite() && *cpu > 0.0)
}

fn figure(cell: &Cell, figure: Figure) -> Option<f64> {
    match figure {
        Figure::Qps => Some(qps(cell)),
        Figure::Tps => Some(tps(cell)),
        Figure::ServerCpu => cpu_us(cell),
        Figure::Variation => {
            let rates: Vec<f64> =
                cell.seconds.iter().map(|s| s.rate(s.counts.transactions)).collect();
            (rates.len() >= SECONDS_MIN).then(|| deviation(&rates))
        }
        Figure::TakenBack => {
            let counts = cell.driven.counts;
            Some(counts.errors / counts.transactions).filter(|share| share.is_finite())
        }
    }
}

struct Judge<'a> {
    outcome: &'a Outcome,
    subject: &'a str,
}

/// A figure, or why there is none.
pub type Measured = Result<Estimate, String>;

impl Judge<'_> {
    fn measure(&self, measure: &Measure) -> Measured {
        match *measure {
            Measure::Ratio(of, above, below) => {
                ratio(&self.figures(above, of)?, &self.figures(below, of)?)
            }
            Measure::Cost(setting, beside) => self.cost(setting, beside),
            Measure::Flatness(setting) => self.flatness(setting),
            Measure::Collapse(setting) => {
                let medians = self.medians(setting, 0)?;
                let most = medians.last().ok_or("no cells")?;
                let peak = medians.iter().max_by(|a, b| a.0.total_cmp(&b.0)).ok_or("no cells")?;
                ratio(&most.1, &peak.1)
            }
            Measure::BesidePeer(of, at) => self.beside_peer(of, at),
            Measure::Of(of, at) => {
                self.estimate(at, |cell| figure(cell, of)).map_err(|why| match of {
                    Figure::Variation => format!("takes runs of {SECONDS_MIN} seconds or more"),
                    _ => why,
                })
            }
            Measure::Balance(at, event) => self.estimate(at, |cell| balance(cell, event)),
            Measure::Instances(at, event) => self.estimate(at, |cell| Some(instances(cell, event))),
            Measure::WaitSeconds(at, event) => {
                self.has_instrument(at, event)?;
                self.estimate(at, |cell| Some(waits(cell, event)[1]))
            }
            Measure::Waits(at, event) => {
                self.has_instrument(at, event)?;
                self.estimate(at, |cell| Some(waits(cell, event)[0]))
            }
            Measure::Acquisitions(at, latch) => self.estimate(at, |cell| acquisitions(cell, latch)),
            Measure::AcquisitionsPerTransaction(at, latch) => {
                self.estimate(at, |cell| Some(acquisitions(cell, latch)? / tps(cell)))
            }
            Measure::HeldPercent(at, latch) => self.estimate(at, |cell| {
                let rates = held(cell, latch)?;
                Some(rates.iter().map(|(_, held)| *held).fold(0.0, f64::max))
            }),
            Measure::LatchShare(at) => self.estimate(at, |cell| {
                let latches = waits(cell, "synch/mutex")[1] + waits(cell, "synch/rwlock")[1];
                Some(latches / f64::from(cell.users))
            }),
            Measure::KernelShare(at) => self.estimate(at, |cell| {
                let spent = cell.growth.server?;
                Some(100.0 * spent.kernel_s / spent.cpu_s()).filter(|share| share.is_finite())
            }),
            Measure::SessionSamplerShare(at) => self.estimate(at, |cell| {
                let share = 100.0 * cell.growth.session_sampler_s? / cell.growth.server?.cpu_s();
                Some(share).filter(|share| share.is_finite())
            }),
            Measure::Resident(at) => self.estimate(at, |cell| cell.resident_mib),
            Measure::ResidentGrowth(at) => self.resident_growth(at),
            Measure::HistoryGrowth(at) => {
                self.estimate(at, |cell| Some(cell.growth.rate(cell.growth.history_len?)))
            }
            Measure::SystemCalls(at) => {
                self.estimate(at, |cell| Some(cell.system_calls? / cell.driven.counts.queries))
            }
            Measure::Allocations(at) => self.allocations(at),
            Measure::StatusPerSecond(at, name) => {
                self.estimate(at, |cell| Some(cell.growth.rate(status(cell, name))))
            }
            Measure::StatusRatio(above, below, name) => {
                ratio(&self.status(above, name)?, &self.status(below, name)?)
            }
            Measure::Not(why) => Err(why.into()),
        }
    }

    fn cost(&self, setting: At, beside: At) -> Measured {
        let (dear, cheap) =
            (self.figures(setting, Figure::Qps)?, self.figures(beside, Figure::Qps)?);
        let ratio = ratio(&dear, &cheap)?;
        let percent = |ratio: f64| (1.0 - ratio) * 100.0;
        Ok(Estimate {
            value: percent(ratio.value),
            low: percent(ratio.high),
            high: percent(ratio.low),
            noise: ratio.noise,
        })
    }

    fn allocations(&self, at: At) -> Measured {
        let workload = &self.outcome.workloads[at.workload];
        let counted = self.outcome.per_query.iter().find(|c| {
            (c.subject.as_str(), c.setting.as_str()) == (self.subject, at.setting)
                && c.workload == *workload
        });
        let allocations = counted.and_then(|counted| counted.allocations);
        allocations.map(Estimate::counted).ok_or_else(|| "--count=allocations counts them".into())
    }

    /// The column of a setting: the subject's own, or, for a build, that of the build that the setting needs.
    fn column(&self, setting: &str) -> Result<usize, String> {
        let columns = || self.outcome.columns.iter();
        let own = columns().position(|c| c.setting == setting && c.subject == self.subject);
        let of_build = || columns().position(|c| c.setting == setting && is_build(&c.subject));
        let is_peer = columns().any(|c| c.subject == self.subject && c.is_peer);
        own.or_else(|| if is_peer { None } else { of_build() })
            .ok_or_else(|| format!("there is no setting {setting:?}"))
    }

    /// The level that was run and is nearest by ratio.
    fn level(&self, users: Users) -> Result<u32, String> {
        let levels = self.outcome.levels();
        let distance =
            |level: &u32, wanted: u32| (f64::from(*level).log2() - f64::from(wanted).log2()).abs();
        let found = match users {
            Users::Least => levels.first(),
            Users::Most => levels.last(),
            Users::Are(wanted) => {
                levels.iter().min_by(|a, b| distance(a, wanted).total_cmp(&distance(b, wanted)))
            }
        };
        found.copied().ok_or_else(|| "no cells".into())
    }

    /// Nothing waited is a figure only of what the server has.
    fn has_instrument(&self, at: At, event: &str) -> Result<(), String> {
        let server = self.outcome.columns[self.column(at.setting)?].server;
        let known = self.outcome.servers.get(server).map(|server| &server.instruments);
        match known.is_some_and(|known| known.iter().any(|name| name.contains(event))) {
            true => Ok(()),
            false => Err(format!("the server counts no waits with {event:?} in their names")),
        }
    }

    /// Says so where another level of users was run than the one that a check is about.
    fn other_level(&self, measure: &Measure) -> Option<String> {
        let wanted = measure.users()?;
        let level = self.level(Users::Are(wanted)).ok()?;
        (level != wanted).then(|| format!(" (here with {level})"))
    }

    fn cells(&self, at: At) -> Result<Vec<&Cell>, String> {
        let (column, users) = (self.column(at.setting)?, self.level(at.users)?);
        let cells: Vec<&Cell> = self.outcome.at(column, at.workload, users).collect();
        match cells.is_empty() {
            true => Err(format!("no run of {:?} with {users} users", at.setting)),
            false => Ok(cells),
        }
    }

    fn figures(&self, at: At, of: Figure) -> Result<Vec<f64>, String> {
        Ok(self.cells(at)?.into_iter().filter_map(|cell| figure(cell, of)).collect())
    }

    /// A status variable's growth a second, of each round.
    fn status(&self, at: At, name: &str) -> Result<Vec<f64>, String> {
        let rate = |cell: &Cell| cell.growth.rate(status(cell, name));
        Ok(self.cells(at)?.into_iter().map(rate).collect())
    }

    fn estimate(&self, at: At, of: impl Fn(&Cell) -> Option<f64>) -> Measured {
        let figures: Vec<f64> = self.cells(at)?.into_iter().filter_map(of).collect();
        let estimate = Estimate::of(&figures).ok_or("the server does not tell it")?;
        // Rounds that all say the same have no noise, and nothing is nothing also when it was looked at once.
        let is_same = figures.iter().all(|f| *f == figures[0]);
        let quiet = is_same && (figures.len() > 1 || figures[0] == 0.0);
        Ok(if quiet { Estimate::counted(estimate.value) } else { estimate })
    }

    /// Median QPS of each level of users of a setting, with its rounds.
    fn medians(&self, setting: &str, workload: usize) -> Result<Vec<(f64, Vec<f64>)>, String> {
        let column = self.column(setting)?;
        let of_level = |users: u32| {
            let rounds: Vec<f64> = self.outcome.at(column, workload, users).map(qps).collect();
            median(&rounds).map(|m| (m, rounds))
        };
        Ok(self.outcome.levels().into_iter().filter_map(of_level).collect())
    }

    fn flatness(&self, setting: &str) -> Measured {
        let levels = self.outcome.levels();
        let medians = self.medians(setting, 0)?;
        let flat: Vec<&(f64, Vec<f64>)> = levels
            .iter()
            .zip(&medians)
            .filter_map(|(users, median)| (*users >= FLAT_FROM).then_some(median))
            .collect();
        if flat.len() < 2 {
            return Err(format!("takes two levels of {FLAT_FROM} users or more"));
        }
        let least = flat.iter().min_by(|a, b| a.0.total_cmp(&b.0)).ok_or("no cells")?;
        let most = flat.iter().max_by(|a, b| a.0.total_cmp(&b.0)).ok_or("no cells")?;
        ratio(&least.1, &most.1)
    }

    /// The lab's own servers alone have a peer: one that runs already is none of its own.
    fn beside_peer(&self, of: Figure, at: At) -> Measured {
        let columns = &self.outcome.columns;
        let peer = columns.iter().position(|column| column.is_peer);
        let peer = peer.ok_or("no --dsn of a peer was given")?;
        if columns.iter().any(|column| column.is_peer && column.subject == self.subject) {
            return Err("it is a peer".into());
        }
        let of_peer = self.outcome.at(peer, at.workload, self.level(at.users)?);
        let of_peer: Vec<f64> = of_peer.filter_map(|cell| figure(cell, of)).collect();
        ratio(&self.figures(at, of)?, &of_peer)
    }

    fn resident_growth(&self, at: At) -> Measured {
        let cells = self.cells(at)?;
        let resident: Vec<f64> = cells.iter().filter_map(|cell| cell.resident_mib).collect();
        match resident[..] {
            [first, .., last] => Ok(Estimate::counted(last - first)),
            [_] => Err("takes two rounds or more".into()),
            [] => Err("the server's process is not known".into()),
        }
    }
}

fn ratio(above: &[f64], below: &[f64]) -> Measured {
    Estimate::ratio(above, below).ok_or_else(|| "nothing to compare".into())
}

/// Largest by smallest count among instances whose name has this in it.
fn balance(cell: &Cell, event: &str) -> Option<f64> {
    let of_event = cell.growth.instances.iter().filter(|(name, _)| name.contains(event));
    let counts: Vec<f64> = of_event.map(|(_, wait)| wait[0]).filter(|n| *n > 0.0).collect();
    let (least, most) = counts.iter().fold((f64::MAX, 0.0), |(l, m), n| (n.min(l), n.max(m)));
    (counts.len() > 1).then(|| most / least)
}

/// How many instances whose name has this in it count.
fn instances(cell: &Cell, event: &str) -> f64 {
    let of_event = cell.growth.instances.iter();
    of_event.filter(|(name, wait)| name.contains(event) && wait[0] > 0.0).count() as f64
}

/// Waits a second and wait-seconds a second of classes that have this in their names.
fn waits(cell: &Cell, event: &str) -> [f64; 2] {
    let of_event = cell.growth.classes.iter().filter(|(name, _)| name.contains(event));
    let of_event = of_event.filter(|(name, _)| !crate::sampler::is_rest(name));
    let sums = of_event.fold([0.0; 2], |sum, (_, wait)| [sum[0] + wait[0], sum[1] + wait[1]]);
    sums.map(|sum| cell.growth.rate(sum))
}

/// Acquisitions a second, and how much of the time it was held in percent, of each latch class in a growth.
pub fn holds(growth: &Growth) -> impl Iterator<Item = (&str, f64, f64)> {
    growth.holds.iter().map(|(name, [count, seconds])| {
        (name.as_str(), growth.rate(*count), 100.0 * growth.rate(*seconds))
    })
}

/// The same of those that have this in their names; `None` where the level counts none.
fn held(cell: &Cell, latch: &str) -> Option<Vec<(f64, f64)>> {
    if cell.growth.holds.is_empty() {
        return None;
    }
    let of_latch = holds(&cell.growth).filter(|(name, ..)| name.contains(latch));
    Some(of_latch.map(|(_, rate, held)| (rate, held)).collect())
}

/// Acquisitions a second of all of them.
fn acquisitions(cell: &Cell, latch: &str) -> Option<f64> {
    Some(held(cell, latch)?.iter().map(|(rate, _)| rate).sum())
}

fn status(cell: &Cell, name: &str) -> f64 {
    cell.growth.status.get(name).copied().unwrap_or(0.0)
}

/// Classes by their wait-seconds in some cells, the longest first.
pub fn longest_waits(cells: &[&Cell]) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<&String, f64> = BTreeMap::new();
    for cell in cells {
        for (class, wait) in &cell.growth.classes {
            if !crate::sampler::is_rest(class) {
                *sums.entry(class).or_default() += wait[1];
            }
        }
    }
    let mut sums: Vec<(String, f64)> = sums.into_iter().map(|(c, s)| (c.clone(), s)).collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    sums
}

#[cfg(test)]
mod tests;
