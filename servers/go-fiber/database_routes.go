package main

import (
	"context"
	"log"

	"github.com/gofiber/fiber/v3"
)

func routeDatabase(app *fiber.App, db database) {
	app.Get("/db", inJSON(func(ctx context.Context, _ int) (any, error) { return db.world(ctx, randomID()) }))
	app.Get("/queries", inJSON(func(ctx context.Context, queries int) (any, error) { return randomWorlds(ctx, db, queries) }))
	app.Get("/updates", inJSON(func(ctx context.Context, queries int) (any, error) { return updateWorlds(ctx, db, queries) }))
	app.Get("/fortunes", func(c fiber.Ctx) error {
		fortunes, err := sortedFortunes(c, db)
		if err != nil {
			return fail(err)
		}
		c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
		return fortunesPage.Execute(c, fortunes)
	})
}

func inJSON(answer func(ctx context.Context, queries int) (any, error)) fiber.Handler {
	return func(c fiber.Ctx) error {
		found, err := answer(c, queriesAsked(c.Query("queries")))
		if err != nil {
			return fail(err)
		}
		return c.JSON(found)
	}
}

// fail logs an error of the database; Fiber answers 500 with the message of the error that it gets.
func fail(err error) error {
	log.Print(err)
	return fiber.NewError(fiber.StatusInternalServerError, "the database did not answer as it should")
}
