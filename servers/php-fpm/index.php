<?php
// Answers Paceline's workloads. nginx passes every request to PHP, which runs this script from the beginning each time.

declare(strict_types=1);

const LARGEST_X = 10_000;

function text(string $body, int $status = 200, string $type = 'text/plain; charset=utf-8'): void
{
    http_response_code($status);
    header("Content-Type: $type");
    header('Content-Length: ' . strlen($body));
    echo $body;
}

function power(int $x): string
{
    return gmp_strval(gmp_pow($x, $x));
}

function tetra(string $digits): void
{
    // The modifier D prevents `$` from matching before a newline at the end.
    if (!preg_match('/^[0-9]{1,5}$/D', $digits) || (int) $digits > LARGEST_X) {
        text("x must be a whole number from 0 to 10000\n", 400);
        return;
    }
    text(power((int) $digits));
}

function fromDatabase(string $path): void
{
    require 'database.php';
    answerFromDatabase($path);
}

function answer(string $path): void
{
    match (true) {
        $path === '/hello' => text("Hello World\n"),
        $path === '/byte' => text('x'),
        $path === '/page' => text(file_get_contents($_SERVER['PACELINE_WORKLOADS'] . '/page.txt')),
        $path === '/json' => text(json_encode(['message' => 'Hello, World!']), 200, 'application/json'),
        $path === '/plaintext' => text('Hello, World!'),
        $path === '/home' => text('OK, no problema!'),
        $path === '/tetra-million' => text(power(1_000_000)),
        str_starts_with($path, '/tetra/') => tetra(substr($path, strlen('/tetra/'))),
        getenv('DATABASE') !== false => fromDatabase($path),
        default => text("Not Found\n", 404),
    };
}

if (!in_array($_SERVER['REQUEST_METHOD'], ['GET', 'HEAD'], true)) {
    header('Allow: GET, HEAD');
    text("Method Not Allowed\n", 405);
} else {
    answer(explode('?', $_SERVER['REQUEST_URI'], 2)[0]);
}
