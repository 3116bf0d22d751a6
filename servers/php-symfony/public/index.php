<?php
// The front controller: nginx passes every request to it.

declare(strict_types=1);

use App\Kernel;
use Symfony\Component\HttpFoundation\Request;

require getenv('PACELINE_BUILD') . '/vendor/autoload.php';

$kernel = new Kernel('prod', false);
$request = Request::createFromGlobals();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
