//! Answers Paceline's workloads of gRPC with tonic.

use std::env;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::watch;
use tokio_stream::{Stream, StreamExt as _};
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

use benchmark::benchmark_service_server::{BenchmarkService, BenchmarkServiceServer};
use benchmark::{StreamRequest, SumReply, SumRequest};

mod benchmark {
    tonic::include_proto!("benchmark");
}

const STOP_LIMIT: Duration = Duration::from_secs(2);

struct Service;

#[tonic::async_trait]
impl BenchmarkService for Service {
    async fn get_sum(&self, request: Request<SumRequest>) -> Result<Response<SumReply>, Status> {
        let SumRequest { a, b } = request.into_inner();
        Ok(Response::new(SumReply { result: a.wrapping_add(b) }))
    }

    type StreamSumStream = Pin<Box<dyn Stream<Item = Result<SumReply, Status>> + Send>>;

    async fn stream_sum(
        &self,
        request: Request<StreamRequest>,
    ) -> Result<Response<Self::StreamSumStream>, Status> {
        let StreamRequest { a, b, count } = request.into_inner();
        if count < 0 {
            return Err(Status::invalid_argument("count must not be negative"));
        }
        let replies = tokio_stream::iter(0..count).map(move |_| Ok(SumReply { result: a.wrapping_add(b) }));
        Ok(Response::new(Box::pin(replies)))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let host: IpAddr = env::var("PACELINE_HOST")?.parse()?;
    let identity = Identity::from_pem(
        std::fs::read(env::var("PACELINE_TLS_CERT")?)?,
        std::fs::read(env::var("PACELINE_TLS_KEY")?)?,
    );
    let (stop, stopped) = watch::channel(());
    let wait = |mut stopped: watch::Receiver<()>| async move { drop(stopped.changed().await) };
    let secure = Server::builder()
        .tls_config(ServerTlsConfig::new().identity(identity))?
        .add_service(BenchmarkServiceServer::new(Service))
        .serve_with_shutdown(address(host, "PACELINE_TLS_PORT")?, wait(stopped.clone()));
    let plain = Server::builder()
        .add_service(BenchmarkServiceServer::new(Service))
        .serve_with_shutdown(address(host, "PACELINE_PORT")?, wait(stopped));
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        terminate.recv().await;
        let _ = stop.send(());
        // A stream may be long, so the wait has a limit.
        tokio::time::sleep(STOP_LIMIT).await;
        std::process::exit(0);
    });
    tokio::try_join!(secure, plain)?;
    Ok(())
}

fn address(host: IpAddr, port: &str) -> Result<SocketAddr, Box<dyn Error>> {
    Ok(SocketAddr::new(host, env::var(port)?.parse()?))
}
