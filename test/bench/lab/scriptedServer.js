// The server of the lab: it takes every peer's dialect, notes what came, and answers as the experiment's script says.
import { createServer } from 'node:http'
import { gunzipSync } from 'node:zlib'

/** The events of a body: each peer names them, and their ids, in its own way. */
const eventsOf = (text) => {
  try {
    const { batch, data } = JSON.parse(text)
    return (batch ?? data ?? []).map((each) => ({
      name: each.event ?? each.se_ac,
      id: each.messageId ?? each.uuid ?? each.eid,
    }))
  } catch {
    return []
  }
}

const bodyOf = async (request) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  return request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
}

/**
 * What came: `at` in milliseconds, `bytes` of the body before compression, the events by name and id, and the status that was answered.
 * @typedef {{ at: number, method: string, path: string, bytes: number, events: { name: string, id: string }[], status?: number }} Came
 */

/**
 * @param {(came: Came, before: Came[]) => { status?: number, headers?: object, body?: string, delay?: number } | undefined} script
 *   undefined is silence: the request is taken and never answered
 */
export const scriptedServer = async (script) => {
  /** @type {Came[]} */
  const requests = []
  let open = 0
  let mostOpen = 0
  let mostSockets = 0
  const sockets = new Set()

  const server = createServer(async (request, response) => {
    open++
    mostOpen = Math.max(mostOpen, open)
    response.on('close', () => open--)
    try {
      const body = await bodyOf(request)
      const { method, url: path } = request
      const came = {
        at: performance.now(),
        method,
        path,
        bytes: body.length,
        events: eventsOf(body.toString()),
      }
      const answer = script(came, [...requests])
      requests.push(came)
      if (answer === undefined) return
      const { status = 200, headers = {}, body: text = '{}', delay = 0 } = answer
      setTimeout(() => {
        came.status = status
        came.answeredAt = performance.now()
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
      }, delay)
    } catch {
      // The peer went away in the middle of its request.
    }
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    mostSockets = Math.max(mostSockets, sockets.size)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    /** Requests that carried events. */
    posts: () => requests.filter(({ events }) => events.length > 0),
    /** Names of the events that were answered with a 2xx, each once. */
    taken: () =>
      new Set(
        requests
          .filter(({ status }) => status >= 200 && status < 300)
          .flatMap(({ events }) => events.map(({ name }) => name)),
      ),
    /** Names of the events that came at all. */
    arrived: () => new Set(requests.flatMap(({ events }) => events.map(({ name }) => name))),
    mostOpen: () => mostOpen,
    mostSockets: () => mostSockets,
    stop: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
