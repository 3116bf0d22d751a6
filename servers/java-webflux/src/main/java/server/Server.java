package server;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Answers Paceline's workloads with Spring Boot and Spring WebFlux, on Reactor Netty. */
@SpringBootApplication
public class Server {
    public static void main(String[] arguments) {
        String database = System.getenv("DATABASE");
        SpringApplication application = new SpringApplication(Server.class);
        // The file application-NAME.properties has the connection.
        application.setAdditionalProfiles(database == null ? "none" : database);
        application.run(arguments);
    }
}
