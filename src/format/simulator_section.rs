//! The section with a Simulator's options and the first sizes of its methods. Readers that load Functions
//! skip it.

use super::bad;
use super::codec::{Budget, Decoder, Encoder};
use crate::error::Result;
use workalike_device::{Options, Sizes};

/// Its kind: one that readers may skip.
pub(super) const SIMULATOR: u32 = 0x8000_0101;
/// The version of the section that is written for one device.
const VERSION: u8 = 2;
/// The version with the options of several contexts, and the newest that is read.
const OF_CONTEXTS: u8 = 3;
/// The version before: without `any_size` and first sizes.
const OPTIONS_ALONE: u8 = 1;

/// What a file knows of a Simulator, besides its methods and values.
#[derive(Debug, Default)]
pub(crate) struct SimulatorSettings {
    pub(crate) options: Options,
    /// For each method, in order, the extents of its first call, if it was called.
    pub(crate) first_sizes: Vec<Option<Vec<usize>>>,
    /// The options of each context, by its name; empty if there was one device without a name.
    contexts: Vec<(String, Options)>,
}

impl SimulatorSettings {
    /// The settings of a Simulator whose devices have these names and options, without sizes.
    pub(crate) fn of(devices: impl IntoIterator<Item = (Option<String>, Options)>) -> SimulatorSettings {
        let mut settings = SimulatorSettings::default();
        for (at, (name, options)) in devices.into_iter().enumerate() {
            if at == 0 {
                settings.options = options;
            }
            settings.contexts.extend(name.map(|name| (name, options)));
        }
        settings
    }

    /// The options of a context, or of the one device.
    pub(crate) fn options_of(&self, context: Option<&str>) -> Options {
        let own = self.contexts.iter().find(|(name, _)| Some(name.as_str()) == context);
        own.map_or(self.options, |(_, options)| *options)
    }
}

/// The section's bytes: version, one byte per option, the first sizes, and the options of contexts.
pub(super) fn encode(settings: &SimulatorSettings) -> Result<Vec<u8>> {
    let version = if settings.contexts.is_empty() { VERSION } else { OF_CONTEXTS };
    let mut to = Encoder::default();
    to.byte(version)?;
    encode_options(&mut to, settings.options)?;
    to.byte(settings.options.any_size.into())?;
    to.list(settings.first_sizes.iter(), |to, first| {
        to.option(first.as_ref(), |to, first| to.list(first.iter(), |to, &extent| to.number(extent as u64)))
    })?;
    if version == OF_CONTEXTS {
        to.list(settings.contexts.iter(), |to, (name, options)| {
            to.text(name)?;
            encode_options(to, *options)?;
            to.byte(options.any_size.into())
        })?;
    }
    Ok(to.0)
}

/// The options that the first version has.
fn encode_options(to: &mut Encoder, options: Options) -> Result<()> {
    // Those for debugging are not saved.
    let Options { strict, fuse, sizes, fast_math, deterministic, .. } = options;
    let sizes = match sizes {
        Sizes::Fixed => 0,
        Sizes::Several => 1,
        Sizes::Dynamic => 2,
    };
    to.bytes(&[strict.into(), fuse.into(), sizes, fast_math.into(), deterministic.into()])
}

/// The settings of a section.
pub(super) fn decode(bytes: &[u8], budget: Budget) -> Result<SimulatorSettings> {
    let mut from = Decoder::new(bytes, budget);
    let version = from.byte()?;
    if !(OPTIONS_ALONE..=OF_CONTEXTS).contains(&version) {
        return bad(format!(
            "the Simulator's options are of version {version}; a newer workalike may read them"
        ));
    }
    let mut options = decode_options(&mut from)?;
    let (mut first_sizes, mut contexts) = (Vec::new(), Vec::new());
    if version > OPTIONS_ALONE {
        options.any_size = flag(&mut from)?;
        first_sizes = from.list(1, |from| from.option(|from| from.list(1, extent)))?;
    }
    if version == OF_CONTEXTS {
        contexts = from.list(7, |from| {
            let name = from.text()?;
            let options = decode_options(from)?;
            Ok((name, Options { any_size: flag(from)?, ..options }))
        })?;
    }
    from.finish()?;
    Ok(SimulatorSettings { options, first_sizes, contexts })
}

/// The options that the first version has.
fn decode_options(from: &mut Decoder) -> Result<Options> {
    Ok(Options {
        strict: flag(from)?,
        fuse: flag(from)?,
        sizes: match from.byte()? {
            0 => Sizes::Fixed,
            1 => Sizes::Several,
            2 => Sizes::Dynamic,
            other => return bad(format!("the Simulator's options are damaged: sizes {other}")),
        },
        fast_math: flag(from)?,
        deterministic: flag(from)?,
        ..Options::default()
    })
}

fn flag(from: &mut Decoder) -> Result<bool> {
    match from.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        other => bad(format!("the Simulator's options are damaged: {other} is no truth value")),
    }
}

fn extent(from: &mut Decoder) -> Result<usize> {
    let number = from.number()?;
    match usize::try_from(number) {
        Ok(extent) => Ok(extent),
        Err(_) => bad(format!("the Simulator's sizes are damaged: an extent of {number}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<SimulatorSettings> {
        decode(bytes, Budget::new(1 << 12))
    }

    #[test]
    fn settings_come_back() {
        for sizes in [Sizes::Fixed, Sizes::Several, Sizes::Dynamic] {
            for flag in [false, true] {
                let options = Options {
                    strict: flag,
                    fuse: !flag,
                    sizes,
                    fast_math: flag,
                    deterministic: !flag,
                    any_size: flag,
                    ..Options::default()
                };
                let first_sizes = vec![None, Some(vec![]), Some(vec![3, 0, 1 << 40])];
                let mut settings = SimulatorSettings { options, first_sizes, ..SimulatorSettings::default() };
                for contexts in [vec![], vec![("dev0".into(), options), ("dev1".into(), Options::default())]]
                {
                    settings.contexts = contexts;
                    let back = read(&encode(&settings).unwrap()).unwrap();
                    assert_eq!(format!("{back:?}"), format!("{settings:?}"));
                }
            }
        }
    }

    #[test]
    fn the_version_before_is_read() {
        let settings = read(&[OPTIONS_ALONE, 0, 1, 2, 0, 1]).unwrap();
        assert!(settings.options.any_size && settings.first_sizes.is_empty());
        assert_eq!(settings.options.sizes, Sizes::Dynamic);
    }

    #[test]
    fn damaged_settings_are_refused() {
        let good = encode(&SimulatorSettings {
            first_sizes: vec![Some(vec![5, 7])],
            ..SimulatorSettings::default()
        })
        .unwrap();
        for length in 0..good.len() {
            assert!(read(&good[..length]).is_err(), "{length} bytes");
        }
        assert!(read(&[&good[..], &[0]].concat()).is_err());
        for (at, byte) in [(1, 2), (3, 9), (6, 2), (8, 2)] {
            let mut damaged = good.clone();
            damaged[at] = byte;
            assert!(read(&damaged).is_err(), "byte {at}");
        }
        assert!(read(&[OF_CONTEXTS + 1, 0, 0, 0, 0, 0]).unwrap_err().to_string().contains("newer"));
        // Long lists in a short section.
        assert!(read(&[VERSION, 0, 0, 0, 0, 0, 1, 250]).is_err());
    }
}
