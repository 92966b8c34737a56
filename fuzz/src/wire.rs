//! The tables and the container of a file, as `src/format` writes them, so that mutants have valid checksums.
//! The types of `src/format` are private. If the two differ, decoding fails on every seed file.

use serde::{Deserialize, Serialize};

/// Kinds of the sections that hold tables and tensors.
const GRAPH: u32 = 1;
const TENSORS: u32 = 2;

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) ops: Vec<OpRow>,
    pub(crate) graphs: Vec<GraphRow>,
    pub(crate) functions: Vec<FunctionRow>,
    pub(crate) shared: Vec<SharedRow>,
    pub(crate) tensors: Vec<TensorRow>,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub(crate) struct OpRow {
    pub(crate) id: String,
    pub(crate) version: u32,
    pub(crate) attributes: Vec<AttributeRow>,
}

/// Kind 0: one number; 1: numbers; 2: text; 3: a dtype's code.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub(crate) struct AttributeRow {
    pub(crate) name: String,
    pub(crate) kind: u8,
    pub(crate) numbers: Vec<i64>,
    pub(crate) text: String,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct GraphRow {
    pub(crate) vars: Vec<VarRow>,
    pub(crate) nodes: Vec<NodeRow>,
    pub(crate) inputs: Vec<u32>,
    pub(crate) shared: Vec<u32>,
    pub(crate) outputs: Vec<u32>,
    pub(crate) updates: Vec<(u32, u32)>,
}

/// Kind 0: input `a`; 1: shared `a`; 2: constant tensor `a`; 3: output `b` of node `a`.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct VarRow {
    pub(crate) ty: TypeRow,
    pub(crate) name: Option<String>,
    pub(crate) kind: u8,
    pub(crate) a: u32,
    pub(crate) b: u32,
}

/// An unknown extent is -1.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct TypeRow {
    pub(crate) dtype: u8,
    pub(crate) shape: Vec<i64>,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct NodeRow {
    pub(crate) op: u32,
    pub(crate) inputs: Vec<u32>,
    pub(crate) outputs: Vec<u32>,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct FunctionRow {
    pub(crate) name: String,
    pub(crate) graph: u32,
    pub(crate) inputs: Vec<InputRow>,
    pub(crate) outputs: Vec<Option<String>>,
    pub(crate) shared: Vec<u32>,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct InputRow {
    pub(crate) name: Option<String>,
    pub(crate) ty: TypeRow,
    pub(crate) default: Option<u32>,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct SharedRow {
    pub(crate) id: (u64, u64),
    pub(crate) name: String,
    pub(crate) ty: TypeRow,
    pub(crate) tensor: u32,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct TensorRow {
    pub(crate) dtype: u8,
    pub(crate) shape: Vec<u64>,
    pub(crate) offset: u64,
}

/// The parts of a file.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) tables: Tables,
    pub(crate) tensors: Vec<u8>,
}

impl Parts {
    /// Parses a valid file.
    pub(crate) fn of(file: &[u8]) -> Option<Parts> {
        let count = u32::from_le_bytes(file.get(12..16)?.try_into().ok()?) as usize;
        let section = |kind: u32| {
            (0..count).find_map(|at| {
                let entry = file.get(16 + 24 * at..40 + 24 * at)?;
                let number =
                    |at: usize| Some(u64::from_le_bytes(entry.get(at..at + 8)?.try_into().ok()?) as usize);
                let found = u32::from_le_bytes(entry[..4].try_into().ok()?);
                let (offset, length) = (number(8)?, number(16)?);
                (found == kind).then(|| file.get(offset..offset.checked_add(length)?))?
            })
        };
        let config = bincode::config::standard().with_limit::<{ 64 << 20 }>();
        let (tables, _) = bincode::serde::decode_from_slice(section(GRAPH)?, config).ok()?;
        Some(Parts { tables, tensors: section(TENSORS)?.to_vec() })
    }

    /// Writes the file of these parts.
    pub(crate) fn file(&self) -> Vec<u8> {
        let tables = bincode::serde::encode_to_vec(&self.tables, bincode::config::standard());
        container(&[(GRAPH, &tables.unwrap_or_default()), (TENSORS, &self.tensors)])
    }
}

/// A file of these sections, with valid checksums.
pub(crate) fn container(sections: &[(u32, &[u8])]) -> Vec<u8> {
    let mut file = b"WALKFILE".to_vec();
    file.extend(1u32.to_le_bytes());
    file.extend((sections.len() as u32).to_le_bytes());
    let mut offset = (20 + 24 * sections.len()).next_multiple_of(64);
    let mut places = Vec::new();
    for (kind, bytes) in sections {
        file.extend(kind.to_le_bytes());
        file.extend(crc32fast::hash(bytes).to_le_bytes());
        file.extend((offset as u64).to_le_bytes());
        file.extend((bytes.len() as u64).to_le_bytes());
        places.push(offset);
        offset = (offset + bytes.len()).next_multiple_of(64);
    }
    file.extend(crc32fast::hash(&file).to_le_bytes());
    for ((_, bytes), place) in sections.iter().zip(places) {
        file.resize(place, 0);
        file.extend_from_slice(bytes);
    }
    file
}

/// Corrects the checksums of a file, as far as its section table is readable.
pub(crate) fn mend(file: &mut [u8]) {
    let Some(count) = file.get(12..16).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes) else {
        return;
    };
    let head = 16 + 24 * (count.min(64) as usize);
    for at in (16..head).step_by(24) {
        let number = |from: usize| {
            let bytes = file.get(from..from + 8)?.try_into().ok()?;
            usize::try_from(u64::from_le_bytes(bytes)).ok()
        };
        let range = number(at + 8).zip(number(at + 16)).and_then(|(o, l)| Some(o..o.checked_add(l)?));
        let Some(checksum) = range.and_then(|range| file.get(range)).map(crc32fast::hash) else { continue };
        if let Some(place) = file.get_mut(at + 4..at + 8) {
            place.copy_from_slice(&checksum.to_le_bytes());
        }
    }
    if let Some((table, rest)) = file.split_at_mut_checked(head)
        && let Some(place) = rest.get_mut(..4)
    {
        place.copy_from_slice(&crc32fast::hash(table).to_le_bytes());
    }
}
