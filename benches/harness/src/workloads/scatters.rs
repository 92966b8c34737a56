//! Scatters and gathers at positions that are data: runs, segments, rows of embedding tables.

use super::{CallMode, NONE, Workload, counter, zeros};
use workalike::ops::Bins;
use workalike::prelude::*;
use workalike_cli_common::random::{evaluated, integers, normal};

/// Symbols in runs with a mean length of 8.
fn runs(n: usize) -> workalike::Result<Value> {
    let (starts, symbols) = (integers(301, n, 8)?.to_vec::<i64>()?, integers(302, n, 16)?.to_vec::<i64>()?);
    let mut symbol = 0;
    let next = |(start, new): (&i64, &i64)| {
        symbol = if *start == 0 { *new as i32 } else { symbol };
        symbol
    };
    Ok(Value::from(starts.iter().zip(&symbols).map(next).collect::<Vec<i32>>()))
}

pub(super) const RUN_LENGTHS: Workload = Workload {
    name: "run_lengths",
    about: "run-length encoding into arrays of the input's length: symbols, lengths and their count",
    settings: &[("n", "4194304", "1048576"), ("form", "inc_index", "inc_index")],
    build: |s| {
        let n = s.n("n");
        let x = shared("x", runs(n)?);
        let changes = x.index(idx![1..]).not_equal(x.index(idx![..-1]));
        let at = concatenate([constant(vec![true]), changes], 0).cumsum(0) - 1;
        let symbols = full_like(&x, -1).set_index(idx![&at], &x);
        let lengths = match s.get("form") {
            "bincount" => at.bincount(None, Bins::Exactly(n)).cast(DType::I32),
            _ => zeros_like(&x).inc_index(idx![&at], 1),
        };
        let count = (at.index(idx![-1]) + 1).cast(DType::I32);
        let outputs = function(NONE).output_named("symbols", symbols).output_named("lengths", lengths);
        outputs.output_named("count", count).compile()
    },
    least: |s| (12.0 * s.float("n"), 0.0),
    lines: |large| RUN_LENGTHS.forms(large, CallMode::Device, &[("n", "1000")], &["inc_index", "bincount"]),
};

pub(super) const SEGMENT_SOFTMAX: Workload = Workload {
    name: "segment_softmax",
    about: "softmax within segments of differing lengths, as in attention over the edges of a graph",
    settings: &[("n", "4194304", "262144"), ("segments", "65536", "4096")],
    build: |s| {
        let (n, segments) = (s.n("n"), s.n("segments"));
        let mut ids = integers(311, n, segments as u64)?.to_vec::<i64>()?;
        ids.sort_unstable();
        let ids = shared("ids", Value::from(ids).cast(DType::I32)?);
        let v = shared("v", normal(312, &[n], 3.0)?);
        let most = v.segment_max(&ids, segments);
        let e = (&v - most.take(&ids, 0)).exp();
        let total = e.segment_sum(&ids, segments);
        function(NONE).output_named("weights", &e / total.take(&ids, 0)).compile()
    },
    least: |s| (12.0 * s.float("n"), 14.0 * s.float("n")),
    lines: |large| vec![SEGMENT_SOFTMAX.line(large, CallMode::Device, &[("n", "1000"), ("segments", "300")])],
};

/// Batches of `adagrad_embed`.
const BATCHES: usize = 16;

pub(super) const ADAGRAD_EMBED: Workload = Workload {
    name: "adagrad_embed",
    about: "a step of Adagrad on the rows of an embedding table that a batch looks up",
    settings: &[("rows", "262144", "65536"), ("batch", "16384", "4096"), ("width", "64", "64")],
    build: |s| {
        let (rows, batch, width) = (s.n("rows"), s.n("batch"), s.n("width"));
        // The cube of a uniform draw makes the first rows frequent.
        let draws = RandomStreams::new(321).uniform::<f64>([BATCHES, batch]);
        let at = (&draws * &draws * &draws * rows as f64).cast(DType::I32);
        let (at, y) = (shared("at", evaluated(&at)?), shared("y", normal(322, &[batch, width], 1.0)?));
        let w = shared("w", normal(323, &[rows, width], 1.0)?);
        let (squares, t) = (shared("squares", zeros(&[rows, width])?), counter()?);
        let now = at.index(idx![t.index(idx![0]) % BATCHES as i64]);
        let slope = w.index(idx![&now]) - &y;
        let more = squares.inc_index(idx![&now], slope.sqr());
        let change = -0.05 * slope / (more.index(idx![&now]) + 1e-8).sqrt();
        let step = function(NONE).update(&w, w.inc_index(idx![&now], change));
        step.update(&squares, more).update(&t, &t + 1).compile()
    },
    // At most all rows of a batch differ: they are read and written in both tables.
    least: |s| {
        let elements = s.float("batch") * s.float("width");
        (20.0 * elements + 4.0 * s.float("batch"), 8.0 * elements)
    },
    lines: |large| {
        let checked = [("rows", "50"), ("batch", "20"), ("width", "4")];
        vec![ADAGRAD_EMBED.line(large, CallMode::Steps, &checked)]
    },
};

pub(super) const EMBEDDING_GATHER: Workload = Workload {
    name: "embedding_gather",
    about: "rows of an embedding table at random positions, as a new array",
    settings: &[("rows", "50000", "16384"), ("width", "512", "128"), ("taken", "65536", "16384")],
    build: |s| {
        let w = shared("w", normal(331, &[s.n("rows"), s.n("width")], 1.0)?);
        let at = shared("at", integers(332, s.n("taken"), s.n("rows") as u64)?);
        function(NONE).output_named("taken", w.index(idx![&at])).compile()
    },
    least: |s| {
        let read = s.float("taken").min(s.float("rows"));
        (4.0 * (read + s.float("taken")) * s.float("width") + 8.0 * s.float("taken"), 0.0)
    },
    lines: |large| {
        let checked = [("rows", "101"), ("width", "33"), ("taken", "301")];
        vec![EMBEDDING_GATHER.line(large, CallMode::Device, &checked)]
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::WorkloadSettings;

    #[test]
    fn runs_are_decoded() {
        for form in ["inc_index", "bincount"] {
            let settings = WorkloadSettings::of(&RUN_LENGTHS, false, [("n", "200"), ("form", form)]).unwrap();
            let f = (RUN_LENGTHS.build)(&settings).unwrap();
            let x = f.shared("x").unwrap().get_value().unwrap().to_vec::<i32>().unwrap();
            let out = f.call(args![]).unwrap();
            let (symbols, lengths) = (out[0].to_vec::<i32>().unwrap(), out[1].to_vec::<i32>().unwrap());
            let count = out[2].item::<i32>().unwrap() as usize;
            let runs = symbols.iter().zip(&lengths).take(count);
            let decoded: Vec<i32> = runs.flat_map(|(s, n)| std::iter::repeat_n(*s, *n as usize)).collect();
            assert_eq!(decoded, x);
            assert!(symbols[count..].iter().all(|s| *s == -1) && lengths[count..].iter().all(|n| *n == 0));
        }
    }
}
