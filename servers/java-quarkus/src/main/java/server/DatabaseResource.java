package server;

import io.quarkus.qute.Template;
import io.quarkus.qute.TemplateInstance;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.NotFoundException;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.sql.SQLException;
import java.util.List;
import org.jboss.resteasy.reactive.RestQuery;

/** The database workloads. JDBC blocks: the methods run on worker threads, the default. */
@Path("/")
public class DatabaseResource {
    private final Worlds worlds;
    private final Template fortunes;

    public DatabaseResource(Worlds worlds, Template fortunes) {
        this.worlds = worlds;
        this.fortunes = fortunes;
    }

    @GET
    @Path("db")
    @Produces(MediaType.APPLICATION_JSON)
    public World one() throws SQLException {
        return open().random(1).get(0);
    }

    @GET
    @Path("queries")
    @Produces(MediaType.APPLICATION_JSON)
    public List<World> many(@RestQuery String queries) throws SQLException {
        return open().random(Worlds.queriesAsked(queries));
    }

    @GET
    @Path("updates")
    @Produces(MediaType.APPLICATION_JSON)
    public List<World> updated(@RestQuery String queries) throws SQLException {
        return open().update(Worlds.queriesAsked(queries));
    }

    @GET
    @Path("fortunes")
    @Produces("text/html; charset=utf-8")
    public TemplateInstance fortunes() throws SQLException {
        return fortunes.data("fortunes", open().fortunes());
    }

    /** Without a database these paths do not exist. */
    private Worlds open() {
        if (!worlds.isOpen()) {
            throw new NotFoundException();
        }
        return worlds;
    }
}
