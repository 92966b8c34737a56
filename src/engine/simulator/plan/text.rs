//! A [`Plan`] as a table for people.

use super::{BufferPlan, Plan, StepPlan};
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "method {} on {}: {} steps in {} segments",
            self.method,
            self.device,
            self.steps.len(),
            self.segments
        )?;
        let mut last = None;
        for step in &self.steps {
            match step.segment {
                Some(segment) if last != Some(segment) => {
                    writeln!(f, "segment {segment}{}", on(step.context.as_deref()))?;
                }
                _ => {}
            }
            last = step.segment;
            fmt_step(step, &self.buffers, 1, f)?;
        }
        writeln!(f, "buffers")?;
        for b in &self.buffers {
            let place = b.offset.map_or("of its own".into(), |offset| format!("arena + {offset}"));
            writeln!(
                f,
                "  {:<16} {:<9} {:<20} {:>14} bytes  {place}{}",
                b.name,
                b.role,
                array(b.dtype, &b.shape),
                b.bytes,
                on(b.context.as_deref())
            )?;
        }
        writeln!(
            f,
            "arena {} bytes; no layout needs less than {}",
            self.arena_bytes, self.arena_lower_bound
        )?;
        let t = &self.total;
        write!(
            f,
            "in all {} launches, {} flops, {} bytes read, {} bytes written; {} bytes at the least",
            t.launches, t.flops, t.bytes_read, t.bytes_written, self.compulsory_bytes
        )
    }
}

fn fmt_step(
    step: &StepPlan,
    buffers: &[BufferPlan],
    depth: usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let extents = |axes: &[u64]| axes.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
    let indent = "  ".repeat(depth);
    let kernel = step.kernel.map_or(String::new(), |k| format!(" k{k}"));
    let way = step.way.as_deref().map_or(String::new(), |way| format!("; {way}"));
    let shape = match step.kind {
        "nest" => format!(
            ": grid {}, inner {}; {}",
            extents(&step.axes[..step.grid]),
            extents(&step.axes[step.grid..]),
            step.phases.join(", ")
        ),
        "library" => format!(": {}", extents(&step.axes)),
        "loop" => format!(": {} iterations{way}", extents(&step.axes)),
        _ => way,
    };
    writeln!(f, "{indent}{}{kernel} {}{shape}", step.kind, step.name)?;
    if let Some(why) = &step.why {
        writeln!(f, "{indent}    on the host: {why}")?;
    }
    for operand in &step.operands {
        let way = match (operand.read, operand.written) {
            (true, true) => "reads and writes",
            (false, true) => "writes",
            _ => "reads",
        };
        let name = buffers.iter().find(|b| b.id == operand.buffer).map_or("?", |b| &b.name);
        writeln!(f, "{indent}    {way:<8} {name:<16} {}", array(operand.dtype, &operand.shape))?;
    }
    let w = &step.work;
    writeln!(
        f,
        "{indent}    {} flops, {} bytes read, {} bytes written",
        w.flops, w.bytes_read, w.bytes_written
    )?;
    for (at, body) in step.bodies.iter().enumerate() {
        let which = if step.bodies.len() > 1 { format!(" {at}") } else { String::new() };
        writeln!(f, "{indent}  body{which}")?;
        body.steps.iter().try_for_each(|own| fmt_step(own, &body.buffers, depth + 2, f))?;
    }
    Ok(())
}

/// The context, if there are several.
fn on(context: Option<&str>) -> String {
    context.map_or(String::new(), |name| format!(" on {name}"))
}

fn array(dtype: &str, shape: &[u64]) -> String {
    let comma = if shape.len() == 1 { "," } else { "" };
    format!("{dtype}({}{comma})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}
