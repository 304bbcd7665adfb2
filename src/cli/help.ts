/** Each command in a line, and the text below the flags in its help. */

const EXIT_CODES = `Exit codes (frozen: scripts may depend on them):
  0  all delivered, or the input held no events
  1  internal failure, or the input, the output or --dead failed on the way
  2  wrong usage or settings: nothing was sent
  3  finished, but some events were rejected or expired
  4  finished, but some lines were refused
  5  events were accepted, and none of them was delivered
  7  stopped before all of the input was read and all events had ended
The first of 1, 5, 7, 3, 4 that applies.`

/** The description of a command, and its help after an empty line. */
export const TEXTS: Readonly<Record<string, string>> = {
  headrace: `Delivers user-data events as signed webhooks.
Validated, fanned out, retried for hours, every one accounted for.

Start here:
  $ headrace demo         # watch it work: nothing leaves this machine
  $ headrace listen 7412  # a receiver to try things out with
  $ headrace send events.ndjson --to http://127.0.0.1:7412/hook`,

  send: `send events to one to five URLs

An event is one JSON object on a line, of one of seven kinds:
  {"type":"page","userId":"u1","name":"Home","properties":{"path":"/"}}
  {"type":"track","userId":"u1","event":"Sold","properties":{"total":9.5}}
  {"type":"identify","userId":"u1","traits":{"plan":"pro"}}
  {"type":"group","userId":"u1","groupId":"acme","traits":{"seats":40}}
  {"type":"alias","previousId":"anon-7","userId":"u1"}
  {"type":"delete","userId":"u1"}
and screen, which is as page. Any may have messageId, timestamp and context.

A 2xx of one URL delivers an event. 5xx, 408, 425, 429, timeouts and broken
connections are tried again until --retry-for is over. Other answers are final.

Example:
  $ headrace send events.ndjson --secret-env WEBHOOK_SECRET \\
      --to https://a.example/hook --to https://b.example/hook

With --outbox events wait in a folder. After a crash, or when the file has
grown, run the same command again: it delivers what waits, and reads on. Several
processes share a queue of PostgreSQL (see 'headrace outbox') and end when it is
empty: --outbox postgres://me@db.example/app --queue hooks

Ctrl-C stops reading and waits for requests in flight, for at most --grace and
half a second. A second Ctrl-C quits at once. SIGTERM and SIGHUP do the same.

On a terminal the output is a live view with a row for each URL; --output lines
has a line for each event. --inspect prints a link to a page over the run, also
for 'headrace top' and 'headrace explain'.

${EXIT_CODES}`,

  batch: `post events in batches to an endpoint of the tracking convention

Events are written as for 'send', without delete, and a page needs a userId. A
batch leaves when it has --flush-at events or 500,000 bytes, or --flush-after
after the last one. One that is answered 400, 413 or 422 is halved until the bad
event stands alone. The rest is as for 'send'; there is no --outbox.

Example:
  $ headrace batch events.ndjson --write-key-env WRITE_KEY

${EXIT_CODES}`,

  collect: `receive events over HTTP and forward them to destinations

Takes what tracking libraries post to /v1/batch, /v1/track and so on. Forwards
each event to the destinations that the file connects with its source:
  {"sources":[{"id":"web","writeKey":{"env":"WEB_KEY"},"deletions":true}],
   "destinations":[{"name":"hooks","sources":["web"],
     "sharedSecret":{"env":"HOOKS_SECRET"},
     "webhooks":[{"url":"https://a.example/hook","headers":{"X-To":"a"}}]}]}
Any text may be {"env":"NAME"}: the value of a variable of the environment.
With "outbox":{"path":"FOLDER"} in a destination its events wait there and
survive a crash. Others with --outbox postgres://me@db.example/app --queue NAME
wait in the queue NAME/DESTINATION, which several processes share. /healthz
answers 200, /readyz too, and 503 when it stops. The first line on stdout is
'ready URL', then one for each event that has ended at a destination. Ctrl-C is
as for 'send'. Without a terminal it reads the file again at SIGHUP, and says
what changed, or why nothing did.

Example:
  $ headrace collect 8080 --host 0.0.0.0 --config collector.json --output json

Exit codes: 0 all that was accepted was delivered; 1 the output could not be
written; 2 wrong usage or file, or the port is taken; 3 some events were
rejected or expired; 7 some had not ended.`,

  check: `say what is wrong with a file for 'collect'

Exit codes: 0 the file is valid (stderr tells likely mistakes); 2 it is not.`,

  'check-receiver': `say whether a receiver of webhooks does what headrace needs

Sends signed events of all kinds, large, odd and repeated ones, and wrong
signatures, all about the user check-receiver. Each request has the level must,
should or may. For one that is not answered as expected the output says what was
sent, expected and seen, and why it matters. It signs X-Signature only, so a
receiver of Standard Webhooks fails, unless it has secrets and migrating too.

Example:
  $ headrace check-receiver http://127.0.0.1:8080/hook --secret-env SECRET

Exit codes: 0 every must holds; 1 one does not, or no answer; 2 wrong usage.`,

  dead: `list, show, redrive or purge the dead letters of an outbox

Dead letters are events that receivers refused for good or that were not
delivered in time, and damaged records (--reason corrupt). No other process may
have a folder open; a queue of PostgreSQL may be in use.

Examples:
  $ headrace dead ls --outbox ./outbox --since 24h
  $ headrace dead redrive --outbox ./outbox --status 503 # counts without --yes

Exit codes: 0 done; 1 there is no such dead letter, or the output could not be
written; 2 wrong usage, or the outbox cannot be opened.`,
  outbox: `make the tables for outboxes in PostgreSQL

For --outbox postgres://… of send, collect and dead. No argument has a password:
use PGPASSWORD, a .pgpass file, or --outbox-env. Needs: npm install pg

Examples:
  $ headrace outbox migrate --outbox-env DATABASE_URL
  $ headrace outbox sql | psql -1 # as another role

Exit codes: 0 done; 1 the output cannot be written; 2 wrong usage, or a fault.`,
  sql: 'print the statements that make or upgrade the tables',
  migrate: 'make or upgrade the tables',
  ls: 'list dead letters, the oldest first',
  show: 'show one, with its event',
  redrive: 'put dead letters back to wait, with a new deadline',
  purge: 'delete dead letters',

  listen: `receive webhooks on 127.0.0.1, verify and print them, or fail on purpose

The first line on stdout is 'ready URL', then there is one for each request, or
a live view on a terminal. One that is not authentic is answered 401. The others
go on to --forward-to as they came: its status is given, or 502. Ctrl-C ends it.

Example:
  $ headrace listen 7412 --secret-env WEBHOOK_SECRET --fail 30% --delay 200ms

Exit codes: 0 ended; 1 --out could not be written, or with --once: a request was
not authentic, or fewer came; 2 wrong usage, or the port is taken.`,

  sign: `print the signature of a body

It is the lower-case hex HMAC-SHA1 of the bytes as they are, as in X-Signature.

Example:
  $ printf '{"type":"track"}' | headrace sign --secret-env WEBHOOK_SECRET

Exit codes: 0 signed; 1 the output could not be written; 2 wrong usage, or the
body cannot be read.`,

  verify: `say whether a body has a signature, and why not

Example:
  $ headrace verify body.json --secret-env WEBHOOK_SECRET \\
      --signature 5d61605c3feea9799210ddcb71307d4ba264225f

Exit codes: 0 authentic; 1 not authentic; 2 wrong usage, or no such body.`,

  top: `watch a command that runs with --inspect

Draws its live view until it ends or Ctrl-C; off a terminal it prints it once.

Example:
  $ headrace send events.ndjson --to http://127.0.0.1:7412/hook --inspect
  $ export LINK='http://127.0.0.1:49152/#t=…' # as it was printed
  $ headrace top --inspect-env LINK

Exit codes: 0 done; 2 nothing answers at the link, or its token is wrong.`,

  explain: `tell the story of one event in a command that runs with --inspect

Example:
  $ headrace explain m-17 --inspect-env LINK # see headrace top --help

Exit codes: 0 told; 1 the event is not known; 2 nothing answers at the link, or
its token is wrong.`,

  schema: `print a schema of the events, or a document about the webhooks, as JSON

  events    JSON Schema 2020-12 of events in their canonical form
  openapi   OpenAPI 3.1: a webhook for each kind of body, and the headers

Example:
  $ headrace schema openapi --title 'Webhooks of my shop' > openapi.json

Exit codes: 0 printed, or the reader closed the pipe; 1 the output could not be
written; 2 wrong usage.`,

  gen: `write events to try things out with, one a line

They are random calls, odd on purpose: texts, keys, numbers and depths that
break careless code. With --invalid some are wrong: of a wrong type, too large,
without a user. 'send' refuses those, and goes on. Needs: npm install fast-check

Example:
  $ headrace gen track --invalid 5% | headrace send --to http://127.0.0.1:7412/

Exit codes: 0 written, or the reader closed the pipe; 1 the output could not be
written; 2 wrong usage, or fast-check is not installed.`,

  demo: `watch events being validated, signed, fanned out, retried and accounted for

Sends sixty events to two bad receivers on this machine, for about five seconds.
Then shows a signed request, and a dead letter that is redriven and delivered.
On a terminal there are keys: f breaks both receivers, h heals them, q stops.
With --inspect it prints a link to a page; on a terminal it stays until Ctrl-C.

Exit codes: 0 every event is accounted for and every signature right; 1 not so.`,
}
