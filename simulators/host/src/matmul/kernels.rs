//! The kernels of each instruction set level, as tables by tile size.

use super::super::vector::{PortableVector, Vector, VectorElement};
use super::microkernel::{Dots, MatmulTile, dots, tile};
use super::pack::{PackCopy, pack_columns, pack_rows};
use workalike_kernels::level::{Level, level};
#[cfg(target_arch = "x86_64")]
use {
    super::super::vector::{Avx2, Avx512},
    std::arch::x86_64::*,
};

/// Most vectors in a row of a tile.
pub(super) const VECTORS: usize = 3;
/// Most columns of [`Dots`], and most rows.
pub(super) const DOTS: usize = 4;

/// Computes a tile.
type TileKernel<T> = unsafe fn(&MatmulTile<T>);
/// Computes some dot products.
type DotsKernel<T> = unsafe fn(&Dots<T>);

/// The kernels for one type at one level. All are unsafe: their callers guarantee what [`tile`], [`dots`],
/// [`pack_rows`] and [`pack_columns`] need, and a processor of the level, which [`Multiplied::best`] chooses.
pub(super) struct MatmulKernels<T: 'static> {
    /// Elements in a vector.
    pub(super) lanes: usize,
    /// Tiles of `r` rows and `v` vectors, at `[r - 1][v - 1]`.
    pub(super) tiles: &'static [[TileKernel<T>; VECTORS]],
    /// Products of `r` rows and `n` columns, at `[r - 1][n - 1]`.
    pub(super) dots: &'static [[DotsKernel<T>; DOTS]],
    /// Packs rows that are contiguous in the source.
    pub(super) rows: unsafe fn(&PackCopy<T>),
    /// Packs columns that are contiguous in the source.
    pub(super) columns: unsafe fn(&PackCopy<T>),
}

/// Functions that are compiled for a level.
macro_rules! level {
    ($name:ident $(, $feature:literal)?) => {
        mod $name {
            use super::*;
            /// # Safety
            /// Same as [`tile`], at this level.
            $(#[target_feature(enable = $feature)])?
            pub(super) unsafe fn one_tile<V: Vector, const R: usize, const N: usize>(t: &MatmulTile<V::Item>) {
                // SAFETY: the caller guarantees the elements, and a processor of this level.
                unsafe { tile::<V, R, N>(t) };
            }
            /// # Safety
            /// Same as [`dots`], at this level.
            $(#[target_feature(enable = $feature)])?
            pub(super) unsafe fn some_dots<V: Vector, const R: usize, const N: usize>(d: &Dots<V::Item>) {
                // SAFETY: the caller guarantees the elements, and a processor of this level.
                unsafe { dots::<V, R, N>(d) };
            }
            /// # Safety
            /// Same as [`pack_rows`], at this level.
            $(#[target_feature(enable = $feature)])?
            pub(super) unsafe fn rows<V: Vector>(r: &PackCopy<V::Item>) {
                // SAFETY: the caller guarantees the elements, and a processor of this level.
                unsafe { pack_rows::<V>(r) };
            }
            /// # Safety
            /// Same as [`pack_columns`], at this level.
            $(#[target_feature(enable = $feature)])?
            pub(super) unsafe fn columns<T: VectorElement>(r: &PackCopy<T>) {
                // SAFETY: the caller guarantees the elements, and a processor of this level.
                unsafe { pack_columns(r) };
            }
        }
    };
}

macro_rules! kernels {
    ($level:ident, $t:ty, $v:ty, tiles $($r:literal)*, dots $($d:literal)*) => {
        &MatmulKernels {
            lanes: <$v as Vector>::LANES,
            tiles: &[$([
                $level::one_tile::<$v, $r, 1>,
                $level::one_tile::<$v, $r, 2>,
                $level::one_tile::<$v, $r, 3>,
            ]),*],
            dots: &[$([
                $level::some_dots::<$v, $d, 1>,
                $level::some_dots::<$v, $d, 2>,
                $level::some_dots::<$v, $d, 3>,
                $level::some_dots::<$v, $d, 4>,
            ]),*],
            rows: $level::rows::<$v>,
            columns: $level::columns::<$t>,
        }
    };
}

level!(baseline);
#[cfg(target_arch = "x86_64")]
level!(avx2, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt");
#[cfg(target_arch = "x86_64")]
level!(avx512, "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt");

/// An element type with kernels.
pub(super) trait Multiplied: VectorElement {
    /// The kernels of a level.
    fn kernels(level: Level) -> &'static MatmulKernels<Self>;

    /// The kernels of the best level of this processor.
    fn best() -> &'static MatmulKernels<Self> {
        Self::kernels(level())
    }
}

macro_rules! multiplied {
    ($t:ty, $plain:literal, $v2:ident, $v512:ident) => {
        impl Multiplied for $t {
            fn kernels(level: Level) -> &'static MatmulKernels<$t> {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => kernels!(avx512, $t, Avx512<$v512>, tiles 1 2 3 4 5 6 7 8, dots 1 2 3 4),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => kernels!(avx2, $t, Avx2<$v2>, tiles 1 2 3 4, dots 1 2),
                    #[cfg(target_arch = "aarch64")]
                    _ => kernels!(baseline, $t, Plain<$t, $plain>, tiles 1 2 3 4 5 6 7 8, dots 1 2 3 4),
                    #[cfg(not(target_arch = "aarch64"))]
                    _ => kernels!(baseline, $t, PortableVector<$t, $plain>, tiles 1 2 3 4, dots 1 2),
                }
            }
        }
    };
}
multiplied!(f32, 4, __m256, __m512);
multiplied!(f64, 2, __m256d, __m512d);
