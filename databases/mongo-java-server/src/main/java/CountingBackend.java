import de.bwaldvogel.mongo.backend.QueryResult;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.message.MongoQuery;
import io.netty.channel.Channel;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * The in-memory backend with counters for the operations of clients on `world` and `fortune`: MongoDB has `opcounters`,
 * the library does not.
 */
final class CountingBackend extends MemoryBackend {
    private static final Set<String> COLLECTIONS = Set.of("world", "fortune");

    private final LongAdder reads = new LongAdder();
    private final LongAdder documentsRead = new LongAdder();
    private final LongAdder updates = new LongAdder();
    private final LongAdder documentsUpdated = new LongAdder();
    private final Set<Channel> clients = ConcurrentHashMap.newKeySet();

    @Override
    public Document handleCommand(Channel client, String database, String command, Document query) {
        clients.add(client);
        Document answer = super.handleCommand(client, database, command, query);
        switch (command) {
            case "find", "aggregate" -> countRead(query.get(command), true, documents(answer, "firstBatch"));
            case "getMore" -> countRead(query.get("collection"), false, documents(answer, "nextBatch"));
            case "count", "distinct" -> countRead(query.get(command), true, 0);
            case "update" -> countUpdate(query, answer);
            default -> { }
        }
        return answer;
    }

    /** Reads by clients that do not use OP_MSG. */
    @Override
    public QueryResult handleQuery(MongoQuery query) {
        clients.add(query.getChannel());
        List<Document> documents = super.handleQuery(query).collectDocuments();
        countRead(query.getCollectionName(), true, documents.size());
        return new QueryResult(documents);
    }

    @Override
    public void handleClose(Channel client) {
        clients.remove(client);
        super.handleClose(client);
    }

    /** One line per counter. */
    String statistics() {
        return "selects %d\nrows_read %d\nupdates %d\nrows_updated %d\nconnections %d\n".formatted(
                reads.sum(), documentsRead.sum(), updates.sum(), documentsUpdated.sum(), clients.size());
    }

    private void countRead(Object collection, boolean isStatement, int documents) {
        if (COLLECTIONS.contains(collection)) {
            reads.add(isStatement ? 1 : 0);
            documentsRead.add(documents);
        }
    }

    /** Each entry of a bulk write counts as a statement, as in MongoDB; a document whose value does not change counts as updated. */
    private void countUpdate(Document query, Document answer) {
        if (COLLECTIONS.contains(query.get("update"))) {
            updates.add(((List<?>) query.get("updates")).size());
            documentsUpdated.add(((Number) answer.get("n")).longValue());
        }
    }

    private static int documents(Document answer, String batch) {
        return answer.get("cursor") instanceof Document cursor && cursor.get(batch) instanceof List<?> found
                ? found.size()
                : 0;
    }
}
