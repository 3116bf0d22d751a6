//! The messages with which a server describes its services (gRPC Server Reflection, `doc/server-reflection.md` of
//! grpc/grpc; `grpc/reflection/v1/reflection.proto`). Versions 1 and 1alpha differ only in their names.

use crate::schema::{missing_imports, split_path};
use crate::{Schema, SchemaError};
use prost::Message as _;
use prost_types::FileDescriptorProto;

/// The paths of the method, the newest version first.
pub const METHODS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The maximum number of files that a server may describe.
const MAX_FILES: usize = 1_000;

/// Why a server's description of its services cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReflectionError {
    /// The answer is not a message of server reflection.
    #[error("the answer to server reflection is invalid: {0}")]
    Invalid(#[from] prost::DecodeError),
    /// The server reports an error, such as an unknown symbol.
    #[error("the server does not describe {subject}: {text} (code {code})")]
    Refused {
        /// The symbol or file.
        subject: String,
        /// The code of gRPC.
        code: i32,
        /// The server's text.
        text: String,
    },
    /// The answer has no file.
    #[error("the answer to server reflection describes no file")]
    Empty,
    /// The description has too many files.
    #[error("the server describes more than {MAX_FILES} files")]
    TooManyFiles,
    /// The description cannot be used.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Request {
    #[prost(string, optional, tag = "3")]
    file_by_filename: Option<String>,
    #[prost(string, optional, tag = "4")]
    file_containing_symbol: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Response {
    #[prost(message, optional, tag = "4")]
    files: Option<Files>,
    #[prost(message, optional, tag = "7")]
    error: Option<ErrorResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    descriptors: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ErrorResponse {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    text: String,
}

/// Collects the files that describe some services: [`Description::next_request`] is sent until it returns none.
#[derive(Debug, Default)]
pub struct Description {
    files: Vec<FileDescriptorProto>,
    /// The services and files to ask for, the next one last.
    wanted: Vec<Subject>,
    /// The names of files that were asked for.
    asked: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    Symbol(String),
    File(String),
}

impl Description {
    /// A description of the services of these paths.
    ///
    /// # Errors
    /// [`SchemaError::Path`] if one is not `/package.Service/Method`.
    pub fn of_paths<'p>(paths: impl IntoIterator<Item = &'p str>) -> Result<Self, SchemaError> {
        let mut wanted = Vec::new();
        for path in paths {
            let symbol = Subject::Symbol(split_path(path)?.0.to_owned());
            if !wanted.contains(&symbol) {
                wanted.push(symbol);
            }
        }
        Ok(Self { wanted, ..Self::default() })
    }

    /// The next message to send; none once everything is known.
    pub fn next_request(&self) -> Option<Vec<u8>> {
        let mut request = Request::default();
        match self.wanted.last()? {
            Subject::Symbol(symbol) => request.file_containing_symbol = Some(symbol.clone()),
            Subject::File(name) => request.file_by_filename = Some(name.clone()),
        }
        Some(request.encode_to_vec())
    }

    /// Adds the answer to it.
    ///
    /// # Errors
    /// [`ReflectionError`].
    pub fn add(&mut self, message: &[u8]) -> Result<(), ReflectionError> {
        let response = Response::decode(message)?;
        let subject = self.wanted.pop();
        if let Some(ErrorResponse { code, text }) = response.error {
            // Some servers do not describe the files that belong to protobuf, which are known.
            return match subject {
                Some(Subject::File(name)) if name.starts_with("google/protobuf/") => Ok(()),
                Some(Subject::File(subject) | Subject::Symbol(subject)) => {
                    Err(ReflectionError::Refused { subject, code, text })
                }
                None => Err(ReflectionError::Empty),
            };
        }
        let descriptors = response.files.unwrap_or_default().descriptors;
        if descriptors.is_empty() {
            return Err(ReflectionError::Empty);
        }
        for descriptor in descriptors {
            let file = FileDescriptorProto::decode(descriptor.as_slice())?;
            if !self.files.iter().any(|known| known.name == file.name) {
                self.files.push(file);
            }
        }
        if self.files.len() > MAX_FILES {
            return Err(ReflectionError::TooManyFiles);
        }
        for name in missing_imports(&self.files, &self.files) {
            if !self.asked.contains(&name) {
                self.asked.push(name.clone());
                self.wanted.push(Subject::File(name));
            }
            // Each is a file more: a description with a million imports is refused before a million requests.
            if self.asked.len() > MAX_FILES {
                return Err(ReflectionError::TooManyFiles);
            }
        }
        self.wanted.retain(|subject| match subject {
            Subject::File(name) => !self.files.iter().any(|file| file.name() == name),
            Subject::Symbol(_) => true,
        });
        Ok(())
    }

    /// The schema.
    ///
    /// # Errors
    /// [`SchemaError::Descriptors`] if the files contradict each other.
    pub fn into_schema(self) -> Result<Schema, SchemaError> {
        Schema::from_descriptors(self.files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, imports: &[&str]) -> Vec<u8> {
        let file = FileDescriptorProto {
            name: Some(name.to_owned()),
            dependency: imports.iter().map(|import| (*import).to_owned()).collect(),
            syntax: Some("proto3".to_owned()),
            ..FileDescriptorProto::default()
        };
        file.encode_to_vec()
    }

    fn answer(descriptors: Vec<Vec<u8>>) -> Vec<u8> {
        Response { files: Some(Files { descriptors }), error: None }.encode_to_vec()
    }

    fn refusal() -> Vec<u8> {
        let error = ErrorResponse { code: 5, text: "not found".to_owned() };
        Response { files: None, error: Some(error) }.encode_to_vec()
    }

    /// The symbol and the file that the next request asks for.
    fn next(description: &Description) -> (Option<String>, Option<String>) {
        let request = Request::decode(description.next_request().unwrap().as_slice()).unwrap();
        (request.file_containing_symbol, request.file_by_filename)
    }

    #[test]
    fn imports_are_asked_for_until_all_are_known() {
        let mut description = Description::of_paths(["/a.B/C", "/a.B/D"]).unwrap();
        assert_eq!(next(&description), (Some("a.B".to_owned()), None));
        description.add(&answer(vec![file("a.proto", &["b.proto", "google/protobuf/any.proto"])])).unwrap();
        assert_eq!(next(&description), (None, Some("google/protobuf/any.proto".to_owned())));
        description.add(&refusal()).unwrap();
        assert_eq!(next(&description), (None, Some("b.proto".to_owned())));
        description.add(&answer(vec![file("b.proto", &[])])).unwrap();
        assert_eq!(description.next_request(), None);
        assert!(description.into_schema().is_ok());
    }

    #[test]
    fn answers_that_cannot_be_used_are_errors() {
        let add = |message: &[u8]| {
            let mut description = Description::of_paths(["/a.B/C"]).unwrap();
            description.add(message).unwrap_err().to_string()
        };
        assert_eq!(add(&refusal()), "the server does not describe a.B: not found (code 5)");
        assert_eq!(add(&answer(Vec::new())), "the answer to server reflection describes no file");
        assert!(add(b"\xff").starts_with("the answer to server reflection is invalid"));
        assert!(
            add(&answer(vec![b"\xff".to_vec()])).starts_with("the answer to server reflection is invalid")
        );
        assert!(Description::of_paths(["/a"]).is_err());
    }

    #[test]
    fn a_server_that_imports_without_end_is_refused() {
        let mut description = Description::of_paths(["/a.B/C"]).unwrap();
        let ended = (0..=MAX_FILES).find_map(|number| {
            let imports = format!("{}.proto", number + 1);
            description.add(&answer(vec![file(&format!("{number}.proto"), &[&imports])])).err()
        });
        assert!(matches!(ended, Some(ReflectionError::TooManyFiles)), "{ended:?}");
        // At once, if one file imports too many.
        let imports: Vec<String> = (0..=MAX_FILES).map(|number| format!("{number}.proto")).collect();
        let imports: Vec<&str> = imports.iter().map(String::as_str).collect();
        let mut description = Description::of_paths(["/a.B/C"]).unwrap();
        let ended = description.add(&answer(vec![file("a.proto", &imports)]));
        assert!(matches!(ended, Err(ReflectionError::TooManyFiles)), "{ended:?}");
    }
}
