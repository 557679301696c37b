//! Values in an XML body.
//!
//! Owns finding the text of one element. Namespaces do not count: providers differ in them from one
//! version to the next, and a name says enough.

/// The text of the element at the end of `path`, whose first name is the outermost element's.
/// `None` where there is none, or where the body is not XML.
pub(super) fn text(body: &[u8], path: &[String]) -> Option<String> {
    let document = roxmltree::Document::parse(std::str::from_utf8(body).ok()?).ok()?;
    let mut node = document.root();
    for name in path {
        node = node
            .children()
            .find(|child| child.tag_name().name() == name)?;
    }
    node.text().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::text;

    fn at(path: &str, body: &str) -> Option<String> {
        let path: Vec<_> = path.split('.').map(Into::into).collect();
        text(body.as_bytes(), &path)
    }

    #[test]
    fn an_element_is_found_along_its_names_whatever_the_namespace() {
        let body = r#"<?xml version="1.0"?><R xmlns="urn:x"><p:M xmlns:p="urn:y"><Id>a&amp;b</Id></p:M></R>"#;
        assert_eq!(at("R.M.Id", body).as_deref(), Some("a&b"));
        for path in ["R.Id", "M.Id", "R.M", "R.M.Id.X"] {
            assert_eq!(at(path, body), None, "{path}");
        }
    }

    #[test]
    fn a_body_that_breaks_off_says_nothing() {
        assert_eq!(at("R.Id", "<R><Id>1</Id>"), None);
    }

    proptest! {
        #[test]
        fn no_body_makes_the_reader_fail(body: Vec<u8>) {
            let _ = text(&body, &["R".into()]);
        }
    }
}
