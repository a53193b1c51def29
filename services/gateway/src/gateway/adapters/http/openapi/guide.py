"""Guide for API clients. Plain text with `code` marks as in CommonMark."""

from gateway.domain import problems
from gateway.domain.problems import Problem

GUIDE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Look up a company",
        (
            "Every lookup answers with one company of the Danish register (CVR) or the Norwegian "
            "(Enhetsregisteret), or with a problem. `GET /api` takes the term in "
            "the parameter of its type, or in `search`, which infers the type. Each type also "
            "has an endpoint of its own, which takes the term in `q`.",
            "Identifiers are strings: `01234567` and `1234567` are different companies. Unknown "
            "values are `null`, a list is never `null`, dates are `YYYY-MM-DD`, times are UTC.",
            "A name or address is matched whatever its case, accents, punctuation and legal form. "
            "The same query always gets the same answer; `match` gives its score, and "
            "names the trade or former name that matched.",
            "`include=alternatives` adds up to five other companies that match a name, an address "
            "or a phone number, best first.",
        ),
    ),
    (
        "Many at once, and while typing",
        (
            "`POST /api/batch` takes up to 100 lookups of any type in one request and answers with "
            "as many results in their order, each a company or the problem of that lookup alone. "
            "It needs a key.",
            "`GET /api/suggest` lists the companies that a name may become while it is typed, from "
            "the second letter on.",
            "Both answer in JSON only.",
        ),
    ),
    (
        "Keys",
        (
            "Send your key as `Authorization: Bearer <key>` or as `X-API-Key: <key>`. Lookups "
            "work without one, too, at a lower rate that is counted by client address. Webhooks "
            "need a key with the scope `webhooks`, which sees only those of its owner.",
        ),
    ),
    (
        "Rates",
        (
            "Each answer gives your rate limit in `RateLimit-Policy` (`q` requests in "
            "`w` seconds) and the remaining quota in `RateLimit` (`r` requests, reset after `t` "
            "seconds). Beyond it the answer is 429 with `Retry-After`. A batch counts by its "
            "lookups, and is refused as a whole when they do not all fit.",
        ),
    ),
    (
        "Formats and caching",
        (
            "Answers are JSON. With `format=xml` they are XML of the same tree: a list is its "
            'plural name around singular elements, `null` is an empty element with `nil="true"`.',
            "Each company carries an `ETag`. Send it back in `If-None-Match`, and while nothing "
            "has changed the answer is 304 without a body. `HEAD` returns the headers only.",
        ),
    ),
    (
        "Subscribe to changes",
        (
            "Register an HTTPS URL with `POST /api/webhooks`, and changes in the registers are "
            "POSTed to it: `GET /api/event-types` lists the kinds of events, each with the JSON "
            "Schema of its body. The secret that signs deliveries is in the answer that creates "
            "the webhook and in no other; `rotate-secret` makes a new one. "
            "`POST /api/webhooks/{id}/test` sends a test event like any other event.",
            "Each delivery carries `X-Timestamp` (Unix seconds, ten digits), `X-Delivery-Id` (a "
            "UUID, the same for every attempt) and `X-Signature`: the lower-case hexadecimal "
            "HMAC-SHA256, with the whole secret as key, of timestamp, delivery id and body, joined "
            "with nothing between them. Compare in constant time; refuse a timestamp more than "
            "300 s off, and any other width than 10 and 36. The headers `webhook-id`, "
            "`webhook-timestamp` and `webhook-signature` are those of the Standard Webhooks, whose "
            "libraries verify the same request.",
            "Any 2xx answer within 10 s is a success. A failed attempt is retried after 1 minute, "
            "5 minutes, 30 minutes and 2 hours. When the last retry fails, or at once with 410, "
            "the webhook is disabled; `PATCH` it to `enabled` and use `recover` to resend missed "
            "events. "
            "A delivery may come twice, never under another id, and in no promised order: compare "
            "`revision`.",
            "A create or test that carries an `Idempotency-Key` may be repeated for 24 hours: the "
            "repeat has no effect, and gets the stored answer without the secret.",
        ),
    ),
    (
        "Problems",
        (
            "The body of every error is a problem document (RFC 9457) whose `code` names the "
            "cause. Quote its `request_id`, which is also in the header `X-Request-Id` of every "
            "answer, in support requests; you may send an `X-Request-Id` of your own.",
            "Send request bodies uncompressed: a body with a `Content-Encoding` is answered 415 on "
            "every path.",
        ),
    ),
)

#: Description of each problem for clients.
MEANING: dict[type[Problem], str] = {
    problems.MissingParameter: "A parameter is missing.",
    problems.InvalidParameter: "Invalid parameter value.",
    problems.MultipleSearchParameters: "More than one search was given.",
    problems.InvalidBody: "The request body is invalid; `errors` lists each error.",
    problems.Unauthorized: "The key is unknown or revoked, or a required key is missing.",
    problems.Forbidden: "The key lacks the scope.",
    problems.CompanyNotFound: "No company matches the search.",
    problems.WebhookNotFound: "You have no webhook with this id.",
    problems.DeliveryNotFound: "The webhook has no delivery with this id.",
    problems.NotFound: "No resource at this path.",
    problems.MethodNotAllowed: "The path does not allow the method; see `Allow`.",
    problems.WebhookDisabled: "The webhook is disabled; enable it first.",
    problems.WebhookLimitReached: "You have reached the maximum number of webhooks.",
    problems.DeliveryPending: "The delivery is not finished: its next attempt is scheduled.",
    problems.IdempotencyConflict: "The key was used for a request with another body.",
    problems.BodyTooLarge: "The body is larger than 64 KiB.",
    problems.UnsupportedMediaType: "The body is not `application/json`, or is compressed.",
    problems.RateLimited: "Too many requests; retry after `Retry-After` seconds.",
    problems.InternalError: "An internal error.",
    problems.ServiceUnavailable: "A dependency is unavailable; retry after `Retry-After`.",
    problems.LookupTimeout: "The request timed out; retry.",
}


def introduction() -> str:
    """The guide as CommonMark."""
    return "\n\n".join(
        f"## {heading}\n\n" + "\n\n".join(paragraphs) for heading, paragraphs in GUIDE
    )
