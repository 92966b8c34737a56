//! Integer products, which wrap. A row of the result is a sum of multiples of rows of the right factor,
//! several of which are added at a time; if the columns of the right factor are contiguous, elements are dot
//! products.

use super::super::folds::rules::Factor;
use super::schedule::piece;
use super::{CHUNKS, Product, Room, Shape};
use std::marker::PhantomData;
use std::ops::Range;
use workalike_device::Matmul;
use workalike_kernels::DType;
use workalike_kernels::level::{Loop, run};

/// Whether these loops are fast for this product: they need contiguous rows or columns.
pub(crate) fn takes(p: &Matmul) -> bool {
    let (along_columns, along_k) = (p.b[2] == 1, p.a[2] == 1 && p.b[1] == 1);
    p.dtype.is_integer() && (along_columns || along_k)
}

/// An integer.
trait Integer: Factor + Default {}
impl<T: Factor + Default> Integer for T {}

impl Product {
    /// # Safety
    /// Same as [`Product::run`]; the product must be of integers, and have no epilogue.
    pub(super) unsafe fn integers(&self, room: Room<'_>) -> bool {
        // Signed and unsigned integers have the same product.
        // SAFETY: the caller guarantees the regions; each arm takes integers of the dtype's size.
        unsafe {
            match self.dtype {
                DType::I8 | DType::U8 => self.rows_of::<u8>(room),
                DType::I16 | DType::U16 => self.rows_of::<u16>(room),
                DType::I32 | DType::U32 => self.rows_of::<u32>(room),
                _ => self.rows_of::<u64>(room),
            }
        }
    }

    /// # Safety
    /// Same as [`Product::integers`]; `T` must be of the dtype's size.
    unsafe fn rows_of<T: Integer>(&self, room: Room<'_>) -> bool {
        let rows = self.batch * self.shape.m;
        let chunks = if self.threads > 1 { rows.min(CHUNKS * self.threads) } else { 1 };
        self.share(room.pool, chunks, &|chunk, _| {
            // SAFETY: the caller guarantees regions and `T`; chunks have different rows of the results.
            run(unsafe { RowsLoop::<T>::new(self, piece(rows, chunks, chunk)) });
        })
    }
}

/// Some rows of the results of a batch. Only [`RowsLoop::new`] makes one.
struct RowsLoop<'a, T> {
    product: &'a Product,
    rows: Range<usize>,
    element: PhantomData<T>,
}

impl<'a, T> RowsLoop<'a, T> {
    /// # Safety
    /// Until it has run, the regions of the product must be as [`Product::run`] needs them, with elements of
    /// `T`; the rows must exist, and no other thread may use them.
    unsafe fn new(product: &'a Product, rows: Range<usize>) -> Self {
        RowsLoop { product, rows, element: PhantomData }
    }
}

/// Adds multiples of rows to a row. Each is its own argument, so that the compiler knows that `into` overlaps
/// none.
macro_rules! adds {
    ($name:ident: $($row:ident $by:ident),+) => {
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        fn $name<T: Factor>(into: &mut [T], $($row: &[T], $by: T),+) {
            let n = into.len();
            $(let $row = &$row[..n];)+
            for i in 0..n {
                let mut sum = into[i];
                $(sum = sum.add_product::<false>($row[i], $by);)+
                into[i] = sum;
            }
        }
    };
}
adds!(add_one: a x);
adds!(add_four: a x, b y, c z, d w);

impl<T: Integer> Loop for RowsLoop<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Shape { m, n, k, a: [a_row, a_k], b: [b_k, b_column] } = self.product.shape;
        for row in self.rows {
            let (a, b, c) = self.product.places(row / m);
            let (b, a) = (b.cast::<T>(), a.cast::<T>().wrapping_offset((row % m) as isize * a_row));
            let c = c.cast::<T>().wrapping_add(row % m * n);
            // SAFETY: the caller of `new` guarantees that both factors and the result lie within their
            // regions, that the result overlaps no factor, and that no other thread uses these rows of it.
            unsafe {
                let into = std::slice::from_raw_parts_mut(c, n);
                if b_column == 1 || n == 1 {
                    let b = |p: usize| std::slice::from_raw_parts(b.offset(p as isize * b_k), n);
                    let by = |p: usize| *a.offset(p as isize * a_k);
                    into.fill(T::default());
                    for p in (0..k / 4 * 4).step_by(4) {
                        let by = [0, 1, 2, 3].map(|i| by(p + i));
                        add_four(into, b(p), by[0], b(p + 1), by[1], b(p + 2), by[2], b(p + 3), by[3]);
                    }
                    (k / 4 * 4..k).for_each(|p| add_one(into, b(p), by(p)));
                } else if (a_k == 1 && b_k == 1) || k == 1 {
                    let a = std::slice::from_raw_parts(a, k);
                    for (j, into) in into.iter_mut().enumerate() {
                        let column = std::slice::from_raw_parts(b.offset(j as isize * b_column), k);
                        let products = a.iter().zip(column);
                        *into = products.fold(T::default(), |sum, (x, y)| sum.add_product::<false>(*x, *y));
                    }
                } else {
                    for (j, into) in into.iter_mut().enumerate() {
                        let at = |p: usize| {
                            (*a.offset(p as isize * a_k), *b.offset(p as isize * b_k + j as isize * b_column))
                        };
                        let products = (0..k).map(at);
                        *into = products.fold(T::default(), |sum, (x, y)| sum.add_product::<false>(x, y));
                    }
                }
            }
        }
    }
}
