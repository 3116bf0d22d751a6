<?php
// The application as Laravel's skeleton makes it, with the routes of the workloads in place of those for pages: these
// would start a session for each request.

use Illuminate\Foundation\Application;
use Illuminate\Foundation\Configuration\Exceptions;
use Illuminate\Foundation\Configuration\Middleware;

return Application::configure(basePath: dirname(__DIR__))
    ->withRouting(using: function () {
        require base_path('routes/workloads.php');
    })
    ->withMiddleware(function (Middleware $middleware) {
    })
    ->withExceptions(function (Exceptions $exceptions) {
    })
    ->create();
