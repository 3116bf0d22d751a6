<?php
// Answers the database workloads by PDO, from PostgreSQL or MariaDB. Loaded only where DATABASE is set.

declare(strict_types=1);

const WORLD_ROWS = 10_000;
const MOST_QUERIES = 500;

function connect(): PDO
{
    $driver = match (getenv('DATABASE')) {
        'postgresql' => 'pgsql:',
        'mariadb' => 'mysql:charset=utf8mb4;',
    };
    $address = sprintf('host=%s;port=%s;dbname=%s', getenv('DATABASE_HOST'), getenv('DATABASE_PORT'), getenv('DATABASE_NAME'));
    return new PDO($driver . $address, getenv('DATABASE_USER'), getenv('DATABASE_PASSWORD'), [
        // The connection outlives the request; otherwise each request would connect again.
        PDO::ATTR_PERSISTENT => true,
        PDO::ATTR_EMULATE_PREPARES => false,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
    ]);
}

function randomNumber(): int
{
    return mt_rand(1, WORLD_ROWS);
}

// The parameter `queries`: 1 where it is missing or no whole number.
function queriesAsked(): int
{
    $queries = filter_var($_GET['queries'] ?? '', FILTER_VALIDATE_INT);
    return $queries === false ? 1 : min(max($queries, 1), MOST_QUERIES);
}

function randomWorlds(PDO $database, int $count): array
{
    $select = $database->prepare('SELECT id, randomNumber AS "randomNumber" FROM world WHERE id = ?');
    $worlds = [];
    for ($i = 0; $i < $count; $i++) {
        $select->execute([randomNumber()]);
        $worlds[] = $select->fetch();
    }
    return $worlds;
}

function updateWorlds(PDO $database, int $count): array
{
    $worlds = randomWorlds($database, $count);
    foreach ($worlds as &$world) {
        $world['randomNumber'] = randomNumber();
    }
    unset($world);
    // Transactions that lock rows in one order cannot deadlock.
    usort($worlds, fn (array $a, array $b) => $a['id'] <=> $b['id']);
    $update = $database->prepare('UPDATE world SET randomNumber = ? WHERE id = ?');
    $database->beginTransaction();
    foreach ($worlds as $world) {
        $update->execute([$world['randomNumber'], $world['id']]);
    }
    $database->commit();
    return $worlds;
}

function fortunesPage(PDO $database): string
{
    $fortunes = $database->query('SELECT id, message FROM fortune')->fetchAll();
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
            '/db' => json(randomWorlds(connect(), 1)[0]),
            '/queries' => json(randomWorlds(connect(), queriesAsked())),
            '/updates' => json(updateWorlds(connect(), queriesAsked())),
            '/fortunes' => text(fortunesPage(connect()), 200, 'text/html; charset=utf-8'),
            default => text("Not Found\n", 404),
        };
    } catch (PDOException $error) {
        error_log($error->getMessage());
        text("the database did not answer as it should\n", 500);
    }
}
