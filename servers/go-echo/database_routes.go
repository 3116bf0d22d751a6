package main

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v5"
)

func routeDatabase(e *echo.Echo, db database) {
	e.GET("/db", inJSON(func(ctx context.Context, _ int) (any, error) { return db.world(ctx, randomID()) }), named)
	e.GET("/queries", inJSON(func(ctx context.Context, queries int) (any, error) {
		return randomWorlds(ctx, db, queries)
	}), named)
	e.GET("/updates", inJSON(func(ctx context.Context, queries int) (any, error) {
		return updateWorlds(ctx, db, queries)
	}), named)
	e.GET("/fortunes", func(c *echo.Context) error {
		fortunes, err := sortedFortunes(c.Request().Context(), db)
		if err != nil {
			return err
		}
		return c.Render(http.StatusOK, fortunesPage.Name(), fortunes)
	}, named)
}

// inJSON leaves an error to Echo, which logs it and answers 500.
func inJSON(answer func(ctx context.Context, queries int) (any, error)) echo.HandlerFunc {
	return func(c *echo.Context) error {
		found, err := answer(c.Request().Context(), queriesAsked(c.QueryParam("queries")))
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, found)
	}
}
