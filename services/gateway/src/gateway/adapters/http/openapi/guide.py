"""What a reader must know before the first call. In `code` marks as in CommonMark, else plain."""

from gateway.domain import problems
from gateway.domain.problems import Problem

GUIDE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Look a company up",
        (
            "Every lookup answers with one company of the Danish register (CVR) or the Norwegian "
            "(Enhetsregisteret), or with a problem that says why not. `GET /api` takes the term in "
            "the parameter of its kind, or in `search`, which works the kind out. Each kind also "
            "has an endpoint of its own, which takes the term in `q` and never guesses.",
            "Identifiers are strings: `01234567` and `1234567` are different companies. What is "
            "not known is `null`, a list is never `null`, dates are `YYYY-MM-DD`, times are UTC.",
            "A name or address is matched whatever its case, accents, punctuation and legal form. "
            "The same question always gets the same answer; `match` says how sure it is, and "
            "names the trade or former name that matched.",
            "`include=alternatives` adds up to five other companies that match a name, an address "
            "or a phone number, best first.",
        ),
    ),
    (
        "Many at once, and while typing",
        (
            "`POST /api/batch` takes up to 100 lookups of any kind in one request and answers with "
            "as many results in their order, each a company or the problem of that lookup alone. "
            "It needs a key.",
            "`GET /api/suggest` lists the companies that a name may become while it is typed, from "
            "the second letter on.",
            "Both answer in JSON alone.",
        ),
    ),
    (
        "Keys",
        (
            "Send your key as `Authorization: Bearer <key>` or as `X-API-Key: <key>`. Lookups "
            "work without one, too, at a lower rate that is counted by client address. Webhooks "
            "need a key with the scope `webhooks`, which sees those of its owner alone.",
        ),
    ),
    (
        "Rates",
        (
            "Each answer tells the rate that holds for you in `RateLimit-Policy` (`q` requests in "
            "`w` seconds) and what is left of it in `RateLimit` (`r` requests, anew after `t` "
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
            "has changed the answer is 304 without a body. `HEAD` asks for the headers alone.",
        ),
    ),
    (
        "Hear of changes",
        (
            "Register an HTTPS URL with `POST /api/webhooks`, and what happens in the registers is "
            "POSTed to it: `GET /api/event-types` lists the kinds of events, each with the JSON "
            "Schema of its body. The secret that signs deliveries is in the answer that creates "
            "the webhook and in no other; `rotate-secret` makes a new one. "
            "`POST /api/webhooks/{id}/test` sends a test event the way that every event goes.",
            "Each delivery carries `X-Timestamp` (Unix seconds, ten digits), `X-Delivery-Id` (a "
            "UUID, the same for every attempt) and `X-Signature`: the lower-case hexadecimal "
            "HMAC-SHA256, with the whole secret as key, of timestamp, delivery id and body, joined "
            "with nothing between them. Compare in constant time; refuse a timestamp more than "
            "300 s off, and any other width than 10 and 36. The headers `webhook-id`, "
            "`webhook-timestamp` and `webhook-signature` are those of the Standard Webhooks, whose "
            "libraries verify the same request.",
            "Any 2xx answer within 10 s is a success. What fails is tried again after 1 minute, 5 "
            "minutes, 30 minutes and 2 hours. When the last retry fails, or at once with 410, the "
            "webhook is disabled; `PATCH` it to `enabled` and ask `recover` for what was missed. "
            "A delivery may come twice, never under another id, and in no promised order: compare "
            "`revision`.",
            "A create or test that carries an `Idempotency-Key` may be repeated for 24 hours: the "
            "repeat does nothing again, and gets the stored answer without the secret.",
        ),
    ),
    (
        "Problems",
        (
            "Whatever goes wrong, the body is a problem document (RFC 9457) whose `code` names the "
            "cause. Quote its `request_id`, which is also in the header `X-Request-Id` of every "
            "answer, when you ask us about it; you may send an `X-Request-Id` of your own.",
            "Send request bodies uncompressed: a body with a `Content-Encoding` is answered 415 on "
            "every path.",
        ),
    ),
)

#: What a client should make of each problem.
MEANING: dict[type[Problem], str] = {
    problems.MissingParameter: "A parameter is missing.",
    problems.InvalidParameter: "A value cannot be what it was given as.",
    problems.MultipleSearchParameters: "More than one search was given.",
    problems.InvalidBody: "The body is not what it should be; `errors` names each fault.",
    problems.Unauthorized: "The key is unknown or revoked, or none was sent where one is needed.",
    problems.Forbidden: "The key lacks the scope.",
    problems.CompanyNotFound: "No company answers to the search.",
    problems.WebhookNotFound: "You have no webhook with this id.",
    problems.DeliveryNotFound: "The webhook has no delivery with this id.",
    problems.NotFound: "There is nothing at the path.",
    problems.MethodNotAllowed: "The path does not take the method; `Allow` lists those it does.",
    problems.WebhookDisabled: "The webhook is disabled; enable it first.",
    problems.WebhookLimitReached: "You have as many webhooks as there can be.",
    problems.DeliveryPending: "The delivery is not finished: its next attempt comes by itself.",
    problems.IdempotencyConflict: "The key was used for a request with another body.",
    problems.BodyTooLarge: "The body is larger than 64 KiB.",
    problems.UnsupportedMediaType: "The body is not `application/json`, or is compressed.",
    problems.RateLimited: "Too many requests; ask again after `Retry-After` seconds.",
    problems.InternalError: "A fault of ours.",
    problems.ServiceUnavailable: "Something of ours is away; ask again after `Retry-After`.",
    problems.LookupTimeout: "The answer was not there in time; ask again.",
}


def introduction() -> str:
    """The guide as CommonMark."""
    return "\n\n".join(
        f"## {heading}\n\n" + "\n\n".join(paragraphs) for heading, paragraphs in GUIDE
    )
