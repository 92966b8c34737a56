//! Data movement and order: transposes, rows taken and added to, running sums, sorts, positions of extremes,
//! middle axes.

use super::{CallMode, Line, NONE, Workload, WorkloadSettings, zeros};
use workalike::prelude::*;
use workalike_cli_common::random::{integers, normal};

/// Two lines, the second with odd sizes; `sizes` are those for large devices and those for others. The
/// variant is the sizes joined by `x`.
fn pairs(
    large: bool,
    sizes: [[&[(&'static str, &str)]; 2]; 2],
    checked: &[(&'static str, &str)],
) -> Vec<Line> {
    let [plain, odd] = sizes[usize::from(!large)];
    let line = |settings: &[(&'static str, &str)]| {
        let name: Vec<&str> = settings.iter().map(|s| s.1).collect();
        Line::new(name.join("x"), settings, CallMode::Steps).checked(checked)
    };
    vec![line(plain), line(odd).odd()]
}

/// The shared variable `y <- result`.
fn into(result: &Variable, dtype: DType, shape: &[usize]) -> workalike::Result<Function> {
    function(NONE).update(shared("y", Value::zeros(dtype, shape)?), result).compile()
}

fn matrix_of(s: &WorkloadSettings, name: &str, seed: u64) -> workalike::Result<SharedVariable> {
    Ok(shared(name, normal(seed, &[s.n("rows"), s.n("columns")], 1.0)?))
}

pub(super) const TRANSPOSE_ADD: Workload = Workload {
    name: "transpose_add",
    about: "x.T + y of matrices",
    settings: &[("rows", "8192", "2048"), ("columns", "8192", "2048")],
    build: |s| {
        let turned = shared("x", normal(31, &[s.n("columns"), s.n("rows")], 1.0)?);
        into(&(turned.t() + &matrix_of(s, "z", 32)?), DType::F32, &[s.n("rows"), s.n("columns")])
    },
    least: |s| (12.0 * s.float("rows") * s.float("columns"), s.float("rows") * s.float("columns")),
    lines: |large| {
        let sizes: [[&[_]; 2]; 2] = [
            [&[("rows", "8192"), ("columns", "8192")], &[("rows", "8191"), ("columns", "8190")]],
            [&[("rows", "2048"), ("columns", "2048")], &[("rows", "2047"), ("columns", "2050")]],
        ];
        pairs(large, sizes, &[("rows", "67"), ("columns", "131")])
    },
};

pub(super) const TAKE: Workload = Workload {
    name: "take",
    about: "rows of a table at random positions",
    settings: &[("rows", "262144", "16384"), ("taken", "262144", "16384"), ("columns", "256", "128")],
    build: |s| {
        let (rows, taken) = (s.n("rows"), s.n("taken"));
        let at = shared("at", integers(33, taken, rows as u64)?);
        into(&matrix_of(s, "x", 34)?.take(&at, 0), DType::F32, &[taken, s.n("columns")])
    },
    least: |s| (8.0 * s.float("taken") * (s.float("columns") + 1.0), 0.0),
    lines: |large| {
        let sizes: [[&[_]; 2]; 2] = [
            [
                &[("rows", "262144"), ("taken", "262144"), ("columns", "256")],
                &[("rows", "200003"), ("taken", "300007"), ("columns", "250")],
            ],
            [
                &[("rows", "16384"), ("taken", "16384"), ("columns", "128")],
                &[("rows", "15013"), ("taken", "17011"), ("columns", "125")],
            ],
        ];
        pairs(large, sizes, &[("rows", "67"), ("taken", "131"), ("columns", "33")])
    },
};

pub(super) const SCATTER_ADD: Workload = Workload {
    name: "scatter_add",
    about: "rows added to a table at random positions, repeated ones in their order",
    settings: &[("rows", "262144", "16384"), ("added", "262144", "16384"), ("columns", "256", "128")],
    build: |s| {
        let (rows, added, columns) = (s.n("rows"), s.n("added"), s.n("columns"));
        let at = shared("at", integers(35, added, rows as u64)?);
        let more = shared("more", normal(36, &[added, columns], 1.0)?);
        let x = shared("x", zeros(&[rows, columns])?);
        function(NONE).update(&x, x.inc_index(idx![&at], &more)).compile()
    },
    // At most all rows of the table are read and written.
    least: |s| {
        let (added, columns) = (s.float("added"), s.float("columns"));
        (added * (4.0 * columns + 8.0) + added.min(s.float("rows")) * 8.0 * columns, added * columns)
    },
    lines: |large| {
        let sizes: [[&[_]; 2]; 2] = [
            [
                &[("rows", "262144"), ("added", "262144"), ("columns", "256")],
                &[("rows", "30011"), ("added", "300007"), ("columns", "250")],
            ],
            [
                &[("rows", "16384"), ("added", "16384"), ("columns", "128")],
                &[("rows", "2003"), ("added", "17011"), ("columns", "125")],
            ],
        ];
        pairs(large, sizes, &[("rows", "67"), ("added", "131"), ("columns", "33")])
    },
};

pub(super) const CUMSUM: Workload = Workload {
    name: "cumsum",
    about: "running sums of a vector, of rows and of columns",
    settings: &[("rows", "8192", "2048"), ("columns", "8192", "2048"), ("axis", "none", "none")],
    build: |s| {
        let shape = [s.n("rows"), s.n("columns")];
        match s.get("axis") {
            "none" => {
                let n = [shape[0] * shape[1]];
                into(&shared("x", normal(37, &n, 1.0)?).cumsum(0), DType::F32, &n)
            }
            axis => {
                let axis = i32::from(axis == "1");
                into(&matrix_of(s, "x", 37)?.cumsum(axis), DType::F32, &shape)
            }
        }
    },
    least: |s| (8.0 * s.float("rows") * s.float("columns"), s.float("rows") * s.float("columns")),
    lines: |large| {
        let sizes =
            if large { [("8192", "8192"), ("8191", "8190")] } else { [("2048", "2048"), ("2047", "2050")] };
        let mut lines = Vec::new();
        for (odd, (rows, columns)) in [false, true].into_iter().zip(sizes) {
            for axis in ["none", "0", "1"] {
                let settings = [("rows", rows), ("columns", columns), ("axis", axis)];
                let line = Line::new(format!("axis={axis} {rows}x{columns}"), &settings, CallMode::Steps);
                let line = line.checked(&[("rows", "67"), ("columns", "131"), ("axis", axis)]);
                lines.push(if odd { line.odd() } else { line });
            }
        }
        lines
    },
};

pub(super) const SORT: Workload = Workload {
    name: "sort",
    about: "each row of a matrix in ascending order",
    settings: &[("rows", "1", "1"), ("columns", "16777216", "1048576")],
    build: |s| into(&matrix_of(s, "x", 38)?.sort(-1), DType::F32, &[s.n("rows"), s.n("columns")]),
    least: |s| (8.0 * s.float("rows") * s.float("columns"), 0.0),
    lines: |large| {
        let rows: [[&[_]; 2]; 2] = [
            [&[("rows", "4096"), ("columns", "4096")], &[("rows", "5003"), ("columns", "3001")]],
            [&[("rows", "1024"), ("columns", "1024")], &[("rows", "1013"), ("columns", "1031")]],
        ];
        let one: [[&[_]; 2]; 2] = [
            [&[("rows", "1"), ("columns", "16777216")], &[("rows", "1"), ("columns", "10000019")]],
            [&[("rows", "1"), ("columns", "1048576")], &[("rows", "1"), ("columns", "1000003")]],
        ];
        let checked = &[("rows", "3"), ("columns", "4099")];
        let mut lines = pairs(large, rows, checked);
        lines.extend(pairs(large, one, checked));
        lines
    },
};

pub(super) const ARGMAX: Workload = Workload {
    name: "argmax",
    about: "where each row of a matrix has its maximum",
    settings: &[("rows", "8192", "2048"), ("columns", "8192", "2048")],
    build: |s| into(&matrix_of(s, "x", 39)?.argmax(1), DType::I64, &[s.n("rows")]),
    least: |s| (4.0 * s.float("rows") * s.float("columns"), s.float("rows") * s.float("columns")),
    lines: |large| {
        let sizes: [[&[_]; 2]; 2] = [
            [&[("rows", "8192"), ("columns", "8192")], &[("rows", "8191"), ("columns", "8190")]],
            [&[("rows", "2048"), ("columns", "2048")], &[("rows", "2047"), ("columns", "2050")]],
        ];
        pairs(large, sizes, &[("rows", "67"), ("columns", "131")])
    },
};

pub(super) const MIDDLE_SUM: Workload = Workload {
    name: "middle_sum",
    about: "the sum over the middle axis of three",
    settings: &[("outer", "256", "64"), ("rows", "1024", "256"), ("columns", "256", "256")],
    build: |s| {
        let [outer, rows, columns] = ["outer", "rows", "columns"].map(|key| s.n(key));
        let x = shared("x", normal(40, &[outer, rows, columns], 1.0)?);
        into(&x.sum(1), DType::F32, &[outer, columns])
    },
    least: |s| {
        let all = s.float("outer") * s.float("rows") * s.float("columns");
        (4.0 * all, all)
    },
    lines: |large| {
        let sizes: [[&[_]; 2]; 2] = [
            [
                &[("outer", "256"), ("rows", "1024"), ("columns", "256")],
                &[("outer", "37"), ("rows", "9001"), ("columns", "123")],
            ],
            [
                &[("outer", "64"), ("rows", "256"), ("columns", "256")],
                &[("outer", "7"), ("rows", "4001"), ("columns", "123")],
            ],
        ];
        pairs(large, sizes, &[("outer", "3"), ("rows", "67"), ("columns", "131")])
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    fn built(workload: &Workload, settings: &[(&str, &str)]) -> Function {
        (workload.build)(&WorkloadSettings::of(workload, false, settings.iter().copied()).unwrap()).unwrap()
    }

    fn get(f: &Function, name: &str) -> Vec<f64> {
        f.shared(name).unwrap().get_value().unwrap().to_f64s()
    }

    #[test]
    fn rows_are_read_and_added_to() {
        let f = built(&TAKE, &[("rows", "5"), ("taken", "9"), ("columns", "2")]);
        f.call(args![]).unwrap();
        let (x, at, y) = (get(&f, "x"), get(&f, "at"), get(&f, "y"));
        assert!((0..18).all(|k| y[k] == x[at[k / 2] as usize * 2 + k % 2]));

        let f = built(&SCATTER_ADD, &[("rows", "5"), ("added", "9"), ("columns", "2")]);
        f.call(args![]).unwrap();
        let (x, more): (f64, f64) = (get(&f, "x").iter().sum(), get(&f, "more").iter().sum());
        assert!((x - more).abs() < 1e-5, "{x} and {more}");
    }

    #[test]
    fn sorted_rows_end_with_the_maximum() {
        let (sort, argmax) = ([("rows", "3"), ("columns", "50")], [("rows", "3"), ("columns", "50")]);
        let (sort, argmax) = (built(&SORT, &sort), built(&ARGMAX, &argmax));
        argmax.shared("x").unwrap().set_value(sort.shared("x").unwrap().get_value().unwrap()).unwrap();
        sort.call(args![]).unwrap();
        argmax.call(args![]).unwrap();
        let (x, y, at) = (get(&sort, "x"), get(&sort, "y"), get(&argmax, "y"));
        assert!((0..3).all(|row| y[row * 50 + 49] == x[row * 50 + at[row] as usize]));
        assert!(y.chunks(50).all(|row| row.is_sorted()));
    }
}
