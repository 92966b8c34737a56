//! The demo's data: handwritten digits, embedded in the program. `data/README.md` names the source and the
//! licence.

use crate::builtins::{CLASSES, PIXELS};
use flate2::read::GzDecoder;
use std::io::Read;
use workalike::Value;
use workalike::kernels::ops::philox4x32_10;
use workalike_cli_common::report::{ErrorContext, Failure, Result};

/// Lines of integers: 64 pixels of 0 to 16, and the digit.
const FILE: &[u8] = include_bytes!("../../data/digits.csv.gz");
/// The largest value of a pixel.
const INK: f32 = 16.0;

/// Images with their labels.
pub(crate) struct Images {
    pixels: Vec<f32>,
    labels: Vec<i64>,
}

impl Images {
    /// Number of images.
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// The labels.
    pub(crate) fn labels(&self) -> &[i64] {
        &self.labels
    }

    /// All images as (n, 64), scaled to 0 to 1.
    pub(crate) fn x(&self) -> Result<Value> {
        Ok(Value::from_vec(&[self.len(), PIXELS], self.pixels.clone())?)
    }

    /// The images at these positions in batches, (batches, batch, 64), and their labels, (batches, batch). An
    /// incomplete last batch is dropped.
    pub(crate) fn batches(&self, order: &[usize], batch: usize) -> Result<(Value, Value)> {
        let count = order.len() / batch;
        let chosen = &order[..count * batch];
        let x = chosen.iter().flat_map(|&i| &self.pixels[i * PIXELS..(i + 1) * PIXELS]).copied().collect();
        let y = chosen.iter().map(|&i| self.labels[i]).collect();
        Ok((Value::from_vec::<f32>(&[count, batch, PIXELS], x)?, Value::from_vec::<i64>(&[count, batch], y)?))
    }

    fn at(&self, positions: &[usize]) -> Images {
        let pixels =
            positions.iter().flat_map(|&i| &self.pixels[i * PIXELS..(i + 1) * PIXELS]).copied().collect();
        Images { pixels, labels: positions.iter().map(|&i| self.labels[i]).collect() }
    }
}

/// Splits all images at random, always in the same way: four fifths for training, one fifth held out.
pub(crate) fn split() -> Result<(Images, Images)> {
    let all = load()?;
    let order = shuffled(all.len(), 0);
    let (held_out, learn) = order.split_at(all.len() / 5);
    Ok((all.at(learn), all.at(held_out)))
}

fn load() -> Result<Images> {
    let mut text = String::new();
    GzDecoder::new(FILE).read_to_string(&mut text).during("the digits in the program")?;
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let row: Option<Vec<u8>> = line.split(',').map(|cell| cell.parse().ok()).collect();
        match row.as_deref() {
            Some([image @ .., label]) if image.len() == PIXELS && usize::from(*label) < CLASSES => {
                pixels.extend(image.iter().map(|&ink| f32::from(ink) / INK));
                labels.push(i64::from(*label));
            }
            _ => {
                return Err(Failure::new(format!(
                    "the digits in the program: line {} is damaged",
                    labels.len() + 1
                )));
            }
        }
    }
    Ok(Images { pixels, labels })
}

/// The numbers below `n` in a random order that depends on `seed` alone.
pub(crate) fn shuffled(n: usize, seed: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        let bits = philox4x32_10([last as u32, seed, 0, 0], [0x6469_6769, 0x7473]);
        order.swap(last, bits[0] as usize % (last + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_every_digit_is_held_out() {
        let (learn, held_out) = split().unwrap();
        assert_eq!((learn.len(), held_out.len()), (1438, 359));
        for digit in 0..CLASSES as i64 {
            let count = held_out.labels().iter().filter(|&&l| l == digit).count();
            assert!((22..=52).contains(&count), "{count} of {digit}");
        }
        assert!(learn.pixels.iter().all(|p| (0.0..=1.0).contains(p)));
        assert_eq!(learn.x().unwrap().shape(), [1438, 64]);
    }

    #[test]
    fn shuffling_permutes() {
        let mut order = shuffled(100, 7);
        assert_eq!(order, shuffled(100, 7));
        assert_ne!(order, shuffled(100, 8));
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn batches_leave_the_rest_out() {
        let (learn, _) = split().unwrap();
        let (x, y) = learn.batches(&shuffled(learn.len(), 1), 32).unwrap();
        assert_eq!((x.shape(), y.shape()), (&[44, 32, 64][..], &[44, 32][..]));
    }
}
