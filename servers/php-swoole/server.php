<?php
// Answers Paceline's workloads with Swoole's HTTP server: each request runs in a coroutine of a worker process.

declare(strict_types=1);

use Swoole\Http\Request;
use Swoole\Http\Response;
use Swoole\Http\Server;

require __DIR__ . '/database.php';

const LARGEST_X = 10_000;

function text(Response $response, string $body, int $status = 200, string $type = 'text/plain'): void
{
    $response->status($status);
    $response->header('Content-Type', $type);
    $response->end($body);
}

function json(Response $response, mixed $value): void
{
    text($response, json_encode($value), 200, 'application/json');
}

function tetra(Response $response, string $digits): void
{
    // The modifier D prevents `$` from matching before a newline at the end.
    if (!preg_match('/^[0-9]{1,5}$/D', $digits) || (int) $digits > LARGEST_X) {
        text($response, "x must be a whole number from 0 to 10000\n", 400);
        return;
    }
    text($response, gmp_strval(gmp_pow((int) $digits, (int) $digits)));
}

function answer(Request $request, Response $response, string $page): void
{
    $path = $request->server['request_uri'];
    match (true) {
        $path === '/hello' => text($response, "Hello World\n"),
        $path === '/byte' => text($response, 'x'),
        $path === '/page' => text($response, $page),
        $path === '/json' => json($response, ['message' => 'Hello, World!']),
        $path === '/plaintext' => text($response, 'Hello, World!'),
        $path === '/home' => text($response, 'OK, no problema!'),
        str_starts_with($path, '/tetra/') => tetra($response, substr($path, strlen('/tetra/'))),
        default => answerFromDatabase($path, $request->get['queries'] ?? null, $response),
    };
}

$page = file_get_contents('/srv/page.txt');
$server = new Server(getenv('HOST'), (int) getenv('PORT'));
$server->set([
    'worker_num' => (int) getenv('WORKERS'),
    // What would wait for the network lets other coroutines run.
    'hook_flags' => SWOOLE_HOOK_ALL,
    'log_level' => SWOOLE_LOG_WARNING,
    'pid_file' => '/tmp/swoole.pid',
]);
$server->on('workerStart', fn () => Database::open(intdiv(Database::CONNECTIONS, (int) getenv('WORKERS'))));
$server->on('request', function (Request $request, Response $response) use ($page): void {
    if (!in_array($request->server['request_method'], ['GET', 'HEAD'], true)) {
        $response->header('Allow', 'GET, HEAD');
        text($response, "Method Not Allowed\n", 405);
        return;
    }
    answer($request, $response, $page);
});
$server->start();
