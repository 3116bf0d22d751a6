package server;

import io.micronaut.runtime.Micronaut;

/** Answers Paceline's workloads with Micronaut on Netty. */
public final class Server {
    public static void main(String[] arguments) {
        String database = System.getenv("DATABASE");
        // The environment's file application-NAME.properties has the connection.
        Micronaut.build(arguments)
                .mainClass(Server.class)
                .deduceEnvironment(false)
                .environments(database == null ? "none" : database)
                .banner(false)
                .start();
    }
}
