//! The workloads of the performance table, written as a user would write them.
//!
//! `workalike make` writes them to files, `workalike bench` checks and times them. `benches/peers/` holds the
//! same for other libraries, under the same names and variants.

mod convolution;
mod dense;
mod elementwise;
mod layers;
mod linear;
mod loops;
mod particles;
mod patches;
mod recurrent;
mod scatters;
mod sequences;
mod spectral;
mod statistics;
mod stencils;
mod training;

use workalike::prelude::*;
use workalike_cli_common::report::{Failure, Result};

/// A workload: a Function of some sizes, and its lines in the table.
pub struct Workload {
    /// Its name, also in the peers' scripts.
    pub name: &'static str,
    /// A description.
    pub about: &'static str,
    /// The settings, with their defaults on a large device and on a CPU.
    pub settings: &'static [(&'static str, &'static str, &'static str)],
    /// The Function.
    pub build: fn(&WorkloadSettings) -> workalike::Result<Function>,
    /// The fewest bytes that it must move, and its flops.
    pub(crate) least: fn(&WorkloadSettings) -> (f64, f64),
    /// The lines of the table, for large devices or for others.
    pub(crate) lines: fn(bool) -> Vec<Line>,
}

/// One line of the table.
pub(crate) struct Line {
    /// The name of the variant, the same for the peers.
    pub(crate) variant: String,
    /// Settings other than the workload's defaults.
    pub(crate) settings: Vec<(&'static str, String)>,
    /// The settings for the check, if the reference is too slow for those of the line.
    pub(crate) checked: Vec<(&'static str, String)>,
    /// How it is called.
    pub(crate) way: CallMode,
    /// Whether the sizes are odd ones, which no library is tuned for.
    pub(crate) odd: bool,
}

/// How a line is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallMode {
    /// Results are copied to the host.
    Host,
    /// Results stay on the device, owned by the caller.
    Device,
    /// Results stay on the device, valid until the next call.
    Borrowed,
    /// `run_n`.
    Steps,
}

/// Every workload.
pub const ALL: &[Workload] = &[
    elementwise::TRIVIAL,
    elementwise::EXP_LADDER,
    elementwise::FUSED_ELEMWISE,
    elementwise::SOFTMAX,
    elementwise::REDUCE,
    dense::MIDDLE_SUM,
    dense::TRANSPOSE_ADD,
    dense::TAKE,
    dense::SCATTER_ADD,
    dense::CUMSUM,
    dense::SORT,
    dense::ARGMAX,
    linear::GEMM,
    linear::LOGREG,
    linear::MLP,
    convolution::LENET,
    convolution::CONV,
    recurrent::LIF,
    recurrent::RNN,
    spectral::HEAT,
    loops::SCAN_RNN,
    loops::GRU,
    loops::LSTM,
    loops::SCAN_GRADIENT,
    loops::LSTM_TRAINING,
    loops::HMC,
    loops::WHILE,
    elementwise::HASH_POPCOUNT,
    spectral::FFT_RADIX2,
    stencils::BILATERAL7,
    stencils::ISING,
    stencils::LBM_D2Q9,
    scatters::RUN_LENGTHS,
    scatters::SEGMENT_SOFTMAX,
    scatters::ADAGRAD_EMBED,
    particles::LORENZ_RK4,
    particles::PIC1D,
    sequences::VITERBI,
    sequences::LSTM_STEP,
    sequences::KALMAN,
    training::XENT_SMOOTH,
    training::RBM_CD1,
    layers::MOE_TOP2,
    statistics::GP_KERNEL_GRAD,
    statistics::MC_ASIAN_GRAD,
    statistics::QUANTILE_NORM,
    statistics::SINKHORN_LOG,
    elementwise::BLACK_SCHOLES,
    elementwise::MANDELBROT,
    stencils::HEAT2D,
    scatters::EMBEDDING_GATHER,
    particles::NBODY,
    recurrent::LIF_NETWORK,
    training::ADAM_MLP,
    training::KMEANS,
    layers::LAYERNORM,
    layers::ATTENTION,
    linear::BATCHED_SMALL_MATMUL,
    statistics::ROW_NORMALIZE_BCAST,
    statistics::PAIRWISE_DIST,
    patches::CONV5X5,
    patches::LENET_STEP,
];

/// The workload of this name.
pub fn named(name: &str) -> Option<&'static Workload> {
    ALL.iter().find(|w| w.name == name)
}

/// Parses `KEY=N`, a setting of a workload.
///
/// # Errors
/// If the key or the value is missing.
pub fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.into(), value.into())),
        _ => Err("KEY=N was expected: a size of the workload, and its value".into()),
    }
}

impl Workload {
    /// A line with the default sizes, checked at those of `checked`. The variant is the sizes joined by `x`,
    /// or `key=size` if there is one.
    fn line(&self, large: bool, way: CallMode, checked: &[(&'static str, &str)]) -> Line {
        let sizes = self.settings.iter().filter(|setting| setting.0 != "form");
        let sizes: Vec<_> = sizes.map(|&(key, gpu, cpu)| (key, if large { gpu } else { cpu })).collect();
        let variant = match sizes[..] {
            [(key, size)] => format!("{key}={size}"),
            _ => sizes.iter().map(|size| size.1).collect::<Vec<_>>().join("x"),
        };
        Line::new(variant, &[], way).checked(checked)
    }

    /// That line for each form of the program: ways of writing it that have the same results.
    fn forms(
        &self,
        large: bool,
        way: CallMode,
        checked: &[(&'static str, &str)],
        forms: &[&'static str],
    ) -> Vec<Line> {
        let line = |form: &&'static str| {
            let mut line = self.line(large, way, checked);
            line.variant = format!("{form} {}", line.variant);
            line.settings.push(("form", (*form).into()));
            line.checked.push(("form", (*form).into()));
            line
        };
        forms.iter().map(line).collect()
    }

    fn has_form(&self, form: &str) -> bool {
        (self.lines)(false).iter().any(|line| line.form() == form)
    }
}

/// The settings of a workload, as checked text.
#[derive(Clone, Debug)]
pub struct WorkloadSettings(Vec<(&'static str, String)>);

impl WorkloadSettings {
    /// A workload's defaults, with some settings changed.
    ///
    /// # Errors
    /// If the workload has no such setting, or the value is not one of its values.
    pub fn of<'a>(
        workload: &Workload,
        large: bool,
        changes: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<WorkloadSettings> {
        let own =
            workload.settings.iter().map(|&(key, gpu, cpu)| (key, if large { gpu } else { cpu }.into()));
        let mut settings = WorkloadSettings(own.collect());
        for (key, value) in changes {
            let Some(entry) = settings.0.iter_mut().find(|s| s.0 == key) else {
                let known: Vec<&str> = workload.settings.iter().map(|s| s.0).collect();
                return Err(Failure::new(format!(
                    "{} has no size {key}; it has {}",
                    workload.name,
                    known.join(", ")
                )));
            };
            let number = |text: &str| text.parse::<usize>().is_ok_and(|n| n > 0);
            let fits = match key {
                "dtype" => DType::parse(value).is_some_and(DType::is_float),
                "axis" => ["none", "0", "1"].contains(&value),
                "result" => ["output", "update"].contains(&value),
                "form" => workload.has_form(value),
                "role" => {
                    ["forward", "forward_bias_relu", "input_gradient", "filter_gradient"].contains(&value)
                }
                "pad_height" | "pad_width" => value.parse::<usize>().is_ok(),
                _ => number(value),
            };
            if !fits {
                return Err(Failure::new(format!("{}: '{value}' is no {key}", workload.name)));
            }
            entry.1 = value.into();
        }
        Ok(settings)
    }

    fn get(&self, key: &str) -> &str {
        self.0.iter().find(|s| s.0 == key).map_or("", |s| &s.1)
    }

    /// A size.
    fn n(&self, key: &str) -> usize {
        self.get(key).parse().unwrap_or(1)
    }

    fn float(&self, key: &str) -> f64 {
        self.n(key) as f64
    }

    fn dtype(&self) -> DType {
        DType::parse(self.get("dtype")).unwrap_or(DType::F32)
    }
}

impl Line {
    fn new(variant: impl Into<String>, settings: &[(&'static str, &str)], way: CallMode) -> Line {
        let settings = settings.iter().map(|&(key, value)| (key, value.to_string())).collect();
        Line { variant: variant.into(), settings, checked: vec![], way, odd: false }
    }

    /// The form of a program that the line measures, or nothing.
    fn form(&self) -> &str {
        self.settings.iter().find(|(key, _)| *key == "form").map_or("", |(_, form)| form)
    }

    fn odd(mut self) -> Line {
        self.odd = true;
        self
    }

    fn checked(mut self, settings: &[(&'static str, &str)]) -> Line {
        self.checked = settings.iter().map(|&(key, value)| (key, value.to_string())).collect();
        self
    }
}

/// For Functions without inputs.
const NONE: [&Variable; 0] = [];

/// The state that counts iterations, which picks the input of an iteration.
fn counter() -> workalike::Result<SharedVariable> {
    Ok(shared("t", Value::zeros(DType::I32, &[1])?))
}

pub(crate) fn zeros(shape: &[usize]) -> workalike::Result<Value> {
    Value::zeros(DType::F32, shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_settings_that_exist() {
        for workload in ALL {
            for large in [false, true] {
                let lines = (workload.lines)(large);
                let mut names: Vec<&str> = lines.iter().map(|l| l.variant.as_str()).collect();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), lines.len(), "{}", workload.name);
                for line in &lines {
                    for changes in [&line.settings, &line.checked] {
                        let changes = changes.iter().map(|(k, v)| (*k, v.as_str()));
                        WorkloadSettings::of(workload, large, changes).unwrap();
                    }
                }
            }
        }
    }

    /// Outputs and new states of a call, by name.
    fn results(workload: &Workload, line: &Line) -> Vec<(String, Vec<f64>)> {
        let changes = line.checked.iter().map(|(k, v)| (*k, v.as_str()));
        let f = (workload.build)(&WorkloadSettings::of(workload, false, changes).unwrap()).unwrap();
        let outputs = f.call(args![]).unwrap();
        let outputs = outputs.iter().map(|(name, value)| (name.unwrap_or_default().into(), value.to_f64s()));
        let states = f.updated().map(|c| (c.name().into(), c.get_value().unwrap().to_f64s()));
        outputs.chain(states).collect()
    }

    #[test]
    fn the_forms_of_a_program_agree() {
        let has_forms = |w: &&Workload| w.settings.iter().any(|setting| setting.0 == "form");
        for workload in ALL.iter().filter(has_forms) {
            let lines = (workload.lines)(false);
            let expected = results(workload, &lines[0]);
            for line in &lines[1..] {
                let found = results(workload, line);
                // The states of nbody differ by form, and heat2d has other edges in the form of slices.
                let same = workload.name != "nbody" && (workload.name, line.form()) != ("heat2d", "slices");
                for ((name, a), (_, b)) in expected.iter().zip(&found).filter(|_| same) {
                    let size = a.iter().fold(1e-30, |size: f64, a| size.max(a.abs()));
                    let off = a.iter().zip(b).fold(0.0, |off: f64, (a, b)| off.max((a - b).abs()));
                    assert!(a.len() == b.len() && off <= 1e-3 * size, "{}: {name}", line.variant);
                }
                assert!(found.iter().all(|(_, v)| v.iter().all(|v| v.is_finite())), "{}", line.variant);
            }
        }
    }

    #[test]
    fn unknown_forms_are_refused() {
        let ising = named("ising").unwrap();
        assert!(WorkloadSettings::of(ising, false, [("form", "pad")]).is_ok());
        assert!(WorkloadSettings::of(ising, false, [("form", "slices")]).is_err());
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let gemm = named("gemm").unwrap();
        for (key, value, word) in
            [("m", "3", "n, dtype"), ("n", "0", "'0' is no n"), ("n", "x", "'x'"), ("dtype", "int8", "int8")]
        {
            let error = WorkloadSettings::of(gemm, false, [(key, value)]).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
