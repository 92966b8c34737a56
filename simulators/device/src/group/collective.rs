//! What the members of a group exchange, as a library op.

use super::{Group, GroupError};
use std::fmt;
use std::sync::Arc;
use workalike_kernels::DType;
use workalike_kernels::library::{Definition, DefinitionError, LARGEST_OPERAND, LibraryError, LibraryOp};
use workalike_kernels::nest::{Fold, Operand};

/// What each member gets of the members' arrays. The terms are MPI's and NCCL's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CollectiveKind {
    /// All members get the members' arrays folded, element by element, in the order of ranks.
    AllReduce(Fold),
    /// All members get the members' arrays one after another, in the order of ranks.
    AllGather,
    /// Each member gets its part, of as many equal ones as there are members, of the folded arrays.
    ReduceScatter(Fold),
    /// All members get the array of one.
    Broadcast {
        /// The member whose array it is.
        root: usize,
    },
    /// Each member gets the array of at most one, along a route. Without one it gets zeros.
    Permute(Route),
}

/// From which member to which arrays go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// To the member so many ranks further on; past the last comes the first.
    Shift(i64),
    /// From the first of each pair to the second. No member is the first, or the second, of two pairs.
    Pairs(Vec<(usize, usize)>),
}

impl Route {
    /// The member whose array `rank` gets.
    pub fn source(&self, rank: usize, size: usize) -> Option<usize> {
        match self {
            // Both remainders are less than the number of members, which is a usize.
            Route::Shift(by) => Some((rank + size - by.rem_euclid(size as i64) as usize) % size),
            Route::Pairs(pairs) => pairs.iter().find(|(_, to)| *to == rank).map(|(from, _)| *from),
        }
    }

    /// The route back.
    #[must_use]
    pub fn reversed(&self) -> Route {
        match self {
            Route::Shift(by) => Route::Shift(by.saturating_neg()),
            Route::Pairs(pairs) => Route::Pairs(pairs.iter().map(|&(from, to)| (to, from)).collect()),
        }
    }
}

impl From<i64> for Route {
    fn from(by: i64) -> Route {
        Route::Shift(by)
    }
}

impl From<&[(usize, usize)]> for Route {
    fn from(pairs: &[(usize, usize)]) -> Route {
        Route::Pairs(pairs.to_vec())
    }
}

impl<const N: usize> From<[(usize, usize); N]> for Route {
    fn from(pairs: [(usize, usize); N]) -> Route {
        Route::Pairs(pairs.to_vec())
    }
}

impl CollectiveKind {
    /// Its name: `all_reduce`, `all_gather`.
    pub fn name(&self) -> &'static str {
        match self {
            CollectiveKind::AllReduce(_) => "all_reduce",
            CollectiveKind::AllGather => "all_gather",
            CollectiveKind::ReduceScatter(_) => "reduce_scatter",
            CollectiveKind::Broadcast { .. } => "broadcast",
            CollectiveKind::Permute(_) => "permute",
        }
    }

    /// How it combines elements, if it does.
    pub fn fold(&self) -> Option<Fold> {
        match self {
            CollectiveKind::AllReduce(fold) | CollectiveKind::ReduceScatter(fold) => Some(*fold),
            _ => None,
        }
    }

    /// Checks the members that it names against the number of members.
    ///
    /// # Errors
    /// The member that the group does not have, or that has two parts in a route.
    pub fn check(&self, size: usize) -> Result<(), GroupError> {
        let wrong = |argument: &str, found: String| GroupError::Mismatch {
            what: format!("{}: {argument}", self.name()),
            expected: format!("members below {size}, the number of members"),
            found,
        };
        match self {
            CollectiveKind::Broadcast { root } if *root >= size => Err(wrong("root", root.to_string())),
            CollectiveKind::Permute(Route::Pairs(pairs)) => {
                if let Some(pair) = pairs.iter().find(|(from, to)| *from.max(to) >= size) {
                    return Err(wrong("route", format!("{pair:?}")));
                }
                let twice = |pick: fn(&(usize, usize)) -> usize| {
                    let mut ranks: Vec<usize> = pairs.iter().map(pick).collect();
                    ranks.sort_unstable();
                    ranks.windows(2).find(|w| w[0] == w[1]).map(|w| w[0])
                };
                match twice(|pair| pair.0).or_else(|| twice(|pair| pair.1)) {
                    Some(rank) => Err(GroupError::Mismatch {
                        what: "permute: route".into(),
                        expected: "no member twice at the start, or twice at the end, of a pair".into(),
                        found: format!("member {rank} twice in {pairs:?}"),
                    }),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// The number of elements of a result, for so many of an input.
    ///
    /// # Errors
    /// If a reduce_scatter has elements left over, or the number overflows.
    pub fn result_elements(&self, input: u64, size: usize) -> Result<u64, GroupError> {
        let size = size as u64;
        match self {
            CollectiveKind::AllGather => input.checked_mul(size).ok_or_else(|| GroupError::Mismatch {
                what: "all_gather".into(),
                expected: "a result whose size fits 64 bits".into(),
                found: format!("{input} elements of {size} members"),
            }),
            CollectiveKind::ReduceScatter(_) if size == 0 || !input.is_multiple_of(size) => {
                Err(GroupError::Mismatch {
                    what: "reduce_scatter".into(),
                    expected: format!("a multiple of {size}, the number of members"),
                    found: format!("{input} elements"),
                })
            }
            CollectiveKind::ReduceScatter(_) => Ok(input / size),
            _ => Ok(input),
        }
    }
}

/// An array that members exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveArray {
    /// What each member gets.
    pub kind: CollectiveKind,
    /// The dtype of the elements; that of the parts for complex ones.
    pub dtype: DType,
    /// The number of elements of each member's input.
    pub elements: u64,
}

impl CollectiveArray {
    /// The bytes of each member's input.
    pub fn bytes(&self) -> u64 {
        self.elements.saturating_mul(self.dtype.size() as u64)
    }
}

/// A collective of one member: what is exchanged, and the member's side of the group.
#[derive(Clone, Debug)]
pub struct Collective {
    /// The arrays. There is one, or each is [reduced](CollectiveKind::AllReduce) by itself for all members.
    pub arrays: Vec<CollectiveArray>,
    /// The group.
    pub group: Arc<dyn Group>,
    /// A number that collectives of one Function differ by, so that members at different ones find out.
    pub number: u64,
}

impl Collective {
    /// So many arrays at once each transport carries.
    pub const MOST_ARRAYS: usize = 64;

    /// The collective that a library op is.
    pub fn of(op: &dyn LibraryOp) -> Option<&Collective> {
        op.downcast()
    }

    /// Whether all arrays are reduced for all members.
    pub fn is_all_reduce(&self) -> bool {
        self.arrays.iter().all(|array| matches!(array.kind, CollectiveKind::AllReduce(_)))
    }

    /// What members must agree on, as text: kinds, elements and number.
    pub fn describe(&self) -> String {
        let of = |alike: &[CollectiveArray]| {
            let CollectiveArray { kind, dtype, .. } = &alike[0];
            let how = match kind {
                CollectiveKind::AllReduce(fold) | CollectiveKind::ReduceScatter(fold) => {
                    format!(" ({fold:?})")
                }
                CollectiveKind::Broadcast { root } => format!(" from {root}"),
                CollectiveKind::Permute(route) => format!(" along {route:?}"),
                CollectiveKind::AllGather => String::new(),
            };
            let elements: Vec<String> = alike.iter().map(|array| array.elements.to_string()).collect();
            format!("{}{how} of {} {dtype}", kind.name(), elements.join(" + "))
        };
        let alike = self.arrays.chunk_by(|a, b| (&a.kind, a.dtype) == (&b.kind, b.dtype));
        format!("{} (node #{})", alike.map(of).collect::<Vec<_>>().join(" and "), self.number)
    }

    /// The number of elements of each result.
    ///
    /// # Errors
    /// If the elements cannot be divided among the members.
    pub fn results(&self) -> Result<Vec<u64>, GroupError> {
        let size = self.group.size();
        self.arrays.iter().map(|array| array.kind.result_elements(array.elements, size)).collect()
    }

    /// The bytes of the inputs, and of the results.
    ///
    /// # Errors
    /// As [`Collective::results`].
    pub fn bytes(&self) -> Result<[Vec<u64>; 2], GroupError> {
        let results = self.arrays.iter().zip(self.results()?);
        let results = results.map(|(array, n)| n.saturating_mul(array.dtype.size() as u64));
        Ok([self.arrays.iter().map(CollectiveArray::bytes).collect(), results.collect()])
    }

    /// Checks arrays in main memory against it.
    ///
    /// # Errors
    /// The argument that does not fit.
    pub fn check(&self, inputs: &[&[u8]], outputs: &[&mut [u8]]) -> Result<(), GroupError> {
        self.arrays.iter().try_for_each(|array| array.kind.check(self.group.size()))?;
        let expected = self.bytes()?;
        let found = [
            inputs.iter().map(|input| input.len() as u64).collect(),
            outputs.iter().map(|output| output.len() as u64).collect::<Vec<_>>(),
        ];
        if found == expected {
            return Ok(());
        }
        let text =
            |[reads, writes]: &[Vec<u64>; 2]| format!("inputs of {reads:?} and outputs of {writes:?} bytes");
        Err(GroupError::Mismatch { what: self.describe(), expected: text(&expected), found: text(&found) })
    }
}

impl LibraryOp for Collective {
    fn name(&self) -> String {
        self.arrays.first().map_or("nothing", |array| array.kind.name()).into()
    }

    /// That of the first array.
    fn dtype(&self) -> DType {
        self.arrays.first().map_or(DType::U8, |array| array.dtype)
    }

    fn extents(&self) -> Vec<u64> {
        let elements = self.arrays.iter().map(|array| array.elements);
        std::iter::once(self.group.size() as u64).chain(elements).collect()
    }

    fn operands(&self) -> Vec<Operand> {
        let operand = |dtype, n, written| Operand::contiguous(dtype, &[n], written);
        let results = self.results().unwrap_or_default();
        let results = self.arrays.iter().zip(results).map(|(array, n)| operand(array.dtype, n, true));
        self.arrays.iter().map(|array| operand(array.dtype, array.elements, false)).chain(results).collect()
    }

    fn is_joint(&self) -> bool {
        true
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let fail = |argument, expected: String, found: String| {
            Err(LibraryError { op: LibraryOp::name(self), argument, expected, found })
        };
        let size = self.group.size();
        let mut all = 0u64;
        for CollectiveArray { kind, dtype, elements } in &self.arrays {
            if let Err(error) = kind.check(size) {
                return fail("members", "members of the group".into(), error.to_string());
            }
            match (dtype.is_complex(), kind.fold()) {
                (true, _) => return fail("dtype", "a real dtype".into(), dtype.to_string()),
                (_, None | Some(Fold::Sum | Fold::Max | Fold::Min)) => {}
                (_, Some(fold)) => return fail("fold", "Sum, Max or Min".into(), format!("{fold:?}")),
            }
            let members = elements.saturating_mul(size as u64).saturating_mul(dtype.size() as u64);
            all = all.saturating_add(members);
        }
        if all > LARGEST_OPERAND {
            return fail("elements", format!("at most {LARGEST_OPERAND} bytes"), all.to_string());
        }
        if let Err(error) = self.results() {
            return fail("elements", "as many for each member".into(), error.to_string());
        }
        match self.arrays.len() {
            1 => Ok(()),
            n if n > 1 && self.is_all_reduce() => Ok(()),
            n => fail("arrays", "one, or reductions for all members".into(), format!("{n} arrays")),
        }
    }

    fn flops(&self) -> f64 {
        let combined = self.arrays.iter().filter(|array| array.kind.fold().is_some());
        combined.map(|array| array.elements as f64).sum::<f64>() * self.group.size() as f64
    }

    fn definition(&self) -> Option<Result<Definition, DefinitionError>> {
        let collective = self.clone();
        Some(Ok(Box::new(move |inputs: &[&[u8]], outputs: &mut [&mut [u8]]| {
            let failed = |error: GroupError| DefinitionError::Failed { message: error.to_string() };
            collective.group.exchange(&collective, inputs, outputs).map_err(failed)
        })))
    }

    fn has_definition(&self) -> bool {
        true
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Route::Shift(by) => write!(f, "shift {by}"),
            Route::Pairs(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(from, to)| format!("{from}>{to}")).collect();
                write!(f, "{}", pairs.join(" "))
            }
        }
    }
}
