//! The form of a JSON document: its fields, and the ranges of its integers.
//!
//! For responses whose values are not known in advance, such as random rows of a database. The bytes are checked in one
//! pass, without an allocation except for nested values that are skipped: every response of a run may be different.

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Before the name of a field whose case does not count, as in TechEmpower's rules.
const ANY_CASE: char = '~';
/// The name of a field that stands for all others: an object with it may have more fields than those that are named.
const OTHERS: &str = "...";
/// Any JSON value.
const ANY: &str = "any";
/// `true` or `false`.
const BOOLEAN: &str = "boolean";
/// The number of elements of an array of any length.
const ANY_NUMBER: &str = "*";
/// Most fields of an object: the fields seen are the bits of one word.
const MAX_FIELDS: usize = 64;

/// The required form of a JSON document.
///
/// Written as JSON: `{"id": "1..10000"}` is an object with exactly this field, an integer from 1 to 10,000; `[20,
/// {"id": "1..10000"}]` is an array of 20 such objects, `["*", FORM]` one of any length. `"boolean"` is `true` or `false`,
/// `"any"` any value. An object whose form has the field `"...": "any"` may have more fields. A field written with a tilde
/// before its name, `"~id"`, is found in any case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Value", into = "Value")]
#[schemars(with = "Value")]
pub enum JsonForm {
    /// An object with exactly these fields, in any order; with `...` among them, with at least the others.
    Object(Vec<(String, JsonForm)>),
    /// An array with this number of elements of one form.
    Array(u32, Box<JsonForm>),
    /// An array of any number of elements of one form.
    List(Box<JsonForm>),
    /// An integer from the first to the second value, both included.
    Integer(i64, i64),
    /// `true` or `false`.
    Boolean,
    /// Any value.
    Any,
}

/// Why the text of a form is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// It is JSON, but not a form.
    #[error(
        "{0} does not describe a JSON value; write an object, \"MIN..MAX\", \"boolean\", \"any\", or [COUNT, FORM] for an array of COUNT elements, \"*\" for any number"
    )]
    Unknown(String),
    /// A field's name cannot be compared byte for byte, or there are too many fields.
    #[error("an object in `json_form` must have 1 to 64 fields, and names without JSON escapes")]
    Fields,
}

/// Where a document does not have the expected form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte offset {at}: expected {expected}")]
pub struct FormFault {
    /// The offset of the byte, from 0.
    pub at: usize,
    /// The expected input at this place.
    pub expected: String,
}

impl JsonForm {
    /// Parses a form from its JSON text.
    ///
    /// # Errors
    /// [`FormError`] if the text is not a form.
    pub fn parse(text: &str) -> Result<Self, FormError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| FormError::NotJson(error.to_string()))?;
        Self::try_from(value)
    }

    /// Whether `body` is one JSON document of this form.
    ///
    /// # Errors
    /// The first place where the body differs.
    pub fn check(&self, body: &[u8]) -> Result<(), FormFault> {
        let mut cursor = JsonCursor { body, at: 0 };
        cursor.form(self)?;
        cursor.skip_space();
        if cursor.at < body.len() { Err(cursor.fault("the end")) } else { Ok(()) }
    }
}

impl TryFrom<Value> for JsonForm {
    type Error = FormError;

    fn try_from(value: Value) -> Result<Self, FormError> {
        let unknown = || FormError::Unknown(value.to_string());
        match &value {
            Value::Object(fields) => {
                let plain = |name: &String| name.bytes().all(|byte| byte > b' ' && !b"\"\\".contains(&byte));
                if fields.is_empty() || fields.len() > MAX_FIELDS || !fields.keys().all(plain) {
                    return Err(FormError::Fields);
                }
                if fields.get(OTHERS).is_some_and(|others| others.as_str() != Some(ANY)) {
                    return Err(unknown());
                }
                let form = |(name, form): (&String, &Value)| Ok((name.clone(), form.clone().try_into()?));
                Ok(Self::Object(fields.iter().map(form).collect::<Result<_, FormError>>()?))
            }
            Value::Array(items) => match items.as_slice() {
                [Value::Number(count), form] => {
                    let count = count.as_u64().and_then(|count| u32::try_from(count).ok());
                    Ok(Self::Array(count.ok_or_else(unknown)?, Box::new(form.clone().try_into()?)))
                }
                [Value::String(count), form] if count == ANY_NUMBER => {
                    Ok(Self::List(Box::new(form.clone().try_into()?)))
                }
                _ => Err(unknown()),
            },
            Value::String(text) if text == ANY => Ok(Self::Any),
            Value::String(text) if text == BOOLEAN => Ok(Self::Boolean),
            Value::String(range) => {
                let (least, most) = range.split_once("..").ok_or_else(unknown)?;
                let number = |text: &str| text.parse::<i64>().map_err(|_| unknown());
                let (least, most) = (number(least)?, number(most)?);
                if least <= most { Ok(Self::Integer(least, most)) } else { Err(unknown()) }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Err(unknown()),
        }
    }
}

impl From<JsonForm> for Value {
    fn from(form: JsonForm) -> Self {
        match form {
            JsonForm::Object(fields) => {
                Value::Object(fields.into_iter().map(|(name, form)| (name, form.into())).collect())
            }
            JsonForm::Array(count, form) => Value::Array(vec![count.into(), (*form).into()]),
            JsonForm::List(form) => Value::Array(vec![ANY_NUMBER.into(), (*form).into()]),
            JsonForm::Integer(least, most) => Value::String(format!("{least}..{most}")),
            JsonForm::Boolean => BOOLEAN.into(),
            JsonForm::Any => ANY.into(),
        }
    }
}

/// The name of a field without the tilde, and whether it has one.
#[inline]
fn bare(name: &str) -> (&str, bool) {
    name.strip_prefix(ANY_CASE).map_or((name, false), |name| (name, true))
}

/// The name of the first field that was not seen.
fn first_missing(fields: &[(String, JsonForm)], seen: u64) -> Option<&str> {
    let missing = fields.iter().enumerate().filter(|(place, _)| seen & (1 << place) == 0);
    missing.map(|(_, (name, _))| bare(name).0).find(|name| *name != OTHERS)
}

/// The position up to which a document has been read.
struct JsonCursor<'a> {
    body: &'a [u8],
    at: usize,
}

impl JsonCursor<'_> {
    fn form(&mut self, form: &JsonForm) -> Result<(), FormFault> {
        self.skip_space();
        match form {
            JsonForm::Object(fields) if fields.iter().any(|(name, _)| name == OTHERS) => {
                self.open_object(fields)
            }
            JsonForm::Object(fields) => self.object(fields),
            JsonForm::Array(count, form) => self.array(*count, form),
            JsonForm::List(form) => self.list(form),
            JsonForm::Integer(least, most) => self.integer(*least, *most),
            JsonForm::Boolean => self.boolean(),
            JsonForm::Any => self.any(),
        }
    }

    fn object(&mut self, fields: &[(String, JsonForm)]) -> Result<(), FormFault> {
        self.take(b'{', "`{`")?;
        let mut seen = 0_u64;
        for nth in 0..fields.len() {
            if nth > 0 {
                self.take(b',', "`,` and another field")?;
            }
            self.take(b'"', "a field's name")?;
            let Some(place) = self.field(fields, seen) else {
                return Err(self.no_field(first_missing(fields, seen).unwrap_or_default()));
            };
            seen |= 1 << place;
            self.value_of(&fields[place])?;
        }
        self.take(b'}', "`}` and no other field")
    }

    /// An object with at least these fields.
    fn open_object(&mut self, fields: &[(String, JsonForm)]) -> Result<(), FormFault> {
        self.take(b'{', "`{`")?;
        let mut seen = 0_u64;
        self.skip_space();
        let mut has_more = self.body.get(self.at) != Some(&b'}');
        while has_more {
            self.take(b'"', "a field's name")?;
            match self.field(fields, seen) {
                Some(place) => {
                    seen |= 1 << place;
                    self.value_of(&fields[place])?;
                }
                None => {
                    // The name is a value of JSON too, with the quotation mark before it.
                    self.at -= 1;
                    self.any()?;
                    self.take(b':', "`:`")?;
                    self.any()?;
                }
            }
            self.skip_space();
            has_more = self.body.get(self.at) == Some(&b',');
            self.at += usize::from(has_more);
        }
        match first_missing(fields, seen) {
            Some(name) => Err(self.no_field(name)),
            None => self.take(b'}', "`,` or `}`"),
        }
    }

    /// The place of the field whose name begins here, if it is one that was not seen yet.
    #[inline]
    fn field(&self, fields: &[(String, JsonForm)], seen: u64) -> Option<usize> {
        let rest = &self.body[self.at..];
        let named = |name: &str| {
            let (name, any_case) = bare(name);
            let Some((begin, after)) = rest.split_at_checked(name.len()) else { return false };
            let is_same = match any_case {
                true => begin.eq_ignore_ascii_case(name.as_bytes()),
                false => begin == name.as_bytes(),
            };
            is_same && after.first() == Some(&b'"')
        };
        fields.iter().position(|(name, _)| named(name)).filter(|place| seen & (1 << place) == 0)
    }

    /// The rest of a field whose name begins here.
    #[inline]
    fn value_of(&mut self, (name, form): &(String, JsonForm)) -> Result<(), FormFault> {
        self.at += bare(name).0.len() + 1;
        self.take(b':', "`:`")?;
        self.form(form)
    }

    #[cold]
    fn no_field(&self, name: &str) -> FormFault {
        self.fault(&format!("the field \"{name}\""))
    }

    fn array(&mut self, count: u32, form: &JsonForm) -> Result<(), FormFault> {
        self.take(b'[', "`[`")?;
        for nth in 0..count {
            if nth > 0 && self.take(b',', "").is_err() {
                return Err(self.fault(&format!("{count} elements, found only {nth}")));
            }
            self.form(form)?;
        }
        self.skip_space();
        if self.body.get(self.at) == Some(&b',') {
            return Err(self.fault(&format!("exactly {count} elements")));
        }
        self.take(b']', "`]`")
    }

    fn list(&mut self, form: &JsonForm) -> Result<(), FormFault> {
        self.take(b'[', "`[`")?;
        self.skip_space();
        let mut has_more = self.body.get(self.at) != Some(&b']');
        while has_more {
            self.form(form)?;
            self.skip_space();
            has_more = self.body.get(self.at) == Some(&b',');
            self.at += usize::from(has_more);
        }
        self.take(b']', "`,` or `]`")
    }

    fn boolean(&mut self) -> Result<(), FormFault> {
        let rest = self.body.get(self.at..).unwrap_or_default();
        match [&b"true"[..], &b"false"[..]].into_iter().find(|word| rest.starts_with(word)) {
            Some(word) => {
                self.at += word.len();
                Ok(())
            }
            None => Err(self.fault("`true` or `false`")),
        }
    }

    /// Skips a value.
    fn any(&mut self) -> Result<(), FormFault> {
        let rest = self.body.get(self.at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                self.at += values.byte_offset();
                Ok(())
            }
            Some(Err(_)) | None => Err(self.fault("a JSON value")),
        }
    }

    /// An integer in the form of RFC 8259 §6: no leading zero, no fraction, no exponent.
    fn integer(&mut self, least: i64, most: i64) -> Result<(), FormFault> {
        let begin = self.at;
        let is_negative = self.body.get(begin) == Some(&b'-');
        let first = begin + usize::from(is_negative);
        let digits = self.body.get(first..).unwrap_or_default();
        let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let add = |sum: i64, digit: &u8| sum.checked_mul(10)?.checked_add(i64::from(digit - b'0'));
        let size = digits[..length].iter().try_fold(0_i64, add);
        let is_whole = !matches!(digits.get(length), Some(b'.' | b'e' | b'E'))
            && (length == 1 || length > 1 && digits[0] != b'0');
        let value = size.filter(|_| is_whole).map(|size| if is_negative { -size } else { size });
        match value {
            Some(value) if (least..=most).contains(&value) => {
                self.at = first + length;
                Ok(())
            }
            _ => Err(self.fault(&format!("an integer from {least} to {most}"))),
        }
    }

    #[inline]
    fn take(&mut self, byte: u8, expected: &str) -> Result<(), FormFault> {
        self.skip_space();
        if self.body.get(self.at) != Some(&byte) {
            return Err(self.fault(expected));
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn skip_space(&mut self) {
        while matches!(self.body.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    #[cold]
    fn fault(&self, expected: &str) -> FormFault {
        FormFault { at: self.at, expected: expected.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"id": "1..10000", "randomNumber": "1..10000"}"#;

    const OPEN: &str = r#"["*", {"on": "boolean", "tags": ["*", "any"], "...": "any"}]"#;

    #[test]
    fn an_open_object_may_have_more_fields_and_a_list_any_length() {
        let form = JsonForm::parse(OPEN).unwrap();
        for right in [
            "[]",
            " [ ] ",
            r#"[{"on":true,"tags":[]}]"#,
            r#"[{"a\"b":{"c":[1,{}]},"tags":["x", null, 1.5e3],"on" : false , "d":"}"}, {"tags":[{}],"on":true}]"#,
            // A second field of a name is another field.
            r#"[{"on":true,"on":7,"tags":[]}]"#,
        ] {
            assert_eq!(form.check(right.as_bytes()), Ok(()), "{right}");
        }
        for (wrong, reported) in [
            ("{}", "expected `[`"),
            ("[{}]", "expected the field \"on\""),
            (r#"[{"on":true}]"#, "expected the field \"tags\""),
            (r#"[{"on":1,"tags":[]}]"#, "expected `true` or `false`"),
            (r#"[{"on":truer,"tags":[]}]"#, "expected the field \"tags\""),
            (r#"[{"on":true,"tags":{}}]"#, "expected `[`"),
            (r#"[{"on":true,"tags":[x]}]"#, "expected a JSON value"),
            (r#"[{"on":true,"tags":[],}]"#, "expected a field's name"),
            (r#"[{"on":true,"tags":[],"a" 1}]"#, "expected `:`"),
            (r#"[{"on":true,"tags":[1 2]}]"#, "expected `,` or `]`"),
            (r#"[{"on":true,"tags":[]},]"#, "expected `{`"),
            (r#"[{"on":true,"tags":[]"#, "expected `,` or `}`"),
        ] {
            let fault = form.check(wrong.as_bytes()).unwrap_err().to_string();
            assert!(fault.contains(reported), "{wrong}: {fault}");
        }
        for wrong in [r#"{"...": "boolean"}"#, r#"["+", "any"]"#, "\"all\""] {
            assert!(JsonForm::parse(wrong).is_err(), "{wrong}");
        }
        let any = JsonForm::parse("\"any\"").unwrap();
        assert!(
            any.check(b" {\"a\": [1]} ").is_ok() && any.check(b"").is_err() && any.check(b"1 2").is_err()
        );
    }

    #[test]
    fn a_form_goes_to_json_and_back() {
        for text in [ROW, "[2, {\"a\": \"-5..5\"}]", "\"0..0\"", OPEN] {
            let form = JsonForm::parse(text).unwrap();
            let json = serde_json::to_string(&form).unwrap();
            assert_eq!(serde_json::from_str::<JsonForm>(&json).unwrap(), form, "{json}");
        }
        for wrong in
            ["", "1", "[]", "[1]", "[-1, \"1..2\"]", "{}", "\"2..1\"", "\"a..b\"", "{\"a\\\"\": \"1..2\"}"]
        {
            assert!(JsonForm::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_case_of_a_field_with_a_tilde_does_not_count() {
        let form = JsonForm::parse(r#"{"~randomNumber": "1..2", "id": "1..2"}"#).unwrap();
        for right in [r#"{"RANDOMNUMBER":1,"id":2}"#, r#"{"id":2,"randomnumber":1}"#] {
            assert_eq!(form.check(right.as_bytes()), Ok(()), "{right}");
        }
        for (wrong, reported) in [
            (r#"{"ID":1,"randomNumber":1}"#, "expected the field \"id\""),
            (r#"{"id":1,"randomNumbers":1}"#, "expected the field \"randomNumber\""),
            (r#"{"id":1,"r"#, "expected the field \"randomNumber\""),
        ] {
            let fault = form.check(wrong.as_bytes()).unwrap_err().to_string();
            assert!(fault.contains(reported), "{wrong}: {fault}");
        }
    }

    #[test]
    fn a_mismatch_with_the_form_is_reported_with_its_position() {
        let row = JsonForm::parse(ROW).unwrap();
        let rows = JsonForm::parse(&format!("[2, {ROW}]")).unwrap();
        for right in [r#"{"id":1,"randomNumber":10000}"#, " { \"randomNumber\" : 7 ,\n\"id\" : 3 } "] {
            assert_eq!(row.check(right.as_bytes()), Ok(()), "{right}");
            assert_eq!(rows.check(format!("[{right}, {right}]").as_bytes()), Ok(()));
        }
        for (wrong, reported) in [
            ("", "at byte offset 0: expected `{`"),
            (r#"{"id":0,"randomNumber":1}"#, "at byte offset 6: expected an integer from 1 to 10000"),
            (r#"{"id":10001,"randomNumber":1}"#, "at byte offset 6: expected an integer from 1 to 10000"),
            (r#"{"id":1.5,"randomNumber":1}"#, "at byte offset 6: expected an integer from 1 to 10000"),
            (r#"{"id":01,"randomNumber":1}"#, "at byte offset 6: expected an integer from 1 to 10000"),
            (r#"{"id":"1","randomNumber":1}"#, "at byte offset 6: expected an integer from 1 to 10000"),
            (
                r#"{"id":99999999999999999999,"randomNumber":1}"#,
                "at byte offset 6: expected an integer from 1 to 10000",
            ),
            (r#"{"id":1}"#, "at byte offset 7: expected `,` and another field"),
            (r#"{"id":1,"id":1}"#, "at byte offset 9: expected the field \"randomNumber\""),
            (r#"{"id":1,"randomnumber":1}"#, "at byte offset 9: expected the field \"randomNumber\""),
            (r#"{"id":1,"randomNumber":1,"x":1}"#, "at byte offset 24: expected `}` and no other field"),
            (r#"{"id":1,"randomNumber":1}x"#, "at byte offset 25: expected the end"),
        ] {
            assert_eq!(row.check(wrong.as_bytes()).unwrap_err().to_string(), reported, "{wrong}");
        }
        let one = r#"{"id":1,"randomNumber":1}"#;
        let reported = |body: String| rows.check(body.as_bytes()).unwrap_err().to_string();
        assert_eq!(reported(format!("[{one}]")), "at byte offset 26: expected 2 elements, found only 1");
        assert_eq!(
            reported(format!("[{one},{one},{one}]")),
            "at byte offset 52: expected exactly 2 elements"
        );
    }
}
