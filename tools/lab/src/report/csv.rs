//! `cells.csv`, a line for each cell; `samples.csv`, a line for each figure of each second that was not nothing, with the number of
//! its cell; `findings.csv`, a line for each figure that is judged.

use crate::experiments::Aim;
use crate::outcome::{Cell, Described, Finding, Outcome};
use crate::verdict::{cpu_us, holds, qps, tps};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

const CELLS: &str = "cell,experiment,subject,setting,workload,users,round,seconds,qps,tps,mean_ms,p95_ms,errors,\
server_cpu_us_per_query,client_cpu_us_per_query,voluntary_switches_per_query,involuntary_switches_per_query,\
bytes_written_per_transaction,fsyncs_per_transaction,resident_mib,\
latch_acquisitions_per_second,most_held_percent,most_held_latch";
const FINDINGS: &str = "row,server,what,value,low,high,noise,aim,verdict";
const SAMPLES: &str = "cell,at_s,kind,name,per_second";

/// The two files of an experiment.
#[derive(Debug)]
pub struct Csv {
    /// Cells that were written.
    count: u64,
    cells: Sink,
    samples: Sink,
}

#[derive(Debug)]
struct Sink {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Sink {
    fn open(path: PathBuf, head: &str) -> Result<Sink, String> {
        let file = File::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut sink = Sink { path, file: BufWriter::new(file) };
        sink.line(head)?;
        sink.flush()?;
        Ok(sink)
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        writeln!(self.file, "{line}").map_err(|e| format!("{}: {e}", self.path.display()))
    }

    fn flush(&mut self) -> Result<(), String> {
        self.file.flush().map_err(|e| format!("{}: {e}", self.path.display()))
    }
}

/// What is judged, as a file.
pub fn findings(findings: &[Finding]) -> String {
    let mut text = format!("{FINDINGS}\n");
    for finding in findings {
        let of = finding.estimate.as_ref();
        let figures = of.map(|e| [e.value, e.low, e.high, e.noise].map(|n| n.to_string()));
        let aim = match finding.aim {
            Aim::AtLeast(limit) => format!("at least {limit}"),
            Aim::AtMost(limit) => format!("at most {limit}"),
            Aim::None => String::new(),
        };
        let texts = [&finding.subject, &finding.what].map(|text| quoted(text));
        let verdict = quoted(&finding.verdict.words());
        text.push_str(&format!(
            "{},{},{},{aim},{verdict}\n",
            finding.row,
            texts.join(","),
            figures.unwrap_or_default().join(",")
        ));
    }
    text
}

impl Csv {
    /// Begins both files in a folder.
    ///
    /// # Errors
    /// The system's, with the file's name.
    pub fn open(folder: &Path) -> Result<Csv, String> {
        Ok(Csv {
            count: 0,
            cells: Sink::open(folder.join("cells.csv"), CELLS)?,
            samples: Sink::open(folder.join("samples.csv"), SAMPLES)?,
        })
    }

    /// Writes a cell; it is in the files when this returns.
    ///
    /// # Errors
    /// The system's, with the file's name.
    pub fn cell(&mut self, outcome: &Outcome, cell: &Cell) -> Result<(), String> {
        self.count += 1;
        let (number, column) = (self.count, &outcome.columns[cell.column]);
        let place = [
            number.to_string(),
            outcome.experiment.name.to_string(),
            quoted(&column.subject),
            quoted(&column.setting),
            outcome.workloads[cell.workload].clone(),
            cell.users.to_string(),
            cell.round.to_string(),
        ]
        .join(",");
        let is_limpid = outcome.servers.get(column.server).is_some_and(Described::is_limpid);
        self.cells.line(&format!("{place},{}", figures(cell, is_limpid).join(",")))?;
        for second in &cell.seconds {
            let mut line = |kind: &str, name: &str, grown: f64| {
                let rate = second.rate(grown);
                self.samples.line(&format!(
                    "{number},{:.3},{kind},{},{rate:.6}",
                    second.at_s,
                    quoted(name)
                ))
            };
            line("load", "queries", second.counts.queries)?;
            line("load", "transactions", second.counts.transactions)?;
            for (process, spent) in [("server", second.server), ("client", second.client)] {
                let Some(spent) = spent else { continue };
                line(process, "cpu_user_seconds", spent.user_s)?;
                line(process, "cpu_kernel_seconds", spent.kernel_s)?;
                line(process, "bytes_read", spent.bytes_read)?;
                line(process, "bytes_written", spent.bytes_written)?;
            }
            for (name, switches) in ["voluntary_switches", "involuntary_switches"]
                .iter()
                .zip(second.switches.unwrap_or_default())
            {
                line("server", name, switches)?;
            }
            if let Some(spent_s) = second.session_sampler_s {
                line("server", "session_sampler_seconds", spent_s)?;
            }
            for (name, grown) in &second.status {
                line("status", name, *grown)?;
            }
            if let Some(grown) = second.history_len {
                line("status", "trx_rseg_history_len", grown)?;
            }
            for (kinds, waits) in [
                (["class_waits", "class_wait_seconds"], &second.classes),
                (["instance_waits", "instance_wait_seconds"], &second.instances),
                (["latch_acquisitions", "latch_held_seconds"], &second.holds),
            ] {
                for (name, wait) in waits {
                    line(kinds[0], name, wait[0])?;
                    line(kinds[1], name, wait[1])?;
                }
            }
        }
        self.cells.flush()?;
        self.samples.flush()
    }
}

/// A field; in quotes where it has what divides fields.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

/// The figures of a cell, in the order of its heads; empty what is not known.
fn figures(cell: &Cell, is_limpid: bool) -> Vec<String> {
    let counts = cell.driven.counts;
    let each = |sum: Option<f64>, by: f64| sum.map(|sum| sum / by);
    let grown = |name: &str| cell.growth.status.get(name).copied().unwrap_or(0.0);
    // Those of the log are in the first figure of other servers, too.
    let of_log = if is_limpid { grown("Innodb_os_log_fsyncs") } else { 0.0 };
    let fsyncs = grown("Innodb_data_fsyncs") + of_log;
    let most_held = holds(&cell.growth).max_by(|a, b| a.2.total_cmp(&b.2));
    let acquisitions: f64 = holds(&cell.growth).map(|(_, rate, _)| rate).sum();
    let client_us = cell.growth.client.map(|spent| spent.cpu_s() * 1e6);
    [
        Some(cell.driven.seconds),
        Some(qps(cell)),
        Some(tps(cell)),
        Some(cell.driven.mean_ms),
        Some(cell.driven.p95_ms),
        Some(counts.errors),
        cpu_us(cell),
        each(client_us, counts.queries),
        each(cell.growth.switches.map(|s| s[0]), counts.queries),
        each(cell.growth.switches.map(|s| s[1]), counts.queries),
        each(cell.growth.server.map(|spent| spent.bytes_written), counts.transactions),
        each(Some(fsyncs), counts.transactions),
        cell.resident_mib,
        most_held.map(|_| acquisitions),
        most_held.map(|(.., percent)| percent),
    ]
    .map(|figure| figure.filter(|f| f.is_finite()).map_or_else(String::new, |f| format!("{f:.4}")))
    .into_iter()
    .chain([most_held.map_or_else(String::new, |(name, ..)| quoted(name))])
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_what_divides_them() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("8 shards, \"bad\""), "\"8 shards, \"\"bad\"\"\"");
        assert_eq!(figures(&Cell::default(), true).len() + 7, CELLS.split(',').count());
    }

    #[test]
    fn fsyncs_of_the_log_are_counted_once() {
        let heads: Vec<&str> = CELLS.split(',').skip(7).collect();
        let place = heads.iter().position(|head| *head == "fsyncs_per_transaction").unwrap();
        let mut cell = Cell::default();
        cell.driven.counts.transactions = 10.0;
        for (name, grown) in [("Innodb_data_fsyncs", 8.0), ("Innodb_os_log_fsyncs", 5.0)] {
            cell.growth.status.insert(name.into(), grown);
        }
        let [own, other] = [true, false].map(|is_limpid| figures(&cell, is_limpid)[place].clone());
        assert_eq!((own.as_str(), other.as_str()), ("1.3000", "0.8000"));
    }

    #[test]
    fn a_full_disk_is_named() {
        // What is written to this device finds no room.
        let sink = Sink::open(PathBuf::from("/dev/full"), CELLS);
        let why = sink.unwrap_err();
        assert!(why.contains("/dev/full") && why.contains("space"), "{why}");
    }
}
