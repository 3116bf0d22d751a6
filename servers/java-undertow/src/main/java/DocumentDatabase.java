import com.mongodb.MongoClientSettings;
import com.mongodb.ServerAddress;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoDatabase;
import com.mongodb.client.model.Filters;
import com.mongodb.client.model.UpdateOneModel;
import com.mongodb.client.model.Updates;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bson.Document;

/** Anything that speaks MongoDB's protocol; the client has its own pool. */
final class DocumentDatabase extends Database {
    private final MongoCollection<Document> world;
    private final MongoCollection<Document> fortune;

    DocumentDatabase() {
        ServerAddress address =
                new ServerAddress(System.getenv("DATABASE_HOST"), Integer.parseInt(System.getenv("DATABASE_PORT")));
        MongoClientSettings settings = MongoClientSettings.builder()
                .applyToClusterSettings(cluster -> cluster.hosts(List.of(address)))
                .applyToConnectionPoolSettings(pool -> pool.maxSize(connections()))
                .build();
        MongoDatabase database = MongoClients.create(settings).getDatabase(System.getenv("DATABASE_NAME"));
        world = database.getCollection("world");
        fortune = database.getCollection("fortune");
    }

    /** One find for each row. */
    @Override
    World[] randomWorlds(int count) {
        World[] worlds = new World[count];
        for (int i = 0; i < count; i++) {
            Document found = world.find(Filters.eq("_id", randomNumber())).first();
            worlds[i] = new World(number(found, "id"), number(found, "randomNumber"));
        }
        return worlds;
    }

    @Override
    World[] updateWorlds(int count) {
        World[] worlds = changed(randomWorlds(count));
        List<UpdateOneModel<Document>> updates = Arrays.stream(worlds)
                .map(row -> new UpdateOneModel<Document>(
                        Filters.eq("_id", row.id()), Updates.set("randomNumber", row.randomNumber())))
                .toList();
        world.bulkWrite(updates);
        return worlds;
    }

    @Override
    List<Fortune> storedFortunes() {
        List<Fortune> fortunes = new ArrayList<>();
        for (Document found : fortune.find()) {
            fortunes.add(new Fortune(number(found, "id"), found.getString("message")));
        }
        return fortunes;
    }

    private static int number(Document document, String field) {
        return document.get(field, Number.class).intValue();
    }
}
