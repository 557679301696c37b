//! [`AnswerForm`]: how a provider writes its answers.

use hyper::header::HeaderValue;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{reply, template::Encoding};

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
        match self {
            Self::Json => reply::JSON.clone(),
            Self::Xml => reply::XML.clone(),
        }
    }

    /// How the gaps of an answer are filled.
    pub(super) fn encoding(self) -> Encoding {
        match self {
            Self::Json => Encoding::Json,
            Self::Xml => Encoding::Xml,
        }
    }
}
