//! The cases, one file per family.

mod advanced;
mod assembly;
mod branches;
mod cast;
mod checkpoints;
mod collectives;
mod complex;
mod conditions;
mod contexts;
mod convolution;
mod corners;
mod cumulative;
mod custom_kernels;
mod data_parallel;
mod debugging;
mod device_arguments;
mod device_arrays;
mod distributions;
mod dot;
mod effects;
mod elementwise;
mod epilogues;
mod errors;
mod failures;
mod fft;
mod full;
mod gradients;
mod indexing;
mod kernel_ops;
mod layouts;
mod linalg;
mod loops;
mod options;
mod pooling;
mod positions;
mod products;
mod random;
mod recovery;
mod recurrences;
mod reduce;
mod shape;
mod signatures;
mod slopes;
mod softmax;
mod sorting;
mod special;
mod statistics;
mod steps;
mod subtensor;
mod updates;
mod workloads;

use crate::group::Group;
use crate::stage::Scenario;
use workalike::Result;
pub(crate) use workalike::kernels::ops as rows;
use workalike::kernels::ops::ScalarOp;
use workalike::ops::Elemwise;
use workalike::prelude::*;

/// All groups of pure cases.
pub fn groups() -> Vec<Result<Group>> {
    let families = [
        elementwise::groups,
        special::groups,
        layouts::groups,
        recurrences::groups,
        assembly::groups,
        cast::groups,
        reduce::groups,
        statistics::groups,
        dot::groups,
        epilogues::groups,
        products::groups,
        convolution::groups,
        pooling::groups,
        linalg::groups,
        fft::groups,
        complex::groups,
        shape::groups,
        subtensor::groups,
        advanced::groups,
        indexing::groups,
        positions::groups,
        softmax::groups,
        cumulative::groups,
        sorting::groups,
        loops::groups,
        gradients::groups,
    ];
    let mut groups: Vec<Result<Group>> = families.iter().flat_map(|family| family()).collect();
    if std::env::var_os(full::FULL).is_some_and(|value| value != "0") {
        groups.extend(full::groups());
    }
    groups
}

/// All scenarios.
pub fn scenarios() -> Vec<Scenario> {
    let families = [
        epilogues::scenarios,
        corners::scenarios,
        custom_kernels::scenarios,
        kernel_ops::scenarios,
        device_arguments::scenarios,
        device_arrays::scenarios,
        branches::scenarios,
        conditions::scenarios,
        collectives::scenarios,
        contexts::scenarios,
        data_parallel::scenarios,
        debugging::scenarios,
        effects::scenarios,
        errors::scenarios,
        failures::scenarios,
        fft::scenarios,
        complex::scenarios,
        gradients::scenarios,
        linalg::scenarios,
        options::scenarios,
        distributions::scenarios,
        random::scenarios,
        recovery::scenarios,
        signatures::scenarios,
        slopes::scenarios,
        steps::scenarios,
        checkpoints::scenarios,
        updates::scenarios,
        workloads::scenarios,
    ];
    families.iter().flat_map(|family| family()).collect()
}

/// Applies a row of the table as `Variable`'s operators do; poisoned if the row refuses the dtypes.
pub(crate) fn apply(op: ScalarOp, args: &[Variable]) -> Variable {
    let given: Vec<DType> = args.iter().map(Variable::dtype).collect();
    let Some(signature) = op.signature(&given) else {
        let error = workalike::Error::mismatch(op.row().name, "dtypes it accepts", format!("{given:?}"));
        return Variable::poison(error);
    };
    let cast = |(v, &d): (&Variable, &DType)| if v.dtype() == d { v.clone() } else { v.cast(d) };
    let inputs: Vec<Variable> = args.iter().zip(&signature.args).map(cast).collect();
    match Variable::apply(Elemwise { op }, &inputs) {
        Ok(mut outputs) if outputs.len() == 1 => outputs.swap_remove(0),
        Ok(_) => Variable::poison(workalike::Error::Internal("not one output".into())),
        Err(error) => Variable::poison(error),
    }
}

/// The absolute value in float64, for bounds.
pub(crate) fn magnitude(x: &Variable) -> Variable {
    let wide = x.cast(DType::F64);
    wide.maximum(-&wide)
}

/// Whether an op's result is exact, or rounds correctly.
pub(crate) fn is_exact(op: ScalarOp) -> bool {
    op.row().ulp == 0
}

/// The float dtypes.
pub(crate) const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// The name and the function of a scenario.
type Story = (&'static str, fn(&crate::stage::Stage) -> Result<()>);

/// The scenarios of a family.
pub(crate) fn family(family: &'static str, stories: &[Story]) -> Vec<Scenario> {
    stories.iter().map(|&(name, run)| Scenario { family, name, host_only: false, run }).collect()
}
