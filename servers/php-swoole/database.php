<?php
// The database workloads: MariaDB by PDO, which Swoole makes wait in coroutines, with Swoole's own pool.

declare(strict_types=1);

use Swoole\Database\PDOConfig;
use Swoole\Database\PDOPool;
use Swoole\Http\Response;

const WORLD_ROWS = 10_000;
const MOST_QUERIES = 500;

final class Database
{
    // Of the whole server.
    public const CONNECTIONS = 32;

    private static PDOPool $pool;

    // Connections are opened when they are needed.
    public static function open(int $connections): void
    {
        $config = (new PDOConfig())
            ->withHost('database')->withPort(3306)->withDbname('hello_world')->withCharset('utf8mb4')
            ->withUsername('benchmarkdbuser')->withPassword('benchmarkdbpass')
            ->withOptions([PDO::ATTR_EMULATE_PREPARES => false, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]);
        self::$pool = new PDOPool($config, max(1, $connections));
    }

    // Calls `work` with a connection; a request waits for one. A broken one is not put back.
    public static function with(callable $work): mixed
    {
        $connection = self::$pool->get();
        try {
            $result = $work($connection);
        } catch (Throwable $error) {
            self::$pool->put(null);
            throw $error;
        }
        self::$pool->put($connection);
        return $result;
    }
}

function randomWorlds(object $connection, int $count): array
{
    $select = $connection->prepare('SELECT id, randomNumber FROM world WHERE id = ?');
    $worlds = [];
    for ($i = 0; $i < $count; $i++) {
        $select->execute([mt_rand(1, WORLD_ROWS)]);
        $worlds[] = $select->fetch();
    }
    return $worlds;
}

function updatedWorlds(object $connection, int $count): array
{
    $worlds = randomWorlds($connection, $count);
    // Transactions that lock rows in the same order cannot deadlock.
    usort($worlds, fn (array $a, array $b) => $a['id'] <=> $b['id']);
    $update = $connection->prepare('UPDATE world SET randomNumber = ? WHERE id = ?');
    $connection->beginTransaction();
    foreach ($worlds as &$world) {
        $world['randomNumber'] = mt_rand(1, WORLD_ROWS);
        $update->execute([$world['randomNumber'], $world['id']]);
    }
    unset($world);
    $connection->commit();
    return $worlds;
}

function fortunesPage(): string
{
    $fortunes = Database::with(fn (object $connection) => $connection->query('SELECT id, message FROM fortune')->fetchAll());
    $fortunes[] = ['id' => 0, 'message' => 'Additional fortune added at request time.'];
    usort($fortunes, fn (array $a, array $b) => strcmp($a['message'], $b['message']));
    ob_start();
    require __DIR__ . '/fortunes.php';
    return ob_get_clean();
}

// The parameter `queries`: 1 if it is missing or not an integer.
function asked(mixed $queries): int
{
    $count = filter_var($queries, FILTER_VALIDATE_INT);
    return $count === false ? 1 : min(max($count, 1), MOST_QUERIES);
}

function answerFromDatabase(string $path, mixed $queries, Response $response): void
{
    $count = asked($queries);
    try {
        match ($path) {
            '/db' => json($response, Database::with(fn (object $connection) => randomWorlds($connection, 1)[0])),
            '/queries' => json($response, Database::with(fn (object $connection) => randomWorlds($connection, $count))),
            '/updates' => json($response, Database::with(fn (object $connection) => updatedWorlds($connection, $count))),
            '/fortunes' => text($response, fortunesPage(), 200, 'text/html; charset=utf-8'),
            default => text($response, "Not Found\n", 404),
        };
    } catch (PDOException $error) {
        error_log($error->getMessage());
        text($response, "the database did not answer as it should\n", 500);
    }
}
