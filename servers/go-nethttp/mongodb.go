package main

import (
	"context"
	"os"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// mongoDB reads each document with a find; one bulk write stores those of a request.
type mongoDB struct{ worlds, fortuneDocuments *mongo.Collection }

func openMongoDB(connections int) (database, error) {
	client, err := mongo.Connect(options.Client().
		ApplyURI("mongodb://" + databaseAddress()).
		SetMaxPoolSize(uint64(connections)))
	if err != nil {
		return nil, err
	}
	named := client.Database(os.Getenv("DATABASE_NAME"))
	return mongoDB{named.Collection("world"), named.Collection("fortune")}, nil
}

func (m mongoDB) world(ctx context.Context, id int) (w world, err error) {
	err = m.worlds.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&w)
	return w, err
}

func (m mongoDB) fortunes(ctx context.Context) ([]fortune, error) {
	cursor, err := m.fortuneDocuments.Find(ctx, bson.D{})
	if err != nil {
		return nil, err
	}
	var found []fortune
	err = cursor.All(ctx, &found)
	return found, err
}

func (m mongoDB) store(ctx context.Context, worlds []world) error {
	updates := make([]mongo.WriteModel, len(worlds))
	for i, w := range worlds {
		updates[i] = mongo.NewUpdateOneModel().
			SetFilter(bson.D{{Key: "_id", Value: w.ID}}).
			SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "randomNumber", Value: w.RandomNumber}}}})
	}
	_, err := m.worlds.BulkWrite(ctx, updates)
	return err
}
