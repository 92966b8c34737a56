//! PNG files of results: a grid of images, a field in colours, a curve.

use std::path::PathBuf;
use workalike::{Error, Result};

/// A picture: its width, and red, green and blue of each pixel, row by row.
pub(crate) struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    fn new(width: usize, height: usize, pixel: impl Fn(usize, usize) -> [u8; 3]) -> Picture {
        let pixels = (0..width * height).map(|i| pixel(i % width, i / width)).collect();
        Picture { width, pixels }
    }

    /// Grey images of `side` by `side` pixels from 0 to 1, so many in a row, each pixel `zoom` wide.
    pub(crate) fn grid(images: &[f32], side: usize, columns: usize, zoom: usize) -> Picture {
        let (count, cell) = (images.len() / (side * side), side * zoom + 2);
        Picture::new(columns * cell, count.div_ceil(columns) * cell, |x, y| {
            let (image, column, row) = (y / cell * columns + x / cell, x % cell / zoom, y % cell / zoom);
            match images.get((image * side + row) * side + column) {
                Some(ink) if row < side && column < side => [(ink.clamp(0.0, 1.0) * 255.0) as u8; 3],
                _ => [40; 3],
            }
        })
    }

    /// A field of numbers, row by row, from blue at `low` over white to red at `high`.
    pub(crate) fn field(numbers: &[f32], width: usize, [low, high]: [f32; 2]) -> Picture {
        Picture::new(width, numbers.len() / width, |x, y| {
            let part = ((numbers[y * width + x] - low) / (high - low)).clamp(0.0, 1.0) * 2.0;
            let (red, blue) = (part.min(1.0), (2.0 - part).min(1.0));
            [red, red.min(blue), blue].map(|c| (c * 255.0) as u8)
        })
    }

    /// A curve, from its smallest to its largest number.
    pub(crate) fn curve(numbers: &[f32], width: usize, height: usize) -> Picture {
        let bounds = |(low, high): (f32, f32), n: &f32| (low.min(*n), high.max(*n));
        let (low, high) = numbers.iter().fold((f32::MAX, f32::MIN), bounds);
        let scale = (height - 1) as f32 / (high - low).max(f32::MIN_POSITIVE);
        let y_of = |x: usize| ((high - numbers[x * numbers.len() / width]) * scale) as usize;
        Picture::new(width, height, |x, y| {
            let (now, next) = (y_of(x), y_of((x + 1).min(width - 1)));
            if (now.min(next)..=now.max(next)).contains(&y) { [200, 30, 30] } else { [255; 3] }
        })
    }

    /// The bytes of a PNG file.
    pub(crate) fn to_png(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![];
        let size = [self.width, self.pixels.len() / self.width.max(1)].map(|n| n as u32);
        let mut encoder = png::Encoder::new(&mut bytes, size[0], size[1]);
        encoder.set_color(png::ColorType::Rgb);
        let written =
            encoder.write_header().and_then(|mut to| to.write_image_data(self.pixels.as_flattened()));
        match written {
            Ok(()) => Ok(bytes),
            Err(error) => Err(Error::Format { what: "a picture".into(), message: error.to_string() }),
        }
    }

    /// Writes `NAME.png` to the folder that the environment variable `WORKALIKE_PICTURES` names, if it does.
    pub(crate) fn keep(&self, name: &str) -> Result<()> {
        let png = self.to_png()?;
        let Some(folder) = std::env::var_os("WORKALIKE_PICTURES") else { return Ok(()) };
        let path = PathBuf::from(folder).join(name).with_extension("png");
        std::fs::write(&path, png).map_err(|error| Error::File { path, message: error.to_string() })
    }
}
