package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const worldRows = 10_000

type world struct {
	ID           int `json:"id"`
	RandomNumber int `json:"randomNumber" bson:"randomNumber"`
}

type fortune struct {
	ID      int
	Message string
}

// database has the operations that the four database workloads need.
type database interface {
	world(ctx context.Context, id int) (world, error)
	fortunes(ctx context.Context) ([]fortune, error)
	// store writes worlds in their order, in one transaction where the database has transactions.
	store(ctx context.Context, worlds []world) error
}

// openDatabase returns nil if the environment names no database.
func openDatabase() (database, error) {
	kind := os.Getenv("DATABASE")
	if kind == "" {
		return nil, nil
	}
	pool, err := strconv.Atoi(os.Getenv("DATABASE_POOL"))
	if err != nil {
		return nil, fmt.Errorf("DATABASE_POOL: %w", err)
	}
	switch kind {
	case "postgresql":
		return openPostgreSQL(pool)
	case "mariadb":
		return openMariaDB(pool)
	case "mongo-java-server":
		return openMongoDB(pool)
	default:
		return nil, fmt.Errorf("DATABASE is %q: set it to postgresql, mariadb or mongo-java-server", kind)
	}
}

func databaseAddress() string {
	return net.JoinHostPort(os.Getenv("DATABASE_HOST"), os.Getenv("DATABASE_PORT"))
}

func randomID() int { return rand.IntN(worldRows) + 1 }

// postgreSQL prepares each statement once per connection, pgx's default.
type postgreSQL struct{ pool *pgxpool.Pool }

func openPostgreSQL(connections int) (database, error) {
	config, err := pgxpool.ParseConfig(fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable",
		os.Getenv("DATABASE_USER"), os.Getenv("DATABASE_PASSWORD"), databaseAddress(), os.Getenv("DATABASE_NAME")))
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(connections)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	return postgreSQL{pool}, err
}

func (p postgreSQL) world(ctx context.Context, id int) (w world, err error) {
	err = p.pool.QueryRow(ctx, "SELECT id, randomNumber FROM world WHERE id = $1", id).Scan(&w.ID, &w.RandomNumber)
	return w, err
}

func (p postgreSQL) fortunes(ctx context.Context) ([]fortune, error) {
	rows, err := p.pool.Query(ctx, "SELECT id, message FROM fortune")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[fortune])
}

func (p postgreSQL) store(ctx context.Context, worlds []world) error {
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		for _, w := range worlds {
			if _, err := tx.Exec(ctx, "UPDATE world SET randomNumber = $1 WHERE id = $2", w.RandomNumber, w.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// mariaDB has statements that database/sql prepares on each connection that uses them.
type mariaDB struct {
	pool                                *sql.DB
	selectWorld, selectFortunes, update *sql.Stmt
}

func openMariaDB(connections int) (database, error) {
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName = "tcp", databaseAddress(), os.Getenv("DATABASE_NAME")
	config.User, config.Passwd = os.Getenv("DATABASE_USER"), os.Getenv("DATABASE_PASSWORD")
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	m := mariaDB{pool: sql.OpenDB(connector)}
	m.pool.SetMaxOpenConns(connections)
	m.pool.SetMaxIdleConns(connections) // the default keeps two idle connections; the others would reconnect each time
	for statement, text := range map[**sql.Stmt]string{
		&m.selectWorld:    "SELECT id, randomNumber FROM world WHERE id = ?",
		&m.selectFortunes: "SELECT id, message FROM fortune",
		&m.update:         "UPDATE world SET randomNumber = ? WHERE id = ?",
	} {
		if *statement, err = m.pool.Prepare(text); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m mariaDB) world(ctx context.Context, id int) (w world, err error) {
	err = m.selectWorld.QueryRowContext(ctx, id).Scan(&w.ID, &w.RandomNumber)
	return w, err
}

func (m mariaDB) fortunes(ctx context.Context) ([]fortune, error) {
	rows, err := m.selectFortunes.QueryContext(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []fortune
	for rows.Next() {
		var f fortune
		if err := rows.Scan(&f.ID, &f.Message); err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, rows.Err()
}

func (m mariaDB) store(ctx context.Context, worlds []world) error {
	tx, err := m.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	update := tx.StmtContext(ctx, m.update)
	for _, w := range worlds {
		if _, err := update.ExecContext(ctx, w.RandomNumber, w.ID); err != nil {
			return err
		}
	}
	return tx.Commit()
}
