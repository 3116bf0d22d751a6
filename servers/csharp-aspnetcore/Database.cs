// The database workloads, by Npgsql from PostgreSQL. No connection is opened before the first of their requests.

using System.Globalization;
using Microsoft.AspNetCore.Http.HttpResults;
using Npgsql;

namespace Server;

public sealed record World(int Id, int RandomNumber);

public sealed record Fortune(int Id, string Message);

public static class Database
{
    private const int WorldRows = 10_000;
    private const int MostQueries = 500;

    public static void AddDatabase(this WebApplicationBuilder builder)
    {
        var address = new NpgsqlConnectionStringBuilder
        {
            Host = builder.Configuration["DATABASE_HOST"],
            Database = "hello_world",
            Username = "benchmarkdbuser",
            Password = "benchmarkdbpass",
            MaxPoolSize = 32,
            // A request waits for a connection without a limit.
            Timeout = 0,
            MaxAutoPrepare = 4,
        };
        builder.Services.AddNpgsqlDataSource(address.ConnectionString);
        builder.Services.AddRazorComponents();
    }

    public static void MapDatabase(this WebApplication app)
    {
        app.MapGet("/db", async (NpgsqlDataSource source) => (await RandomWorlds(source, 1))[0]);
        app.MapGet("/queries", (NpgsqlDataSource source, string? queries) => RandomWorlds(source, Asked(queries)));
        app.MapGet("/updates", (NpgsqlDataSource source, string? queries) => UpdatedWorlds(source, Asked(queries)));
        app.MapGet("/fortunes", async (NpgsqlDataSource source) =>
            new RazorComponentResult<Fortunes>(new { Rows = await StoredFortunes(source) }));
    }

    // 1 if it is missing or not an integer.
    private static int Asked(string? queries)
    {
        var isWhole = int.TryParse(queries, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out var count);
        return isWhole ? Math.Clamp(count, 1, MostQueries) : 1;
    }

    private static int RandomNumber() => Random.Shared.Next(1, WorldRows + 1);

    private static async Task<World[]> RandomWorlds(NpgsqlDataSource source, int count)
    {
        await using var connection = await source.OpenConnectionAsync();
        return await RandomWorlds(connection, count);
    }

    private static async Task<World[]> RandomWorlds(NpgsqlConnection connection, int count)
    {
        await using var command = new NpgsqlCommand("SELECT id, randomNumber FROM world WHERE id = $1", connection);
        var id = new NpgsqlParameter<int>();
        command.Parameters.Add(id);
        var worlds = new World[count];
        for (var i = 0; i < count; i++)
        {
            id.TypedValue = RandomNumber();
            await using var reader = await command.ExecuteReaderAsync();
            await reader.ReadAsync();
            worlds[i] = new World(reader.GetInt32(0), reader.GetInt32(1));
        }
        return worlds;
    }

    private static async Task<World[]> UpdatedWorlds(NpgsqlDataSource source, int count)
    {
        await using var connection = await source.OpenConnectionAsync();
        var worlds = await RandomWorlds(connection, count);
        // Transactions that lock rows in the same order cannot deadlock.
        var changed = worlds.Select(world => world with { RandomNumber = RandomNumber() }).OrderBy(world => world.Id).ToArray();
        await using var transaction = await connection.BeginTransactionAsync();
        await using var command = new NpgsqlCommand("UPDATE world SET randomNumber = $1 WHERE id = $2", connection, transaction);
        NpgsqlParameter<int> number = new(), id = new();
        command.Parameters.Add(number);
        command.Parameters.Add(id);
        foreach (var world in changed)
        {
            (number.TypedValue, id.TypedValue) = (world.RandomNumber, world.Id);
            await command.ExecuteNonQueryAsync();
        }
        await transaction.CommitAsync();
        return changed;
    }

    private static async Task<List<Fortune>> StoredFortunes(NpgsqlDataSource source)
    {
        await using var command = source.CreateCommand("SELECT id, message FROM fortune");
        await using var reader = await command.ExecuteReaderAsync();
        var fortunes = new List<Fortune> { new(0, "Additional fortune added at request time.") };
        while (await reader.ReadAsync())
        {
            fortunes.Add(new Fortune(reader.GetInt32(0), reader.GetString(1)));
        }
        fortunes.Sort((a, b) => string.CompareOrdinal(a.Message, b.Message));
        return fortunes;
    }
}
