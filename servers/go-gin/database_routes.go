package main

import (
	"context"
	"log"
	"net/http"

	"github.com/gin-gonic/gin"
)

func routeDatabase(r *gin.RouterGroup, db database) {
	r.GET("/db", inJSON(func(ctx context.Context, _ int) (any, error) { return db.world(ctx, randomID()) }))
	r.GET("/queries", inJSON(func(ctx context.Context, queries int) (any, error) { return randomWorlds(ctx, db, queries) }))
	r.GET("/updates", inJSON(func(ctx context.Context, queries int) (any, error) { return updateWorlds(ctx, db, queries) }))
	r.GET("/fortunes", func(c *gin.Context) {
		fortunes, err := sortedFortunes(c.Request.Context(), db)
		if err != nil {
			fail(c, err)
			return
		}
		c.HTML(http.StatusOK, fortunesPage.Name(), fortunes)
	})
}

func inJSON(answer func(ctx context.Context, queries int) (any, error)) gin.HandlerFunc {
	return func(c *gin.Context) {
		found, err := answer(c.Request.Context(), queriesAsked(c.Query("queries")))
		if err != nil {
			fail(c, err)
			return
		}
		c.JSON(http.StatusOK, found)
	}
}

func fail(c *gin.Context, err error) {
	log.Print(err)
	c.String(http.StatusInternalServerError, "the database did not answer as it should\n")
}
