//! The work items of a launch.

use crate::rehost::device::Properties;

/// The work items of a launch, in up to three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// At least as many work items as given in each dimension; the device chooses the groups. A kernel has to
    /// check its index.
    Items([u64; 3]),
    /// Groups (CUDA's blocks), and work items of each group (threads of a block).
    Groups {
        /// Groups in each dimension.
        groups: [u64; 3],
        /// Work items of a group in each dimension.
        items: [u32; 3],
    },
}

/// Extents in three dimensions; missing extents are 1.
fn three<T: Copy + From<u8>, const N: usize>(given: [T; N]) -> [T; 3] {
    const { assert!(N >= 1 && N <= 3, "a grid has one to three dimensions") };
    std::array::from_fn(|at| given.get(at).copied().unwrap_or(T::from(1)))
}

impl Grid {
    /// At least as many work items as given in each of one to three dimensions.
    pub fn items<const N: usize>(items: [u64; N]) -> Grid {
        Grid::Items(three(items))
    }

    /// Groups and the work items of each group, in one to three dimensions: CUDA's grid and block.
    pub fn groups<const N: usize>(groups: [u64; N], items: [u32; N]) -> Grid {
        Grid::Groups { groups: three(groups), items: three(items) }
    }

    /// The groups, and the work items of each.
    pub(super) fn on(self, device: &Properties) -> ([u64; 3], [u32; 3]) {
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
