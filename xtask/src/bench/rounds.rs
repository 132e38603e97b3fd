//! Interleaved rounds of a sysbench script on every target; medians at the end, as ratios.

use super::Settings;
use super::target::Target;

/// One measured run.
pub struct Run {
    pub qps: f64,
    pub p95_ms: f64,
    pub cpu_us: f64,
}

/// Runs point selects once.
pub fn measure(target: &Target, load: &[String], settings: &Settings) -> Result<Run, String> {
    let threads = format!("--threads={}", settings.threads);
    let time = format!("--time={}", settings.seconds);
    let options = [load, &[threads, time, "run".into()]].concat();
    let before = target.cpu_s();
    let text = target.sysbench("oltp_point_select", &options)?;
    let after = target.cpu_s();
    let field = |name: &str| {
        let line = text.lines().find(|l| l.trim_start().starts_with(name))?;
        line.split_once(':')?.1.split_whitespace().next()?.parse::<f64>().ok()
    };
    let queries = field("total:").ok_or("sysbench printed no total")?;
    let cpu = before.zip(after).map_or(f64::NAN, |(b, a)| a - b);
    Ok(Run {
        qps: queries / f64::from(settings.seconds),
        p95_ms: field("95th percentile:").unwrap_or(f64::NAN),
        cpu_us: cpu * 1e6 / queries,
    })
}

/// Prints each round of each target, and the ratios of the medians when there are two targets.
/// Answers Limpid's median QPS divided by the peer's.
pub fn compare(
    title: &str,
    targets: &[Target],
    load: &[String],
    settings: &Settings,
) -> Result<Option<f64>, String> {
    println!("\n{title}, {} threads, {} s a run", settings.threads, settings.seconds);
    println!("round  server        QPS   p95 ms  server CPU us/query   RSS MB");
    let mut runs: Vec<Vec<Run>> = targets.iter().map(|_| Vec::new()).collect();
    for round in 1..=settings.rounds {
        for (target, runs) in targets.iter().zip(&mut runs) {
            let run = measure(target, load, settings)?;
            println!(
                "{round:>5}  {:<8} {:>8.0} {:>8.2} {:>10.2} {:>19.0}",
                target.name,
                run.qps,
                run.p95_ms,
                run.cpu_us,
                target.rss_mb().unwrap_or(f64::NAN),
            );
            runs.push(run);
        }
    }
    let [own, peer] = runs.as_slice() else { return Ok(None) };
    let ratio = |field: fn(&Run) -> f64| median(own, field) / median(peer, field);
    println!(
        "limpid / peer, medians: QPS {:.2}, p95 {:.2}, CPU per query {:.2}",
        ratio(|r| r.qps),
        ratio(|r| r.p95_ms),
        ratio(|r| r.cpu_us),
    );
    Ok(Some(ratio(|r| r.qps)))
}

/// The middle value of a figure; NaN without runs.
pub fn median<R>(runs: &[R], field: fn(&R) -> f64) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(field).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
