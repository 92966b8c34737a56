//! Errors that calls found on the device: status words, and the results that must not be used after an error.
//!
//! A Program that may find an error writes to the status words of its method (see [`crate::engine::commit`]).
//! They stay set until the host reads them: after each call whose results it takes, in `synchronize`, or when
//! a result that stayed on the device is read.

use super::array::DeviceArray;
use super::host_pool::HostPool;
use crate::error::{Error, Result, shape_text};
use crate::graph::FunctionGraph;
use crate::graph::node_numbers;
use crate::graph::node_numbers::Numbered;
use crate::graph::shapes::Shapes;
use crate::lower::part_reports::{NODE_BITS, named};
use crate::lower::program::STATUS_WORDS;
use crate::value::Value;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use workalike_device::{Device, Region};

/// Bytes of the status words.
pub(crate) const STATUS_BYTES: usize = 8 * STATUS_WORDS as usize;

/// The status words of a method, and the calls that may have set them.
#[derive(Debug)]
pub(crate) struct Status {
    pub(crate) region: Region,
    calls: Mutex<CallCounter>,
}

#[derive(Debug)]
pub(crate) struct CallCounter {
    /// Calls that were counted on the device since the words were last cleared, if all succeeded.
    pub(crate) counted: u64,
    /// Whether a call was enqueued since the words were last read.
    pub(crate) unchecked: bool,
    pub(crate) watch: Arc<Watch>,
}

/// A method that ran, and the graph and shapes that its reports refer to.
pub(super) type Ran = (usize, Arc<FunctionGraph>, Arc<Shapes>);

/// Calls between two readings of status words.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) words: Region,
    pub(crate) graphs: Mutex<Vec<Ran>>,
    pub(crate) settled: OnceLock<Option<Trouble>>,
}

/// The content of the status words.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    /// Counted calls that succeeded before.
    pub(crate) good: u64,
    pub(crate) error: Error,
}

/// Whether a call succeeded.
#[derive(Clone, Debug)]
pub(crate) struct CallOutcome {
    pub(crate) watch: Arc<Watch>,
    /// Calls that succeeded before it, if all did since the words were last cleared.
    pub(crate) before: u64,
    /// The part of a method that the call was, if it was not a whole method.
    pub(crate) origin: Option<Arc<StageOrigin>>,
}

/// A part of a method that a device runs by itself.
#[derive(Debug)]
pub(crate) struct StageOrigin {
    /// The context of the device.
    pub(crate) context: String,
    /// Its nodes, as positions in the method's graph; empty if the device has other nodes in their place.
    pub(crate) nodes: Vec<usize>,
}

impl StageOrigin {
    /// An error of the part, as an error of the method: with the method's node, and the context.
    pub(crate) fn locate(&self, error: Error) -> Error {
        let context = &self.context;
        match error {
            Error::Run { op, node, message } => Error::Run {
                op,
                node: renumbered(&node, &self.nodes),
                message: format!("{message} (on {context})"),
            },
            Error::Strict(message) => {
                Error::Strict(format!("{} (on {context})", renumbered(&message, &self.nodes)))
            }
            other => other,
        }
    }
}

/// A text with the method's number of the node that it names: `#` and the number among a part's `nodes`.
pub(crate) fn renumbered(text: &str, nodes: &[usize]) -> String {
    let Some((before, after)) = text.split_once('#') else { return text.into() };
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let known = after[..digits].parse::<usize>().ok().and_then(|number| nodes.get(number));
    known.map_or_else(|| text.into(), |number| format!("{before}#{number}{}", &after[digits..]))
}

impl CallOutcome {
    /// Waits for the call, and returns its error if it failed.
    pub(crate) fn check(&self) -> Result<()> {
        let trouble = match self.watch.settled.get() {
            Some(settled) => settled.clone(),
            None => self.watch.read()?,
        };
        match trouble {
            Some(Trouble { good, error }) if self.before >= good => Err(match &self.origin {
                Some(origin) => origin.locate(error),
                None => error,
            }),
            _ => Ok(()),
        }
    }

    /// Whether both calls were made between the same two checks of the same status words.
    pub(crate) fn is_beside(&self, other: &CallOutcome) -> bool {
        Arc::ptr_eq(&self.watch, &other.watch)
    }

    /// Makes this the outcome of all calls up to the later of the two.
    pub(crate) fn extend_to(&mut self, other: &CallOutcome) {
        self.before = self.before.max(other.before);
    }

    /// The outcome of a part of a method, unless it is known as one.
    pub(crate) fn located(mut self, origin: &Arc<StageOrigin>) -> CallOutcome {
        self.origin.get_or_insert_with(|| origin.clone());
        self
    }

    /// Whether it is known to have succeeded, without waiting.
    pub(crate) fn is_good(&self) -> bool {
        matches!(self.watch.settled.get(), Some(None))
    }
}

impl Watch {
    pub(crate) fn new(device: &Arc<dyn Device>, words: Region) -> Arc<Watch> {
        let (device, graphs) = (device.clone(), Mutex::default());
        Arc::new(Watch { device, words, graphs, settled: OnceLock::new() })
    }

    pub(crate) fn graphs(&self) -> MutexGuard<'_, Vec<Ran>> {
        // The list is consistent whenever the lock is free: it changes by one push or one assignment.
        self.graphs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the words; waits for the enqueued calls.
    pub(crate) fn read(&self) -> Result<Option<Trouble>> {
        let mut bytes = [0u8; STATUS_BYTES];
        self.device.download(&self.words, &mut bytes)?;
        let mut words = [0i64; STATUS_WORDS as usize];
        words.iter_mut().zip(bytes.as_chunks().0).for_each(|(w, b)| *w = i64::from_le_bytes(*b));
        let [last, good, first, ref loops @ ..] = words;
        let noted: Vec<i64> = loops.chunks(2).filter_map(|level| level.last().copied()).collect();
        let number = if first != 0 { first } else { last };
        Ok((number != 0).then(|| Trouble { good: good.max(0) as u64, error: self.error(number, &noted) }))
    }

    /// The error for a report; the method's number is above [`NODE_BITS`]. `noted` are the numbers of
    /// iterations, from 1, level by level; 0 where none is known.
    fn error(&self, number: i64, noted: &[i64]) -> Error {
        let method = (number >> NODE_BITS) as usize;
        let graphs = self.graphs();
        let known = graphs.iter().find(|(m, ..)| *m == method);
        let nodes = known.map_or(usize::MAX, |(_, graph, _)| node_numbers::count(graph));
        let (at, part) = named(number & ((1 << NODE_BITS) - 1), nodes);
        let found = known.and_then(|(_, graph, shapes)| node_numbers::find(graph, shapes, at));
        let Some(Numbered { node, shapes, path }) = found else {
            let message = "an index is out of range; the call changed nothing".into();
            return Error::Run { op: "index".into(), node: format!("#{at}"), message };
        };
        let given: Vec<&[usize]> = node.inputs.iter().map(|&i| &shapes.shapes[i as usize][..]).collect();
        let part = part.and_then(|part| node.op.trouble_part(part, &given));
        let part = part.map_or_else(String::new, |part| format!("{part}; "));
        let given: Vec<String> = given.into_iter().map(shape_text).collect();
        let (trouble, place) = (node.op.trouble(), node.written_at());
        let message = format!(
            "{trouble} ({part}inputs of shapes {}){place}{}; the call changed nothing",
            given.join(", "),
            iterations(&noted[..noted.len().min(path.matches('.').count())])
        );
        Error::Run { op: node.op.label(), node: format!("#{path}"), message }
    }
}

/// In which iterations of the loops around a node, from the outermost; nothing where it is not known.
fn iterations(noted: &[i64]) -> String {
    let numbers: Vec<String> = noted.iter().filter(|n| **n > 0).map(|n| (n - 1).to_string()).collect();
    match numbers.as_slice() {
        [] => String::new(),
        [one] => format!("; in iteration {one} of its loop, counted from 0"),
        all => format!(
            "; in iterations {} of the loops around it, from the outermost, counted from 0",
            all.join(", ")
        ),
    }
}

impl Status {
    /// Status words in this memory, which are cleared.
    pub(crate) fn new(device: &Arc<dyn Device>, memory: Region) -> Result<Status> {
        let region = Region { bytes: STATUS_BYTES as u64, ..memory };
        device.upload(&[0; STATUS_BYTES], &region)?;
        let watch = Watch::new(device, region.clone());
        Ok(Status { region, calls: Mutex::new(CallCounter { counted: 0, unchecked: false, watch }) })
    }

    pub(crate) fn calls(&self) -> MutexGuard<'_, CallCounter> {
        // Each change under the lock leaves a state that is valid by itself.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a call that was enqueued.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// For results on the host; `None` if the call ran on several devices.
    pub(crate) host_pool: Option<Arc<HostPool>>,
    /// None if nothing can have failed.
    pub(crate) outcomes: Vec<CallOutcome>,
}

impl Ticket {
    /// The ticket of a call that is several calls, on different devices.
    pub(crate) fn of_parts(parts: impl IntoIterator<Item = (Ticket, Arc<StageOrigin>)>) -> Ticket {
        let located = |(ticket, origin): (Ticket, Arc<StageOrigin>)| {
            ticket.outcomes.into_iter().map(move |outcome| outcome.located(&origin))
        };
        Ticket { host_pool: None, outcomes: parts.into_iter().flat_map(located).collect() }
    }

    /// Waits for the call, and reports the errors that its nodes found.
    pub(crate) fn check(&self) -> Result<()> {
        self.outcomes.iter().try_for_each(CallOutcome::check)
    }

    /// One of the call's results on the host.
    pub(crate) fn download(&self, array: &DeviceArray) -> Result<Value> {
        match &self.host_pool {
            Some(pool) => pool.download(&array.region, array.dtype, &array.shape),
            None => array.to_value(),
        }
    }

    /// Attaches the call's outcome to its results: if the call failed, reading them is an error.
    pub(crate) fn watch(&self, arrays: &mut [DeviceArray]) {
        let outcomes = (!self.outcomes.is_empty()).then(|| Arc::new(self.outcomes.clone()));
        arrays.iter_mut().for_each(|array| array.outcomes = outcomes.clone());
    }
}
