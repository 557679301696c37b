//! What is wrong with a file, as people see it: the file, the line, the marked words, and help.
//!
//! Owns [`FileError`], the guess at what was meant, and reading what people write ([`source`]).
//! Finding the fault is the readers'.

use std::{
    error::Error,
    fmt,
    fs::File,
    io::{self, Read as _},
    ops::Range,
    path::Path,
    sync::Arc,
};

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
    SourceSpan,
};

/// Something wrong with a file that a person wrote.
///
/// It is a [`Diagnostic`]; [`FileError::report`] prints it with the line and the marked words.
#[derive(Clone)]
pub struct FileError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    message: String,
    file: String,
    source: Option<NamedSource<Arc<str>>>,
    span: Option<Range<usize>>,
    label: String,
    help: Option<String>,
    more: Vec<FileError>,
}

impl FileError {
    /// An error without a place: the file cannot be read, for instance.
    #[must_use]
    pub fn new(file: &str, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            message: message.into(),
            file: file.to_owned(),
            source: None,
            span: None,
            label: String::new(),
            help: None,
            more: Vec::new(),
        }))
    }

    /// Marks the place: `label` stands under the marked words.
    #[must_use]
    pub fn at(mut self, source: &str, span: Range<usize>, label: impl Into<String>) -> Self {
        let end = span.end.min(source.len());
        let start = span.start.min(end);
        self.0.source =
            Some(NamedSource::new(&self.0.file, Arc::from(source)).with_language("TOML"));
        self.0.span = Some(start..end);
        self.0.label = label.into();
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Joins several errors of one file into one; `None` where there are none.
    #[must_use]
    pub fn all(errors: Vec<Self>) -> Option<Self> {
        let mut errors = errors.into_iter();
        let mut first = errors.next()?;
        first.0.more.extend(errors);
        Some(first)
    }

    /// What is wrong, in one sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file's name, as it was given.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// The line, from 1; `None` where the error has no place.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        let source = self.0.source.as_ref()?;
        let start = self.0.span.as_ref()?.start;
        Some(line_of(source.inner(), start))
    }

    /// The words that are marked.
    #[must_use]
    pub fn marked(&self) -> Option<&str> {
        self.0.source.as_ref()?.inner().get(self.0.span.clone()?)
    }

    /// The error as it is shown, with its source, in colour or without.
    #[must_use]
    pub fn report(&self, colour: bool) -> String {
        let theme = if colour {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(100)
            .with_links(false);
        let mut text = String::new();
        for error in std::iter::once(self).chain(&self.0.more) {
            let start = text.len();
            if let Err(fmt::Error) = handler.render_report(&mut text, &Alone(error)) {
                // Rendering fails only on a span outside the source; the sentence is still of use.
                text.truncate(start);
                text.push_str(error.message());
            }
            text.truncate(text.trim_end().len());
            text.push_str("\n\n");
        }
        text
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line() {
            Some(line) => write!(f, "{}:{line}: {}", self.0.file, self.0.message),
            None => write!(f, "{}: {}", self.0.file, self.0.message),
        }
    }
}

impl Error for FileError {}

impl Diagnostic for FileError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0
            .help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        (!self.0.more.is_empty())
            .then(|| Box::new(self.0.more.iter().map(|e| e as &dyn Diagnostic)) as Box<_>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0
            .source
            .as_ref()
            .map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.0.span.clone()?;
        let label = (!self.0.label.is_empty()).then(|| self.0.label.clone());
        let label = LabeledSpan::new_with_span(label, SourceSpan::from(span));
        Some(Box::new(std::iter::once(label)))
    }
}

/// One error without those that stand beside it.
#[derive(Debug)]
struct Alone<'a>(&'a FileError);

impl fmt::Display for Alone<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Alone<'_> {}

impl Diagnostic for Alone<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.0.labels()
    }
}

/// The most bytes of a file that a person wrote.
const LONGEST: u64 = 4 << 20;

/// The text of a file that a person wrote; `what` names it in an error, as in "the profile".
///
/// # Errors
///
/// It cannot be read, is longer than 4 MiB, or is no UTF-8.
pub fn source(path: &Path, what: &str) -> Result<String, FileError> {
    let name = path.display().to_string();
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text))
        .and_then(|_| {
            if text.len() as u64 > LONGEST {
                return Err(io::Error::other("it is longer than 4 MiB"));
            }
            Ok(text)
        })
        .map_err(|error| FileError::new(&name, format!("{what} {name} cannot be read: {error}")))
}

/// The line on which a byte of the source stands, from 1.
#[must_use]
pub fn line_of(source: &str, offset: usize) -> usize {
    let before = source.as_bytes().get(..offset).unwrap_or(source.as_bytes());
    before.split(|byte| *byte == b'\n').count()
}

/// The word that was most likely meant; `None` where none is close.
#[must_use]
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let word = plain(word);
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word, &plain(candidate)), candidate))
        .filter(|(likeness, _)| *likeness > 0.82)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_answered_with_the_word_that_was_meant() {
        let known = ["attempt", "connection", "retry-after", "retry-after-date"];
        assert_eq!(did_you_mean("attemp", known), Some("attempt"));
        assert_eq!(did_you_mean("retry_after", known), Some("retry-after"));
        assert_eq!(did_you_mean("zebra", known), None);
    }

    #[test]
    fn a_file_without_an_end_is_not_read_to_it() {
        let error = source(Path::new("/dev/zero"), "the profile").expect_err("no end");
        assert!(error.message().contains("longer than 4 MiB"), "{error}");
        let error = source(Path::new("no/such.toml"), "the profile").expect_err("not there");
        assert!(
            error
                .message()
                .starts_with("the profile no/such.toml cannot be read")
        );
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(line_of("a\nb\nc", 0), 1);
        assert_eq!(line_of("a\nb\nc", 2), 2);
        assert_eq!(line_of("a\nb\nc", 400), 3);
    }
}
