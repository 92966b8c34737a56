//! The cases that have host nodes on a device, because the device lacks an op.

use crate::devices::{Kind, Tested};
use std::collections::HashSet;
use std::sync::Arc;
use workalike::kernels::ops::ScalarOp;
use workalike::ops::Elemwise;
use workalike::prelude::*;

/// If set, CUDA is expected to have neither cuSOLVER and cuBLAS nor cuFFT: linear algebra and Fourier
/// transforms are then host nodes there.
pub const WITHOUT_LIBRARIES: &str = "WORKALIKE_SUITE_WITHOUT_LIBRARIES";

/// On which devices an expression has host nodes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hosted {
    /// On all devices but the host: the expression has a scalar op that only the host computes.
    pub(super) on_other_devices: bool,
    /// On devices without libraries.
    pub(super) without_libraries: bool,
}

/// Families of ops that devices compute by libraries only.
const BY_LIBRARIES: [&str; 6] = ["cholesky", "solve", "solve_triangular", "det", "slogdet", "fourier"];

/// On which devices an expression has host nodes.
pub(super) fn hosted(output: &Variable) -> Hosted {
    let (mut left, mut seen) = (vec![output.clone()], HashSet::new());
    let mut hosted = Hosted::default();
    while let Some(variable) = left.pop() {
        let Some((apply, _)) = variable.owner() else { continue };
        if seen.insert(Arc::as_ptr(apply)) {
            let elemwise = apply.op.downcast::<Elemwise>();
            hosted.without_libraries |= BY_LIBRARIES.contains(&apply.op.id());
            hosted.on_other_devices |= elemwise.is_some_and(|e| e.op.is_host_only());
            left.extend(apply.inputs.iter().cloned());
        }
    }
    hosted
}

/// Whether a device must have steps for [`BY_LIBRARIES`]: the host by the definitions, CUDA by libraries,
/// unless [`WITHOUT_LIBRARIES`] is set.
pub(super) fn has_libraries(device: &Tested) -> bool {
    let installed = std::env::var_os(WITHOUT_LIBRARIES).is_none();
    device.is_host() || (matches!(device.kind, Kind::Cuda(..)) && installed)
}

/// An error unless there are host nodes, and all of them are ops that a device lacks.
pub(super) fn expected_host_nodes(explained: &str) -> Result<(), String> {
    let nodes = explained.lines().filter_map(|line| line.trim_start().strip_prefix("host node "));
    let names: Vec<&str> = nodes.filter_map(|line| line.split(' ').next()).collect();
    // In a label, attributes follow the family's name.
    let lacking = |name: &str| {
        ScalarOp::named(name).is_some_and(ScalarOp::is_host_only)
            || BY_LIBRARIES.iter().any(|family| name.split('[').next() == Some(*family))
    };
    match names.iter().find(|name| !lacking(name)) {
        Some(name) => Err(format!("{name} is a host node, and should have a device form")),
        None if names.is_empty() => Err("expected a host node, found none".into()),
        None => Ok(()),
    }
}
