import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Observable } from 'rxjs'
import { constVoid, isLeft, valueOr } from '../core/either.ts'
import { backgroundClock, type Cancel } from '../core/clock.ts'
import { codeOf, messageOf, show as showFailure } from '../core/failure.ts'
import { isRecord } from '../core/json.ts'
import { checkOptions, strict, wholeNumber, withDefault } from '../core/options.ts'
import { sumOf, type Totals } from '../core/outcome.ts'
import type { LogEvent } from '../log/logEvent.ts'
import type { OwnDeadLetters } from '../outbox/deadLetters.ts'
import { readRequest } from '../signing/request.ts'
import { page } from './page.ts'
import { outlineOf, recorder, withoutHosts } from './recorder.ts'
import { inOneLine, storyOf } from './story.ts'

/** What an inspector looks at: a destination or a client. */
export interface Inspectable {
  /** Shown until an event says another one. Default: `part 1` and so on, as they came. */
  readonly name?: string
  readonly events$: Observable<LogEvent>
  readonly dead: OwnDeadLetters<unknown>
  /** The counters, the age of the oldest waiting event in milliseconds, and the dead letters kept now. */
  readonly stats: () => Totals & { readonly refused: number } & Partial<Record<'oldest' | 'dead', number>>
}

/** A page that is served on this machine. */
export interface InspectorServer {
  /** The link to open: `http://127.0.0.1:49152/#t=…`. The fragment holds the token, and is not sent. */
  readonly url: string
  /** Ends all requests and closes the port. */
  readonly close: () => Promise<void>
}

/** A page and an API over running destinations and clients. */
export interface Inspector extends AsyncDisposable {
  /**
   * Answers a web Request, for a host that mounts it below a path that ends with a slash. It refuses one
   * without the token (401), from a page of another origin (403) and changes by another method than POST.
   */
  readonly fetch: (request: Request) => Promise<Response>
  /** The same for `node:http`, in front of body parsers: `app.use('/inspect', panel.listener)` in Express. */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void
  /** What the page and its requests need: `Authorization: Bearer …`, and `#t=…` in the link. */
  readonly token: string
  /**
   * Serves the page on 127.0.0.1; port 0, the default, is any free one. It does not keep the process alive.
   * A request for another host is answered with 421. Rejects if the port cannot be used.
   */
  readonly listen: (options?: { readonly port?: number }) => Promise<InspectorServer>
  /** The story of an event, one line for each part that knows it. Undefined if none does (any more). */
  readonly explain: (id: string) => string | undefined
  /** Looks at these parts from now on. Those that it looks at already keep their histories. */
  readonly update: (...parts: ReadonlyArray<Inspectable>) => void
  /** Lets go of the parts, ends all streams, and closes the ports. The parts run on. */
  readonly close: () => Promise<void>
}

const MAX_HISTORIES = 500
const SNAPSHOT_PERIOD = 500
const MAX_BODY = 65_536
const DEAD_SHOWN = 50
const HOSTS = ['127.0.0.1', 'localhost']
const listenOptions = strict({ port: withDefault(wholeNumber('', 0, 65_535), 0) })

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
/** The digest of the one element of a name in the page, for its policy. */
const allowOf = (element: string): string => {
  const [, text = ''] = new RegExp(`<${element}>([^]*?)</${element}>`).exec(page) ?? []
  return `${element}-src 'sha256-${digestOf(text).toString('base64')}'`
}
const SAFE = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
const PAGE_HEADERS = {
  ...SAFE,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    `default-src 'none'; ${allowOf('script')}; ${allowOf('style')}; connect-src 'self'; img-src data:; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
const json = (value: unknown, status = 200): Response => Response.json(value, { status, headers: SAFE })
const denied = (status: number, error: string): Response => json({ error }, status)
const IS_CLOSED = 'the inspector is closed'
const unread = ({ status }: { readonly status: number }): Response =>
  denied(status, status === 413 ? 'the body is too long' : 'the body was read: mount it before body parsers')

const ROUTE = /\/(?:(stream)|(dead|redrive|purge)\/(\d+)|story\/(\d+)\/([^/]+))?$/

/** Ids of dead letters to change; undefined for all of them. */
const chosenIds = (body: Uint8Array): ReadonlyArray<unknown> | undefined => {
  const given: unknown = JSON.parse(Buffer.from(body).toString() || '{}')
  const { ids, ...more } = isRecord(given) ? given : { ids: null }
  if (Object.keys(more).length > 0) throw new TypeError('the body must be { "ids": […] }, or {} for all')
  return Array.isArray(ids) || ids === undefined ? ids : []
}

/** Express keeps the path that its `use` cuts. */
type ExpressRequest = IncomingMessage & { readonly originalUrl?: string }
const NO_WEB_REQUEST = 'fetch takes a web Request: for one of node:http or Express there is `listener`'
const NO_PART = 'inspector: a part is a destination, a client, or like one: { events$, dead, stats }'

/** Listens on the log events of a part. Its key stays the same when others come or go. */
const watched = (part: Inspectable, key: number, count: number) => {
  const memory = recorder(Math.ceil(MAX_HISTORIES / count), part.name ?? `part ${String(key + 1)}`)
  const watching = part.events$.subscribe({ next: memory.onEvent, error: constVoid })
  let last: ReturnType<Inspectable['stats']> = { ...sumOf([]), refused: 0 }
  /** A part of the host may have nothing to tell any more: the others are shown all the same. */
  const stats = () => (last = valueOr(undefined, () => part.stats()) ?? last)
  return {
    ...memory,
    part,
    key,
    snapshot: () => memory.snapshot(stats(), key),
    stop: () => watching.unsubscribe(),
    list: async () => {
      const found = await part.dead.list({ limit: DEAD_SHOWN + 1 })
      const list = found.slice(0, DEAD_SHOWN).map((letter) => {
        const { id: key, at } = letter
        if (letter.reason === 'corrupt') return { key, at, why: 'the record cannot be read' }
        const { outcome, entry } = letter
        const why = 'failure' in outcome && withoutHosts(showFailure(outcome.failure))
        return { ...outlineOf(entry.item), key, at, why }
      })
      const { dead = `${String(DEAD_SHOWN)} or more` } = stats()
      return { list, count: found.length > DEAD_SHOWN ? dead : list.length }
    },
    change: async (verb: string, ids: ReadonlyArray<unknown> | undefined) => {
      const matches = ({ id }: { readonly id: string }): boolean => ids === undefined || ids.includes(id)
      return { count: await (verb === 'purge' ? part.dead.purge(matches) : part.dead.redrive(matches)) }
    },
  }
}

/**
 * Looks into destinations and clients that run: what happens, what waits and why, dead letters, the story of
 * one event. It listens on them until `close`, which costs some CPU for each event, and at most 2 MB for a
 * part: the last 500 events, the last two minutes. It keeps ids, kinds, sizes, times and reasons, never an
 * item. Its page shows no payload, no header and no query of a URL.
 *
 * @example
 * import { inspector } from 'headrace/inspector'
 * import { createClient } from 'headrace/client'
 * import { memory } from 'headrace/sinks/memory'
 *
 * const client = createClient('a key', { sink: memory() })
 * const panel = inspector(client)
 * const { url } = await panel.listen() // open this link in a browser
 * client.track({ userId: 'u1', event: 'Sold', messageId: 'm1' })
 * await client.flush()
 * console.log(panel.explain('m1')?.replace(/\d+ ms/, '3 ms'))
 * // => m1: taken after 3 ms from memory; delivered after 1 attempt
 * await panel.close()
 * await client.close()
 */
export const inspector = (...parts: ReadonlyArray<Inspectable>): Inspector => {
  let all: ReadonlyArray<ReturnType<typeof watched>> = []
  const token = randomBytes(18).toString('base64url')
  const wanted = digestOf(`Bearer ${token}`)
  const open = new Set<() => unknown>()
  let closed = false
  let made = 0

  const update: Inspector['update'] = (...next) => {
    if (closed) return
    if (!next.every((part) => isRecord(part) && 'events$' in part)) throw new TypeError(NO_PART)
    const before = all
    all = next.map((part) => before.find((each) => each.part === part) ?? watched(part, made++, next.length))
    for (const each of before) if (!all.includes(each)) each.stop()
  }
  update(...parts)

  /** One snapshot for each read, so that a slow reader costs nothing and gets the newest. */
  const snapshots = (): ReadableStream<Uint8Array> => {
    let seen = ''
    let cancel: Cancel = constVoid
    let end = constVoid
    const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      end = () => {
        cancel()
        // It is null if a part failed, which ended the stream.
        if (controller.desiredSize !== null) controller.close()
      }
    }
    const pause = (): Promise<void> =>
      new Promise((resolve) => (cancel = backgroundClock.schedule(SNAPSHOT_PERIOD, resolve)))
    const versions = (): string => all.map((part) => part.version()).join()
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      // One that nothing reads is not held.
      open.add(end)
      if (seen !== '') await pause()
      while (versions() === seen) await pause()
      seen = versions()
      controller.enqueue(Buffer.from(`${JSON.stringify(all.map(({ snapshot }) => snapshot()))}\n`))
    }
    const gone = (): void => {
      cancel()
      open.delete(end)
    }
    return new ReadableStream({ start, pull, cancel: gone }, { highWaterMark: 0 })
  }

  const answer = async (request: Request): Promise<Response> => {
    const { pathname, host } = new URL(request.url)
    const { headers, method } = request
    const origin = headers.get('origin')
    if (origin !== null && (!URL.canParse(origin) || new URL(origin).host !== (headers.get('host') ?? host)))
      return denied(403, 'the request comes from another origin')
    const [path, stream, verb = '', of, from, id = ''] = ROUTE.exec(pathname) ?? []
    const isChange = verb === 'redrive' || verb === 'purge'
    if (path === undefined) return denied(404, 'there is nothing here')
    if (method !== (isChange ? 'POST' : 'GET')) return denied(405, `${method} is not allowed here`)
    if (path === '/') return new Response(page, { headers: PAGE_HEADERS })
    if (!timingSafeEqual(digestOf(headers.get('authorization') ?? ''), wanted))
      return denied(401, 'the token is missing or of an earlier start: open the link that is printed now')
    if (closed) return denied(503, IS_CLOSED)
    if (stream !== undefined) return new Response(snapshots(), { headers: SAFE })
    const part = all.find(({ key }) => key === Number(of ?? from))
    const history = part?.history(decodeURIComponent(id))
    if (part === undefined || (verb === '' && history === undefined)) return denied(404, 'it is not known')
    if (history !== undefined) return json(storyOf(history))
    if (!isChange) return json(await part.list())
    const body = await readRequest(request, MAX_BODY)
    return isLeft(body) ? unread(body.left) : json(await part.change(verb, chosenIds(body.right)))
  }
  const fetch: Inspector['fetch'] = async (request) => {
    if (typeof request.headers.get !== 'function') throw new TypeError(NO_WEB_REQUEST)
    // A store that fails, or a body that is no JSON.
    return answer(request).catch((error: unknown) => denied(500, `the request failed: ${messageOf(error)}`))
  }

  const respond = async (request: ExpressRequest, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/', originalUrl = url, headers } = request
    const body = method === 'POST' ? await readRequest(request, MAX_BODY) : undefined
    const given = Object.entries(headers).map(([key, value]): [string, string] => [key, String(value)])
    const init = { method, headers: given, ...(body?._tag === 'Right' && { body: body.right }) }
    const target = new URL(originalUrl, `http://${headers.host ?? 'localhost'}`)
    // Without its body it would be a request to change all dead letters.
    const made = body?._tag === 'Left' ? unread(body.left) : await fetch(new Request(target, init))
    response.writeHead(made.status, Object.fromEntries(made.headers))
    // Both are the web's ReadableStream; their types differ.
    await pipeline(Readable.fromWeb(made.body as Parameters<typeof Readable.fromWeb>[0]), response)
  }
  // A request that breaks off needs no answer.
  const listener: Inspector['listener'] = (request, response) =>
    void respond(request, response).catch(() => response.destroy())

  const close = async (): Promise<void> => {
    update()
    closed = true
    const ends = [...open]
    open.clear()
    await Promise.all(ends.map((end) => end()))
  }

  return {
    fetch,
    listener,
    token,
    listen: (options = {}) => {
      const { port } = checkOptions('options of listen', listenOptions, options)
      if (closed) return Promise.reject(new Error(IS_CLOSED))
      const server = createServer((request, response) => {
        const at = String(request.socket.localPort)
        if (HOSTS.some((name) => request.headers.host === `${name}:${at}`)) listener(request, response)
        else response.writeHead(421, SAFE).end('the request is for another host')
      })
      server.on('connection', (socket) => socket.unref()).unref()
      const end = (): Promise<void> =>
        new Promise((resolve) => {
          open.delete(end)
          server.close(() => resolve())
          server.closeAllConnections()
        })
      return new Promise((resolve, reject) => {
        server.once('error', (error) => {
          const why = `port ${String(port)} at 127.0.0.1 cannot be used (${codeOf(error)})`
          reject(new Error(`${why}: give another, or 0 for any free one`, { cause: error }))
        })
        server.listen(port, '127.0.0.1', () => {
          if (closed) return resolve(end().then(() => Promise.reject(new Error(IS_CLOSED))))
          open.add(end)
          // It listens on a port, so this is no path of a pipe.
          const { port: bound } = server.address() as AddressInfo
          resolve({ url: `http://127.0.0.1:${String(bound)}/#t=${token}`, close: end })
        })
      })
    },
    explain: (id) => {
      const lines = all.flatMap(({ history, name }) => {
        const known = history(id)
        if (known === undefined) return []
        return [all.length > 1 ? `${name()}: ${inOneLine(known)}` : inOneLine(known)]
      })
      return lines.length === 0 ? undefined : lines.join('\n')
    },
    update,
    close,
    [Symbol.asyncDispose]: close,
  }
}
