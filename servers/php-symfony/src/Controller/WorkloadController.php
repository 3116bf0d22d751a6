<?php

declare(strict_types=1);

namespace App\Controller;

use Symfony\Bundle\FrameworkBundle\Controller\AbstractController;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\Routing\Annotation\Route;

// Answers the workloads that need no database.
final class WorkloadController extends AbstractController
{
    private const LARGEST_X = 10_000;

    #[Route('/hello', methods: 'GET')]
    public function hello(): Response
    {
        return $this->text("Hello World\n");
    }

    #[Route('/byte', methods: 'GET')]
    public function byte(): Response
    {
        return $this->text('x');
    }

    #[Route('/page', methods: 'GET')]
    public function page(string $workloads): Response
    {
        return $this->text(file_get_contents("$workloads/page.txt"));
    }

    #[Route('/json', methods: 'GET')]
    public function greetInJson(): JsonResponse
    {
        return $this->json(['message' => 'Hello, World!']);
    }

    #[Route('/plaintext', methods: 'GET')]
    public function plaintext(): Response
    {
        return $this->text('Hello, World!');
    }

    #[Route('/home', methods: 'GET')]
    public function home(): Response
    {
        return $this->text('OK, no problema!');
    }

    #[Route('/tetra/{x}', requirements: ['x' => '[0-9]{1,5}'], methods: 'GET')]
    public function tetra(int $x): Response
    {
        if ($x > self::LARGEST_X) {
            return $this->text("x must be a whole number from 0 to 10000\n", Response::HTTP_BAD_REQUEST);
        }
        return $this->text(gmp_strval(gmp_pow($x, $x)));
    }

    private function text(string $body, int $status = Response::HTTP_OK): Response
    {
        return new Response($body, $status, ['Content-Type' => 'text/plain']);
    }
}
