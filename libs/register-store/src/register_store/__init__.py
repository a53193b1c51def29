"""The registers in MongoDB: database `register`, which `ingest` writes and `lookup` reads.

| collection | `_id` | holds |
|---|---|---|
| `companies` | `dk:25052943` | the public JSON, owners, revision, what phones and ranking need |
| `production_units` | `dk:1007256945` | the public JSON, and whose it is |
| `participants` | `0192:923609016` | the public JSON of the identifier, and whose it is |
| `tombstones` | `dk:25052943` | companies that the register ordered removed |
| `outbox` | the event's id | events, until they have a receipt and for some time after |
| `loads` | `no-enheter` | how far each source was loaded |
| `cursors` | `no-enheter` | how far each source's feed was read |
"""
