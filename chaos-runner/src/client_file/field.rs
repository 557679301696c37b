//! Values of a client file that stand in several of its tables: templates, commands, URLs, and
//! tables of which exactly one key is given.

use super::{
    command::CommandLine,
    template::{Scope, Template, TemplateError},
};
use crate::document::Problems;

/// Reading such values; what is wrong with them is noted.
pub(super) trait Fields {
    /// A template; where it is wrong, the text stands in for it until the errors are shown.
    fn template(&mut self, text: &str, path: &[&str], scope: Scope) -> Template;
    /// A command.
    fn command(&mut self, words: &[String], path: &[&str], scope: Scope) -> CommandLine;
    /// A URL that begins with one of the schemes.
    fn url(&mut self, text: &str, path: &[&str], scope: Scope, schemes: &[&str]) -> Template;
}

impl Fields for Problems<'_, '_> {
    fn template(&mut self, text: &str, path: &[&str], scope: Scope) -> Template {
        Template::parse(text, scope).unwrap_or_else(|wrong| {
            let TemplateError {
                marked,
                message,
                help,
            } = wrong;
            let value = self.document.span(path);
            // The words stand in the file as they are, unless they are written with escapes.
            let span = self
                .document
                .source
                .get(value.clone())
                .and_then(|source| source.find(&marked))
                .map_or(value.clone(), |at| {
                    value.start + at..value.start + at + marked.len()
                });
            self.add(span, "here", message, &help);
            Template::plain(text)
        })
    }

    fn command(&mut self, words: &[String], path: &[&str], scope: Scope) -> CommandLine {
        let mut parts = words.iter().enumerate().map(|(at, word)| {
            let at = at.to_string();
            let path: Vec<&str> = path.iter().copied().chain([at.as_str()]).collect();
            self.template(word, &path, scope)
        });
        // An empty list was answered before (`slips`).
        let program = parts.next().unwrap_or_else(|| Template::plain(""));
        CommandLine {
            program,
            arguments: parts.collect(),
        }
    }

    fn url(&mut self, text: &str, path: &[&str], scope: Scope, schemes: &[&str]) -> Template {
        let template = self.template(text, path, scope);
        let beginning = template.beginning();
        let fits = schemes.iter().any(|scheme| {
            beginning.starts_with(scheme)
                || (template.fixed().is_none() && scheme.starts_with(beginning))
        });
        if !fits {
            self.value(
                path,
                "not such a URL",
                format!("this URL does not begin with {}", schemes.join(" or ")),
                "",
            );
        }
        template
    }
}

pub(crate) const DATABASES: [&str; 3] = ["sqlite:", "postgres://", "postgresql://"];

pub(crate) fn exactly_one(given: &[(&str, bool)], table: &str, p: &mut Problems<'_, '_>) -> bool {
    let names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
    let found: Vec<&str> = given.iter().filter(|g| g.1).map(|g| g.0).collect();
    let path: Vec<&str> = table.split('.').collect();
    match found.as_slice() {
        [_] => true,
        [] => {
            p.key(
                &path,
                "which?",
                format!("[{table}] says none of {}", names.join(", ")),
                "exactly one of them stands there",
            );
            false
        }
        [_, second, ..] => {
            let path: Vec<&str> = path.into_iter().chain([*second]).collect();
            p.key(
                &path,
                "the second",
                format!("[{table}] says more than one of {}", names.join(", ")),
                "exactly one of them stands there",
            );
            false
        }
    }
}
