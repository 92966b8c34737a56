//! An op with kernels as a file holds it.

use super::body::{
    DeviceCode, GivenGradient, KernelOpBody, ShapeRule, check_inputs, check_reference, functions,
};
use super::grid::Grid;
use super::kernel::Kernel;
use super::launches;
use super::launches::{LaunchArgument, LaunchSpec, Launches, ScratchSpec};
use crate::op::{Attr, AttrGraph, Attributes, Op};
use crate::ops::stored_op::StoredOp;
use std::sync::Arc;
use workalike_kernels::custom::{KernelSource, Language};
use workalike_kernels::{DType, Scalar};

const LANGUAGES: [(&str, Language); 3] =
    [("dialect", Language::Dialect), ("opencl", Language::OpenClC), ("cuda", Language::CudaCpp)];

/// The attributes: `name`; `reference`; `shape0`, ... where there are rules; `gradient` and `gradient_of`;
/// then `operation` of an elementwise op, or `language0`, `source0`, `types0`, ...; `sizes`; `scratch0`, ...;
/// `kernel0`, `launch0`, ...
pub(super) fn attributes(body: &KernelOpBody) -> Attributes {
    let mut list: Attributes = vec![("name".into(), Attr::Text(body.name.clone()))];
    let mut put = |name: String, attr| list.push((name, attr));
    put("reference".into(), Attr::Graph(AttrGraph(body.reference.clone())));
    for (at, rule) in body.rules.iter().enumerate() {
        if let Some(rule) = rule {
            put(format!("shape{at}"), Attr::Graph(AttrGraph(rule.graph.clone())));
        }
    }
    if let Some(GivenGradient { graph, of }) = &body.gradient {
        put("gradient".into(), Attr::Graph(AttrGraph(graph.clone())));
        put("gradient_of".into(), numbers(of));
    }
    match &body.code {
        DeviceCode::Elementwise { operation, .. } => put("operation".into(), Attr::Text(operation.clone())),
        DeviceCode::Launches(launches) => put_launches(launches, put),
    }
    list
}

fn put_launches(launches: &Launches, mut put: impl FnMut(String, Attr)) {
    for (at, code) in launches.codes.iter().enumerate() {
        let language = LANGUAGES.iter().find(|(_, known)| *known == code.language);
        put(format!("language{at}"), Attr::Text(language.map_or("", |(name, _)| name).into()));
        put(format!("source{at}"), Attr::Text(code.text.clone()));
        let types = code.types.iter().map(|(name, dtype)| format!("{name}:{dtype}"));
        put(format!("types{at}"), Attr::Text(types.collect::<Vec<_>>().join(" ")));
        if !code.constants.is_empty() {
            put(format!("constants{at}"), Attr::Text(constants_text(&code.constants)));
        }
    }
    put("sizes".into(), Attr::Graph(AttrGraph(launches.sizes.clone())));
    for (at, ScratchSpec { dtype, extents }) in launches.scratch.iter().enumerate() {
        let list: Vec<usize> = std::iter::once(dtype.code().into()).chain(extents.iter().copied()).collect();
        put(format!("scratch{at}"), numbers(&list));
    }
    for (at, call) in launches.calls.iter().enumerate() {
        put(format!("kernel{at}"), Attr::Text(call.kernel.clone()));
        put(format!("launch{at}"), numbers(&call_numbers(call)));
    }
}

/// `name:dtype:bits,bits name:dtype:bits`, in hexadecimal.
fn constants_text(constants: &[(String, Vec<Scalar>)]) -> String {
    let constant = |(name, numbers): &(String, Vec<Scalar>)| {
        let dtype = numbers.first().map_or(DType::U8, |number| number.dtype());
        let bits: Vec<String> = numbers.iter().map(|number| format!("{:x}", number.bits())).collect();
        format!("{name}:{dtype}:{}", bits.join(","))
    };
    constants.iter().map(constant).collect::<Vec<_>>().join(" ")
}

fn constants_of(text: &str) -> Result<Vec<(String, Vec<Scalar>)>, String> {
    let constant = |word: &str| {
        let mut parts = word.splitn(3, ':');
        let mut part = || parts.next().ok_or_else(|| format!("the constant {word} is damaged"));
        let (name, dtype, bits) = (part()?, part()?, part()?);
        let dtype = DType::parse(dtype).ok_or_else(|| format!("unknown dtype {dtype}"))?;
        let number = |bits: &str| {
            let bits = u64::from_str_radix(bits, 16).map_err(|e| format!("constant {name}: {e}"))?;
            let scalar = Scalar::from_le_bytes(dtype, &bits.to_le_bytes()[..dtype.size()]);
            scalar.ok_or_else(|| format!("the constant {name} is damaged"))
        };
        Ok((name.to_string(), bits.split(',').map(number).collect::<Result<_, String>>()?))
    };
    text.split_whitespace().map(constant).collect()
}

fn numbers(list: &[usize]) -> Attr {
    Attr::Ints(list.iter().map(|&n| n as i64).collect())
}

/// Kind and six sizes of the grid, then kind and position of each argument.
fn call_numbers(call: &LaunchSpec) -> Vec<usize> {
    let mut list = match call.grid {
        Grid::Items([x, y, z]) => vec![0, x, y, z, 0, 0, 0],
        Grid::Groups { groups: [x, y, z], items: [i, j, k] } => {
            vec![1, x, y, z, i as usize, j as usize, k as usize]
        }
    };
    list.extend(call.args.iter().flat_map(|arg| match *arg {
        LaunchArgument::Input(at) => [0, at],
        LaunchArgument::Output(at) => [1, at],
        LaunchArgument::Scratch(at) => [2, at],
        LaunchArgument::Number(at) => [3, at],
        LaunchArgument::Local(at) => [4, at],
    }));
    list
}

/// The op; `allowed`: its kernels may be compiled.
///
/// # Errors
/// If the attributes contradict each other.
pub(in crate::ops) fn decode(op: &StoredOp, allowed: bool) -> Result<Arc<dyn Op>, String> {
    let name = op.text("name")?;
    let reference = op.graph("reference")?.clone();
    check_reference(&reference)?;
    let mut rules = vec![None; reference.outputs.len()];
    for (name, attr) in op.attributes() {
        let Some(at) = name.strip_prefix("shape").and_then(|at| at.parse::<usize>().ok()) else { continue };
        let (Some(place), Attr::Graph(AttrGraph(graph))) = (rules.get_mut(at), attr) else {
            return Err(format!("attribute {name} is no shape rule of an output"));
        };
        let rule = ShapeRule { graph: graph.clone() };
        rule.check(&reference, at)?;
        *place = Some(rule);
    }
    let gradient = match op.graph("gradient") {
        Err(_) => None,
        Ok(graph) => Some(GivenGradient { graph: graph.clone(), of: positions(op, "gradient_of")? }),
    };
    gradient.iter().try_for_each(|given| given.check(&reference))?;
    let code = match op.text("operation") {
        Ok(operation) => {
            let functions = match allowed {
                true => functions(name, &reference, operation)?,
                false => vec![],
            };
            DeviceCode::Elementwise { functions, operation: operation.into() }
        }
        Err(_) => {
            let launches = decode_launches(op, allowed)?;
            check_inputs(&launches.sizes, [&reference.inputs, &reference.outputs], &reference)?;
            check_positions(&launches, [reference.inputs.len(), reference.outputs.len()])?;
            launches.check_sizes()?;
            DeviceCode::Launches(Arc::new(launches))
        }
    };
    let body = KernelOpBody { name: name.into(), reference, rules, gradient, code, allowed };
    Ok(Arc::new(Kernel { body: Arc::new(body) }))
}

/// Launches of an op at most, and sources and scratch memories.
const MOST_NUMBERED: usize = 256;

/// Attributes of these names, numbered from 0 on, as far as there are any.
fn numbered<'a>(op: &'a StoredOp, name: &'a str) -> impl Iterator<Item = String> + 'a {
    (0..MOST_NUMBERED).map(move |at| format!("{name}{at}")).take_while(|name| op.find(name).is_ok())
}

fn positions(op: &StoredOp, name: &str) -> Result<Vec<usize>, String> {
    let list = op.ints(name)?.iter().map(|&n| usize::try_from(n));
    list.collect::<Result<_, _>>().map_err(|e| format!("attribute {name}: {e}"))
}

fn decode_launches(op: &StoredOp, allowed: bool) -> Result<Launches, String> {
    let mut launches = Launches { sizes: op.graph("sizes")?.clone(), ..Launches::default() };
    for (at, language) in numbered(op, "language").enumerate() {
        let name = op.text(&language)?;
        let Some(&(_, language)) = LANGUAGES.iter().find(|(known, _)| *known == name) else {
            return Err(format!("unknown language {name}"));
        };
        let text = op.text(&format!("source{at}"))?.to_string();
        let types = op.text(&format!("types{at}"))?.split_whitespace().map(|pair| {
            let (name, dtype) = pair.split_once(':').ok_or("a type parameter without a dtype")?;
            let dtype = DType::parse(dtype).ok_or_else(|| format!("unknown dtype {dtype}"))?;
            Ok((name.to_string(), dtype))
        });
        let types = types.collect::<Result<Vec<_>, String>>()?;
        let constants = match op.find(&format!("constants{at}")) {
            Ok(_) => constants_of(op.text(&format!("constants{at}"))?)?,
            Err(_) => vec![],
        };
        let source = match allowed {
            true => {
                let names: Vec<(&str, DType)> = types.iter().map(|(name, d)| (name.as_str(), *d)).collect();
                let mut source =
                    KernelSource::new(language, text.as_str(), &names).map_err(|e| e.to_string())?;
                for (name, numbers) in &constants {
                    source = source.constant(name, numbers).map_err(|e| e.to_string())?;
                }
                Some(Arc::new(source))
            }
            false => None,
        };
        launches.codes.push(launches::SourceText { language, text, types, constants, source });
    }
    for name in numbered(op, "scratch") {
        let list = positions(op, &name)?;
        let (&code, extents) = list.split_first().ok_or("scratch memory without a dtype")?;
        let dtype = u8::try_from(code).ok().and_then(DType::from_code).ok_or("unknown dtype")?;
        launches.scratch.push(ScratchSpec { dtype, extents: extents.to_vec() });
    }
    for (at, name) in numbered(op, "kernel").enumerate() {
        let list = positions(op, &format!("launch{at}"))?;
        launches.calls.push(decode_call(op.text(&name)?, &list)?);
    }
    Ok(launches)
}

fn decode_call(kernel: &str, list: &[usize]) -> Result<LaunchSpec, String> {
    let damaged = || format!("the launch of {kernel} is damaged");
    let [kind, x, y, z, i, j, k, args @ ..] = list else { return Err(damaged()) };
    let item = |n: &usize| u32::try_from(*n).map_err(|_| damaged());
    let grid = match kind {
        0 => Grid::Items([*x, *y, *z]),
        1 => Grid::Groups { groups: [*x, *y, *z], items: [item(i)?, item(j)?, item(k)?] },
        _ => return Err(damaged()),
    };
    let arg = |pair: &[usize]| match pair {
        [0, at] => Ok(LaunchArgument::Input(*at)),
        [1, at] => Ok(LaunchArgument::Output(*at)),
        [2, at] => Ok(LaunchArgument::Scratch(*at)),
        [3, at] => Ok(LaunchArgument::Number(*at)),
        [4, at] => Ok(LaunchArgument::Local(*at)),
        _ => Err(damaged()),
    };
    Ok(LaunchSpec { kernel: kernel.into(), grid, args: args.chunks(2).map(arg).collect::<Result<_, _>>()? })
}

/// All positions exist.
fn check_positions(launches: &Launches, [inputs, outputs]: [usize; 2]) -> Result<(), String> {
    let (sizes, scratch) = (launches.sizes.outputs.len(), launches.scratch.len());
    let calls = launches.calls.iter();
    let of_calls = calls.flat_map(|call| {
        let (Grid::Items(grid) | Grid::Groups { groups: grid, .. }) = &call.grid;
        let args = call.args.iter().map(|arg| match *arg {
            LaunchArgument::Input(at) => at < inputs,
            LaunchArgument::Output(at) => at < outputs,
            LaunchArgument::Scratch(at) => at < scratch,
            LaunchArgument::Number(at) | LaunchArgument::Local(at) => at < sizes,
        });
        grid.iter().map(|&at| at < sizes).chain(args)
    });
    let of_scratch = launches.scratch.iter().flat_map(|scratch| &scratch.extents).map(|&at| at < sizes);
    match of_calls.chain(of_scratch).all(|exists| exists) {
        true => Ok(()),
        false => Err("a launch names an array or a size that does not exist".into()),
    }
}
