using System;
using System.Collections.Generic;
using System.IO;

/// <summary>
/// Prints whether the delivery on standard input is genuine: secret, now, then names and values.
/// </summary>
public static class Program
{
    public static void Main(string[] arguments)
    {
        var headers = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
        for (int index = 2; index < arguments.Length; index += 2)
        {
            headers[arguments[index]] = arguments[index + 1];
        }
        var body = new MemoryStream();
        Console.OpenStandardInput().CopyTo(body);
        Func<string, string> header = name => headers.ContainsKey(name) ? headers[name] : null;
        var now = DateTimeOffset.FromUnixTimeSeconds(long.Parse(arguments[1]));
        bool genuine = Verify.IsGenuine(arguments[0], header, body.ToArray(), now);
        Console.WriteLine(genuine ? "true" : "false");
    }
}
