"""The routes of the database workloads."""

import os

import flask

from database import open_database, queries_asked, sorted_fortunes, update_worlds

routes = flask.Blueprint("database", __name__, template_folder="templates")
database = open_database(processes=int(os.environ.get("WORKERS", "1")))


@routes.get("/db")
def one_world():
    [world] = database.random_worlds(1)
    return world


@routes.get("/queries")
def worlds():
    return database.random_worlds(queries_asked(flask.request.args.get("queries", "")))


@routes.get("/updates")
def updates():
    return update_worlds(database, queries_asked(flask.request.args.get("queries", "")))


@routes.get("/fortunes")
def fortunes():
    return flask.render_template("fortunes.html", fortunes=sorted_fortunes(database))
