//! [`AnswerForm`]: how a provider writes its answers.

use hyper::header::HeaderValue;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::template::Encoding;

/// How answers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerForm {
    /// `application/json`.
    #[default]
    Json,
    /// `text/xml`: about one message each; there are no lists.
    Xml,
}

impl AnswerForm {
    /// What `Content-Type` says.
    pub(crate) fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json => "application/json",
            Self::Xml => "text/xml",
        })
    }

    /// How the gaps of an answer are filled.
    pub(super) fn encoding(self) -> Encoding {
        match self {
            Self::Json => Encoding::Json,
            Self::Xml => Encoding::Xml,
        }
    }
}
