//! The kernels and loops at every level of this processor, against plain sums.

use super::kernels::Multiplied;
use super::schedule::{KernelShape, MatmulLoops, MatmulSchedule, MatmulShape, piece};
use super::task::MatmulTask;
use workalike_kernels::level::{Level, level};

/// A stream of reproducible numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }
}

trait Real: Multiplied + PartialEq {
    const EPSILON: f64;
    fn of(x: f64) -> Self;
    fn to(self) -> f64;
}

macro_rules! real {
    ($($t:ty),*) => { $(impl Real for $t {
        const EPSILON: f64 = <$t>::EPSILON as f64;
        fn of(x: f64) -> $t {
            x as $t
        }
        fn to(self) -> f64 {
            self as f64
        }
    })* };
}
real!(f32, f64);

/// The layout of a factor: strides, the first element, and the number of elements of its memory.
struct Layout {
    steps: [isize; 2],
    first: usize,
    count: usize,
}

/// Some layout of a matrix: by rows, by columns, with gaps, reversed, or with one row repeated.
fn layout(numbers: &mut Numbers, [rows, columns]: [usize; 2]) -> Layout {
    let gap = numbers.below(3) as isize;
    let (row, column) = match numbers.below(8) {
        0..3 => (columns as isize + gap, 1),
        3..6 => (1, rows as isize + gap),
        6 => (-(columns as isize + gap), 1),
        _ => (0, 1 + gap),
    };
    let reach = [row * (rows as isize - 1), column * (columns as isize - 1)];
    let first = reach.iter().map(|r| (-r).max(0)).sum::<isize>() as usize;
    let last = reach.iter().map(|r| (*r).max(0)).sum::<isize>() as usize;
    Layout { steps: [row, column], first, count: first + last + 1 }
}

/// Multiplies part by part for this many threads, with canaries around the result; elements that must not be
/// read are NaN.
fn multiply<T: Real>(
    level: Level,
    shape: MatmulShape,
    factors: [(&[T], usize); 2],
    threads: usize,
) -> (Vec<T>, MatmulLoops) {
    let kernels = T::kernels(level);
    let kind = KernelShape { size: T::SIZE, lanes: kernels.lanes, rows: kernels.tiles.len() };
    let schedule = MatmulSchedule::new(&shape, kind, threads, true);
    let mut result = vec![T::of(7.0); shape.m * shape.n + 2];
    let mut scratch = vec![T::of(f64::NAN); schedule.scratch + 16];
    scratch[schedule.scratch..].fill(T::of(7.0));
    let [a, b] = factors.map(|(all, first)| all[first..].as_ptr());
    let c = result[1..].as_mut_ptr();
    let job = MatmulTask { kernels, shape, schedule: &schedule, a, b, c, then: None };
    for part in 0..schedule.parts[0] * schedule.parts[1] {
        // SAFETY: the layouts give the number of elements, the schedule the size of the scratch; tests run
        // one part at a time.
        unsafe { job.part(part, scratch.as_mut_ptr()) };
    }
    assert!(scratch[schedule.scratch..].iter().all(|x| x.to() == 7.0), "scratch is overrun in {shape:?}");
    assert_eq!([result[0].to(), result[shape.m * shape.n + 1].to()], [7.0; 2], "{shape:?}");
    (result[1..=shape.m * shape.n].to_vec(), schedule.way)
}

fn check<T: Real>(level: Level, numbers: &mut Numbers, [m, n, k]: [usize; 3]) -> MatmulLoops {
    let (a, b) = (layout(numbers, [m, k]), layout(numbers, [k, n]));
    let shape = MatmulShape { m, n, k, a: a.steps, b: b.steps };
    // Elements outside of all rows and columns must not be read.
    let mut fill = |layout: &Layout, [rows, columns]: [usize; 2]| {
        let mut all = vec![T::of(f64::NAN); layout.count];
        for i in 0..rows {
            for j in 0..columns {
                let at = layout.first as isize + i as isize * layout.steps[0] + j as isize * layout.steps[1];
                all[at as usize] = T::of(numbers.below(2000) as f64 / 1000.0 - 1.0);
            }
        }
        all
    };
    let (x, y) = (fill(&a, [m, k]), fill(&b, [k, n]));
    let (got, way) = multiply(level, shape, [(&x, a.first), (&y, b.first)], 1);
    for threads in [2, 5] {
        let (again, _) = multiply(level, shape, [(&x, a.first), (&y, b.first)], threads);
        assert!(got == again, "{threads} threads change {shape:?} at {level:?}");
    }
    let at = |layout: &Layout, i: usize, j: usize| {
        (layout.first as isize + i as isize * layout.steps[0] + j as isize * layout.steps[1]) as usize
    };
    for i in 0..m {
        for j in 0..n {
            let terms = (0..k).map(|k| x[at(&a, i, k)].to() * y[at(&b, k, j)].to());
            let (want, size) = terms.fold((0.0, 0.0), |(s, t), v: f64| (s + v, t + v.abs()));
            let got = got[i * n + j].to();
            let bound = k as f64 * T::EPSILON * size;
            assert!(
                (got - want).abs() <= bound,
                "{got} is not {want} at {i}, {j} of {shape:?}, {way:?}, {level:?}"
            );
        }
    }
    way
}

fn levels() -> impl Iterator<Item = Level> {
    [Level::Baseline, Level::Avx2, Level::Avx512].into_iter().filter(|l| *l <= level())
}

#[test]
fn small_products_at_every_level() {
    for level in levels() {
        let mut numbers = Numbers(level as u64);
        let mut seen = [0; 3];
        for round in 0..1500 {
            let mut extent = || 1 + numbers.below(if round % 3 == 0 { 70 } else { 20 });
            let shape = [extent(), extent(), extent()];
            let way = if round % 2 == 0 {
                check::<f32>(level, &mut numbers, shape)
            } else {
                check::<f64>(level, &mut numbers, shape)
            };
            seen[match way {
                MatmulLoops::Direct => 0,
                MatmulLoops::Packed => 1,
                MatmulLoops::Dots { .. } => 2,
            }] += 1;
        }
        assert!(seen.iter().all(|n| *n > 9), "{seen:?}");
    }
}

#[test]
fn products_of_several_blocks_at_every_level() {
    for level in levels() {
        let mut numbers = Numbers(level as u64);
        for shape in [[3, 5, 700], [20, 130, 513], [65, 50, 257], [9, 1, 600], [1, 90, 1030], [70, 1500, 260]]
        {
            for _ in 0..3 {
                check::<f32>(level, &mut numbers, shape);
                check::<f64>(level, &mut numbers, shape);
            }
        }
    }
}

#[test]
fn threads_have_equal_work() {
    let kind = KernelShape { size: 4, lanes: 16, rows: 8 };
    for [m, n, k] in
        [[20, 500, 784], [784, 500, 20], [500, 10, 512], [517, 517, 517], [31, 250, 250], [2047, 2047, 2047]]
    {
        for threads in [1, 2, 4] {
            let shape = MatmulShape { m, n, k, a: [k as isize, 1], b: [n as isize, 1] };
            let [down, across] = MatmulSchedule::new(&shape, kind, threads, true).parts;
            assert!(down * across <= 4 * threads && (threads > 1 || down * across == 1));
            let largest = m.div_ceil(down) * (n.div_ceil(16).div_ceil(across) * 16);
            let slowest = (down * across).div_ceil(threads) * largest;
            let most = 1.1 * (m * n.next_multiple_of(16)) as f64 / threads as f64;
            assert!((slowest as f64) < most, "{down} x {across} parts of {shape:?} for {threads} threads");
        }
    }
}

#[test]
fn pieces_are_even_and_cover_all() {
    for extent in 0..40 {
        for count in 1..10 {
            let pieces: Vec<_> = (0..count).map(|i| piece(extent, count, i)).collect();
            assert!(pieces.windows(2).all(|w| w[0].end == w[1].start && w[0].len() - w[1].len() <= 1));
            assert_eq!((pieces[0].start, pieces[count - 1].end), (0, extent));
        }
    }
}
