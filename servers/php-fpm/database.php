<?php
// Answers the database workloads by PDO, from PostgreSQL or MariaDB, or by MongoDB's extension. Loaded only if
// DATABASE is set.

declare(strict_types=1);

const WORLD_ROWS = 10_000;
const MOST_QUERIES = 500;

interface Rows
{
    public function randomWorlds(int $count): array;

    // Stores the number of each.
    public function store(array $worlds): void;

    public function fortunes(): array;
}

final class SqlRows implements Rows
{
    private PDO $database;

    public function __construct(string $driver)
    {
        $address = sprintf('host=%s;port=%s;dbname=%s', getenv('DATABASE_HOST'), getenv('DATABASE_PORT'), getenv('DATABASE_NAME'));
        $this->database = new PDO($driver . $address, getenv('DATABASE_USER'), getenv('DATABASE_PASSWORD'), [
            // The connection outlives the request; otherwise each request would connect again.
            PDO::ATTR_PERSISTENT => true,
            PDO::ATTR_EMULATE_PREPARES => false,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
        ]);
    }

    public function randomWorlds(int $count): array
    {
        $select = $this->database->prepare('SELECT id, randomNumber AS "randomNumber" FROM world WHERE id = ?');
        $worlds = [];
        for ($i = 0; $i < $count; $i++) {
            $select->execute([randomNumber()]);
            $worlds[] = $select->fetch();
        }
        return $worlds;
    }

    public function store(array $worlds): void
    {
        $update = $this->database->prepare('UPDATE world SET randomNumber = ? WHERE id = ?');
        $this->database->beginTransaction();
        foreach ($worlds as $world) {
            $update->execute([$world['randomNumber'], $world['id']]);
        }
        $this->database->commit();
    }

    public function fortunes(): array
    {
        return $this->database->query('SELECT id, message FROM fortune')->fetchAll();
    }
}

// Anything that speaks MongoDB's protocol. The extension keeps its connection from one request to the next.
final class DocumentRows implements Rows
{
    private MongoDB\Driver\Manager $manager;

    public function __construct()
    {
        $this->manager = new MongoDB\Driver\Manager(sprintf('mongodb://%s:%s', getenv('DATABASE_HOST'), getenv('DATABASE_PORT')));
    }

    public function randomWorlds(int $count): array
    {
        $worlds = [];
        for ($i = 0; $i < $count; $i++) {
            $worlds[] = $this->find('world', ['_id' => randomNumber()])[0];
        }
        return $worlds;
    }

    public function store(array $worlds): void
    {
        $updates = new MongoDB\Driver\BulkWrite();
        foreach ($worlds as $world) {
            $updates->update(['_id' => $world['id']], ['$set' => ['randomNumber' => $world['randomNumber']]]);
        }
        $this->manager->executeBulkWrite($this->name('world'), $updates);
    }

    public function fortunes(): array
    {
        return $this->find('fortune', []);
    }

    private function find(string $collection, array $filter): array
    {
        $query = new MongoDB\Driver\Query($filter, ['projection' => ['_id' => 0]]);
        $rows = $this->manager->executeQuery($this->name($collection), $query);
        $rows->setTypeMap(['root' => 'array']);
        return $rows->toArray();
    }

    private function name(string $collection): string
    {
        return getenv('DATABASE_NAME') . '.' . $collection;
    }
}

function connect(): Rows
{
    return match (getenv('DATABASE')) {
        'postgresql' => new SqlRows('pgsql:'),
        'mariadb' => new SqlRows('mysql:charset=utf8mb4;'),
        'mongo-java-server' => new DocumentRows(),
    };
}

function randomNumber(): int
{
    return mt_rand(1, WORLD_ROWS);
}

// The parameter `queries`: 1 if it is missing or not an integer.
function queriesAsked(): int
{
    $queries = filter_var($_GET['queries'] ?? '', FILTER_VALIDATE_INT);
    return $queries === false ? 1 : min(max($queries, 1), MOST_QUERIES);
}

function updateWorlds(Rows $database, int $count): array
{
    $worlds = $database->randomWorlds($count);
    foreach ($worlds as &$world) {
        $world['randomNumber'] = randomNumber();
    }
    unset($world);
    // Transactions that lock rows in the same order cannot deadlock.
    usort($worlds, fn (array $a, array $b) => $a['id'] <=> $b['id']);
    $database->store($worlds);
    return $worlds;
}

function fortunesPage(Rows $database): string
{
    $fortunes = $database->fortunes();
    $fortunes[] = ['id' => 0, 'message' => 'Additional fortune added at request time.'];
    usort($fortunes, fn (array $a, array $b) => strcmp($a['message'], $b['message']));
    ob_start();
    require 'fortunes.php';
    return ob_get_clean();
}

function json(array $rows): void
{
    text(json_encode($rows), 200, 'application/json');
}

function answerFromDatabase(string $path): void
{
    try {
        match ($path) {
            '/db' => json(connect()->randomWorlds(1)[0]),
            '/queries' => json(connect()->randomWorlds(queriesAsked())),
            '/updates' => json(updateWorlds(connect(), queriesAsked())),
            '/fortunes' => text(fortunesPage(connect()), 200, 'text/html; charset=utf-8'),
            default => text("Not Found\n", 404),
        };
    } catch (PDOException | MongoDB\Driver\Exception\Exception $error) {
        error_log($error->getMessage());
        text("the database did not answer as it should\n", 500);
    }
}
