//! The examples' data: handwritten digits. `data/README.md` names the source and the licence.

use flate2::read::GzDecoder;
use std::io::Read;
use workalike::{Error, Result, Value};

/// Pixels of an image, each 0 to 1.
pub(crate) const PIXELS: usize = 64;
/// Number of classes.
pub(crate) const CLASSES: usize = 10;
/// Lines of integers: 64 pixels of 0 to 16, and the digit.
const FILE: &[u8] = include_bytes!("../../../data/digits.csv.gz");

/// All 1,797 images (n, 64) and their digits (n), in the order of the file.
pub(crate) fn load() -> Result<(Value, Value)> {
    let damaged = |what: String| Error::Format { what: "digits.csv.gz".into(), message: what };
    let mut text = String::new();
    GzDecoder::new(FILE).read_to_string(&mut text).map_err(|e| damaged(e.to_string()))?;
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let row: Option<Vec<u8>> = line.split(',').map(|cell| cell.parse().ok()).collect();
        let Some([image @ .., label]) = row.as_deref().filter(|row| row.len() == PIXELS + 1) else {
            return Err(damaged(format!("line {} is no image", labels.len() + 1)));
        };
        pixels.extend(image.iter().map(|&ink| f32::from(ink) / 16.0));
        labels.push(i64::from(*label));
    }
    Ok((Value::from_vec(&[labels.len(), PIXELS], pixels)?, Value::from(labels)))
}
