//! The section with a Simulator's options. Readers that load Functions skip it.

use workalike_device::{Options, Sizes};

/// Its kind: one that readers may skip.
pub(super) const SIMULATOR: u32 = 0x8000_0101;
/// The version of the section that is written, and the newest that is read.
const VERSION: u8 = 1;

/// The section's bytes: version, then one byte per option. The last one is there only if it is not the
/// default: readers of this version that do not know it refuse it.
pub(super) fn encode(options: &Options) -> Vec<u8> {
    // Those for debugging are not saved.
    let Options { strict, fuse, sizes, fast_math, deterministic, any_size, .. } = *options;
    let sizes = match sizes {
        Sizes::Fixed => 0,
        Sizes::Several => 1,
        Sizes::Dynamic => 2,
    };
    let mut bytes = vec![VERSION, strict.into(), fuse.into(), sizes, fast_math.into(), deterministic.into()];
    bytes.extend((any_size != Options::default().any_size).then_some(u8::from(any_size)));
    bytes
}

/// The options of a section.
pub(super) fn decode(bytes: &[u8]) -> Result<Options, String> {
    let flag = |byte: u8| match byte {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(format!("the Simulator's options are damaged: {other} is no truth value")),
    };
    match *bytes {
        [VERSION, strict, fuse, sizes, fast_math, deterministic, ref rest @ ..] if rest.len() < 2 => {
            Ok(Options {
                strict: flag(strict)?,
                fuse: flag(fuse)?,
                sizes: match sizes {
                    0 => Sizes::Fixed,
                    1 => Sizes::Several,
                    2 => Sizes::Dynamic,
                    other => return Err(format!("the Simulator's options are damaged: sizes {other}")),
                },
                fast_math: flag(fast_math)?,
                deterministic: flag(deterministic)?,
                any_size: rest.first().map_or(Ok(Options::default().any_size), |&byte| flag(byte))?,
                ..Options::default()
            })
        }
        [version, ..] if version != VERSION => {
            Err(format!("the Simulator's options are of version {version}; a newer workalike may read them"))
        }
        _ => Err("the Simulator's options are damaged: another length".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_back_and_damaged_ones_are_refused() {
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
                let back = decode(&encode(&options)).unwrap();
                assert_eq!(format!("{back:?}"), format!("{options:?}"));
            }
        }
        assert!(decode(&[]).is_err() && decode(&[1, 0, 0, 0, 0]).is_err());
        assert!(decode(&[2, 0, 0, 0, 0, 0]).unwrap_err().contains("newer"));
        assert!(decode(&[1, 2, 0, 0, 0, 0]).is_err() && decode(&[1, 0, 0, 9, 0, 0]).is_err());
    }
}
