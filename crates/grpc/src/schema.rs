//! The services and messages of a server, and the conversion of messages.

use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions};
use prost_types::FileDescriptorProto;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use std::path::{Path, PathBuf};

/// The maximum number of names in a message.
const MAX_NAMES: usize = 12;

/// Reads source files of a schema: `.proto` files by their path.
pub trait SourceFiles {
    /// The text of a file; none if there is no such file.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    fn read(&self, path: &Path) -> std::io::Result<Option<String>>;
}

/// Why a schema cannot be used, or a message not be converted.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// A source file is missing, invalid, or imports such a file.
    #[error("{0}")]
    Source(#[from] protox::Error),
    /// Descriptors of a server contradict each other.
    #[error("the server's description of its services is invalid: {0}")]
    Descriptors(#[from] prost_reflect::DescriptorError),
    /// Bytes that are no message of this type.
    #[error("not a message of type {message}: {source}")]
    Message {
        /// The type.
        message: String,
        /// The cause.
        source: prost::DecodeError,
    },
    /// The path is not `/package.Service/Method`.
    #[error("path {0:?} is not that of a method; write /package.Service/Method")]
    Path(String),
    /// The schema has no such service, but these.
    #[error("there is no service {service}; there is {known}")]
    Service {
        /// The service.
        service: String,
        /// The names of those that exist.
        known: String,
    },
    /// The service has no such method, but these.
    #[error("service {service} has no method {method}; it has {known}")]
    Method {
        /// The service.
        service: String,
        /// The method.
        method: String,
        /// The names of those that exist.
        known: String,
    },
    /// The text is not JSON, or not that of a message of this type.
    #[error("not the JSON of a message of type {message}: {source}")]
    Json {
        /// The type.
        message: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// Several messages for a method that takes one.
    #[error("{0} takes one message: write one JSON object")]
    NotStreaming(String),
}

/// The services and messages of a server.
#[derive(Clone, Debug)]
pub struct Schema {
    pool: DescriptorPool,
}

/// One method of a service.
#[derive(Clone, Debug)]
pub struct Method {
    descriptor: MethodDescriptor,
}

/// Finds source files below the given folders, as `protoc` does.
struct Sources<'s> {
    folders: Vec<PathBuf>,
    files: &'s (dyn SourceFiles + Sync),
}

impl FileResolver for Sources<'_> {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        let below = |folder: &PathBuf| path.strip_prefix(folder).ok()?.to_str().map(str::to_owned);
        self.folders.iter().find_map(below)
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        for folder in &self.folders {
            if let Some(source) = self.files.read(&folder.join(name)).map_err(protox::Error::new)? {
                return File::from_source(name, &source);
            }
        }
        Err(protox::Error::file_not_found(name))
    }
}

impl Schema {
    /// Compiles source files. Imports are looked for in `folders`; without any, in the folders of the files.
    ///
    /// # Errors
    /// [`SchemaError::Source`] with the file and the problem.
    pub fn from_sources(
        files: &[PathBuf],
        folders: &[PathBuf],
        reader: &(dyn SourceFiles + Sync),
    ) -> Result<Self, SchemaError> {
        let folder_of = |file: &PathBuf| file.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let mut all = folders.to_vec();
        // A file outside the folders is found in its own.
        let outside = files.iter().filter(|file| !folders.iter().any(|folder| file.starts_with(folder)));
        all.extend(outside.map(folder_of));
        let mut descriptors = Vec::new();
        let sources = Sources { folders: all, files: reader };
        let mut names: Vec<String> = files
            .iter()
            .map(|file| sources.resolve_path(file).unwrap_or_else(|| file.display().to_string()))
            .collect();
        let mut at = 0;
        let google = GoogleFileResolver::new();
        while let Some(name) = names.get(at).cloned() {
            at += 1;
            let file = match sources.open_file(&name) {
                Err(error) if error.is_file_not_found() => google.open_file(&name)?,
                file => file?,
            };
            for import in &file.file_descriptor_proto().dependency {
                if !names.contains(import) {
                    names.push(import.clone());
                }
            }
            descriptors.push(file);
        }
        let mut chain = ChainFileResolver::new();
        chain.add(Parsed(descriptors));
        let mut compiler = protox::Compiler::with_file_resolver(chain);
        compiler.include_imports(true);
        for name in &names[..files.len()] {
            compiler.open_file(name)?;
        }
        Ok(Self { pool: compiler.descriptor_pool() })
    }

    /// The schema of file descriptors, in any order. Files of `google/protobuf` may be missing.
    ///
    /// # Errors
    /// [`SchemaError::Descriptors`] if they contradict each other, or a file is missing.
    pub fn from_descriptors(mut files: Vec<FileDescriptorProto>) -> Result<Self, SchemaError> {
        let mut at = 0;
        let google = GoogleFileResolver::new();
        while let Some(file) = files.get(at) {
            let missing: Vec<String> = missing_imports(std::slice::from_ref(file), &files);
            for name in missing {
                if let Ok(file) = google.open_file(&name) {
                    files.push(file.file_descriptor_proto().clone());
                }
            }
            at += 1;
        }
        let mut pool = DescriptorPool::new();
        pool.add_file_descriptor_protos(files)?;
        Ok(Self { pool })
    }

    /// The method of a path, `/package.Service/Method`.
    ///
    /// # Errors
    /// [`SchemaError::Path`], [`SchemaError::Service`] or [`SchemaError::Method`].
    pub fn method(&self, path: &str) -> Result<Method, SchemaError> {
        let (service, name) = split_path(path)?;
        let Some(descriptor) = self.pool.get_service_by_name(service) else {
            let known = names(self.pool.services().map(|service| service.full_name().to_owned()));
            return Err(SchemaError::Service { service: service.to_owned(), known });
        };
        match descriptor.methods().find(|method| method.name() == name) {
            Some(descriptor) => Ok(Method { descriptor }),
            None => Err(SchemaError::Method {
                service: service.to_owned(),
                method: name.to_owned(),
                known: names(descriptor.methods().map(|method| method.name().to_owned())),
            }),
        }
    }
}

/// Files that have been parsed.
struct Parsed(Vec<File>);

impl FileResolver for Parsed {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        self.0
            .iter()
            .find(|file| file.name() == name)
            .cloned()
            .ok_or_else(|| protox::Error::file_not_found(name))
    }
}

/// The imports of some files that are not among all files.
pub(crate) fn missing_imports(of: &[FileDescriptorProto], all: &[FileDescriptorProto]) -> Vec<String> {
    let is_missing = |name: &&String| !all.iter().any(|file| file.name.as_ref() == Some(*name));
    of.iter().flat_map(|file| &file.dependency).filter(is_missing).cloned().collect()
}

/// The service and the method of a path.
///
/// # Errors
/// [`SchemaError::Path`].
pub(crate) fn split_path(path: &str) -> Result<(&str, &str), SchemaError> {
    let parts = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    parts
        .filter(|(service, method)| !service.is_empty() && !method.is_empty() && !method.contains('/'))
        .ok_or_else(|| SchemaError::Path(path.to_owned()))
}

/// Some names, in order.
fn names(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    match (names.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{} and {more} more", names.join(", ")),
    }
}

impl Method {
    /// Whether a request has any number of messages.
    pub fn is_client_streaming(&self) -> bool {
        self.descriptor.is_client_streaming()
    }

    /// Whether a response has any number of messages.
    pub fn is_server_streaming(&self) -> bool {
        self.descriptor.is_server_streaming()
    }

    /// Encodes the messages of a request: one JSON object, or a list of them if the method takes a stream.
    ///
    /// # Errors
    /// [`SchemaError::Json`] or [`SchemaError::NotStreaming`].
    pub fn encode_request(&self, json: &str) -> Result<Vec<Vec<u8>>, SchemaError> {
        let input = self.descriptor.input();
        let invalid = |source| SchemaError::Json { message: input.full_name().to_owned(), source };
        let is_list = json.trim_start().starts_with('[');
        if is_list && !self.is_client_streaming() {
            return Err(SchemaError::NotStreaming(self.descriptor.full_name().to_owned()));
        }
        if !is_list {
            return Ok(vec![encode(&input, json).map_err(invalid)?]);
        }
        let list: Vec<serde_json::Value> = serde_json::from_str(json).map_err(invalid)?;
        list.iter().map(|value| encode(&input, &value.to_string()).map_err(invalid)).collect()
    }

    /// Encodes a message of a response.
    ///
    /// # Errors
    /// [`SchemaError::Json`].
    pub fn encode_response(&self, json: &str) -> Result<Vec<u8>, SchemaError> {
        let output = self.descriptor.output();
        let invalid = |source| SchemaError::Json { message: output.full_name().to_owned(), source };
        encode(&output, json).map_err(invalid)
    }

    /// The JSON of a message of a response, without fields that have their default.
    ///
    /// # Errors
    /// [`SchemaError::Message`] or [`SchemaError::Json`].
    pub fn decode_response(&self, message: &[u8]) -> Result<serde_json::Value, SchemaError> {
        let output = self.descriptor.output();
        let name = || output.full_name().to_owned();
        let decoded = DynamicMessage::decode(output.clone(), message)
            .map_err(|source| SchemaError::Message { message: name(), source })?;
        decoded
            .serialize_with_options(serde_json::value::Serializer, &SerializeOptions::new())
            .map_err(|source| SchemaError::Json { message: name(), source })
    }
}

/// Encodes a message. A field that the type does not have is an error.
fn encode(message: &MessageDescriptor, json: &str) -> serde_json::Result<Vec<u8>> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let decoded = DynamicMessage::deserialize(message.clone(), &mut reader)?;
    reader.end()?;
    Ok(decoded.encode_to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    struct Texts(BTreeMap<&'static str, &'static str>);

    impl SourceFiles for Texts {
        fn read(&self, path: &Path) -> std::io::Result<Option<String>> {
            Ok(path.to_str().and_then(|path| self.0.get(path)).map(|text| (*text).to_owned()))
        }
    }

    const SHOP: &str = "syntax = \"proto3\"; package shop; import \"parts/item.proto\"; import \"google/protobuf/timestamp.proto\";
        message Order { int32 id = 1; repeated Item items = 2; google.protobuf.Timestamp at = 3; }
        service Orders { rpc Get(Order) returns (Order); rpc Put(stream Order) returns (stream Item); }";
    const ITEM: &str = "syntax = \"proto3\"; package shop; message Item { string name = 1; bytes data = 2; }";

    fn schema() -> Schema {
        let texts = Texts([("api/shop.proto", SHOP), ("api/parts/item.proto", ITEM)].into());
        Schema::from_sources(&["api/shop.proto".into()], &[], &texts).unwrap()
    }

    #[test]
    fn messages_are_encoded_and_decoded() {
        let schema = schema();
        let get = schema.method("/shop.Orders/Get").unwrap();
        assert!(!get.is_client_streaming() && !get.is_server_streaming());
        // Protocol Buffers, encoding: field 1 is a varint, field 2 a message with field 1 of 3 bytes.
        let encoded = get.encode_request("{\"id\": 150, \"items\": [{\"name\": \"abc\"}]}").unwrap();
        assert_eq!(encoded, [b"\x08\x96\x01\x12\x05\x0a\x03abc".to_vec()]);
        assert_eq!(
            get.decode_response(&encoded[0]).unwrap(),
            json!({ "id": 150, "items": [{ "name": "abc" }] })
        );
        let time = get.encode_response("{\"at\": \"1970-01-01T00:00:01Z\"}").unwrap();
        assert_eq!(time, b"\x1a\x02\x08\x01");
        assert_eq!(get.encode_request("{}").unwrap(), [b""]);
    }

    #[test]
    fn a_stream_is_a_list() {
        let put = schema().method("/shop.Orders/Put").unwrap();
        assert!(put.is_client_streaming() && put.is_server_streaming());
        assert_eq!(put.encode_request("[{\"id\": 1}, {}]").unwrap(), [&b"\x08\x01"[..], b""]);
        assert_eq!(put.encode_request("{\"id\": 1}").unwrap(), [b"\x08\x01"]);
    }

    #[test]
    fn problems_are_explained() {
        let schema = schema();
        let error = |path: &str| schema.method(path).unwrap_err().to_string();
        assert_eq!(error("/"), "path \"/\" is not that of a method; write /package.Service/Method");
        assert_eq!(error("/shop.Order/Get"), "there is no service shop.Order; there is shop.Orders");
        assert_eq!(error("/shop.Orders/get"), "service shop.Orders has no method get; it has Get, Put");
        let get = schema.method("/shop.Orders/Get").unwrap();
        let error = |json: &str| get.encode_request(json).unwrap_err().to_string();
        assert!(
            error("{\"ids\": 1}")
                .starts_with("not the JSON of a message of type shop.Order: unrecognized field")
        );
        assert!(error("{\"id\": \"x\"}").starts_with("not the JSON of a message of type shop.Order: "));
        assert!(error("{} {}").contains("trailing characters"));
        assert_eq!(error("[{}]"), "shop.Orders.Get takes one message: write one JSON object");
        assert!(
            get.decode_response(b"\x08")
                .unwrap_err()
                .to_string()
                .starts_with("not a message of type shop.Order")
        );
        let read = |texts: &[(&'static str, &'static str)]| {
            let texts = Texts(texts.iter().copied().collect());
            Schema::from_sources(&["api/shop.proto".into()], &[], &texts).unwrap_err().to_string()
        };
        assert!(read(&[]).contains("shop.proto"), "{}", read(&[]));
        assert!(read(&[("api/shop.proto", SHOP)]).contains("parts/item.proto"));
        let invalid = read(&[("api/shop.proto", "syntax = \"proto3\"; message {}")]);
        assert!(invalid.contains("expected"), "{invalid}");
    }

    #[test]
    fn descriptors_may_come_in_any_order() {
        let mut files: Vec<FileDescriptorProto> = schema().pool.file_descriptor_protos().cloned().collect();
        files.retain(|file| !file.name().starts_with("google/"));
        for _ in 0..2 {
            files.reverse();
            assert!(Schema::from_descriptors(files.clone()).unwrap().method("/shop.Orders/Get").is_ok());
        }
        files.retain(|file| file.name() != "parts/item.proto");
        assert_eq!(missing_imports(&files, &files), ["parts/item.proto", "google/protobuf/timestamp.proto"]);
        assert!(Schema::from_descriptors(files).is_err());
    }
}
