//! [`CommandLine`]: a program of the client's and its arguments.
//!
//! Owns finding out, before anything runs, whether the program is there. Running it is the
//! run's.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use nix::unistd::{AccessFlags, access};

use super::template::{Template, Values};

/// A program and its arguments. It runs in the client file's directory, without a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The program: a path, relative to the client file's directory, or a name that is looked
    /// up in `PATH`.
    pub program: Template,
    /// The arguments.
    pub arguments: Vec<Template>,
}

impl CommandLine {
    /// The program and the arguments with the values in place. A program that is a relative path
    /// is made absolute with `dir`, the client file's directory.
    #[must_use]
    pub fn render(&self, dir: &Path, values: &Values) -> (PathBuf, Vec<String>) {
        let program = self.program.render(values);
        let program = if program.contains('/') {
            dir.join(program)
        } else {
            PathBuf::from(program)
        };
        let arguments = self.arguments.iter().map(|a| a.render(values)).collect();
        (program, arguments)
    }

    /// The parts, program first.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Template> {
        std::iter::once(&self.program).chain(&self.arguments)
    }
}

/// Why a program cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unrunnable {
    /// No such file.
    Missing(PathBuf),
    /// It is there but not a program.
    NotExecutable(PathBuf),
    /// No directory of `PATH` has it.
    NotInPath,
}

/// Checks that a program can be run from `dir`, looking names up in `path` (`PATH`'s form).
pub(crate) fn check(program: &str, dir: &Path, path: Option<&OsStr>) -> Result<(), Unrunnable> {
    if program.contains('/') {
        let file = dir.join(program);
        return if is_program(&file) {
            Ok(())
        } else if file.exists() {
            Err(Unrunnable::NotExecutable(file))
        } else {
            Err(Unrunnable::Missing(file))
        };
    }
    let found = path.is_some_and(|path| {
        env::split_paths(path).any(|entry| is_program(&dir.join(entry).join(program)))
    });
    if found {
        Ok(())
    } else {
        Err(Unrunnable::NotInPath)
    }
}

fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}
