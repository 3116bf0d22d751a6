<?php
// The workloads without a database.

declare(strict_types=1);

namespace App\Http\Controllers;

use Illuminate\Http\JsonResponse;
use Illuminate\Http\Response;

final class WorkloadController extends Controller
{
    private const LARGEST_X = 10_000;

    // An Octane worker keeps it from one request to the next.
    private static ?string $page = null;

    public function hello(): Response
    {
        return $this->text("Hello World\n");
    }

    public function byte(): Response
    {
        return $this->text('x');
    }

    public function page(): Response
    {
        self::$page ??= file_get_contents('/srv/page.txt');
        return $this->text(self::$page);
    }

    public function json(): JsonResponse
    {
        return response()->json(['message' => 'Hello, World!']);
    }

    public function plaintext(): Response
    {
        return $this->text('Hello, World!');
    }

    public function home(): Response
    {
        return $this->text('OK, no problema!');
    }

    public function tetra(string $x): Response
    {
        $number = (int) $x;
        if ($number > self::LARGEST_X) {
            return $this->text("x must be a whole number from 0 to 10000\n", 400);
        }
        return $this->text(gmp_strval(gmp_pow($number, $number)));
    }

    private function text(string $body, int $status = 200): Response
    {
        return response($body, $status)->header('Content-Type', 'text/plain');
    }
}
