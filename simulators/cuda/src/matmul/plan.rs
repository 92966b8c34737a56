//! How a library that thinks in columns sees a product.
//!
//! A row-major matrix read by columns is its transpose, and `(a b)^T = b^T a^T`: so our `b` is given as the
//! library's first factor and our `a` as its second, and the result comes out row-major. [`plan`] finds for
//! each factor the transposition and leading dimension that its strides mean, or says that there are none.

use workalike_device::Matmul;
use workalike_kernels::DType;

/// Products in one call at most; larger batches take several calls. (The grid's third extent is 16 bits
/// wide.)
const BATCH: u64 = 65_535;

/// One factor as the library sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Factor {
    pub(crate) transposed: bool,
    pub(crate) leading: i32,
    /// Elements from one product's factor to the next one's.
    pub(crate) step: i64,
}

/// A product as the library sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    dtype: DType,
    batch: u64,
    m: i32,
    n: i32,
    k: i32,
    a: Factor,
    b: Factor,
    /// Factors of f32 may be rounded to TF32.
    fast: bool,
    /// Elements from the first to one past the last, of a and b.
    spans: [u64; 2],
}

/// How a product is computed; `None` if the libraries cannot, or if the product is empty.
pub(crate) fn plan(product: &Matmul) -> Option<Plan> {
    let Matmul { dtype, batch, m, n, k, a, b, fast } = product;
    let extent = |e: u64| i32::try_from(e).ok().filter(|e| *e > 0);
    if !dtype.is_float() || extent(*batch).is_none() {
        return None;
    }
    let [rows, columns, inner] = [extent(*m)?, extent(*n)?, extent(*k)?];
    // The transposes, by columns: a is (k, m), b is (n, k).
    let (a, a_span) = factor(*batch, [*k, *m], [a[0], a[2], a[1]])?;
    let (b, b_span) = factor(*batch, [*n, *k], [b[0], b[2], b[1]])?;
    let spans = [a_span, b_span];
    Some(Plan { dtype: *dtype, batch: *batch, m: rows, n: columns, k: inner, a, b, fast: *fast, spans })
}

/// A `rows x columns` factor by columns, with steps along batch, row, column; and its span.
fn factor(
    batch: u64,
    [rows, columns]: [u64; 2],
    [batch_step, row_step, column_step]: [i64; 3],
) -> Option<(Factor, u64)> {
    // An axis of extent 1 has no step; any leading dimension that is long enough will do.
    let leading = |fast: u64, slow: u64, fast_step: i64, slow_step: i64| {
        if fast != 1 && fast_step != 1 {
            return None;
        }
        let leading = if slow == 1 { fast } else { u64::try_from(slow_step).ok()? };
        i32::try_from(leading).ok().filter(|_| leading >= fast)
    };
    let (transposed, leading) = match leading(rows, columns, row_step, column_step) {
        Some(leading) => (false, leading),
        None => (true, leading(columns, rows, column_step, row_step)?),
    };
    let batch_step = if batch == 1 { 0 } else { batch_step };
    let steps = [(batch, batch_step), (rows, row_step), (columns, column_step)];
    let span = steps.iter().try_fold(1u64, |span, (extent, step)| {
        let step = if *extent == 1 { 0 } else { u64::try_from(*step).ok()? };
        span.checked_add((extent - 1).checked_mul(step)?)
    })?;
    Some((Factor { transposed, leading, step: batch_step }, span))
}

impl Plan {
    /// Bytes that the regions of a, b and c must at least have.
    pub(crate) fn bytes(&self) -> [u64; 3] {
        let size = self.dtype.size() as u64;
        let c = self.batch.saturating_mul(self.m as u64 * self.n as u64);
        [self.spans[0], self.spans[1], c].map(|elements| elements.saturating_mul(size))
    }

    /// The calls that compute it, each with its addresses. Those given are of memory as long as
    /// [`Plan::bytes`] says, what is added as long as the result, a bias as long as our rows.
    pub(crate) fn calls(&self, start: At) -> impl Iterator<Item = (Call, At)> {
        let size = self.dtype.size() as u64;
        (0..self.batch).step_by(BATCH as usize).map(move |first| {
            // No overflow: what is reached was compared with real memory.
            let moved = |from: u64, step: i64| from + first * step as u64 * size;
            let result_step = i64::from(self.m) * i64::from(self.n);
            let at = At {
                a: moved(start.a, self.a.step),
                b: moved(start.b, self.b.step),
                result: moved(start.result, result_step),
                added: start.added.map(|added| moved(added, result_step)),
                ..start
            };
            let call = Call {
                dtype: self.dtype,
                count: (self.batch - first).min(BATCH) as i32,
                m: self.m,
                n: self.n,
                k: self.k,
                a: self.a,
                b: self.b,
                fast: self.fast,
                alignment: [at.a, at.b, at.result].map(alignment),
                added: at.added.map(|added| match added == at.result {
                    true => Added::InPlace,
                    false => Added::Apart(alignment(added)),
                }),
                bias: at.bias.map(alignment),
            };
            (call, at)
        })
    }
}

/// Where a product's matrices lie, and by what they are scaled: `result = alpha * a b + beta * added + bias`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct At {
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) result: u64,
    /// It lies as the result does: there, or apart from it.
    pub(crate) added: Option<u64>,
    /// One element for each of our columns, the same for all of our rows.
    pub(crate) bias: Option<u64>,
    /// Both are numbers of the computing type.
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
}

impl At {
    /// That of a product to which nothing is done.
    pub(crate) fn plain([a, b, result]: [u64; 3]) -> At {
        At { a, b, result, added: None, bias: None, alpha: 1.0, beta: 0.0 }
    }

    /// The same with its result elsewhere. What is added in place is then what lies there, so that nothing is
    /// added to the result.
    pub(crate) fn into(self, scratch: u64) -> At {
        let moved = |added| if added == self.result { scratch } else { added };
        At { result: scratch, added: self.added.map(moved), ..self }
    }
}

/// What an address is known to be a multiple of: the allocator's alignment, a vector's, or less.
fn alignment(address: u64) -> u32 {
    match address.trailing_zeros() {
        8.. => 256,
        4..8 => 16,
        zeros => 1 << zeros,
    }
}

/// What a library is asked for at a time, and all that it may choose its way by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) dtype: DType,
    /// Number of products.
    pub(crate) count: i32,
    pub(crate) m: i32,
    pub(crate) n: i32,
    pub(crate) k: i32,
    pub(crate) a: Factor,
    pub(crate) b: Factor,
    /// Factors of f32 may be rounded to TF32.
    pub(crate) fast: bool,
    /// What the addresses of a, b and the result are multiples of, in bytes.
    pub(crate) alignment: [u32; 3],
    /// What is added to the product, scaled.
    pub(crate) added: Option<Added>,
    /// What the address of a bias is a multiple of.
    pub(crate) bias: Option<u32>,
}

/// Where a call finds what it adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Added {
    /// Where it stores the result.
    InPlace,
    /// At an address that is a multiple of this.
    Apart(u32),
}

/// One matrix of a call as it lies in memory, by columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) leading: i64,
    /// Elements from one product's matrix to the next one's.
    pub(crate) step: i64,
}

impl Call {
    /// The library's first and second factor, and the result.
    pub(crate) fn layouts(&self) -> [Layout; 3] {
        let [m, n, k] = [self.m, self.n, self.k].map(|e| u64::from(e.unsigned_abs()));
        let factor = |f: Factor, rows, columns| {
            let (rows, columns) = if f.transposed { (columns, rows) } else { (rows, columns) };
            Layout { rows, columns, leading: f.leading.into(), step: f.step }
        };
        let result = Layout {
            rows: n,
            columns: m,
            leading: self.n.into(),
            step: i64::from(self.m) * i64::from(self.n),
        };
        [factor(self.b, n, k), factor(self.a, k, m), result]
    }

    /// Bytes of the result.
    pub(crate) fn result_bytes(&self) -> u64 {
        [self.count, self.m, self.n].iter().fold(self.dtype.size() as u64, |product, extent| {
            product.saturating_mul(u64::from(extent.unsigned_abs()))
        })
    }

    /// Multiplications and additions.
    pub(crate) fn flops(&self) -> f64 {
        2.0 * [self.count, self.m, self.n, self.k].map(f64::from).iter().product::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(batch, m, k) @ (batch, k, n)` by definition, and by what a library does with a plan, on small
    /// integers.
    fn check(product: Matmul) {
        let plan = plan(&product).unwrap_or_else(|| panic!("no plan for {product:?}"));
        let (m, n, k) = (product.m as i64, product.n as i64, product.k as i64);
        let fill =
            |seed: i64, span: u64| (0..span as i64).map(|i| (i * 7 + seed) % 11 - 5).collect::<Vec<i64>>();
        let (a, b) = (fill(1, plan.spans[0]), fill(2, plan.spans[1]));
        let (call, _) = plan.calls(At::plain([0; 3])).next().unwrap();
        let [first, second, result] = call.layouts();
        // Element (row, column) of a factor, of the matrix that lies there or of its transpose.
        let by_columns = |l: &Layout, transposed: bool, data: &[i64], batch: i64, row: i64, column: i64| {
            let (row, column) = if transposed { (column, row) } else { (row, column) };
            assert!(row < l.rows as i64 && column < l.columns as i64, "{product:?}: {l:?}");
            data[(batch * l.step + row + column * l.leading) as usize]
        };
        for z in 0..product.batch as i64 {
            for i in 0..m {
                for j in 0..n {
                    let want: i64 = (0..k)
                        .map(|l| {
                            let left = a[(z * product.a[0] + i * product.a[1] + l * product.a[2]) as usize];
                            left * b[(z * product.b[0] + l * product.b[1] + j * product.b[2]) as usize]
                        })
                        .sum();
                    let got: i64 = (0..k)
                        .map(|l| {
                            let left = by_columns(&first, call.b.transposed, &b, z, j, l);
                            left * by_columns(&second, call.a.transposed, &a, z, l, i)
                        })
                        .sum();
                    assert_eq!(got, want, "{product:?} at {z} {i} {j}");
                }
            }
        }
        for l in [first, second] {
            assert!(l.leading >= l.rows as i64, "{product:?}: {l:?}");
        }
        assert_eq!(result, Layout { rows: n as u64, columns: m as u64, leading: n, step: m * n });
    }

    #[test]
    fn every_layout_that_is_planned_is_right() {
        for (m, n, k) in [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 5), (1, 1, 1)] {
            let (mi, ni, ki) = (m as i64, n as i64, k as i64);
            for a in [[mi * ki, ki, 1], [mi * ki, 1, mi], [0, ki + 2, 1], [0, 1, mi + 3]] {
                for b in [[ki * ni, ni, 1], [ki * ni, 1, ki], [0, ni + 1, 1], [0, 1, ki + 4]] {
                    for batch in [1, 3] {
                        check(Matmul { dtype: DType::F32, batch, m, n, k, a, b, fast: false });
                    }
                }
            }
        }
    }

    #[test]
    fn steps_of_extent_one_do_not_matter() {
        check(Matmul {
            dtype: DType::F32,
            batch: 1,
            m: 1,
            n: 3,
            k: 2,
            a: [9, 0, 1],
            b: [0, 3, 1],
            fast: false,
        });
        check(Matmul {
            dtype: DType::F32,
            batch: 1,
            m: 2,
            n: 1,
            k: 2,
            a: [0, 2, 1],
            b: [0, 1, 0],
            fast: false,
        });
        check(Matmul {
            dtype: DType::F32,
            batch: 1,
            m: 2,
            n: 1,
            k: 2,
            a: [0, 2, 1],
            b: [0, 5, 0],
            fast: false,
        });
        check(Matmul {
            dtype: DType::F32,
            batch: 1,
            m: 2,
            n: 2,
            k: 1,
            a: [0, 7, 0],
            b: [0, 0, 1],
            fast: false,
        });
    }

    #[test]
    fn what_no_library_can_do_has_no_plan() {
        let good =
            Matmul { dtype: DType::F32, batch: 2, m: 2, n: 2, k: 2, a: [4, 2, 1], b: [4, 2, 1], fast: false };
        assert!(plan(&good).is_some());
        for bad in [
            Matmul { dtype: DType::I32, ..good.clone() },
            Matmul { k: 0, ..good.clone() },
            Matmul { batch: 0, ..good.clone() },
            Matmul { m: 1 << 31, ..good.clone() },
            Matmul { a: [4, 4, 2], ..good.clone() },
            Matmul { a: [4, 0, 1], ..good.clone() },
            Matmul { a: [4, -2, 1], ..good.clone() },
            Matmul { b: [-4, 2, 1], ..good.clone() },
            Matmul { b: [4, 1 << 31, 1], ..good.clone() },
        ] {
            assert_eq!(plan(&bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_long_batch_is_several_calls() {
        let long = Matmul {
            dtype: DType::F16,
            batch: 70_000,
            m: 2,
            n: 3,
            k: 2,
            a: [4, 2, 1],
            b: [0, 3, 1],
            fast: false,
        };
        let calls: Vec<_> = plan(&long).unwrap().calls(At::plain([1024, 2048, 4096])).collect();
        let counts: Vec<i32> = calls.iter().map(|(call, _)| call.count).collect();
        assert_eq!(counts, [65_535, 4465]);
        assert_eq!(calls[0].1, At::plain([1024, 2048, 4096]));
        assert_eq!(calls[1].1, At::plain([1024 + 65_535 * 8, 2048, 4096 + 65_535 * 12]));
        assert_eq!(calls[0].0.alignment, [256, 256, 256]);
        assert_eq!(calls[1].0.alignment, [8, 256, 4]);
        assert_eq!(calls[0].0.result_bytes(), 65_535 * 12);
    }

    #[test]
    fn what_is_added_goes_along_with_the_result() {
        let product = Matmul {
            dtype: DType::F32,
            batch: 70_000,
            m: 2,
            n: 3,
            k: 2,
            a: [4, 2, 1],
            b: [0, 3, 1],
            fast: false,
        };
        let plan = plan(&product).unwrap();
        let plain = At::plain([1024, 2048, 1 << 20]);
        let calls = |at: At| plan.calls(at).collect::<Vec<_>>();
        let apart = calls(At { added: Some(4104), beta: 0.5, alpha: 2.0, ..plain });
        assert_eq!(apart[0].0.added, Some(Added::Apart(8)));
        assert_eq!(apart[1].1.added, Some(4104 + 65_535 * 24));
        assert_eq!((apart[1].1.alpha, apart[1].1.beta), (2.0, 0.5));
        let in_place = calls(At { added: Some(1 << 20), beta: 0.5, ..plain });
        assert!(in_place.iter().all(|(call, at)| {
            call.added == Some(Added::InPlace) && at.added == Some(at.result) && call.bias.is_none()
        }));
        let biased = calls(At { bias: Some(36), ..plain });
        assert!(biased.iter().all(|(call, at)| call.bias == Some(4) && at.bias == Some(36)));
        // What decides how a call is computed knows of all of it.
        let plain = calls(plain);
        for (other, _) in [&apart[0], &in_place[0], &biased[0]] {
            assert_ne!(*other, plain[0].0);
        }
        assert_eq!(calls(At { alpha: 3.0, ..plain[0].1 })[0].0, plain[0].0, "numbers are no part of a way");
    }

    #[test]
    fn a_trial_writes_to_scratch_alone() {
        let at = At { added: Some(3), bias: Some(5), beta: 1.0, ..At::plain([1, 2, 3]) };
        let trial = at.into(9);
        assert_eq!((trial.result, trial.added, trial.bias), (9, Some(9), Some(5)));
        let apart = At { added: Some(4), ..at };
        assert_eq!((apart.into(9).result, apart.into(9).added), (9, Some(4)));
    }

    #[test]
    fn addresses_differ_only_where_it_can_matter() {
        assert_eq!([0, 512, 128, 48, 8, 6, 5].map(alignment), [256, 256, 16, 16, 8, 2, 1]);
    }
}
