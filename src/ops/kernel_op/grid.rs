//! The work items of a launch.

use crate::graph::Variable;
use workalike_device::Properties;

/// The work items of a launch, in up to three dimensions. Sizes are numbers, or 0-d integer Variables in a
/// [`KernelOp`](super::KernelOp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid<S = u64> {
    /// At least as many work items as given in each dimension; the device chooses the groups. A kernel has to
    /// check its index.
    Items([S; 3]),
    /// Groups (CUDA's blocks), and work items of each group (threads of a block).
    Groups {
        /// Groups in each dimension.
        groups: [S; 3],
        /// Work items of a group in each dimension.
        items: [u32; 3],
    },
}

/// A size of a [`Grid`].
pub trait GridSize {
    /// The number, or the Variable.
    type Size;
    /// As a size.
    fn size(self) -> Self::Size;
    /// The extent of a dimension that is not given.
    fn one() -> Self::Size;
}

impl GridSize for u64 {
    type Size = u64;
    fn size(self) -> u64 {
        self
    }
    fn one() -> u64 {
        1
    }
}

impl GridSize for &Variable {
    type Size = Variable;
    fn size(self) -> Variable {
        self.clone()
    }
    fn one() -> Variable {
        Variable::constant(1i64)
    }
}

impl GridSize for Variable {
    type Size = Variable;
    fn size(self) -> Variable {
        self
    }
    fn one() -> Variable {
        Variable::constant(1i64)
    }
}

/// Extents in three dimensions.
fn three<T, const N: usize>(given: [T; N], one: impl Fn() -> T) -> [T; 3] {
    const { assert!(N >= 1 && N <= 3, "a grid has one to three dimensions") };
    let mut given = given.into_iter();
    std::array::from_fn(|_| given.next().unwrap_or_else(&one))
}

impl<S> Grid<S> {
    /// At least as many work items as given in each of one to three dimensions.
    pub fn items<T: GridSize<Size = S>, const N: usize>(items: [T; N]) -> Grid<S> {
        Grid::Items(three(items.map(GridSize::size), T::one))
    }

    /// Groups and the work items of each group, in one to three dimensions: CUDA's grid and block.
    pub fn groups<T: GridSize<Size = S>, const N: usize>(groups: [T; N], items: [u32; N]) -> Grid<S> {
        Grid::Groups { groups: three(groups.map(GridSize::size), T::one), items: three(items, || 1) }
    }

    /// The grid with other sizes.
    pub(super) fn try_map<T, E>(&self, mut size: impl FnMut(&S) -> Result<T, E>) -> Result<Grid<T>, E> {
        let mut three = |[x, y, z]: &[S; 3]| Ok([size(x)?, size(y)?, size(z)?]);
        Ok(match self {
            Grid::Items(items) => Grid::Items(three(items)?),
            Grid::Groups { groups, items } => Grid::Groups { groups: three(groups)?, items: *items },
        })
    }
}

impl Grid {
    /// The groups, and the work items of each.
    pub(crate) fn on(self, device: &Properties) -> ([u64; 3], [u32; 3]) {
        match self {
            Grid::Groups { groups, items } => (groups, items),
            Grid::Items(items) => {
                // A processor runs the items of a group one after another.
                let shapes = match device.is_wide() {
                    true => [[256, 1, 1], [32, 8, 1], [8, 8, 4]],
                    false => [[64, 1, 1], [8, 8, 1], [4, 4, 4]],
                };
                let group: [u32; 3] = match items {
                    [_, 0 | 1, 0 | 1] => shapes[0],
                    [_, _, 0 | 1] => shapes[1],
                    _ => shapes[2],
                };
                (std::array::from_fn(|at| items[at].div_ceil(u64::from(group[at]))), group)
            }
        }
    }
}
