<?php
// The workloads with a database, by Eloquent.

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Models\Fortune;
use App\Models\World;
use Illuminate\Http\JsonResponse;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Support\Facades\DB;

final class DatabaseController extends Controller
{
    private const WORLD_ROWS = 10_000;
    private const MOST_QUERIES = 500;

    public function db(): JsonResponse
    {
        return response()->json($this->randomWorlds(1)[0]->shown());
    }

    public function queries(Request $request): JsonResponse
    {
        return $this->shown($this->randomWorlds($this->asked($request)));
    }

    public function updates(Request $request): JsonResponse
    {
        $worlds = $this->randomWorlds($this->asked($request));
        // Transactions that lock rows in the same order cannot deadlock.
        usort($worlds, fn (World $a, World $b) => $a->id <=> $b->id);
        DB::transaction(function () use ($worlds) {
            foreach ($worlds as $world) {
                $world->randomnumber = random_int(1, self::WORLD_ROWS);
                $world->save();
            }
        });
        return $this->shown($worlds);
    }

    public function fortunes(): Response
    {
        $added = new Fortune(['id' => 0, 'message' => 'Additional fortune added at request time.']);
        $fortunes = Fortune::all()->push($added)->sortBy('message', SORT_STRING);
        return response()->view('fortunes', ['fortunes' => $fortunes])->header('Content-Type', 'text/html; charset=utf-8');
    }

    /** @return list<World> */
    private function randomWorlds(int $count): array
    {
        $worlds = [];
        for ($i = 0; $i < $count; $i++) {
            $worlds[] = World::findOrFail(random_int(1, self::WORLD_ROWS));
        }
        return $worlds;
    }

    // The parameter `queries`: 1 if it is missing or not an integer.
    private function asked(Request $request): int
    {
        $queries = filter_var($request->query('queries'), FILTER_VALIDATE_INT);
        return $queries === false ? 1 : min(max($queries, 1), self::MOST_QUERIES);
    }

    private function shown(array $worlds): JsonResponse
    {
        return response()->json(array_map(fn (World $world) => $world->shown(), $worlds));
    }
}
