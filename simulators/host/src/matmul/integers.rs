//! Integer products, which wrap. A row of the result is a sum of multiples of rows of the right factor; if
//! these are not contiguous, elements are dot products.

use super::super::folds::rules::MulAdd;
use super::schedule::piece;
use super::{BoundMatmul, CHUNKS, MatmulResources, MatmulShape};
use std::marker::PhantomData;
use std::ops::Range;
use workalike_device::Matmul;
use workalike_kernels::DType;
use workalike_kernels::level::{SimdLoop, run};

/// Whether these loops are fast for this product: they need contiguous rows or columns.
pub(crate) fn takes(p: &Matmul) -> bool {
    let (along_columns, along_k) = (p.b[2] == 1, p.a[2] == 1 && p.b[1] == 1);
    p.dtype.is_integer() && (along_columns || along_k)
}

impl BoundMatmul {
    /// # Safety
    /// Same as [`BoundMatmul::run`]; the product must be of integers, and have no epilogue.
    pub(super) unsafe fn integers(&self, resources: MatmulResources<'_>) -> bool {
        // Signed and unsigned integers have the same product.
        // SAFETY: the caller guarantees the regions; each arm takes integers of the dtype's size.
        unsafe {
            match self.dtype {
                DType::I8 | DType::U8 => self.rows_of::<u8>(resources),
                DType::I16 | DType::U16 => self.rows_of::<u16>(resources),
                DType::I32 | DType::U32 => self.rows_of::<u32>(resources),
                _ => self.rows_of::<u64>(resources),
            }
        }
    }

    /// # Safety
    /// Same as [`BoundMatmul::integers`]; `T` must be of the dtype's size.
    unsafe fn rows_of<T: MulAdd + Default>(&self, resources: MatmulResources<'_>) -> bool {
        let rows = self.batch * self.shape.m;
        let chunks = if self.threads > 1 { rows.min(CHUNKS * self.threads) } else { 1 };
        self.share(resources.pool, chunks, &|chunk, _| {
            // The caller guarantees regions and `T`; chunks have different rows of the results.
            run(RowsLoop::<T> { product: self, rows: piece(rows, chunks, chunk), element: PhantomData });
        })
    }
}

/// Some rows of the results of a batch. Only [`BoundMatmul::rows_of`] makes them.
struct RowsLoop<'a, T> {
    product: &'a BoundMatmul,
    rows: Range<usize>,
    element: PhantomData<T>,
}

impl<T: MulAdd + Default> SimdLoop for RowsLoop<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let MatmulShape { m, n, k, a: [a_row, a_k], b: [b_k, b_column] } = self.product.shape;
        for row in self.rows {
            let (a, b, c) = self.product.places(row / m);
            let (b, a) = (b.cast::<T>(), a.cast::<T>().wrapping_offset((row % m) as isize * a_row));
            let c = c.cast::<T>().wrapping_add(row % m * n);
            // SAFETY: the caller of `rows_of` guarantees that both factors and the result lie within their
            // regions, that the result overlaps no factor, and that no other thread uses these rows of it.
            unsafe {
                let into = std::slice::from_raw_parts_mut(c, n);
                if b_column == 1 || n == 1 {
                    into.fill(T::default());
                    for p in 0..k as isize {
                        let (by, row) =
                            (*a.offset(p * a_k), std::slice::from_raw_parts(b.offset(p * b_k), n));
                        for (into, x) in into.iter_mut().zip(row) {
                            *into = into.add_product::<false>(*x, by);
                        }
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
