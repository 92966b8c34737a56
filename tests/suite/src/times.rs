//! How long cases take: with `WORKALIKE_SUITE_TIMES` set, a list by device and family, slowest first.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The variable that asks for the list.
const VARIABLE: &str = "WORKALIKE_SUITE_TIMES";

/// Time and number of cases, by `device::family`.
static TIMES: Mutex<BTreeMap<String, (Duration, usize)>> = Mutex::new(BTreeMap::new());

/// Notes the duration of a case, whose name is `device::family::case`.
pub(crate) fn note(name: &str, took: Duration) {
    let family = name.rsplit_once("::").map_or(name, |(family, _)| family);
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = times.entry(family.into()).or_default();
    *entry = (entry.0 + took, entry.1 + 1);
}

/// Prints the list, if it was asked for. Times of cases that run at once overlap.
pub(crate) fn print() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    let times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut list: Vec<_> = times.iter().collect();
    list.sort_by_key(|(_, (took, _))| std::cmp::Reverse(*took));
    for (family, (took, cases)) in list {
        eprintln!("{:8.1} s  {cases:6} cases  {family}", took.as_secs_f64());
    }
}
