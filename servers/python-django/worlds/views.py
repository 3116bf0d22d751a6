"""The database workloads, by Django's ORM."""

import operator
import random

from django.db import transaction
from django.http import JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from worlds.models import Fortune, World

WORLD_ROWS = 10_000
MOST_QUERIES = 500


def random_number():
    return random.randint(1, WORLD_ROWS)


def random_worlds(count):
    return [World.objects.get(id=random_number()) for _ in range(count)]


def queries_asked(request):
    """The parameter `queries`: 1 if it is missing or not an integer."""
    text = request.GET.get("queries", "")
    queries = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1
    return min(max(queries, 1), MOST_QUERIES)


@require_safe
def one_world(request):
    return JsonResponse(World.objects.get(id=random_number()).as_json())


@require_safe
def many_worlds(request):
    return JsonResponse([world.as_json() for world in random_worlds(queries_asked(request))], safe=False)


@require_safe
def updates(request):
    worlds = random_worlds(queries_asked(request))
    for world in worlds:
        world.random_number = random_number()
    # Transactions that lock rows in the same order cannot deadlock.
    worlds.sort(key=operator.attrgetter("id"))
    with transaction.atomic():
        for world in worlds:
            world.save(update_fields=["random_number"])
    return JsonResponse([world.as_json() for world in worlds], safe=False)


@require_safe
def fortunes(request):
    rows = [(fortune.id, fortune.message) for fortune in Fortune.objects.all()]
    rows.append((0, "Additional fortune added at request time."))
    rows.sort(key=operator.itemgetter(1))
    return render(request, "fortunes.html", {"fortunes": rows})
