//! What the choice whether a group divides a step is worth: its time divided among GPUs, and computed whole
//! by one, beside the choice. The costs of exchanges in `src/engine/fuse/cost.rs` are from this table.

use crate::groups::{Training, median, training};
use workalike::Result;

/// Networks, the rows of a step on each GPU, and the steps of a measurement.
const NETWORKS: [(&[usize], &[usize], u64); 4] = [
    (&[64, 128, 10], &[32, 256, 1024, 4096, 16_384], 1_000),
    (&[784, 256, 10], &[16, 64, 256, 1024, 4096], 500),
    (&[784, 1200, 1200, 10], &[16, 64, 256, 1024], 300),
    (&[784, 2400, 2400, 2400, 10], &[16, 64, 256], 100),
];

/// Prints the table for groups of so many GPUs.
pub(crate) fn table(gpus: usize) -> Result<()> {
    println!(
        "microseconds of a step | rows of a GPU | divided among {gpus} GPUs | all by each | choice, and its time"
    );
    for (layers, all_rows, steps) in NETWORKS {
        for &rows in all_rows {
            let work = Training { name: "", layers, rows, steps };
            let divided = median(training(&work, gpus, rows * gpus, true)?.1);
            let whole = median(training(&work, 1, rows * gpus, true)?.1);
            let (divides, chosen) = training(&work, gpus, rows * gpus, false)?;
            let choice = if divides { "divided" } else { "all by each" };
            println!("{layers:?} | {rows} | {divided:.1} | {whole:.1} | {choice}, {:.1}", median(chosen));
        }
    }
    Ok(())
}
