//! `[errors]`: what is answered when something is wrong.

use hyper::{StatusCode, header::HeaderValue};

use super::{filled, status};
use crate::{
    document::Problems,
    profile::{
        AnswerForm, Binds, KeyUnit, Replays, SubmitRules,
        either::{InFlight, Missing},
        errors::{self, ErrorRules, Row, Shape},
        file::{ErrorsFile, KeyFile, RowFile},
    },
    template::{Encoding, OF_ERROR},
};

/// Names the answers that the rest of the profile never gives.
fn errors_never_given(file: &ErrorsFile, key: &KeyFile, p: &mut Problems<'_, '_>) {
    if file.used.is_some() && key.replays != Replays::Nothing {
        p.key(
            &["errors", "used"],
            "never given",
            "a used key is refused only where nothing is replayed",
            "write replays = \"nothing\" under [key], or remove this",
        );
    }
    if file.mismatch.is_some() && key.binds == Binds::Nothing {
        p.key(
            &["errors", "mismatch"],
            "never given",
            "a key that is bound to nothing fits every request",
            "write binds = \"bytes\" under [key], or remove this",
        );
    }
    if file.recipient.is_some() && key.unit == KeyUnit::Request {
        p.key(
            &["errors", "recipient"],
            "of a recipient",
            "only where keys are of recipients does an error have a part for one",
            "write unit = \"recipient\" under [key], or remove this",
        );
    }
}

pub(super) fn errors(
    file: ErrorsFile,
    answers: AnswerForm,
    key: &KeyFile,
    submit: Option<&SubmitRules>,
    p: &mut Problems<'_, '_>,
) -> Option<ErrorRules> {
    errors_never_given(&file, key, p);
    let encoding = answers.encoding();
    let body = match &file.body {
        Some(written) => Some(filled(written, encoding, OF_ERROR, &["errors", "body"], p)?),
        None => None,
    };
    let content_type = match &file.content_type {
        Some(written) => {
            if let Ok(value) = HeaderValue::from_str(written) {
                value
            } else {
                p.value(
                    &["errors", "content-type"],
                    "not a value",
                    format!("`{written}` cannot stand in a header"),
                    "",
                );
                return None;
            }
        }
        None if body.is_some() => answers.content_type(),
        None => errors::PROBLEM,
    };
    let recipient = match &file.recipient {
        Some(written) => {
            let at = ["errors", "recipient"];
            Some(filled(written, encoding, OF_ERROR, &at, p)?)
        }
        None => None,
    };
    let mut row = |file: Option<&RowFile>, name: &str, usual: StatusCode| match file {
        Some(file) => row_of(file, name, encoding, p),
        None => Some(Row::plain(usual)),
    };
    let missing = match &file.missing {
        Missing::Deliver => Some(None),
        Missing::Row(file) => row(Some(file), "missing", StatusCode::BAD_REQUEST).map(Some),
    };
    let in_flight = match &file.in_flight {
        InFlight::Wait => Some(None),
        InFlight::Row(file) => row(Some(file), "in-flight", StatusCode::CONFLICT).map(Some),
    };
    let malformed = row(
        file.malformed.as_ref(),
        "malformed",
        StatusCode::BAD_REQUEST,
    );
    let mismatch = row(
        file.mismatch.as_ref(),
        "mismatch",
        StatusCode::UNPROCESSABLE_ENTITY,
    );
    let used = row(file.used.as_ref(), "used", StatusCode::CONFLICT);
    let unauthorised = row(
        file.unauthorised.as_ref(),
        "unauthorised",
        StatusCode::UNAUTHORIZED,
    );
    let invalid = row(file.invalid.as_ref(), "invalid", StatusCode::BAD_REQUEST);
    let not_found = row(file.not_found.as_ref(), "not-found", StatusCode::NOT_FOUND);
    let refused = row(file.refused.as_ref(), "refused", StatusCode::BAD_REQUEST);
    Some(ErrorRules {
        shape: Shape {
            kind: file
                .kind
                .or_else(|| body.is_some().then(|| "about:blank".into())),
            body,
            content_type,
        },
        recipient,
        recipients_status: submit?.success,
        missing: missing?,
        malformed: malformed?,
        mismatch: mismatch?,
        in_flight: in_flight?,
        used: used?,
        unauthorised: unauthorised?,
        invalid: invalid?,
        not_found: not_found?,
        refused: refused?,
    })
}

fn row_of(file: &RowFile, name: &str, encoding: Encoding, p: &mut Problems<'_, '_>) -> Option<Row> {
    let at = ["errors", name, "status"];
    let range = match name {
        "missing" | "malformed" | "mismatch" => 400..=599,
        // Some providers say in a 200 that a message was refused.
        _ => 200..=599,
    };
    let status = status(file.status, range, &at, p);
    let body = match &file.body {
        Some(written) => {
            let at = ["errors", name, "body"];
            Some(filled(written, encoding, OF_ERROR, &at, p)?)
        }
        None => None,
    };
    Some(Row {
        status: status?,
        code: file.code.clone(),
        message: file.message.clone(),
        title: file.title.clone(),
        kind: file.kind.clone(),
        retry_after: file.retry_after,
        body,
    })
}
