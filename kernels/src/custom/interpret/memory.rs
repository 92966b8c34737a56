//! Memory and pointers. A pointer is the number of an object and a byte of it; every access is checked.

use super::bytecode::Reg;
use crate::dtype::DType;
use half::{bf16, f16};

/// Bits of a pointer that are the byte, with a sign.
const OFFSET_BITS: u32 = 48;

/// A pointer to a byte of an object; `None` if the byte is beyond every memory.
pub(super) fn pointer(object: usize, offset: i64) -> Option<u64> {
    let low = offset.cast_unsigned() << (64 - OFFSET_BITS) >> (64 - OFFSET_BITS);
    let fits = split(low).1 == offset && object < 1 << (64 - OFFSET_BITS);
    fits.then_some((object as u64) << OFFSET_BITS | low)
}

/// The object and the byte of a pointer.
pub(super) fn split(pointer: u64) -> (usize, i64) {
    let offset = (pointer << (64 - OFFSET_BITS)).cast_signed() >> (64 - OFFSET_BITS);
    ((pointer >> OFFSET_BITS) as usize, offset)
}

/// A pointer moved by bytes.
pub(super) fn moved(from: u64, by: i64) -> Option<u64> {
    let (object, offset) = split(from);
    pointer(object, offset.checked_add(by)?)
}

/// What a work item did that it must not do.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    Null,
    /// An access to bytes of an object that has fewer.
    Range {
        object: usize,
        at: i64,
        bytes: usize,
    },
    Misaligned {
        object: usize,
        at: i64,
        align: usize,
    },
    /// A variable of a function that has returned.
    Ended {
        object: usize,
    },
    /// A write to an array that is only read.
    Constant {
        object: usize,
    },
    Division,
    /// A shift of a number of so many bits, by as many or more, or by less than 0.
    Shift {
        by: i64,
        bits: u8,
    },
    /// The compiler placed a variable outside of private memory.
    Inside,
    /// The launch has taken all its steps.
    Steps,
    /// Pointer arithmetic far beyond every array.
    Beyond {
        object: usize,
    },
    /// The distance of pointers to different arrays.
    Distance {
        objects: [usize; 2],
    },
}

/// An object in a launch.
#[derive(Clone, Copy, Debug)]
pub(super) enum LaunchObject {
    Null,
    Read(usize),
    Written { at: usize, constant: bool },
    Local { base: usize, bytes: usize },
    Constant { base: usize, bytes: usize },
    Own { base: usize, bytes: usize, link: Option<Reg> },
}

/// What the work items of a launch share.
pub(super) struct LaunchMemory<'a, 'w> {
    pub(super) segments: &'a [LaunchObject],
    pub(super) read: &'a [&'a [u8]],
    pub(super) written: &'a mut [&'w mut [u8]],
    pub(super) local: &'a mut [u8],
    pub(super) constants: &'a [u8],
    /// Instructions that the launch may still run; below 0 it ends at the next jump backwards.
    pub(super) steps: i64,
}

/// What a work item has of its own.
pub(super) struct Own<'a> {
    pub(super) registers: &'a [u64],
    pub(super) bytes: &'a mut [u8],
}

fn part(bytes: &[u8], base: usize, length: usize) -> &[u8] {
    bytes.get(base..base.saturating_add(length)).unwrap_or(&[])
}

fn part_mut(bytes: &mut [u8], base: usize, length: usize) -> &mut [u8] {
    bytes.get_mut(base..base.saturating_add(length)).unwrap_or(&mut [])
}

/// The first byte of an access, if it is aligned.
fn start(object: usize, at: i64, bytes: usize, align: usize) -> Result<usize, Fault> {
    match usize::try_from(at) {
        Ok(start) if start.is_multiple_of(align) => Ok(start),
        Ok(_) => Err(Fault::Misaligned { object, at, align }),
        Err(_) => Err(Fault::Range { object, at, bytes }),
    }
}

impl LaunchMemory<'_, '_> {
    /// All bytes of an object.
    fn object<'c>(&'c self, object: usize, own: &'c Own<'_>) -> Result<&'c [u8], Fault> {
        Ok(match self.segments.get(object).copied().unwrap_or(LaunchObject::Null) {
            LaunchObject::Null => return Err(Fault::Null),
            LaunchObject::Read(at) => self.read.get(at).copied().unwrap_or(&[]),
            LaunchObject::Written { at, .. } => self.written.get(at).map_or(&[][..], |bytes| bytes),
            LaunchObject::Local { base, bytes } => part(self.local, base, bytes),
            LaunchObject::Constant { base, bytes } => part(self.constants, base, bytes),
            LaunchObject::Own { base, bytes, link } => {
                own.require_active(object, link)?;
                part(own.bytes, base, bytes)
            }
        })
    }

    fn object_mut<'c>(&'c mut self, object: usize, own: &'c mut Own<'_>) -> Result<&'c mut [u8], Fault> {
        Ok(match self.segments.get(object).copied().unwrap_or(LaunchObject::Null) {
            LaunchObject::Null => return Err(Fault::Null),
            LaunchObject::Read(_)
            | LaunchObject::Constant { .. }
            | LaunchObject::Written { constant: true, .. } => {
                return Err(Fault::Constant { object });
            }
            LaunchObject::Written { at, .. } => self.written.get_mut(at).map_or(&mut [][..], |bytes| bytes),
            LaunchObject::Local { base, bytes } => part_mut(self.local, base, bytes),
            LaunchObject::Own { base, bytes, link } => {
                own.require_active(object, link)?;
                part_mut(own.bytes, base, bytes)
            }
        })
    }

    /// The bytes of an access.
    fn bytes<'c>(
        &'c self,
        own: &'c Own<'_>,
        pointer: u64,
        offset: u32,
        size: usize,
        align: usize,
    ) -> Result<&'c [u8], Fault> {
        let (object, at) = split(pointer);
        let at = at + i64::from(offset);
        let all = self.object(object, own)?;
        let start = start(object, at, size, align)?;
        all.get(start..start + size).ok_or(Fault::Range { object, at, bytes: size })
    }

    fn bytes_mut<'c>(
        &'c mut self,
        own: &'c mut Own<'_>,
        pointer: u64,
        offset: u32,
        size: usize,
        align: usize,
    ) -> Result<&'c mut [u8], Fault> {
        let (object, at) = split(pointer);
        let at = at + i64::from(offset);
        let all = self.object_mut(object, own)?;
        let start = start(object, at, size, align)?;
        all.get_mut(start..start + size).ok_or(Fault::Range { object, at, bytes: size })
    }

    pub(super) fn load(&self, own: &Own<'_>, pointer: u64, offset: u32, dtype: DType) -> Result<u64, Fault> {
        let size = dtype.size();
        self.bytes(own, pointer, offset, size, size).map(|bytes| decoded(bytes, dtype))
    }

    pub(super) fn store(
        &mut self,
        own: &mut Own<'_>,
        pointer: u64,
        offset: u32,
        value: u64,
        dtype: DType,
    ) -> Result<(), Fault> {
        let size = dtype.size();
        self.bytes_mut(own, pointer, offset, size, size).map(|bytes| encode(bytes, value, dtype))
    }

    /// Copies a struct byte for byte.
    pub(super) fn copy(&mut self, own: &mut Own<'_>, to: u64, from: u64, bytes: u32) -> Result<(), Fault> {
        const PIECE: usize = 64;
        let mut piece = [0u8; PIECE];
        for done in (0..bytes).step_by(PIECE) {
            let size = PIECE.min((bytes - done) as usize);
            let piece = &mut piece[..size];
            piece.copy_from_slice(self.bytes(own, from, done, size, 1)?);
            self.bytes_mut(own, to, done, size, 1)?.copy_from_slice(piece);
        }
        Ok(())
    }
}

impl Own<'_> {
    /// A function's variables are there until it returns.
    fn require_active(&self, object: usize, link: Option<Reg>) -> Result<(), Fault> {
        let ended = |link: Reg| self.registers.get(usize::from(link)).is_none_or(|&back| back == 0);
        if link.is_some_and(ended) { Err(Fault::Ended { object }) } else { Ok(()) }
    }
}

/// The bytes as an array. All callers give as many as the dtype has.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}

/// A number in memory, as a register holds it.
pub(super) fn decoded(bytes: &[u8], dtype: DType) -> u64 {
    match dtype {
        DType::Bool => u64::from(array::<1>(bytes)[0] != 0),
        DType::U8 => u64::from(array::<1>(bytes)[0]),
        DType::I8 => i64::from(i8::from_le_bytes(array(bytes))).cast_unsigned(),
        DType::U16 => u64::from(u16::from_le_bytes(array(bytes))),
        DType::I16 => i64::from(i16::from_le_bytes(array(bytes))).cast_unsigned(),
        DType::I32 => i64::from(i32::from_le_bytes(array(bytes))).cast_unsigned(),
        DType::U32 | DType::F32 => u64::from(u32::from_le_bytes(array(bytes))),
        DType::F16 => u64::from(f16::from_le_bytes(array(bytes)).to_f32().to_bits()),
        DType::BF16 => u64::from(bf16::from_le_bytes(array(bytes)).to_f32().to_bits()),
        DType::I64 | DType::U64 | DType::F64 => u64::from_le_bytes(array(bytes)),
        // No parameter has such a type.
        DType::C64 | DType::C128 => 0,
    }
}

/// Writes a register to memory; halves are rounded to the nearest.
pub(super) fn encode(to: &mut [u8], value: u64, dtype: DType) {
    let value = match dtype {
        DType::F16 => u64::from(f16::from_f32(f32::from_bits(value as u32)).to_bits()),
        DType::BF16 => u64::from(bf16::from_f32(f32::from_bits(value as u32)).to_bits()),
        _ => value,
    };
    to.iter_mut().zip(value.to_le_bytes()).for_each(|(to, from)| *to = from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_stay_within_their_bits() {
        let most = (1i64 << 47) - 1;
        for offset in [0, 1, -1, most, -most - 1] {
            let made = pointer(7, offset).unwrap();
            assert_eq!(split(made), (7, offset));
        }
        assert_eq!(pointer(7, most + 1), None);
        assert_eq!(pointer(1 << 16, 0), None);
        assert_eq!(moved(pointer(7, most).unwrap(), 1), None);
        assert_eq!(moved(pointer(7, 4).unwrap(), i64::MAX), None);
        assert_eq!(moved(pointer(7, 4).unwrap(), -8).map(split), Some((7, -4)));
    }
}
