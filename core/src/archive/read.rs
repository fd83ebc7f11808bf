use super::line::{BEGIN, END, Hash, MIDDLE, chain, hex};
use super::record::{Export, FORMAT, Record};

/// Why a file is no export, or no longer the one that was written: nothing of it is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}; nothing of the file is used, take another copy of the export")]
pub struct Refused {
    /// The first line that is wrong, from 1.
    pub line: usize,
    /// What is wrong with it. It quotes nothing.
    pub why: &'static str,
}

/// Reads an export, as a whole or not at all.
///
/// # Errors
/// The first line that is not what was written there.
pub fn read(bytes: &[u8], hash: Hash) -> Result<Export, Refused> {
    let mut reader = Reader { export: Export::default(), before: [0; 32], begun: false, ended: false };
    let (mut at, mut line) = (0, 0);
    while at < bytes.len() {
        line += 1;
        let refused = |why| Refused { line, why };
        let rest = bytes.get(at..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| refused("it breaks off"))?;
        let whole = rest.get(..=end).unwrap_or_default();
        reader.line(whole, bytes.get(..at).unwrap_or_default(), line, hash).map_err(refused)?;
        at += whole.len();
    }
    let after = Refused { line: line + 1, why: "the last line of an export is missing" };
    if reader.ended { Ok(reader.export) } else { Err(after) }
}

struct Reader {
    export: Export,
    before: [u8; 32],
    begun: bool,
    ended: bool,
}

impl Reader {
    fn line(&mut self, whole: &[u8], earlier: &[u8], line: usize, hash: Hash) -> Result<(), &'static str> {
        const NO_LINE: &str = "it is no line of an export";
        if self.ended {
            return Err("something follows the last line");
        }
        let rest = whole.strip_prefix(BEGIN.as_bytes()).ok_or(NO_LINE)?;
        let (checksum, rest) = rest.split_at_checked(64).ok_or(NO_LINE)?;
        let rest = rest.strip_prefix(MIDDLE.as_bytes()).ok_or(NO_LINE)?;
        let text = rest.strip_suffix(END.as_bytes()).ok_or(NO_LINE)?;
        let chained = chain(&self.before, text, hash);
        if hex(&chained).as_bytes() != checksum {
            return Err(
                "its checksum does not match: it, or the line before it, was changed, moved, left out or comes from another file",
            );
        }
        self.before = chained;
        let record: Record = serde_json::from_slice(text).map_err(|_| "it holds a record of another version")?;
        self.take(record, earlier, line, hash)
    }

    fn take(&mut self, record: Record, earlier: &[u8], line: usize, hash: Hash) -> Result<(), &'static str> {
        match record {
            Record::Header(header) => {
                if self.begun {
                    return Err("a second export begins");
                }
                if &*header.format != FORMAT {
                    return Err("the export is of another version");
                }
                self.begun = true;
                (self.export.namespaces, self.export.servers) = (header.namespaces, header.servers);
            }
            _ if !self.begun => return Err("the first line of an export is missing"),
            Record::Trailer(trailer) => {
                if trailer.lines != line - 1 || *trailer.sha256 != *hex(&hash(earlier)) {
                    return Err("it does not match the lines before it");
                }
                self.ended = true;
            }
            record => {
                let Some(place) = record.place() else { return Err("it is out of place") };
                if !self.export.namespaces.contains(&place.0) {
                    return Err("it belongs to a shoot that the first line does not name");
                }
                if self.export.records.last_key_value().is_some_and(|(last, _)| *last >= place) {
                    return Err("it is out of order");
                }
                self.export.records.insert(place, record);
            }
        }
        Ok(())
    }
}
