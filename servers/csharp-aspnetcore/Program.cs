// Answers Paceline's workloads with ASP.NET Core's minimal API on Kestrel.

using System.Globalization;
using System.Numerics;
using Server;

const int LargestX = 10_000;

var builder = WebApplication.CreateBuilder(args);
builder.AddDatabase();

var app = builder.Build();
var page = File.ReadAllText(app.Configuration["PAGE"] ?? throw new InvalidOperationException("PAGE is not set"));

app.MapGet("/hello", () => "Hello World\n");
app.MapGet("/byte", () => "x");
app.MapGet("/page", () => page);
app.MapGet("/json", () => new JsonMessage("Hello, World!"));
app.MapGet("/plaintext", () => "Hello, World!");
app.MapGet("/home", () => "OK, no problema!");
app.MapGet("/tetra/{x}", (string x) => Power(x));
app.MapDatabase();

app.Run();

static IResult Power(string digits)
{
    var isWhole = int.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out var x);
    return isWhole && x <= LargestX
        ? Results.Text(BigInteger.Pow(x, x).ToString(CultureInfo.InvariantCulture))
        : Results.BadRequest();
}

internal readonly record struct JsonMessage(string Message);
