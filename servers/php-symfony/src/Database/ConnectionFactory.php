<?php

declare(strict_types=1);

namespace App\Database;

use Doctrine\DBAL\Connection;
use Doctrine\DBAL\DriverManager;
use Symfony\Component\HttpKernel\Exception\NotFoundHttpException;

final class ConnectionFactory
{
    private const DRIVERS = ['postgresql' => 'pdo_pgsql', 'mariadb' => 'pdo_mysql'];

    // Without a database its paths do not exist.
    public static function connect(): Connection
    {
        $database = getenv('DATABASE');
        if ($database === false) {
            throw new NotFoundHttpException('There is no database.');
        }
        return DriverManager::getConnection([
            'driver' => self::DRIVERS[$database],
            'host' => getenv('DATABASE_HOST'),
            'port' => (int) getenv('DATABASE_PORT'),
            'dbname' => getenv('DATABASE_NAME'),
            'user' => getenv('DATABASE_USER'),
            'password' => getenv('DATABASE_PASSWORD'),
            'charset' => $database === 'mariadb' ? 'utf8mb4' : 'utf8',
            // The connection outlives the request; otherwise each request would connect again.
            'persistent' => true,
        ]);
    }
}
