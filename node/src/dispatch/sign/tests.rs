//! Signatures against those of the crate `standardwebhooks`, and what is not to be believed.
#![allow(clippy::unwrap_used)]
use proptest::prelude::*;
use proptest::sample::Index;
use reqwest::header::HeaderMap;
use standardwebhooks::Webhook as Oracle;

use super::*;
use crate::clock::Clock;

/// The bytes 0 to 31.
const KEY: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const ID: &str = "frg_1";
/// 2026-12-01T00:00:00Z.
const NOW: i64 = 1_796_083_200;

fn key() -> SigningKey {
    SigningKey::read(KEY).unwrap()
}

fn text_of(bytes: &[u8]) -> String {
    format!("whsec_{}", STANDARD.encode(bytes))
}

/// A key of each length that is allowed, as text.
fn key_text() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<u8>(), MIN_KEY..=MAX_KEY).prop_map(|bytes| text_of(&bytes))
}

fn id() -> impl Strategy<Value = String> {
    "frg_[0-9a-v]{1,32}"
}

/// The headers of a request that was sent at `NOW`.
fn signed(signature: &str) -> Signed<'_> {
    Signed { id: ID, timestamp: "1796083200", signature }
}

#[test]
fn a_body_that_is_no_text_is_signed_as_openssl_signs_it() {
    let signature = signatures([&key()], ID, NOW, &[0, 255, 254, 10, 128]);
    assert_eq!(signature, "v1,TXs13K3ZrcDAceqYIOZXN9+NuL4Mt+MKH0z/McVo414=");
}

#[test]
fn a_text_that_is_no_key_is_refused_with_the_way_to_one() {
    let (short, long) = (text_of(&[7; 23]), text_of(&[7; 65]));
    for (text, why) in [
        ("", BadKey::NoPrefix),
        ("a password that is long enough", BadKey::NoPrefix),
        ("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", BadKey::NoPrefix),
        ("WHSEC_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", BadKey::NoPrefix),
        ("whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", BadKey::Asymmetric),
        ("whpk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", BadKey::Asymmetric),
        ("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", BadKey::NotBase64),
        ("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh-_", BadKey::NotBase64),
        ("whsec_AAECAwQFBgcICQoL DA0ODxAREhMUFRYXGBkaGxwdHh8=", BadKey::NotBase64),
        ("whsec_", BadKey::TooShort(0)),
        (&short, BadKey::TooShort(23)),
        (&long, BadKey::TooLong(65)),
    ] {
        let error = SigningKey::read(text).unwrap_err();
        assert_eq!(error, why, "{text}");
        let told = error.to_string();
        assert!(told.ends_with("; make one with: echo \"whsec_$(openssl rand -base64 32)\""), "{told}");
        assert!(!told.contains("AAEC"), "{told}");
    }
}

#[test]
fn a_key_is_read_with_white_space_around_it_and_is_not_printed() {
    let read = SigningKey::read(&format!(" {KEY}\n")).unwrap();
    assert_eq!(signatures([&read], ID, NOW, b"{}"), signatures([&key()], ID, NOW, b"{}"));
    assert_eq!(format!("{read:?}"), "SigningKey(…)");
}

#[test]
fn without_keys_there_is_no_signature_and_none_is_believed() {
    assert_eq!(signatures([], ID, NOW, b"{}"), "");
    let signature = signatures([&key()], ID, NOW, b"{}");
    assert_eq!(verify([], signed(&signature), b"{}", NOW, TOLERANCE), Err(Unverified::NoMatch));
}

#[test]
fn a_request_is_believed_up_to_the_tolerance_on_either_side() {
    let signature = signatures([&key()], ID, NOW, b"{}");
    for (now, tolerance, answer) in [
        (NOW, 0, Ok(())),
        (NOW + 1, 0, Err(Unverified::TooOld)),
        (NOW - 1, 0, Err(Unverified::TooNew)),
        (NOW + 300, 300, Ok(())),
        (NOW + 301, 300, Err(Unverified::TooOld)),
        (NOW - 300, 300, Ok(())),
        (NOW - 301, 300, Err(Unverified::TooNew)),
        (i64::MAX, 300, Err(Unverified::TooOld)),
        (i64::MIN, 300, Err(Unverified::TooNew)),
    ] {
        let told = verify([&key()], signed(&signature), b"{}", now, Duration::from_secs(tolerance));
        assert_eq!(told, answer, "now {now}, tolerance {tolerance}");
    }
}

#[test]
fn what_differs_from_what_was_signed_is_not_believed() {
    let good = signatures([&key()], ID, NOW, b"{}");
    let digits = good.strip_prefix("v1,").unwrap();
    let as_other_scheme = format!("v1a,{digits}");
    let cut = &good[..good.len() - 4];
    let crowded = format!("{}{good}", "v1,AAAA ".repeat(MAX_SIGNATURES));
    for (id, timestamp, signature, body, why) in [
        ("", "1796083200", &*good, "{}", Unverified::BadId),
        ("frg_2", "1796083200", &good, "{}", Unverified::NoMatch),
        (ID, "1796083201", &good, "{}", Unverified::NoMatch),
        (ID, "1796083200", &good, "{ }", Unverified::NoMatch),
        (ID, "1796083200", &good, "", Unverified::NoMatch),
        (ID, "", &good, "{}", Unverified::BadTimestamp),
        (ID, "now", &good, "{}", Unverified::BadTimestamp),
        (ID, "+1796083200", &good, "{}", Unverified::BadTimestamp),
        (ID, "01796083200", &good, "{}", Unverified::BadTimestamp),
        (ID, "1796083200.0", &good, "{}", Unverified::BadTimestamp),
        (ID, "99999999999999999999", &good, "{}", Unverified::BadTimestamp),
        (ID, "1796083200", "", "{}", Unverified::NoMatch),
        (ID, "1796083200", "v1,", "{}", Unverified::NoMatch),
        (ID, "1796083200", digits, "{}", Unverified::NoMatch),
        (ID, "1796083200", &as_other_scheme, "{}", Unverified::NoMatch),
        (ID, "1796083200", cut, "{}", Unverified::NoMatch),
        (ID, "1796083200", &crowded, "{}", Unverified::NoMatch),
    ] {
        let told = verify([&key()], Signed { id, timestamp, signature }, body.as_bytes(), NOW, TOLERANCE);
        assert_eq!(told, Err(why), "{id} {timestamp} {signature} {body}");
    }
}

#[test]
fn signatures_of_other_schemes_and_other_keys_beside_it_do_no_harm() {
    let good = signatures([&key()], ID, NOW, b"{}");
    for header in [
        format!("v1a,aGVsbG8= {good}"),
        format!("{good} v2,x"),
        format!("v1,&&& v1 , {good}"),
        format!("v1,AAAA  {good}"),
    ] {
        assert_eq!(verify([&key()], signed(&header), b"{}", NOW, TOLERANCE), Ok(()), "{header}");
    }
}

/// The body of this request is a number whose beginning would pass for a timestamp of tomorrow.
#[test]
fn a_signed_text_cannot_be_cut_in_another_place() {
    let signature = signatures([&key()], ID, NOW, b"1796169600.5");
    let replayed = Signed { id: "frg_1.1796083200", timestamp: "1796169600", signature: &signature };
    assert_eq!(verify([&key()], replayed, b"5", NOW + 86_400, TOLERANCE), Err(Unverified::BadId));
}

#[test]
fn during_rotation_the_oracle_accepts_with_either_key_and_with_no_third() {
    let [old, new, third] = [&[1; 32][..], &[2; 24], &[3; 64]].map(text_of);
    let keys = [&new, &old].map(|text| SigningKey::read(text).unwrap());
    let sent = Clock::system().now().as_millis() / 1_000;
    let mut headers = HeaderMap::new();
    headers.insert("webhook-id", ID.parse().unwrap());
    headers.insert("webhook-timestamp", sent.into());
    headers.insert("webhook-signature", signatures(&keys, ID, sent, b"{}").parse().unwrap());
    let accepts = |text: &str| Oracle::new(text).unwrap().verify(b"{}", &headers).is_ok();
    assert_eq!([accepts(&old), accepts(&new), accepts(&third)], [true, true, false]);
}

proptest! {
    #[test]
    fn a_text_is_signed_as_the_oracle_signs_it(
        text in key_text(), id in id(), secs in 0..4_102_444_800_i64, body in ".*"
    ) {
        let theirs = Oracle::new(&text).unwrap().sign(&id, secs, body.as_bytes()).unwrap();
        prop_assert_eq!(signatures([&SigningKey::read(&text).unwrap()], &id, secs, body.as_bytes()), theirs);
    }

    #[test]
    fn what_the_oracle_signs_is_believed(
        text in key_text(), id in id(), secs in 0..4_102_444_800_i64, body in ".*"
    ) {
        let signature = Oracle::new(&text).unwrap().sign(&id, secs, body.as_bytes()).unwrap();
        let signed = Signed { id: &id, timestamp: &secs.to_string(), signature: &signature };
        let key = SigningKey::read(&text).unwrap();
        prop_assert_eq!(verify([&key], signed, body.as_bytes(), secs, TOLERANCE), Ok(()));
    }

    #[test]
    fn during_rotation_each_key_alone_believes_what_both_signed(
        texts in prop::collection::btree_set(key_text(), 3), body in prop::collection::vec(any::<u8>(), 0..512)
    ) {
        let keys: Vec<SigningKey> = texts.iter().map(|text| SigningKey::read(text).unwrap()).collect();
        let signature = signatures(&keys[..2], ID, NOW, &body);
        let believes = |key| verify([key], signed(&signature), &body, NOW, TOLERANCE).is_ok();
        prop_assert_eq!([believes(&keys[0]), believes(&keys[1]), believes(&keys[2])], [true, true, false]);
    }

    #[test]
    fn one_changed_bit_anywhere_is_noticed(
        mut body in prop::collection::vec(any::<u8>(), 1..512), place in any::<Index>(), bit in 0..8_u8
    ) {
        let signature = signatures([&key()], ID, NOW, &body);
        prop_assert_eq!(verify([&key()], signed(&signature), &body, NOW, TOLERANCE), Ok(()));
        let place = place.index(body.len());
        body[place] ^= 1 << bit;
        prop_assert_eq!(verify([&key()], signed(&signature), &body, NOW, TOLERANCE), Err(Unverified::NoMatch));
    }
}
