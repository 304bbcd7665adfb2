/** Requests with something wrong, and what they are answered (CO4). */
import { gzipSync } from 'node:zlib'
import { basic } from './mounts.ts'
import { track } from './setting.ts'

interface Request {
  /** Default /v1/batch. */
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Headers of the answer. */
  readonly answers?: Readonly<Record<string, string>>
}

export interface Wrong extends Request {
  readonly what: string
  readonly status: number
  /** Part of the reason. */
  readonly reason: string
}

const wrong = (what: string, status: number, reason: string, request: Request): Wrong => ({
  what,
  status,
  reason,
  ...request,
})

export const batch = (...messages: ReadonlyArray<unknown>): object => ({ batch: messages })
const good = batch(track('a'))
const bomb = gzipSync(Buffer.alloc(100_000_000, 0x20))
const text = (length: number): object => ({ properties: { text: 'x'.repeat(length) } })
const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`

const malformed = (what: string, body: unknown, reason: string): Wrong => wrong(what, 400, reason, { body })

const unknownTo = (what: string, Authorization: string, body: object = good): Wrong =>
  wrong(what, 401, 'write key', {
    headers: { Authorization },
    body,
    answers: { 'WWW-Authenticate': 'Basic realm="headrace", charset="UTF-8"' },
  })

const nowhere = (path: string): Wrong =>
  wrong(`the path ${path}`, 404, 'there is nothing here', { path, body: good })

const notPosted = (method: string, body?: object): Wrong =>
  wrong(method, 405, 'only POST', { method, body, answers: { Allow: 'POST' } })

const typed = (type: string): Wrong =>
  wrong(`the type ${type}`, 415, 'application/json', { headers: { 'Content-Type': type }, body: good })

const coded = (what: string, coding: string, body: unknown, status: number, reason: string): Wrong =>
  wrong(what, status, reason, { headers: { 'Content-Encoding': coding }, body })

const off = (what: string, Authorization: string, more: object = {}): Wrong =>
  wrong(what, 404, 'switched off', { headers: { Authorization }, body: { ...good, ...more } })

export const wrongRequests: ReadonlyArray<Wrong> = [
  malformed('malformed JSON', '{"batch":[}', 'at character 10 it should have a value or ]'),
  malformed('JSON that ends too early', '{"batch":[{"type":"tr', 'at character 21 it should have a closing'),
  malformed('an empty body', '', 'at character 0 it should have a value'),
  malformed('bytes that are no text', new Uint8Array([0x22, 0xff, 0x22]), 'not UTF-8'),
  malformed('an array', [track('a')], 'must be an object with a batch'),
  malformed('null', 'null', 'must be an object with a batch'),
  malformed('no batch', {}, 'must have a batch'),
  malformed('a batch that is none', { batch: { 0: track('a') } }, 'must have a batch'),
  malformed('an inherited batch', '{"__proto__":{"batch":[]}}', 'must have a batch'),
  malformed('an empty batch', batch(), 'the batch is empty'),
  malformed('a context that is none', { ...good, context: 'x' }, 'context must be an object'),
  malformed('integrations that are none', { ...good, integrations: [] }, 'integrations must be an object'),
  malformed('messages that are none', batch(1, null, 'x', []), 'must be an object'),
  malformed('a deletion in a batch', batch({ type: 'delete', userId: 'u' }), 'post deletions to /v1/delete'),
  malformed('a kind that is none', batch({ type: 'merge', userId: 'u' }), 'type: must be one of'),
  malformed('nothing but a large message', batch(track('big', text(40_000))), 'the limit is 32768'),
  malformed(
    'a message that is nested too deeply',
    `{"batch":[{"type":"track","userId":"u","event":"e","properties":{"d":${deep}}}]}`,
    'nested deeper than 256',
  ),
  wrong('a single message that is none', 400, 'must be an object', { path: '/v1/track', body: '5' }),
  wrong('a deletion of nobody', 400, 'userId: is missing', { path: '/v1/delete', body: {} }),
  unknownTo('an unknown key', basic('other:')),
  unknownTo('half a key', basic('w:k')),
  unknownTo('an empty key', basic(':wk')),
  unknownTo('another scheme', 'Bearer wk'),
  unknownTo('Basic and no base64', 'Basic ???'),
  unknownTo('an unknown key in the body', '', { ...good, writeKey: 'x' }),
  unknownTo('a key that is no text', '', { ...good, writeKey: 5 }),
  unknownTo('no key at all', ''),
  off('a source that is off', basic('off:')),
  off('a source that is off, by its body', '', { writeKey: 'off' }),
  wrong('a deletion that is not allowed', 403, 'deletions: true', {
    path: '/v1/delete',
    headers: { Authorization: basic('keeping:') },
    body: { userId: 'u' },
  }),
  ...['/', '/v1/events', '/v2/batch', '/v1/batch/more', '/v1', '/batch', '/v1/%62atch', '/v1/BATCH'].map(
    nowhere,
  ),
  notPosted('GET'),
  notPosted('OPTIONS'),
  notPosted('PUT', good),
  notPosted('DELETE', good),
  typed('application/x-www-form-urlencoded'),
  typed('application/jsonp'),
  typed('text/html; charset=utf-8'),
  coded('an unknown coding', 'br', good, 415, 'gzip'),
  coded('gzip twice', 'gzip, gzip', good, 415, 'gzip'),
  coded('gzip that is none', 'gzip', good, 400, 'gzip, and is not'),
  coded('half a gzip', 'gzip', gzipSync('{"batch":[]}').subarray(0, 20), 400, 'gzip, and is not'),
  coded('a gzip bomb', 'gzip', bomb, 413, 'more than 512000 bytes'),
  wrong('5 MB', 413, 'more than 512000 bytes', { body: batch(track('big', text(5_000_000))) }),
  wrong('more messages than can be right', 413, 'more than 17656 messages', {
    body: batch(...Array.from({ length: 100_000 }, () => 1)),
  }),
  wrong('a single message that is too large', 413, 'the limit is 32768', {
    path: '/v1/track',
    body: track('big', text(32_768)),
  }),
]
