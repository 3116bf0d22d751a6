// Command server answers Paceline's workloads of gRPC with grpc-go.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"paceline/servers/go-grpc/benchmark"
)

type service struct {
	benchmark.UnimplementedBenchmarkServiceServer
}

func (service) GetSum(_ context.Context, request *benchmark.SumRequest) (*benchmark.SumReply, error) {
	return &benchmark.SumReply{Result: request.GetA() + request.GetB()}, nil
}

func (service) StreamSum(
	request *benchmark.StreamRequest, stream grpc.ServerStreamingServer[benchmark.SumReply],
) error {
	if request.GetCount() < 0 {
		return status.Error(codes.InvalidArgument, "count must not be negative")
	}
	for range request.GetCount() {
		if err := stream.Send(&benchmark.SumReply{Result: request.GetA() + request.GetB()}); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	identity, err := credentials.NewServerTLSFromFile(os.Getenv("PACELINE_TLS_CERT"), os.Getenv("PACELINE_TLS_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	secure, plain := newServer(grpc.Creds(identity)), newServer()
	securePort, plainPort := listen("PACELINE_TLS_PORT"), listen("PACELINE_PORT")

	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	go func() {
		<-stop.Done()
		// A stream may be long, so the wait has a limit.
		time.AfterFunc(2*time.Second, plain.Stop)
		secure.Stop()
		plain.GracefulStop()
	}()

	go secure.Serve(securePort)
	if err := plain.Serve(plainPort); err != nil {
		log.Fatal(err)
	}
}

func newServer(options ...grpc.ServerOption) *grpc.Server {
	server := grpc.NewServer(options...)
	benchmark.RegisterBenchmarkServiceServer(server, service{})
	reflection.Register(server)
	return server
}

func listen(port string) net.Listener {
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("PACELINE_HOST"), os.Getenv(port)))
	if err != nil {
		log.Fatal(err)
	}
	return listener
}
