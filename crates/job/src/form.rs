//! The form of a JSON document: its fields, and the ranges of its integers.
//!
//! For responses whose values are not known in advance, such as random rows of a database. The bytes are checked in one
//! pass without an allocation: every response of a run may be different.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Before the name of a field whose case does not count, as in TechEmpower's rules.
const ANY_CASE: char = '~';
/// Most fields of an object: the fields seen are the bits of one word.
const MAX_FIELDS: usize = 64;

/// The required form of a JSON document.
///
/// Written as JSON: `{"id": "1..10000"}` is an object with exactly this field, an integer from 1 to 10,000; `[20,
/// {"id": "1..10000"}]` is an array of 20 such objects. A field written with a tilde before its name, `"~id"`, is found in
/// any case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Value", into = "Value")]
#[schemars(with = "Value")]
pub enum JsonForm {
    /// An object with exactly these fields, in any order.
    Object(Vec<(String, JsonForm)>),
    /// An array with this number of elements of one form.
    Array(u32, Box<JsonForm>),
    /// An integer from the first to the second value, both included.
    Integer(i64, i64),
}

/// Why the text of a form is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// It is JSON, but not a form.
    #[error(
        "{0} does not describe a JSON value; write an object, \"MIN..MAX\", or [COUNT, FORM] for an array of COUNT elements"
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
                let form = |(name, form): (&String, &Value)| Ok((name.clone(), form.clone().try_into()?));
                Ok(Self::Object(fields.iter().map(form).collect::<Result<_, FormError>>()?))
            }
            Value::Array(items) => match items.as_slice() {
                [Value::Number(count), form] => {
                    let count = count.as_u64().and_then(|count| u32::try_from(count).ok());
                    Ok(Self::Array(count.ok_or_else(unknown)?, Box::new(form.clone().try_into()?)))
                }
                _ => Err(unknown()),
            },
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
            JsonForm::Integer(least, most) => Value::String(format!("{least}..{most}")),
        }
    }
}

/// The name of a field without the tilde, and whether it has one.
#[inline]
fn bare(name: &str) -> (&str, bool) {
    name.strip_prefix(ANY_CASE).map_or((name, false), |name| (name, true))
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
            JsonForm::Object(fields) => self.object(fields),
            JsonForm::Array(count, form) => self.array(*count, form),
            JsonForm::Integer(least, most) => self.integer(*least, *most),
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
            let found = fields.iter().position(|(name, _)| named(name));
            let Some(place) = found.filter(|place| seen & (1 << place) == 0) else {
                let missing = fields.iter().enumerate().find(|(place, _)| seen & (1 << place) == 0);
                let name = missing.map(|(_, (name, _))| bare(name).0).unwrap_or_default();
                return Err(self.fault(&format!("the field \"{name}\"")));
            };
            seen |= 1 << place;
            let (name, form) = &fields[place];
            self.at += bare(name).0.len() + 1;
            self.take(b':', "`:`")?;
            self.form(form)?;
        }
        self.take(b'}', "`}` and no other field")
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

    #[test]
    fn a_form_goes_to_json_and_back() {
        for text in [ROW, "[2, {\"a\": \"-5..5\"}]", "\"0..0\""] {
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
