"""Access: API keys, rates and limits, and the authentication of requests."""
