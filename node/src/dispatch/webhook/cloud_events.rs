//! The headers that make a firing a CloudEvent as well: version 1.0 of the specification, its HTTP binding in binary mode.
//!
//! The body stays the payload as it is, and `content-type` is the event's `datacontenttype`, which therefore has no header
//! of its own. There is no `ce-subject`: a firing is about its schedule, and that is the source.

use std::fmt::Write as _;

/// The version of CloudEvents that is spoken.
const SPEC_VERSION: &str = "1.0";
/// What happened: a firing. Receivers filter by it, so it never changes.
const TYPE: &str = "dev.campanile.firing";

/// The headers of one firing.
///
/// `firing` is its id: the same in every attempt, so a receiver that keeps source and id, which together name an event,
/// finds out what is sent again. `schedule` is `namespace/name`. `nominal` is RFC 3339, when it should have happened.
#[must_use]
pub fn headers(firing: &str, schedule: &str, nominal: &str) -> [(&'static str, String); 5] {
    [
        ("ce-specversion", SPEC_VERSION.to_owned()),
        ("ce-id", value(firing)),
        ("ce-source", value(&format!("/schedules/{schedule}"))),
        ("ce-type", TYPE.to_owned()),
        ("ce-time", value(nominal)),
    ]
}

/// A value as the binding asks for it (HTTP Protocol Binding 1.0.2 §3.1.3.2): blank, double quote, percent and whatever is
/// not printable ASCII as `%XY` for each byte of its UTF-8. Names of schedules have none of them; should they ever, a
/// header stays one header.
fn value(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'%') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_firing_is_told_as_an_event() {
        let told = headers("frg_0123", "billing/invoice-run", "2026-12-01T01:30:00Z");
        let expected = [
            ("ce-specversion", "1.0"),
            ("ce-id", "frg_0123"),
            ("ce-source", "/schedules/billing/invoice-run"),
            ("ce-type", "dev.campanile.firing"),
            ("ce-time", "2026-12-01T01:30:00Z"),
        ];
        assert_eq!(told, expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn values_are_encoded_as_the_binding_asks() {
        for (text, encoded) in [
            ("", ""),
            ("Euro € 😀", "Euro%20%E2%82%AC%20%F0%9F%98%80"),
            ("a/b:c-d_e.f~!#$&'()*+,;=?@[]", "a/b:c-d_e.f~!#$&'()*+,;=?@[]"),
            ("a \"quoted\" word", "a%20%22quoted%22%20word"),
            ("100%", "100%25"),
            ("%20", "%2520"),
            ("\r\nx-evil: 1", "%0D%0Ax-evil:%201"),
            ("\u{7f}\u{0}", "%7F%00"),
        ] {
            assert_eq!(value(text), encoded, "{text:?}");
        }
    }

    /// One round of decoding, as a receiver does it.
    fn decoded(header: &str) -> String {
        let mut bytes = Vec::new();
        let mut rest = header.as_bytes();
        while let Some((first, tail)) = rest.split_first() {
            if *first == b'%' {
                bytes.push(u8::from_str_radix(std::str::from_utf8(&tail[..2]).unwrap(), 16).unwrap());
                rest = &tail[2..];
            } else {
                bytes.push(*first);
                rest = tail;
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    proptest! {
        #[test]
        fn every_text_becomes_a_header_and_is_read_back(text in any::<String>()) {
            let header = value(&text);
            prop_assert!(reqwest::header::HeaderValue::from_str(&header).is_ok());
            prop_assert!(header.bytes().all(|byte| byte.is_ascii_graphic()), "{}", header);
            prop_assert_eq!(decoded(&header), text);
        }
    }
}
