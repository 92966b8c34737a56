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

/// A collective of one member: what is exchanged, and the member's side of the group.
#[derive(Clone, Debug)]
pub struct Collective {
    /// What each member gets.
    pub kind: CollectiveKind,
    /// The dtype of the elements; that of the parts for complex ones.
    pub dtype: DType,
    /// The number of elements of each member's input. Several arrays, each reduced by itself, may share an
    /// [all_reduce](CollectiveKind::AllReduce).
    pub elements: Vec<u64>,
    /// The group.
    pub group: Arc<dyn Group>,
    /// A number that collectives of one Function differ by, so that members at different ones find out.
    pub number: u64,
}

impl Collective {
    /// The collective that a library op is.
    pub fn of(op: &dyn LibraryOp) -> Option<&Collective> {
        op.downcast()
    }

    /// What members must agree on, as text: kind, elements and number.
    pub fn describe(&self) -> String {
        let Collective { kind, dtype, elements, number, .. } = self;
        let how = match kind {
            CollectiveKind::AllReduce(fold) | CollectiveKind::ReduceScatter(fold) => format!(" ({fold:?})"),
            CollectiveKind::Broadcast { root } => format!(" from {root}"),
            CollectiveKind::Permute(route) => format!(" along {route:?}"),
            CollectiveKind::AllGather => String::new(),
        };
        let elements: Vec<String> = elements.iter().map(u64::to_string).collect();
        format!("{}{how} of {} {dtype} (node #{number})", kind.name(), elements.join(" + "))
    }

    /// The number of elements of each result.
    ///
    /// # Errors
    /// If the elements cannot be divided among the members.
    pub fn results(&self) -> Result<Vec<u64>, GroupError> {
        self.elements.iter().map(|&n| self.kind.result_elements(n, self.group.size())).collect()
    }

    /// Checks arrays in main memory against it.
    ///
    /// # Errors
    /// The argument that does not fit.
    pub fn check(&self, inputs: &[&[u8]], outputs: &[&mut [u8]]) -> Result<(), GroupError> {
        self.kind.check(self.group.size())?;
        let size = self.dtype.size() as u64;
        let bytes = |elements: &[u64]| elements.iter().map(|n| n.saturating_mul(size)).collect::<Vec<_>>();
        let expected = [bytes(&self.elements), bytes(&self.results()?)];
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
        self.kind.name().into()
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn extents(&self) -> Vec<u64> {
        std::iter::once(self.group.size() as u64).chain(self.elements.iter().copied()).collect()
    }

    fn operands(&self) -> Vec<Operand> {
        let operand = |written| move |&n: &u64| Operand::contiguous(self.dtype, &[n], written);
        let results = self.results().unwrap_or_default();
        self.elements.iter().map(operand(false)).chain(results.iter().map(operand(true))).collect()
    }

    fn is_joint(&self) -> bool {
        true
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let fail = |argument, expected: String, found: String| {
            Err(LibraryError { op: LibraryOp::name(self), argument, expected, found })
        };
        if let Err(error) = self.kind.check(self.group.size()) {
            return fail("members", "members of the group".into(), error.to_string());
        }
        let all = self.elements.iter().fold(0u64, |all, n| all.saturating_add(*n));
        let all = all.saturating_mul(self.group.size() as u64);
        if all.saturating_mul(self.dtype.size() as u64) > LARGEST_OPERAND {
            return fail("elements", format!("at most {LARGEST_OPERAND} bytes"), all.to_string());
        }
        if let Err(error) = self.results() {
            return fail("elements", "as many for each member".into(), error.to_string());
        }
        let shared = matches!(self.kind, CollectiveKind::AllReduce(_)) && !self.elements.is_empty();
        if self.elements.len() != 1 && !shared {
            return fail("elements", "one array".into(), format!("{} arrays", self.elements.len()));
        }
        match (self.dtype.is_complex(), self.kind.fold()) {
            (true, _) => fail("dtype", "a real dtype".into(), self.dtype.to_string()),
            (_, None | Some(Fold::Sum | Fold::Max | Fold::Min)) => Ok(()),
            (_, Some(fold)) => fail("fold", "Sum, Max or Min".into(), format!("{fold:?}")),
        }
    }

    fn flops(&self) -> f64 {
        let combined = self.kind.fold().is_some();
        let elements: f64 = self.elements.iter().map(|&n| n as f64).sum();
        if combined { elements * self.group.size() as f64 } else { 0.0 }
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
