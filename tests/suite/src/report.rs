//! The conformance report: passed and failed cases per op and per kind of device, as a Markdown file.
//!
//! Each case is counted when it runs. A column is a kind of device. Columns of kinds that a run lacks are
//! kept from the file, so that one file can hold the report of several machines.

use crate::devices::Missing;
use libtest_mimic::Trial;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use workalike::DType;

/// Names the file that a run of all cases writes.
pub const FILE: &str = "CONFORMANCE_REPORT";

/// The kind of a test whose case has host nodes.
pub const HOST_NODE: &str = "host node";

/// The outcome of each case that has run.
static RAN: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());

/// Records the outcome of a case.
pub(crate) fn note(name: &str, passed: bool) {
    RAN.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into(), passed);
}

/// The number of cases of one row on one kind of device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    native: usize,
    host_node: usize,
    failed: usize,
}

impl Count {
    /// `12`, or `10, host node 1, failed 1`.
    fn text(self) -> String {
        let part = |what: &str, n: usize| if n > 0 { format!(", {what} {n}") } else { String::new() };
        format!("{}{}{}", self.native, part(HOST_NODE, self.host_node), part("failed", self.failed))
    }
}

/// Cells by row and column.
type Cells = BTreeMap<(String, String), BTreeMap<String, String>>;

/// The data known before the run: the cases with their kinds, and the missing devices.
pub(crate) struct Report {
    kinds: HashMap<String, String>,
    missing: Vec<(String, String)>,
}

impl Report {
    /// A report of these cases and missing devices.
    pub(crate) fn of(trials: &[Trial], missing: &[Missing]) -> Report {
        let kinds = trials.iter().map(|t| (t.name().to_string(), t.kind().to_string())).collect();
        Report { kinds, missing: missing.iter().map(|m| (m.kind.to_string(), one_line(&m.why))).collect() }
    }

    /// Writes the results of the run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut counts: BTreeMap<(String, String, String), Count> = BTreeMap::new();
        let (mut ran, mut failed) = (0, 0);
        for (name, passed) in RAN.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let Some((device, family, op)) = row_of(name) else { continue };
            let count = counts.entry((device, family, op)).or_default();
            (ran, failed) = (ran + 1, failed + usize::from(!passed));
            match (passed, self.kinds.get(name).map(String::as_str)) {
                (false, _) => count.failed += 1,
                (true, Some(HOST_NODE)) => count.host_node += 1,
                (true, _) => count.native += 1,
            }
        }
        let old = fs::read_to_string(path).unwrap_or_default();
        let mut cells = read(&old);
        let new: Vec<String> = columns(counts.keys().map(|k| k.0.as_str()));
        cells.values_mut().for_each(|row| row.retain(|column, _| !new.contains(column)));
        for ((device, family, op), count) in counts {
            cells.entry((family, op)).or_default().insert(device, count.text());
        }
        cells.retain(|_, row| !row.is_empty());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let ignored = self.kinds.len() - ran;
        fs::write(path, self.text(&cells, &old, [ran, failed, ignored]))
    }

    fn text(&self, cells: &Cells, old: &str, [ran, failed, ignored]: [usize; 3]) -> String {
        let columns = columns(cells.values().flat_map(|row| row.keys().map(String::as_str)));
        let mut text = HEAD.to_string();
        let what = format!(
            "The last run: {ran} cases, {failed} failed, {ignored} ignored ({:.2} %).",
            100.0 * ignored as f64 / (ran + ignored).max(1) as f64
        );
        text.push_str(&what);
        for (kind, why) in &self.missing {
            let kept = if columns.contains(kind) && !old.is_empty() {
                "; its column is of an earlier run"
            } else {
                ""
            };
            text.push_str(&format!(" {kind} was not there ({why}){kept}."));
        }
        text.push('\n');
        let mut family = "";
        for ((of, op), row) in cells {
            if of != family {
                family = of;
                text.push_str(&format!(
                    "\n## {family}\n\n| case | {} |\n|{}\n",
                    columns.join(" | "),
                    " --- |".repeat(columns.len() + 1)
                ));
            }
            let row: Vec<&str> = columns.iter().map(|c| row.get(c).map_or("", String::as_str)).collect();
            text.push_str(&format!("| {op} | {} |\n", row.join(" | ")));
        }
        text
    }
}

const HEAD: &str = "# Conformance

Written by the conformance suite; do not edit. `docs/conformance.md` says how to write it and how to read it.

";

/// Device kind, family and op of a case: `opencl:0:0::unary::exp_f32` is `opencl`, `unary`, `exp`.
fn row_of(name: &str) -> Option<(String, String, String)> {
    let mut parts = name.splitn(3, "::");
    let (device, family, case) = (parts.next()?, parts.next()?, parts.next()?);
    let device = device.split(':').next()?;
    let number = |word: &&str| word.chars().all(|c| c.is_ascii_digit() || c == 'x');
    let words: Vec<&str> = case.split('_').collect();
    let op: Vec<&str> =
        words.iter().copied().take_while(|w| DType::ALL.iter().all(|d| d.short() != *w)).collect();
    let end = op.iter().rposition(|w| !number(w)).map_or(0, |last| last + 1);
    let op = if end == 0 { "all sizes".to_string() } else { op[..end].join("_") };
    Some((device.into(), family.into(), op))
}

/// Kinds of devices in the order of columns.
fn columns<'a>(kinds: impl Iterator<Item = &'a str>) -> Vec<String> {
    let order = ["reference", "host", "unfused", "opencl", "cuda"];
    let mut columns: Vec<String> = kinds.map(Into::into).collect();
    columns.sort_by_key(|c| (order.iter().position(|o| o == c).unwrap_or(order.len()), c.clone()));
    columns.dedup();
    columns
}

/// The cells of a report.
fn read(text: &str) -> Cells {
    let mut cells = Cells::new();
    let (mut family, mut columns) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            family = title.into();
        } else if let Some(row) = line.strip_prefix("| ").and_then(|l| l.strip_suffix(" |")) {
            let row: Vec<String> = row.split(" | ").map(|c| c.trim().to_string()).collect();
            match row.first().map(String::as_str) {
                Some("case") => columns = row[1..].to_vec(),
                Some("---") | None => {}
                Some(op) => {
                    let known =
                        columns.iter().cloned().zip(row[1..].iter().cloned()).filter(|c| !c.1.is_empty());
                    cells.entry((family.clone(), op.into())).or_default().extend(known);
                }
            }
        }
    }
    cells
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cases_without_dtypes_and_numbers() {
        let row = |name: &str| row_of(name).unwrap().2;
        assert_eq!(row("host::unary::exp_f32"), "exp");
        assert_eq!(row("opencl:0:0::unary::log1p_bf16"), "log1p");
        assert_eq!(row("host::reduce::sum_f32_01"), "sum");
        assert_eq!(row("host::reduce::max_of_sum_012"), "max_of_sum");
        assert_eq!(row("host::reduce_large::sum_3x5000_f32_0"), "sum");
        assert_eq!(row("host::sizes::70001_f32"), "all sizes");
        assert_eq!(row_of("opencl (no platform)"), None);
    }

    #[test]
    fn a_written_report_is_read() {
        let report = Report { kinds: HashMap::new(), missing: vec![("cuda".into(), "no driver".into())] };
        let row = |list: &[(&str, &str)]| list.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        let mut cells = Cells::new();
        cells.insert(("unary".into(), "exp".into()), row(&[("host", "4"), ("opencl", "3, failed 1")]));
        cells.insert(("unary".into(), "jv".into()), row(&[("opencl", "0, host node 2")]));
        let text = report.text(&cells, "", [4, 1, 0]);
        assert_eq!(read(&text), cells);
        assert!(
            text.contains("| case | host | opencl |") && text.contains("cuda was not there (no driver)"),
            "{text}"
        );
        assert_eq!(Count { native: 1, host_node: 2, failed: 3 }.text(), "1, host node 2, failed 3");
    }
}
