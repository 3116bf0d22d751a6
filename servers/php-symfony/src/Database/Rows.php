<?php

declare(strict_types=1);

namespace App\Database;

use Doctrine\DBAL\Connection;
use Doctrine\DBAL\ParameterType;

// Rows of the database workloads, by Doctrine's database layer.
final class Rows
{
    private const WORLD_ROWS = 10_000;

    public function __construct(private Connection $database)
    {
    }

    // One SELECT for each row.
    public function randomWorlds(int $count): array
    {
        $select = $this->database->prepare('SELECT id, randomNumber AS "randomNumber" FROM world WHERE id = ?');
        $worlds = [];
        for ($i = 0; $i < $count; $i++) {
            $select->bindValue(1, self::randomNumber(), ParameterType::INTEGER);
            $worlds[] = $select->executeQuery()->fetchAssociative();
        }
        return $worlds;
    }

    public function updateWorlds(int $count): array
    {
        $worlds = $this->randomWorlds($count);
        foreach ($worlds as &$world) {
            $world['randomNumber'] = self::randomNumber();
        }
        unset($world);
        // Transactions that lock rows in the same order cannot deadlock.
        usort($worlds, fn (array $a, array $b) => $a['id'] <=> $b['id']);
        $this->database->transactional(fn () => $this->store($worlds));
        return $worlds;
    }

    // With the one that is added for each request, sorted by message.
    public function fortunes(): array
    {
        $fortunes = $this->database->fetchAllAssociative('SELECT id, message FROM fortune');
        $fortunes[] = ['id' => 0, 'message' => 'Additional fortune added at request time.'];
        usort($fortunes, fn (array $a, array $b) => strcmp($a['message'], $b['message']));
        return $fortunes;
    }

    private function store(array $worlds): void
    {
        $update = $this->database->prepare('UPDATE world SET randomNumber = ? WHERE id = ?');
        foreach ($worlds as $world) {
            $update->bindValue(1, $world['randomNumber'], ParameterType::INTEGER);
            $update->bindValue(2, $world['id'], ParameterType::INTEGER);
            $update->executeStatement();
        }
    }

    private static function randomNumber(): int
    {
        return mt_rand(1, self::WORLD_ROWS);
    }
}
