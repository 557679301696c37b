//! Values in a form-encoded body or in a query (the URL standard's application/x-www-form-urlencoded).

/// The fields of a form-encoded body or of a query, decoded.
pub(crate) fn form_fields(text: &[u8]) -> impl Iterator<Item = (String, String)> + '_ {
    text.split(|b| *b == b'&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let cut = pair.iter().position(|b| *b == b'=').unwrap_or(pair.len());
            let value = pair.get(cut + 1..).unwrap_or_default();
            (decode(&pair[..cut]), decode(value))
        })
}

/// Undoes form encoding; a `%` that starts no valid escape stands for itself.
pub(crate) fn decode(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut i = 0;
    while i < text.len() {
        let hex = |b: Option<&u8>| b.and_then(|b| char::from(*b).to_digit(16));
        match text[i] {
            b'+' => out.push(b' '),
            b'%' => {
                if let (Some(high), Some(low)) = (hex(text.get(i + 1)), hex(text.get(i + 2))) {
                    out.push(u8::try_from(high * 16 + low).unwrap_or(b'%'));
                    i += 2;
                } else {
                    out.push(b'%');
                }
            }
            other => out.push(other),
        }
        i += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}
