//! Data parallel training on many GPUs, predicted from the Plan of one member and a model of GPUs and links.
//!
//! A member of a group has the same steps whatever the number of members is: only the time of its exchanges
//! grows. So the Plan of one of two members on the host says what all do.

use crate::network;
use workalike::Result;
use workalike::engine::{Plan, StepPlan};
use workalike::prelude::*;

/// The inputs, hidden units by layer, and classes of a network of 10^9 parameters.
const BILLION: [usize; 10] = [784, 11_900, 11_900, 11_900, 11_900, 11_900, 11_900, 11_900, 11_900, 10];

/// What a GPU does in a second.
struct Gpu {
    flops: f64,
    bytes: f64,
    /// Seconds of a launch.
    launch: f64,
}

/// An H200. The rate of products of float32 is that of training with 5 * 10^7 parameters and 8192 rows
/// (docs/performance.md); the others are assumed.
const H200: Gpu = Gpu { flops: 50e12, bytes: 4.0e12, launch: 2e-6 };

/// What joins members.
struct Link {
    name: &'static str,
    members: &'static [u32],
    /// Bytes a second that a member sends, while it receives as many.
    bytes: f64,
    /// Seconds until a message arrives.
    latency: f64,
}

/// NVLink moves as much as in a sum of 256 MiB by NCCL on two H200s; networks are at their nominal speed. The
/// latencies are assumed.
const LINKS: [Link; 3] = [
    Link { name: "NVLink", members: &[2, 4, 8], bytes: 297e9, latency: 4e-6 },
    Link { name: "400 Gb/s a GPU", members: &[16, 64, 256], bytes: 50e9, latency: 8e-6 },
    Link { name: "100 Gb/s a GPU", members: &[16, 64, 256], bytes: 12.5e9, latency: 8e-6 },
];

/// Prints a table for networks of 5 * 10^7 and 10^9 parameters.
pub(crate) fn tables() -> Result<()> {
    let networks: [(&str, &[usize], usize); 3] = [
        ("5e7 parameters, 8192 rows", &network::MILLIONS, 8192),
        ("5e7 parameters, 512 rows", &network::MILLIONS, 512),
        ("1e9 parameters, 8192 rows", &BILLION, 8192),
    ];
    for (name, layers, rows) in networks {
        let plan = plan(layers, rows)?;
        let (exchanges, others): (Vec<&StepPlan>, Vec<&StepPlan>) =
            plan.steps.iter().partition(|step| exchanged(step) > 0.0);
        let alone: f64 = others.iter().map(|step| H200.seconds(step)).sum();
        let shared = plan.buffers.iter().filter(|buffer| buffer.role == "shared");
        let shared: u64 = shared.map(|buffer| buffer.bytes).sum();
        println!("{name} of each GPU: {:.2} ms alone", alone * 1e3);
        println!("  {:.2} GB of shared variables, {:.2} GB of arena", gb(shared), gb(plan.arena_bytes));
        let bytes: f64 = exchanges.iter().map(|step| exchanged(step)).sum();
        println!("  {} exchanges of {:.3} GB in all", exchanges.len(), bytes / 1e9);
        for link in &LINKS {
            for &members in link.members {
                let joint: f64 = exchanges.iter().map(|step| link.sum(exchanged(step), members)).sum();
                let [apart, overlapped] = [alone + joint, alone.max(joint)];
                println!(
                    "  {members:4} GPUs, {:15} exchanges {:8.2} ms, step {:8.2} ms, {:.3} of linear; \
                     overlapped {:.3}",
                    link.name,
                    joint * 1e3,
                    apart * 1e3,
                    alone / apart,
                    alone / overlapped
                );
            }
        }
    }
    Ok(())
}

fn gb(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

/// The Plan of one of two members that each get so many rows.
fn plan(layers: &[usize], rows: usize) -> Result<Plan> {
    // Zeros take no memory before they are written.
    let zeros = |inputs: usize, units: usize| vec![0f32; inputs * units];
    let parallel = network::step(layers, zeros)?.data_parallel("g", ["x", "y"])?;
    let mut sim = parallel.optimize(group("g", [Host::threads(1), Host::threads(1)]))?;
    let [x, y] = network::batch(layers, rows)?;
    let mut plans = sim.each_member(|_, member| member.plan(args![&x, &y]))?;
    Ok(plans.swap_remove(0))
}

/// Bytes that a member gives to an exchange; 0 if it is none.
fn exchanged(step: &StepPlan) -> f64 {
    if step.name.starts_with("all_reduce") { step.work.bytes_read as f64 } else { 0.0 }
}

impl Gpu {
    /// The time of a step: of its flops or of its bytes, whichever takes longer, and of its launches.
    fn seconds(&self, step: &StepPlan) -> f64 {
        let work = &step.work;
        (work.flops / self.flops).max(work.bytes() as f64 / self.bytes) + work.launches as f64 * self.launch
    }
}

impl Link {
    /// The time of a sum, on a ring or on a tree, whichever is faster: docs/parallel.md.
    fn sum(&self, bytes: f64, members: u32) -> f64 {
        let n = f64::from(members);
        let ring = 2.0 * (n - 1.0) * self.latency + 2.0 * bytes * (n - 1.0) / (n * self.bytes);
        let tree = 2.0 * self.latency * n.log2().ceil() + 2.0 * bytes / self.bytes;
        ring.min(tree)
    }
}
