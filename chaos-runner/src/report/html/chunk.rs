//! What the page looks at only when it is asked to: JSON, compressed, beside the page's own text.

use std::io::{self, BufWriter, Write};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use serde::Serialize;

/// The chunks of a page. Each is known by its number, from 0.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    made: Vec<String>,
}

impl Chunks {
    /// Compresses `value` and gives back its number.
    pub(super) fn add(&mut self, value: &impl Serialize) -> io::Result<usize> {
        let packer = GzEncoder::new(Vec::new(), Compression::default());
        let mut packer = BufWriter::new(packer);
        serde_json::to_writer(&mut packer, value)?;
        let packer = packer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        self.made.push(STANDARD.encode(packer.finish()?));
        Ok(self.made.len() - 1)
    }

    /// Writes them as data blocks, which no browser runs.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for (number, text) in self.made.iter().enumerate() {
            writeln!(
                out,
                "<script type=\"application/gzip\" id=\"chunk-{number}\">{text}</script>"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn a_chunk_is_what_went_in_and_bears_no_markup() {
        let mut chunks = Chunks::default();
        let number = chunks.add(&vec!["</script><script>"; 100]).expect("memory");
        assert_eq!(number, 0);
        let packed = STANDARD.decode(&chunks.made[0]).expect("base64");
        let mut text = String::new();
        let mut unpacked = GzDecoder::new(packed.as_slice());
        unpacked.read_to_string(&mut text).expect("gzip");
        let back: Vec<String> = serde_json::from_str(&text).expect("JSON");
        assert_eq!(back, vec!["</script><script>"; 100]);
        let mut page = Vec::new();
        chunks.write(&mut page).expect("memory");
        let page = String::from_utf8(page).expect("text");
        assert_eq!(page.matches("<script").count(), 1);
    }
}
