"""The workloads without a database."""

import os
import pathlib

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from power import WRONG_X, power

page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_text()


def text(body, status=200):
    return HttpResponse(body, content_type="text/plain; charset=utf-8", status=status)


@require_safe
def hello(request):
    return text("Hello World\n")


@require_safe
def byte(request):
    return text("x")


@require_safe
def whole_page(request):
    return text(page)


@require_safe
def json(request):
    return JsonResponse({"message": "Hello, World!"})


@require_safe
def plaintext(request):
    return text("Hello, World!")


@require_safe
def home(request):
    return text("OK, no problema!")


@require_safe
def tetra(request, digits):
    answer = power(digits)
    return text(WRONG_X, status=400) if answer is None else text(answer)
