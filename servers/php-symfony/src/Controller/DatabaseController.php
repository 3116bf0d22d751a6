<?php

declare(strict_types=1);

namespace App\Controller;

use App\Database\Rows;
use Symfony\Bundle\FrameworkBundle\Controller\AbstractController;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\Routing\Annotation\Route;

// Answers the database workloads.
final class DatabaseController extends AbstractController
{
    private const MOST_QUERIES = 500;

    public function __construct(private Rows $rows)
    {
    }

    #[Route('/db', methods: 'GET')]
    public function oneWorld(): JsonResponse
    {
        return $this->json($this->rows->randomWorlds(1)[0]);
    }

    #[Route('/queries', methods: 'GET')]
    public function worlds(Request $request): JsonResponse
    {
        return $this->json($this->rows->randomWorlds($this->queriesAsked($request)));
    }

    #[Route('/updates', methods: 'GET')]
    public function updates(Request $request): JsonResponse
    {
        return $this->json($this->rows->updateWorlds($this->queriesAsked($request)));
    }

    #[Route('/fortunes', methods: 'GET')]
    public function fortunes(): Response
    {
        return $this->render('fortunes.html.twig', ['fortunes' => $this->rows->fortunes()]);
    }

    // The parameter `queries`: 1 if it is missing or not an integer.
    private function queriesAsked(Request $request): int
    {
        $queries = $request->query->filter('queries', 1, FILTER_VALIDATE_INT);
        return $queries === false ? 1 : min(max($queries, 1), self::MOST_QUERIES);
    }
}
