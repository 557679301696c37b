//! The profiles side by side, for people (`docs/profiles.md`), and the help with a wrong file.
//!
//! Owns the page that is written from the built-in profiles, and what is said about slips in a
//! profile file.

use std::fmt::Write as _;

use super::{DRAFT, Profile, Rule};
use crate::document::Said;

/// The built-in profiles, rule by rule, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(
        "# Profiles\n\n\
         <!-- Written from stub-provider/profiles; a test compares. -->\n\n\
         A profile is one provider's API as data. `stub-provider --profile NAME` speaks it; so does the\n\
         provider of a run whose client file says `[provider] profile = \"NAME\"`. A path in place of the name is\n\
         a profile of your own: begin with a copy of one in [stub-provider/profiles](../stub-provider/profiles);\n\
         [profile-reference.md](profile-reference.md) has every key. Answers are JSON, or with `answers = \"xml\"`\n\
         XML, as those of AWS SNS ([an example](../clients/sdks/profiles/sns.toml)). What is promised here is\n\
         tested against the running provider, rule by rule.\n\n",
    );
    let profiles: Vec<_> = Profile::names().filter_map(Profile::builtin).collect();
    page.push_str("| profile | | key | other request | in flight | replays | kept |\n");
    page.push_str("|---|---|---|---|---|---|---|\n");
    for profile in &profiles {
        let value = |rule| {
            let rules = profile.rules();
            let found = rules.into_iter().find(|known| known.rule == rule);
            found.map(|known| cell(&known.value)).unwrap_or_default()
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| [`{0}`](#{0}) | {1} | {2} | {3} | {4} | {5} | {6} |",
            profile.name(),
            cell(profile.title()),
            value(Rule::Key),
            value(Rule::Mismatch),
            value(Rule::InFlight),
            value(Rule::Replay),
            value(Rule::Retention),
        );
    }
    let _ = write!(
        page,
        "\n\"Draft\" is the section of {DRAFT} that a rule is about.\n"
    );
    for profile in &profiles {
        section(&mut page, profile);
    }
    page
}

fn section(page: &mut String, profile: &Profile) {
    let _ = write!(
        page,
        "\n## {}\n\n{}. `POST {}`\n\n| rule | here | draft | source |\n|---|---|---|---|\n",
        profile.name(),
        profile.title(),
        profile.submit_path(),
    );
    for known in profile.rules() {
        let source = match &known.source {
            Some(source) => match &source.url {
                Some(url) => format!("{} ([source]({url}))", cell(&source.says)),
                None => cell(&source.says),
            },
            None => String::new(),
        };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {source} |",
            known.rule,
            cell(&known.value),
            known.rule.draft_section().unwrap_or_default(),
        );
    }
}

/// A table's cell is one line without bars.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// What to do about a slip in a profile file.
pub(super) fn hint(said: &Said, _marked: &str) -> Option<String> {
    let Said::Missing(field) = said else {
        return None;
    };
    Some(
        match field.as_str() {
            "name" => "give it a word to know it by: name = \"my-provider\"",
            "title" => "say in one line what it speaks: title = \"…\"",
            "submit" => "say how a message is submitted: [submit] with path, request, answer, …",
            "path" => "say where: path = \"/v1/messages\"",
            "request" => {
                "write a request as a client does: request = '{\"to\":\"{to}\",\"text\":\"{text}\"}'"
            }
            "recipient" => "say where the recipient stands: recipient = \"json:to\"",
            "text" => "say where the words stand: text = \"json:text\"",
            "status" => "say the status: status = 201",
            "answer" => "write the answer: answer = '{\"id\":\"{id}\",\"status\":\"{status}\"}'",
            "id" => "say where the id stands in the answer: id = \"json:id\"",
            "field" => "name the field of the query: field = \"to\"",
            "items" => "say where the messages stand in the answer: items = \"json:messages\"",
            _ => return None,
        }
        .to_owned(),
    )
}
