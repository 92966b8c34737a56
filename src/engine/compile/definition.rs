//! A Function in device form: shapes for its arguments, and the Program for shapes.

use crate::engine::commit;
use crate::engine::fuse::fuse;
use crate::engine::inplace::update_in_place;
use crate::engine::memory::{Layout, plan, settle_bodies};
use crate::engine::storage::{CallInput, EngineContext, State, Status};
use crate::error::{Error, Result};
use crate::graph::shapes::{Demand, ShapeInputs, Shapes, infer_decided, infer_knowing};
use crate::graph::{FunctionGraph, VarId};
use crate::lower::index_bounds;
use crate::lower::index_bounds::{Bounds, Trusted};
use crate::lower::program::{Program, Role};
use crate::lower::{Promised, lower};
use crate::value::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

/// The part of a method that is the same for all signatures.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) graph: Arc<FunctionGraph>,
    pub(crate) demand: Demand,
    /// What computes the values that loops decide shapes with.
    pub(crate) deciding: OnceLock<ShapeMethod>,
    /// For each shared variable of the graph, its position in [`EngineContext::states`].
    pub(crate) states: Vec<usize>,
    /// Inputs and shared variables that it uses as indices and does not change.
    pub(crate) index_sources: Vec<Role>,
    /// The number that identifies it in reports of the device.
    pub(crate) number: usize,
    /// The extents of its first call: in a Simulator for several sizes they alone have kernels of their own
    /// from the start. Not those of a Program that happens to be kept, so that a size has the same bits again
    /// after its Program was evicted, and in a Simulator that was saved or forked.
    pub(crate) first_sizes: OnceLock<Vec<usize>>,
    /// The words to which its Nests report errors; allocated by the first Program that needs them. A method
    /// and its twin share them: an error of either stops the other too.
    pub(crate) status: Arc<OnceLock<Status>>,
    /// Digests of the sizes of exchanges that members have compared.
    pub(crate) agreed: Mutex<BTreeSet<[u8; 32]>>,
}

/// Whether shapes depend on values of device arrays, for which the host waits. While memory is lent, no
/// thread may wait for other memory: its holder may wait for this memory.
fn waits(demand: &Demand, args: &[CallInput]) -> bool {
    demand.inputs.iter().any(|&i| matches!(args.get(i), Some(CallInput::Device(_))))
}

/// A method that computes the values with which another decides shapes.
#[derive(Debug)]
pub(crate) struct ShapeMethod {
    /// The method that computes the values in [`Demand::known`].
    pub(crate) method: usize,
    /// The other values that decide shapes.
    pub(crate) demand: Demand,
    /// The nodes of its graph, as positions in the method's.
    pub(crate) nodes: Vec<usize>,
    /// Set if the method has no device form: in a strict Simulator the host computes what decides shapes, as
    /// it does all other values.
    pub(crate) refused: OnceLock<()>,
}

impl Definition {
    pub(crate) fn new(
        name: &str,
        graph: Arc<FunctionGraph>,
        states: Vec<usize>,
        number: usize,
        status: Arc<OnceLock<Status>>,
        promised: Promised,
    ) -> Definition {
        let demand = Demand::of(&graph);
        let mut index_sources = index_bounds::sources(&graph, promised);
        // A value that an iteration changes may be out of range in the next one.
        let changes = |role: &Role| graph.updates.iter().any(|u| *role == Role::Shared(u.0 as usize));
        index_sources.retain(|role| !changes(role));
        // Members check the same indices, so that they make the same exchanges.
        if graph.exchanges_with_others() {
            index_sources.clear();
        }
        let (name, first_sizes) = (name.to_string(), OnceLock::new());
        let (deciding, agreed) = (OnceLock::new(), Mutex::default());
        Definition {
            name,
            graph,
            demand,
            deciding,
            states,
            index_sources,
            number,
            first_sizes,
            status,
            agreed,
        }
    }

    /// Positions of the states that it updates.
    pub(crate) fn updated(&self) -> impl Iterator<Item = usize> + '_ {
        self.graph.updates.iter().map(|(shared, _)| self.states[*shared as usize])
    }

    /// Drops the bounds of the shared variables that it updates.
    pub(crate) fn forget_bounds(&self, context: &mut EngineContext) {
        self.updated().for_each(|state| context.states[state].bounds = None);
    }

    /// The extents that make up a Program's signature.
    pub(crate) fn extents<'e>(
        &'e self,
        states: &'e [State],
        args: &'e [CallInput],
        decided: &'e [usize],
    ) -> impl Iterator<Item = &'e usize> {
        let shared = self.states.iter().flat_map(move |&s| &states[s].shape);
        args.iter().flat_map(CallInput::shape).chain(shared).chain(decided)
    }

    /// The bounds of its index sources, where the host knows them.
    pub(crate) fn known_bounds(
        &self,
        context: &mut EngineContext,
        args: &[CallInput],
    ) -> Vec<(Role, Bounds)> {
        let waits = args.iter().any(|args| matches!(args, CallInput::Device(_)));
        let known = self.index_sources.iter().filter_map(|role| {
            let bounds = match role {
                Role::Input(i) => args.get(*i)?.bounds(),
                Role::Shared(i) => context.state_bounds(self.states[*i], waits),
                _ => None,
            };
            Some((role.clone(), bounds?))
        });
        known.collect()
    }

    /// The extents of all variables, for these inputs and the current states.
    pub(crate) fn infer(&self, context: &EngineContext, args: &[CallInput]) -> Result<Shapes> {
        self.infer_knowing(context, args, None)
    }

    /// [`Definition::infer`], where these values that loops decide shapes with are known.
    pub(crate) fn infer_knowing(
        &self,
        context: &EngineContext,
        args: &[CallInput],
        known: Option<&HashMap<VarId, Value>>,
    ) -> Result<Shapes> {
        self.infer_by(context, args, known, |graph, demand, given, known| {
            infer_knowing(graph, demand, given, known)
        })
    }

    /// The extents, besides the shapes of inputs and states, that a Program depends on.
    pub(crate) fn decided(
        &self,
        context: &EngineContext,
        args: &[CallInput],
        known: Option<&HashMap<VarId, Value>>,
    ) -> Result<Vec<usize>> {
        self.infer_by(context, args, known, |graph, demand, given, known| {
            infer_decided(graph, demand, given, known)
        })
    }

    /// All shapes, if members of a group exchange arrays to find them out: once, for each member makes as
    /// many exchanges as the others, whatever it has planned before. With the extents that decide.
    pub(crate) fn infer_together(
        &self,
        context: &EngineContext,
        args: &[CallInput],
        known: Option<&HashMap<VarId, Value>>,
    ) -> Result<Option<(Shapes, Vec<usize>)>> {
        if self.demand.is_static() || !self.demand.exchanges(&self.graph) {
            return Ok(None);
        }
        let shapes = self.infer_knowing(context, args, known)?;
        let decided = self.demand_given(known).0.decided(&self.graph, &shapes.shapes, &shapes.parts);
        Ok(Some((shapes, decided)))
    }

    /// What is to be inferred where these values are known, and which of them are of use.
    fn demand_given<'d>(
        &'d self,
        known: Option<&'d HashMap<VarId, Value>>,
    ) -> (&'d Demand, Option<&'d HashMap<VarId, Value>>) {
        match (self.deciding.get(), known) {
            (Some(ShapeMethod { demand, .. }), Some(known)) => (demand, Some(known)),
            _ => (&self.demand, None),
        }
    }

    /// [`Definition::infer`]; `lends` says whether values of states may be read in place.
    pub(crate) fn infer_lending(
        &self,
        context: &EngineContext,
        args: &[CallInput],
        lends: bool,
    ) -> Result<Shapes> {
        let none = HashMap::new();
        self.given(&self.demand, context, args, lends, |given| {
            infer_knowing(&self.graph, &self.demand, given, &none)
        })
    }

    /// Infers with the demand that is left where these values are known.
    fn infer_by<T>(
        &self,
        context: &EngineContext,
        args: &[CallInput],
        known: Option<&HashMap<VarId, Value>>,
        infer: impl FnOnce(&FunctionGraph, &Demand, &ShapeInputs, &HashMap<VarId, Value>) -> Result<T>,
    ) -> Result<T> {
        let none = HashMap::new();
        let (demand, known) = self.demand_given(known);
        let known = known.unwrap_or(&none);
        self.given(demand, context, args, !waits(demand, args), |given| {
            infer(&self.graph, demand, given, known)
        })
    }

    /// Calls `then` with what shapes are inferred from.
    fn given<T>(
        &self,
        demand: &Demand,
        context: &EngineContext,
        args: &[CallInput],
        lends: bool,
        then: impl FnOnce(&ShapeInputs) -> Result<T>,
    ) -> Result<T> {
        let device = context.device.as_ref();
        let state = |i: usize| &context.states[self.states[i]];
        let inputs: Vec<Vec<usize>> = args.iter().map(|f| f.shape().to_vec()).collect();
        let shared: Vec<Vec<usize>> = self.states.iter().map(|&s| context.states[s].shape.clone()).collect();
        let (inputs, shared) = (&inputs[..], &shared[..]);
        let input_values = |i: usize| args.get(i).and_then(CallInput::value);
        let lent =
            |i: usize| if lends && demand.lent == Some(i) { state(i).borrowed_value(device) } else { None };
        let shared_values = |i: usize| lent(i).or_else(|| state(i).read(device).ok());
        then(&ShapeInputs { inputs, shared, input_values: &input_values, shared_values: &shared_values })
    }

    /// The Program for these shapes and its memory layout; nothing is compiled or allocated for it.
    pub(crate) fn draft(
        &self,
        context: &EngineContext,
        shapes: &Shapes,
        trusted: &Trusted,
        signature: &[usize],
    ) -> Result<(Program, Layout)> {
        let device = context.device.as_ref();
        let abilities = context.abilities();
        let mut program = lower(&self.graph, shapes, &abilities, trusted, self.report_base())?;
        if context.options.strict
            // A host node without outputs is allowed: it only observes, and replaces no work of the device.
            // Nor does an exchange.
            && let Some(node) =
                program.host_nodes().find(|node| !node.outputs.is_empty() && node.exchange.is_none())
        {
            let what = format!("{} (node #{}) has no device form: {}", node.op.label(), node.node, node.why);
            return Err(Error::Strict(what));
        }
        // A guarded node is computed by itself.
        if context.options.fuse && !context.options.nan_guard {
            let varying = self.varying_extents(context, shapes, signature);
            program = fuse(program, device.properties(), &abilities, &varying);
        }
        let state_bytes: Vec<u64> = self.states.iter().map(|&s| context.states[s].bytes()).collect();
        commit::order(&mut program);
        let reports = commit::members::exchange_reports(&mut program);
        commit::members::check_exchanges(&mut program, self.report_base(), &reports);
        // The last exchange may find out about errors now: what only updates need comes behind it.
        commit::order(&mut program);
        // A call that a guard ends changes no shared variable.
        if !context.options.nan_guard {
            program = update_in_place(program, &state_bytes);
        }
        commit::guard(&mut program, &state_bytes);
        commit::count_iterations(&mut program, 0);
        let alignment = device.properties().alignment;
        settle_bodies(&mut program, alignment);
        let layout = plan(&program, device);
        Ok((program, layout))
    }

    /// The draft for these inputs, whether or not it has run.
    pub(crate) fn drafted(&self, context: &EngineContext, args: &[CallInput]) -> Result<(Program, Layout)> {
        let known = |role: &Role| match role {
            Role::Input(i) => args.get(*i).is_some_and(|arg| arg.bounds().is_some()),
            Role::Shared(i) => context.states[self.states[*i]].bounds.is_some(),
            _ => false,
        };
        let trusted = Trusted::new(self.index_sources.iter().filter(|role| known(role)).cloned().collect());
        let (shapes, decided) = match self.infer_together(context, args, None)? {
            Some(together) => together,
            None if self.demand.is_static() => (self.infer(context, args)?, vec![]),
            None => (self.infer(context, args)?, self.decided(context, args, None)?),
        };
        let signature: Vec<usize> = self.extents(&context.states, args, &decided).copied().collect();
        self.draft(context, &shapes, &trusted, &signature)
    }
}
