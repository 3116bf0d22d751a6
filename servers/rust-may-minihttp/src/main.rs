//! Answers Paceline's workloads with may_minihttp, on the coroutines of may.

use std::error::Error;
use std::{env, fs, io};

use bytes::BufMut;
use may_minihttp::{HttpServer, HttpService, Request, Response};
use num_bigint::BigUint;
use serde::Serialize;

const LARGEST_X: u32 = 10_000;
/// In words of eight bytes: 128 KiB instead of 32 KiB, since multiplications of large numbers are recursive.
const STACK_WORDS: usize = 0x4000;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

/// What each connection has a copy of. A body is sent without a copy if it lives as long as the program.
#[derive(Clone)]
struct Routes {
    page: &'static str,
}

fn main() -> Result<(), Box<dyn Error>> {
    let workloads = env::var("PACELINE_WORKLOADS")?;
    let page = fs::read_to_string(format!("{workloads}/page.txt"))?.leak();
    let port: u16 = env::var("PACELINE_PORT")?.parse()?;

    may::config().set_workers(env::var("WORKERS")?.parse()?).set_stack_size(STACK_WORDS);
    // The kernel distributes the threads over the cores of the process, as with the other servers.
    may::config().set_worker_pin(false);

    let server = HttpServer(Routes { page }).start((env::var("PACELINE_HOST")?, port))?;
    server.join().map_err(|_| "the coroutine that accepts connections has ended")?;
    Ok(())
}

impl HttpService for Routes {
    fn call(&mut self, request: Request, response: &mut Response) -> io::Result<()> {
        if request.method() == "GET" {
            self.answer(request.path(), response)?;
        } else {
            // Without a body, since there is none in a response to HEAD.
            response.status_code(405, "Method Not Allowed").header("Allow: GET");
        }
        // What is not read of a request's body would be taken for the next request.
        drop(request.body());
        Ok(())
    }
}

impl Routes {
    fn answer(&self, target: &str, response: &mut Response) -> io::Result<()> {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        match path {
            "/hello" => text(response, "Hello World\n"),
            "/byte" => text(response, "x"),
            "/page" => text(response, self.page),
            "/json" => {
                response.header("Content-Type: application/json");
                serde_json::to_writer(response.body_mut().writer(), &Message { message: "Hello, World!" })?;
            }
            "/plaintext" => text(response, "Hello, World!"),
            "/home" => text(response, "OK, no problema!"),
            _ => match path.strip_prefix("/tetra/") {
                Some(digits) => tetra(response, digits),
                None => {
                    response.status_code(404, "Not Found");
                    text(response, "Not Found\n");
                }
            },
        }
        Ok(())
    }
}

fn tetra(response: &mut Response, digits: &str) {
    match whole_number(digits) {
        Some(x) if x <= LARGEST_X => {
            response.header("Content-Type: text/plain; charset=utf-8");
            response.body_vec(BigUint::from(x).pow(x).to_string().into_bytes());
        }
        _ => {
            response.status_code(400, "Bad Request");
            text(response, "x must be a whole number from 0 to 10000\n");
        }
    }
}

fn text(response: &mut Response, body: &'static str) {
    response.header("Content-Type: text/plain; charset=utf-8").body(body);
}

/// `parse` alone would accept a leading plus sign.
fn whole_number(digits: &str) -> Option<u32> {
    let decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
    decimal.then(|| digits.parse().ok()).flatten()
}
