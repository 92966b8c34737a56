//! Kernels in the dialect in main memory: what they compute, and what is refused.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod access;
mod faults;
mod groups;
mod hostile;
mod preprocessor;
mod random;
mod refusals;
mod values;

use bytemuck::{Pod, cast_slice};
use std::sync::Arc;
use workalike_kernels::custom::{CustomLaunch, KernelArg, KernelCall, KernelSource, Language};
use workalike_kernels::library::LibraryOp;
use workalike_kernels::nest::Operand;
use workalike_kernels::{DType, Scalar};

/// A number that arrays hold.
pub(crate) trait Element: Pod {
    const DTYPE: DType;
}

macro_rules! elements {
    ($($t:ty: $dtype:ident),*) => { $(impl Element for $t {
        const DTYPE: DType = DType::$dtype;
    })* };
}
elements!(i8: I8, u8: U8, i16: I16, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64, f32: F32, f64: F64);
elements!(half::f16: F16, half::bf16: BF16);

/// A launch of the first kernel of a text, and its arguments in the order of the parameters.
#[derive(Clone)]
pub(crate) struct Run {
    source: KernelSource,
    grid: [u64; 3],
    group: [u32; 3],
    /// Arrays with whether the kernel writes them.
    arrays: Vec<(DType, Vec<u8>, bool)>,
    args: Vec<KernelArg>,
}

impl Run {
    pub(crate) fn of(text: &str) -> Run {
        Run::typed(text, &[])
    }

    pub(crate) fn typed(text: &str, types: &[(&str, DType)]) -> Run {
        let source = KernelSource::new(Language::Dialect, text, types).unwrap();
        Run { source, grid: [1; 3], group: [1; 3], arrays: vec![], args: vec![] }
    }

    pub(crate) fn constant<T: Into<Scalar> + Copy>(self, name: &str, numbers: &[T]) -> Run {
        Run { source: self.source.clone().constant(name, numbers).unwrap(), ..self }
    }

    pub(crate) fn groups(self, grid: [u64; 3], group: [u32; 3]) -> Run {
        Run { grid, group, ..self }
    }

    fn array<T: Element>(mut self, elements: &[T], written: bool) -> Run {
        self.args.push(KernelArg::Array(self.arrays.len()));
        self.arrays.push((T::DTYPE, cast_slice(elements).to_vec(), written));
        self
    }

    pub(crate) fn input<T: Element>(self, elements: &[T]) -> Run {
        self.array(elements, false)
    }

    pub(crate) fn output<T: Element>(self, elements: &[T]) -> Run {
        self.array(elements, true)
    }

    pub(crate) fn number<T: Into<Scalar>>(mut self, number: T) -> Run {
        self.args.push(KernelArg::Scalar(number.into()));
        self
    }

    pub(crate) fn local(mut self, bytes: u64) -> Run {
        self.args.push(KernelArg::Local(bytes));
        self
    }

    /// Runs it: the arrays that were written, or the error.
    pub(crate) fn all(self) -> Result<Vec<Vec<u8>>, String> {
        let mut order: Vec<usize> = (0..self.arrays.len()).collect();
        order.sort_by_key(|at| self.arrays[*at].2);
        let place = |at: usize| order.iter().position(|own| *own == at).unwrap();
        let arg = |arg: &KernelArg| match *arg {
            KernelArg::Array(at) => KernelArg::Array(place(at)),
            other => other,
        };
        let operand = |at: &usize| {
            let (dtype, bytes, written) = &self.arrays[*at];
            Operand::contiguous(*dtype, &[(bytes.len() / dtype.size()) as u64], *written)
        };
        let call = KernelCall {
            kernel: self.source.signatures().next().unwrap().name.clone(),
            grid: self.grid,
            group: self.group,
            args: self.args.iter().map(arg).collect(),
        };
        let operands = order.iter().map(operand).collect();
        let op =
            CustomLaunch { source: Arc::new(self.source), operands, calls: vec![call], initialized: true };
        op.verify().map_err(|error| error.to_string())?;
        let definition = op.definition().unwrap().map_err(|error| error.to_string())?;
        let read: Vec<&[u8]> =
            self.arrays.iter().filter(|array| !array.2).map(|array| array.1.as_slice()).collect();
        let mut arrays: Vec<Vec<u8>> =
            self.arrays.iter().filter(|array| array.2).map(|array| array.1.clone()).collect();
        let mut written: Vec<&mut [u8]> = arrays.iter_mut().map(Vec::as_mut_slice).collect();
        definition(&read, &mut written).map_err(|error| error.to_string())?;
        Ok(arrays)
    }

    /// The first array that it writes.
    pub(crate) fn first<T: Element>(self) -> Vec<T> {
        let bytes = self.all().unwrap_or_else(|error| panic!("{error}")).swap_remove(0);
        bytemuck::pod_collect_to_vec(&bytes)
    }

    /// Fails with an error that has these words.
    pub(crate) fn fails(self, words: &[&str]) {
        let error = self.all().expect_err("it runs");
        for word in words {
            assert!(error.contains(word), "expected `{word}` in: {error}");
        }
    }
}

/// What statements that set `r` compute.
pub(crate) fn computed<T: Element>(dtype: &str, statements: &str) -> T {
    let text =
        format!("KERNEL void k(GLOBAL_MEM {dtype} *out) {{ {dtype} r = 0; {statements}\n out[0] = r; }}");
    Run::of(&text).output(&[T::zeroed()]).first::<T>()[0]
}

/// What an expression is.
pub(crate) fn value<T: Element>(dtype: &str, expression: &str) -> T {
    computed(dtype, &format!("r = {expression};"))
}
