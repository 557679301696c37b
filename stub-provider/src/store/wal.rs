//! The tail of a write-ahead log that a killed process or a power loss has left.
//!
//! Owns reading `SQLite`'s log (its file format, section 4 "The Write-Ahead Log",
//! <https://www.sqlite.org/fileformat2.html#walformat>) just far enough to say how much of it counts.
//! `SQLite` cuts the rest by itself when it opens the database, and says nothing; here it is only
//! measured. Nothing is ever written.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const MAGIC: u32 = 0x377f_0682;
/// Older frames lie behind the newest ones; each restart of the log counts the first salt up by one.
const RESTARTS: u32 = 1 << 20;

/// What a log holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tail {
    /// Frames up to the last whole commit.
    pub(crate) kept: u64,
    /// Bytes behind it that were on their way when the process died, or that are damaged.
    pub(crate) torn: u64,
}

/// Measures the log at `path`; a log that is not there holds nothing.
pub(crate) fn measure(path: &Path) -> io::Result<Tail> {
    match File::open(path) {
        Ok(file) => read(BufReader::with_capacity(1 << 16, file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Tail::default()),
        Err(error) => Err(error),
    }
}

fn read(mut log: impl Read) -> io::Result<Tail> {
    let mut header = [0; HEADER];
    let got = fill(&mut log, &mut header)?;
    let mut tail = Tail::default();
    let Some(mut sum) = Sum::of_header(&header).filter(|_| got == HEADER) else {
        // Without a header nothing in the log counts.
        tail.torn = got as u64 + io::copy(&mut log, &mut io::sink())?;
        return Ok(tail);
    };
    let (page, salts) = (word(&header, 8) as usize, &header[16..24]);
    let mut frame = vec![0; FRAME_HEADER + page];
    let (mut frames, mut whole) = (0, true);
    loop {
        let got = fill(&mut log, &mut frame)?;
        if got == 0 {
            return Ok(tail);
        }
        if got >= FRAME_HEADER && &frame[8..16] != salts && older(word(&frame, 8), salts) {
            // From here on the frames are of the log before its last restart.
            return Ok(tail);
        }
        whole = whole && got == frame.len() && &frame[8..16] == salts && sum.is_of(&frame);
        tail.torn += got as u64;
        frames += 1;
        if whole && word(&frame, 4) != 0 {
            tail = Tail {
                kept: frames,
                torn: 0,
            };
        }
    }
}

fn older(salt: u32, salts: &[u8]) -> bool {
    (1..RESTARTS).contains(&word(salts, 0).wrapping_sub(salt))
}

/// Reads until the buffer is full or nothing more comes; how much there was.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match from.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(word)
}

/// The checksum that runs through a log: each frame's goes on from the one before.
struct Sum {
    big_endian: bool,
    sum: (u32, u32),
}

impl Sum {
    /// The sum of a log's header; `None` where the header is not one.
    fn of_header(header: &[u8; HEADER]) -> Option<Self> {
        let magic = word(header, 0);
        let page = word(header, 8);
        let sane = magic & !1 == MAGIC && page.is_power_of_two() && (512..=65536).contains(&page);
        let mut sum = Self {
            big_endian: magic & 1 == 1,
            sum: (0, 0),
        };
        sum.add(&header[..24]);
        (sane && sum.sum == (word(header, 24), word(header, 28))).then_some(sum)
    }

    /// Whether a frame is the next of the log, undamaged.
    fn is_of(&mut self, frame: &[u8]) -> bool {
        self.add(&frame[..8]);
        self.add(&frame[FRAME_HEADER..]);
        self.sum == (word(frame, 16), word(frame, 20))
    }

    fn add(&mut self, bytes: &[u8]) {
        let read = |at: usize| {
            let word = word(bytes, at);
            if self.big_endian {
                word
            } else {
                word.swap_bytes()
            }
        };
        let (mut a, mut b) = self.sum;
        for at in (0..bytes.len()).step_by(8) {
            a = a.wrapping_add(read(at)).wrapping_add(b);
            b = b.wrapping_add(read(at + 4)).wrapping_add(a);
        }
        self.sum = (a, b);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sqlx::{ConnectOptions as _, Connection as _, Executor as _, sqlite::SqliteConnectOptions};

    use super::*;

    /// The log of three commits as `SQLite` itself writes it, and where each ends.
    async fn log() -> (Vec<u8>, Vec<usize>) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("some.db");
        let mut db = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal)
            .connect()
            .await
            .expect("a database");
        let log = dir.path().join("some.db-wal");
        let mut ends = Vec::new();
        for write in [
            "create table words (word text)",
            "insert into words values ('one'), ('two')",
            "insert into words select hex(randomblob(3000)) from words",
        ] {
            db.execute(write).await.expect("a commit");
            ends.push(std::fs::read(&log).expect("a log").len());
        }
        let bytes = std::fs::read(&log).expect("a log");
        db.close().await.expect("closed");
        (bytes, ends)
    }

    fn tail(bytes: &[u8]) -> Tail {
        read(bytes).expect("memory is readable")
    }

    #[tokio::test]
    async fn every_cut_of_a_log_is_measured_from_its_last_whole_commit() {
        let (bytes, ends) = log().await;
        let whole = tail(&bytes);
        assert!(whole.kept >= 3 && whole.torn == 0, "{whole:?}");
        for cut in (0..bytes.len()).step_by(37).chain(ends.iter().copied()) {
            let committed = ends.iter().copied().rfind(|end| *end <= cut);
            // A header alone holds no commit and is not torn.
            let from = committed.unwrap_or(if cut >= HEADER { HEADER } else { 0 });
            assert_eq!(
                tail(&bytes[..cut]).torn,
                (cut - from) as u64,
                "cut at {cut}"
            );
        }
    }

    #[tokio::test]
    async fn any_damage_is_measured_from_the_commit_before_it() {
        let (bytes, ends) = log().await;
        for at in (HEADER..bytes.len()).step_by(101) {
            // The second salt: the first one may look like an older log's.
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            let from = ends.iter().copied().rfind(|end| *end <= at);
            let torn = tail(&damaged).torn;
            let all = (bytes.len() - from.unwrap_or(HEADER)) as u64;
            assert!(torn == all || torn == 0, "byte {at}: {torn} of {all}");
            let in_salt = (at - HEADER) % (FRAME_HEADER + 4096) / 4 == 2;
            assert!(torn == all || in_salt, "byte {at}: {torn} of {all}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_fail(bytes: Vec<u8>) {
            let seen = tail(&bytes);
            prop_assert!(seen.torn <= bytes.len() as u64);
        }
    }

    #[test]
    fn no_log_holds_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let tail = measure(&dir.path().join("none")).expect("it is only not there");
        assert_eq!(tail, Tail::default());
    }
}
